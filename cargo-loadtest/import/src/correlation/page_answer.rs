//! Values that pages offer to later requests: of their rows, forms and scripts.

use super::answer::Taker;
use super::html::{self, FoundLink};
use super::label::Label;
use super::page;
use super::texts::find_row;
use crate::recording::{Origin, PageFind, Text};
use loadtest::Page;

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
        self.links_of_page(None, others);
        self.offers.pages.push((self.number, page));
    }

    fn rows_of_page(&mut self, rows: Vec<(Text, Page)>) {
        for (text, row) in rows {
            self.values_of_page(Some(&text), &row);
            let links = html::find_links(&row, &self.offers.names);
            self.links_of_page(Some(&text), links);
        }
    }

    fn values_of_page(&mut self, row: Option<&Text>, page: &Page) {
        for (value, label, found) in html::find_values(page, &self.target, &self.offers.wanted) {
            let name = found.find.describe();
            self.items.extend(found.item);
            let origin = self.of_page(row, found.find);
            self.put(&value, origin, label, name);
            self.items.clear();
        }
    }

    fn links_of_page(&mut self, row: Option<&Text>, links: Vec<FoundLink>) {
        for (address, find, item) in links {
            let name = find.describe();
            self.items.extend(item);
            let origin = self.of_page(row, find);
            self.link(&address, origin, &name);
            self.items.clear();
        }
    }

    fn of_page(&self, row: Option<&Text>, find: PageFind) -> Origin {
        Origin::Page {
            exchange: self.number,
            row: row.cloned(),
            find,
        }
    }
}
