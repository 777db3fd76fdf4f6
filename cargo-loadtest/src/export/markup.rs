//! Text from outside, made harmless in HTML and SVG.

use super::page::split_prose;
use loadtest_console::console::clean_lines;
use maud::{Markup, Render, html};

/// A text from outside, in an element or an attribute: escaped, without control and bidirectional characters.
///
/// Templates wrap every text in this or in [`Prose`], their own words apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<T>(pub(crate) T);

/// A sentence, in which text between two backticks is code; otherwise like [`Text`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prose<T>(pub(crate) T);

impl<T: AsRef<str>> Render for Text<T> {
    fn render_to(&self, html: &mut String) {
        html.push_str(&escape(&clean_lines(self.0.as_ref())));
    }
}

impl<T: AsRef<str>> Render for Prose<T> {
    fn render(&self) -> Markup {
        html! {
            @for (is_code, part) in split_prose(self.0.as_ref()) {
                @if is_code {
                    code { (Text(part)) }
                } @else {
                    // A line does not end between a number and its unit.
                    (Text(part.replace(" %", "\u{a0}%").replace(" ms", "\u{a0}ms")))
                }
            }
        }
    }
}

/// Replaces every character that could end a text or an attribute.
pub(super) fn escape(words: &str) -> String {
    let mut html = String::with_capacity(words.len());
    for letter in words.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#x27;"),
            _ => html.push(letter),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_prose_is_marked_and_escaped() {
        let html = Prose("of `a<b`: `x").render().into_string();
        assert_eq!(html, "of <code>a&lt;b</code>: `x");
    }

    #[test]
    fn a_hostile_text_ends_neither_its_element_nor_its_attribute_and_holds_no_controls() {
        let hostile = "\"'><img src=x>`\u{1b}[2J\u{202e}`";
        let html = html! { p title=(Text(hostile)) { (Text(hostile)) (Prose(hostile)) } };
        let html = html.into_string();
        assert_eq!(html.matches('<').count(), 4, "p and code: {html}");
        assert_eq!(html.matches('"').count(), 2, "{html}");
        assert!(!html.contains(['\u{1b}', '\u{202e}']), "{html}");
    }
}
