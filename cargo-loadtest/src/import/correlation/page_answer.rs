//! Values that pages offer to later requests: of their rows, sections, forms and scripts.

use super::super::recording::{Origin, PageFind, PagePart, Text};
use super::answer::{Offers, Taker};
use super::html::{self, FoundLink};
use super::label::Label;
use super::page;
use super::texts::{divide_lists, find_headings, find_row, heading_of};
use loadtest::Page;

impl Offers {
    /// Returns the text of an option that is chosen by its number, and its own source.
    pub(super) fn text_of_option(&self, origin: &Origin) -> Option<(String, Origin)> {
        let Origin::Page {
            exchange,
            part: None,
            find: PageFind::OptionAt { name, number },
        } = origin
        else {
            return None;
        };
        let (_, page) = self.pages.iter().find(|(at, _)| at == exchange)?;
        let choice = page.choices().filter(|choice| choice.name == *name);
        let text = choice.map(|choice| choice.text.clone()).nth(*number)?;
        let find = PageFind::OptionText {
            name: name.clone(),
            number: *number,
        };
        Some((text, Origin::of_page(*exchange, find)))
    }
}

impl Taker<'_> {
    /// Takes the values of a page: of its forms, its head and its scripts.
    pub(super) fn page(&mut self, text: &str) {
        let wanted = &self.offers.wanted;
        // What a part of the page gives is found by it.
        let is_given = |value: &str| {
            let mut offers = self.offers.of(value).iter();
            offers.any(|offer| offer.exchange == self.number)
        };
        for found in page::find_values(text, &|value| wanted.contains(value) && !is_given(value)) {
            let origin = Origin::Between {
                exchange: self.number,
                before: found.before.to_owned(),
                after: found.after.to_owned(),
            };
            let label = Label::parameter(found.name, &self.target);
            let name = format!("`{}`", found.name);
            self.put(found.value, origin, label, name);
        }
    }

    /// Takes the fields, links and attributes of an HTML page: first those of rows with names that are known.
    pub(super) fn html(&mut self, text: &str) {
        let page = Page::new(text);
        let links = html::find_links(&page, &self.offers.names);
        let is_named =
            |(_, find, _): &FoundLink| matches!(find, PageFind::Link { text } if text.has_values());
        let (named, others): (Vec<_>, Vec<_>) = links.into_iter().partition(is_named);
        let has_text = |(_, find, _): &FoundLink| matches!(find, PageFind::Link { .. });
        let (labelled, others): (Vec<_>, Vec<_>) = others.into_iter().partition(has_text);
        self.links_of_page(None, named);
        let created = self.offers.names.iter();
        let rows = created.filter_map(|(name, text)| Some((text.clone(), page.row(name).ok()?)));
        self.rows_of_page(rows.collect());
        self.links_of_page(None, labelled);
        let known = self.offers.texts.iter();
        let rows = known.filter_map(|(name, text)| Some((text.clone(), find_row(&page, name)?)));
        self.rows_of_page(rows.collect());
        self.values_of_page(None, &page);
        self.links_of_sections(&page, &others);
        self.links_of_page(None, others);
        self.offers.pages.push((self.number, page));
    }

    fn rows_of_page(&mut self, rows: Vec<(Text, Page)>) {
        for (text, row) in rows {
            let part = Some(PagePart::Row(text));
            self.values_of_page(part.as_ref(), &row);
            let links = html::find_links(&row, &self.offers.names);
            self.links_of_page(part.as_ref(), links);
        }
    }

    /// Takes the wanted links behind headings: those with a name that is known, and those that divide lists.
    fn links_of_sections(&mut self, page: &Page, links: &[FoundLink]) {
        let mut headings = None;
        for (address, find, item) in links {
            let (PageFind::Address { pattern, .. }, Some((number, _))) = (find, item) else {
                continue;
            };
            if self.wanted_target(address).is_none() {
                continue;
            }
            let headings = headings.get_or_insert_with(|| find_headings(page));
            let Some(heading) = heading_of(address, page, headings) else {
                continue;
            };
            let Some(place) = heading
                .page
                .addresses(pattern)
                .position(|one| one == address)
            else {
                continue;
            };
            let names = &self.offers.names;
            let known = names
                .text_of(&heading.text)
                .or(self.offers.texts.text_of(&heading.text));
            let is_label = || {
                let has_digit = heading.text.bytes().any(|byte| byte.is_ascii_digit());
                place + 1 < *number && !has_digit && divide_lists(headings, page, pattern)
            };
            let text = match known {
                Some(text) if place == 0 => text.clone(),
                None if is_label() => Text::literal(&heading.text),
                _ => continue,
            };
            if let Some(find) = html::find_behind(address, pattern, &heading.page) {
                let count = heading.page.addresses(pattern).count();
                let is_numbered = place > 0 && matches!(find, PageFind::Address { .. });
                let item = is_numbered.then_some((place + 1, count));
                let link = (address.clone(), find, item);
                self.links_of_page(Some(&PagePart::After(text)), vec![link]);
            }
        }
    }

    fn values_of_page(&mut self, part: Option<&PagePart>, page: &Page) {
        for (value, label, found) in html::find_values(page, &self.target, &self.offers.wanted) {
            let name = found.find.describe();
            self.items.extend(found.item);
            let origin = self.of_page(part, found.find);
            self.put(&value, origin, label, name);
            self.items.clear();
        }
    }

    fn links_of_page(&mut self, part: Option<&PagePart>, links: Vec<FoundLink>) {
        for (address, find, item) in links {
            let name = find.describe();
            self.items.extend(item);
            let origin = self.of_page(part, find);
            self.link(&address, origin, &name);
            self.items.clear();
        }
    }

    fn of_page(&self, part: Option<&PagePart>, find: PageFind) -> Origin {
        Origin::Page {
            exchange: self.number,
            part: part.cloned(),
            find,
        }
    }
}
