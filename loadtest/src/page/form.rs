//! A form of a page, filled in and sent.

use super::{Button, Field, FormHead, Page, PagePart, find_field, join_words, missing};
use crate::multipart::Form;
use crate::{Error, Request};
use http::Method;

/// A form of a page, and the button that sends it.
#[derive(Debug, Clone)]
pub struct PageForm<'p> {
    action: &'p str,
    method: &'p str,
    is_multipart: bool,
    fields: Vec<&'p Field>,
    /// What is sent, in the order of the page.
    sent: Vec<(String, String)>,
}

impl<'p> PageForm<'p> {
    pub(super) fn find(page: &'p Page, wanted: &str) -> Result<Self, Error> {
        let text = join_words(wanted);
        let forms = || {
            page.parts().iter().filter_map(|part| match part {
                PagePart::Form(form) => Some(form),
                _ => None,
            })
        };
        let fields = |form: &FormHead| {
            let parts = page.document.parts[form.parts.clone()].iter();
            parts.filter_map(|part| match part {
                PagePart::Field(field) => Some(field),
                _ => None,
            })
        };
        let button_of = |field: &&'p Field| -> bool {
            let is_same = |button: &Button| button.text.eq_ignore_ascii_case(&text);
            field.button.as_ref().is_some_and(is_same)
        };
        for form in forms() {
            let pressed = fields(form).find(button_of);
            if pressed.is_some() || form.names.contains(&text) {
                // By its name a form is sent as Enter sends it, by its first button.
                let first = || fields(form).find(|field| field.button.is_some());
                return Ok(Self::new(
                    form,
                    fields(form).collect(),
                    pressed.or_else(first),
                ));
            }
        }
        let buttons = forms()
            .flat_map(fields)
            .filter_map(|field| field.button.as_ref());
        let names = forms().flat_map(|form| form.names.iter().map(String::as_str));
        let there = buttons.map(|button| button.text.as_str()).chain(names);
        Err(missing("form", wanted, there))
    }

    fn new(form: &'p FormHead, fields: Vec<&'p Field>, pressed: Option<&'p Field>) -> Self {
        let button = pressed.and_then(|field| field.button.as_ref());
        let is_pressed =
            |field: &Field| pressed.is_some_and(|pressed| std::ptr::eq(pressed, field));
        let sent = fields
            .iter()
            .filter(|field| !field.name.is_empty() && (field.is_sent || is_pressed(field)))
            .map(|field| (field.name.clone(), field.value.clone()))
            .collect();
        let own_action = button.and_then(|button| button.action.as_deref());
        let own_method = button.and_then(|button| button.method.as_deref());
        Self {
            action: own_action.unwrap_or(&form.action),
            method: own_method.unwrap_or(&form.method),
            is_multipart: form.is_multipart,
            fields,
            sent,
        }
    }

    /// The address that it is sent to, as the page has it; empty for that of the page itself.
    pub fn action(&self) -> &'p str {
        self.action
    }

    /// The value of a field, as the page has it.
    ///
    /// # Errors
    /// When there is none.
    pub fn field(&self, name: &str) -> Result<&'p str, Error> {
        find_field(self.fields.iter().copied(), name)
    }

    /// Fills in a field; one that the page does not send is added.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        let value = value.into();
        match self.sent.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.sent.push((name.to_owned(), value)),
        }
        self
    }

    /// The request that a browser would send: with all fields of the form, and the button that was named.
    ///
    /// A form without an action is sent to the address of its page; use [`Self::submit_to`] there.
    pub fn submit<T>(self) -> Request<T> {
        let action = self.action;
        self.submit_to(action)
    }

    /// The same to another address.
    pub fn submit_to<T>(self, url: &str) -> Request<T> {
        let Self {
            method,
            is_multipart,
            sent,
            ..
        } = self;
        let sent = sent
            .into_iter()
            .map(|(name, value)| (name, end_lines(&value)));
        let sent: Vec<_> = sent.collect();
        if !method.eq_ignore_ascii_case("post") {
            let path = url.split(['?', '#']).next().unwrap_or_default();
            return Request::get(path).query(&sent);
        }
        let request = Request::new(Method::POST, url);
        if is_multipart {
            let add = |form: Form, (name, value)| form.text(name, value);
            return request.multipart(sent.into_iter().fold(Form::new(), add));
        }
        request.form(&sent)
    }
}

/// Ends lines as forms are sent.
///
/// Source: HTML, 4.10.21.8, "Converting an entry list to a list of name-value pairs".
fn end_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace(['\r', '\n'], "\r\n")
}
