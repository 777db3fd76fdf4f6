//! Labels of values: the names around a value say that `/products/42` can be the `id` of a product.

use super::LISTS;
use crate::text::{self, has_word, singular};

/// The name of a value, and of what it is a part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Label {
    /// The words of its name: `access`, `token`; none for a segment of a path.
    pub(super) key: Vec<String>,
    /// The thing that it belongs to, in the singular: `product`.
    pub(super) around: Option<String>,
}

impl Label {
    /// Labels a segment of a path, which belongs to the one before it.
    pub(super) fn segment(before: &str) -> Self {
        let thing = split_name(before).concat();
        Self {
            key: Vec::new(),
            around: Some(thing).filter(|thing| is_thing(thing)),
        }
    }

    /// Labels a field by its name and those around it (the outermost first), in a request or an answer with this target.
    pub(super) fn field(path: &[&str], target: &str) -> Self {
        let (name, outer) = path.split_last().unwrap_or((&"", &[]));
        let mut key = split_name(name);
        let last = key.last().cloned().unwrap_or_default();
        if key.len() > 1 && (has_word(&LISTS.alike, &last) || last == "number") {
            key.pop();
            return Self {
                around: Some(key.concat()),
                key: vec![last],
            };
        }
        let words = outer.iter().rev().map(|name| split_name(name).concat());
        let mut words = words.filter(|word| !word.is_empty() && !has_word(&LISTS.wrappers, word));
        // `order.items[0]` is an item, not an order.
        let nearest = words.next();
        let is_list = |word: &String| has_word(&LISTS.collections, word);
        let around = nearest.filter(|word| !is_list(word) || words.any(|word| !is_list(&word)));
        let around = around.or_else(|| find_thing(target));
        Self { key, around }
    }

    /// Labels a parameter, whose name may have others around it: `order[items][id]`.
    pub(super) fn parameter(name: &str, target: &str) -> Self {
        let path = name.split(['[', ']', '.']).filter(|part| !part.is_empty());
        Self::field(&path.collect::<Vec<_>>(), target)
    }

    /// Labels a value by its name alone.
    pub(super) fn name(name: &str) -> Self {
        Self {
            key: split_name(name),
            around: None,
        }
    }

    /// Returns true if the last word of the name is one of these.
    pub(super) fn ends_with(&self, words: &[String]) -> bool {
        self.key.last().is_some_and(|last| has_word(words, last))
    }

    /// Returns true if the name is that of an identifier, or there is none.
    pub(super) fn is_identifier(&self) -> bool {
        let last = self.key.last();
        last.is_none_or(|last| has_word(&LISTS.identifiers, last) || last == "code")
    }

    /// Rates how well a value with this label fits a source with that label: from 0, not at all, to 3.
    pub(super) fn fits(&self, source: &Self) -> u8 {
        let (Some(from), to) = (source.key.last(), self.key.last()) else {
            return 0;
        };
        let is_condition = self.key.first().is_some_and(|word| word == "if") && from == "etag";
        if is_condition || self.is_credential() && source.is_credential() {
            return 3;
        }
        // 3 if both belong to the same thing, 1 if one is not known.
        let thing = match (&self.around, &source.around) {
            (Some(one), Some(another)) => u8::from(one == another) * 3,
            _ => 1,
        };
        if let Some(to) = to {
            if self.key == source.key {
                let of_anything = ["id", "pk", "oid", "key", "ref", "number", "version"];
                let is_of_anything = of_anything.contains(&to.as_str());
                return if is_of_anything { thing } else { 3 };
            }
            let is_alike = |word: &String| has_word(&LISTS.alike, word);
            if is_alike(to) && is_alike(from) {
                return thing.min(2);
            }
            // `"product": 42`, `?category=7`.
            let is_thing = is_alike(from) && source.around.as_ref() == Some(to)
                || is_alike(to) && self.around.as_ref() == Some(from);
            return u8::from(is_thing || to == from) * 2;
        }
        // A segment of a path.
        if source.is_identifier() && from != "version" && from != "revision" {
            return thing;
        }
        u8::from(self.around.as_ref() == Some(from)) * 2
    }

    /// Returns true for a token of a user or a form.
    fn is_credential(&self) -> bool {
        let mut words = self.key.iter();
        words.any(|word| {
            matches!(
                word.as_str(),
                "authorization" | "token" | "jwt" | "bearer" | "csrf" | "xsrf" | "authenticity"
            )
        })
    }
}

/// Returns the thing that a target is about: `order` of `/api/orders/17?full=1`.
fn find_thing(target: &str) -> Option<String> {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let mut segments = path.rsplit('/');
    segments.find_map(|segment| {
        let is_value = segment.len() > 32 || segment.bytes().any(|byte| byte.is_ascii_digit());
        // `task.list`
        let mut words = split_name(segment);
        words.retain(|word| is_thing(word));
        let thing = words.concat();
        (!is_value && !thing.is_empty()).then_some(thing)
    })
}

fn is_thing(word: &str) -> bool {
    !has_word(&LISTS.actions, word) && !word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Splits a name into words in the singular.
fn split_name(name: &str) -> Vec<String> {
    let words = text::split_name(name);
    let skipped = usize::from(words.len() > 1 && words[0] == "x");
    words[skipped..].iter().map(|word| singular(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &[&str], target: &str) -> Label {
        Label::field(path, target)
    }

    #[test]
    fn names_fit_where_they_mean_the_same() {
        let fits = |place: &Label, path: &[&str], target: &str| place.fits(&source(path, target));
        let product = Label::segment("products");
        assert_eq!(fits(&product, &["products", "id"], "/shop"), 3);
        assert_eq!(fits(&product, &["id"], "/api/products?page=2"), 3);
        assert_eq!(fits(&product, &["items", "id"], "/api/products/"), 3);
        assert_eq!(
            fits(
                &product,
                &["data", "products", "edges", "node", "id"],
                "/graphql"
            ),
            3
        );
        assert_eq!(fits(&product, &["productId"], "/orders"), 3);
        assert_eq!(fits(&product, &["items", "id"], "/search"), 1);
        assert_eq!(fits(&product, &["id"], "/orders"), 0);
        assert_eq!(fits(&product, &["order", "items", "id"], "/orders/7"), 0);
        assert_eq!(fits(&product, &["total"], "/products"), 0);
        let field = Label::field(&["product_id"], "/orders");
        assert_eq!(fits(&field, &["products", "id"], "/"), 3);
        assert_eq!(fits(&field, &["orders", "id"], "/"), 0);
        let field = Label::field(&["product"], "/orders");
        assert_eq!(fits(&field, &["products", "id"], "/"), 2);
        assert_eq!(fits(&field, &["quantity"], "/products"), 0);
        let header = Label::name("X-CSRF-Token");
        assert_eq!(fits(&header, &["csrfToken"], "/session"), 3);
        assert_eq!(
            fits(&Label::name("authorization"), &["access_token"], "/"),
            3
        );
        let version = Label::field(&["version"], "/orders/7");
        assert_eq!(fits(&version, &["version"], "/orders/7"), 3);
        assert_eq!(fits(&version, &["id"], "/orders/7"), 0);
        assert_eq!(split_name("lineItemIDs"), ["line", "item", "id"]);
    }
}
