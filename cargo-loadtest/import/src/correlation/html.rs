//! Links, forms, fields and attributes of HTML pages, as [`Page`] finds them again.

use super::kind::{ValueKind, kind};
use super::label::Label;
use super::texts::KnownTexts;
use super::{parts_by, url_parts};
use crate::recording::{PageFind, Text};
use loadtest::Page;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The place of a value.
pub(super) struct Found {
    pub(super) find: PageFind,
    /// The number of the value, from 1, and how many there are.
    pub(super) item: Option<(usize, usize)>,
}

/// Returns the wanted values of a page with their labels and places.
pub(super) fn find_values(
    page: &Page,
    target: &str,
    wanted: &HashSet<String>,
) -> Vec<(String, Label, Found)> {
    let mut all = Vec::new();
    let mut put = |value: &str, label: Label, find: PageFind, item| {
        if wanted.contains(value) {
            all.push((value.to_owned(), label, Found { find, item }));
        }
    };
    let fields = page.fields().map(|field| (&*field.name, &*field.value));
    for (name, values) in group(fields.filter(|(name, _)| !name.is_empty())) {
        for (number, value) in values.iter().enumerate() {
            let label = Label::parameter(name, target);
            let name = name.to_owned();
            let find = PageFind::Field { name, number };
            put(value, label, find, item_of(number, &values));
        }
    }
    for (name, values) in group(page.data_attributes()) {
        for (number, value) in values.iter().enumerate() {
            let label = Label::parameter(name.trim_start_matches("data-"), target);
            let name = name.to_owned();
            let find = PageFind::Data { name, number };
            put(value, label, find, item_of(number, &values));
        }
    }
    let mut patterns = HashSet::new();
    // An id can be in the path and in the query.
    let path_end = |address: &str| address.find('?').unwrap_or(address.len());
    let addresses = page.all_addresses();
    let addresses = addresses.flat_map(|address| [&address[..path_end(address)], address]);
    for (pattern, label) in addresses.filter_map(make_pattern) {
        if !patterns.insert(pattern.clone()) {
            continue;
        }
        let ids: Vec<_> = page.ids_in(&pattern).collect();
        for (number, id) in ids.iter().enumerate() {
            let pattern = pattern.clone();
            let find = PageFind::Id { pattern, number };
            put(id, label.clone(), find, item_of(number, &ids));
        }
    }
    all
}

/// The places of addresses among those that match a pattern, by the pattern.
type Places<'p> = HashMap<String, HashMap<&'p str, usize>>;

/// A link of a page: its address, how it is found again, and its number of how many, where only that finds it.
pub(super) type FoundLink = (String, PageFind, Option<(usize, usize)>);

/// Returns the addresses of a page.
pub(super) fn find_links(page: &Page, names: &KnownTexts) -> Vec<FoundLink> {
    let mut all = Vec::new();
    let mut seen = HashSet::new();
    let mut places = Places::new();
    let mut addresses_of_texts: HashMap<&str, HashSet<&str>> = HashMap::new();
    for link in page.links() {
        let addresses = addresses_of_texts.entry(&link.text).or_default();
        addresses.insert(&link.href);
    }
    for link in page.links() {
        let is_only_text = addresses_of_texts[&*link.text].len() == 1;
        // A link of many to such places has the text of its thing, which another instance does not have, unless the
        // journey made it.
        let name = names.text_of(&link.text);
        let mut is_of_many = || {
            let pattern = make_pattern(&link.href);
            pattern.is_some_and(|(pattern, _)| places_of(&pattern, page, &mut places).len() > 1)
        };
        let is_found = is_only_text && !link.text.is_empty() && (name.is_some() || !is_of_many());
        if is_found && seen.insert(&*link.href) {
            let text = name.cloned().unwrap_or_else(|| Text::literal(&link.text));
            all.push((link.href.clone(), PageFind::Link { text }, None));
        }
    }
    for address in page.all_addresses() {
        let Some((pattern, _)) = make_pattern(address) else {
            continue;
        };
        let places = places_of(&pattern, page, &mut places);
        let number = places.get(address).copied();
        if let Some(number) = number.filter(|_| seen.insert(address)) {
            let item = Some((number + 1, places.len())).filter(|_| places.len() > 1);
            let find = PageFind::Address { pattern, number };
            all.push((address.to_owned(), find, item));
        }
    }
    all
}

/// Returns the places of the addresses that match a pattern, each of which is looked for once.
fn places_of<'m, 'p>(
    pattern: &str,
    page: &'p Page,
    known: &'m mut Places<'p>,
) -> &'m HashMap<&'p str, usize> {
    known.entry(pattern.to_owned()).or_insert_with(|| {
        let addresses = page.addresses(pattern).enumerate();
        addresses
            .map(|(number, address)| (address, number))
            .collect()
    })
}

/// Returns the values by their names, in the order of the names.
fn group<'p>(pairs: impl Iterator<Item = (&'p str, &'p str)>) -> BTreeMap<&'p str, Vec<&'p str>> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in pairs {
        groups.entry(name).or_default().push(value);
    }
    groups
}

/// Returns the number of a value, from 1, and how many there are, unless all are the same.
fn item_of(number: usize, values: &[&str]) -> Option<(usize, usize)> {
    let is_one = values.iter().all(|value| *value == values[0]);
    (!is_one).then_some((number + 1, values.len()))
}

/// Returns the pattern of an address, and the label of what its last `*` stands for: `/orders/*/edit`. Nothing where no
/// part is one of many.
fn make_pattern(address: &str) -> Option<(String, Label)> {
    let address = address.split('#').next().unwrap_or_default();
    let (path, query) = url_parts(address);
    let is_one_of_many = |part: &str| {
        let is_numbered = part.len() >= 4 && part.starts_with(|first: char| first.is_ascii_digit());
        kind(part) > ValueKind::Word || is_numbered && kind(part) > ValueKind::Plain
    };
    let mut label = None;
    let mut before = "";
    let segments = address[path.clone()].split('/').map(|segment| {
        if is_one_of_many(segment) {
            let key = vec!["id".to_owned()];
            label = Some(Label {
                key,
                ..Label::segment(before)
            });
            return "*";
        }
        before = segment;
        segment
    });
    let segments: Vec<_> = segments.collect();
    // Another instance has another host.
    let mut pattern = segments.join("/");
    let mut has_many_in_query = false;
    let mut pairs = Vec::new();
    for pair in parts_by(&address[query.clone()], |letter| letter == '&') {
        let pair = &address[query.clone()][pair];
        pairs.push(match pair.split_once('=') {
            Some((name, value)) if is_one_of_many(value) => {
                label = Some(Label::parameter(name, address));
                has_many_in_query = true;
                format!("{name}=*")
            }
            _ => pair.to_owned(),
        });
    }
    if has_many_in_query {
        pattern = format!("{pattern}?{}", pairs.join("&"));
    }
    let can_be_written = !address.contains('*') && pattern.contains('*');
    label
        .filter(|_| can_be_written)
        .map(|label| (pattern, label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_becomes_the_pattern_of_those_like_it() {
        for (address, pattern) in [
            ("/orders/7/edit", "/orders/*/edit"),
            ("/orders/7?from=list#x", "/orders/*"),
            ("/a/b3f1c2d4e5f60718/", "/a/*/"),
            ("http://shop.test/orders/7", "/orders/*"),
            ("/edit?id=7&tab=2a", "/edit?id=*&tab=2a"),
            ("/blog/43-tea", "/blog/*"),
        ] {
            let (found, _) = make_pattern(address).unwrap();
            assert_eq!(found, pattern, "{address}");
            let page = Page::new(&format!("<a href=\"{address}\">x</a>"));
            assert_eq!(page.addresses(pattern).count(), 1, "{pattern}");
        }
        for address in [
            "/",
            "/orders",
            "/orders?page=next",
            "#top",
            "mailto:a@b",
            "/a/*/7",
        ] {
            assert!(make_pattern(address).is_none(), "{address}");
        }
    }
}
