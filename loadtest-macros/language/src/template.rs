//! Templates: text with placeholders, `/orders/{{login.response.items[0].id}}`.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::LitStr;

/// Text and placeholders in turn.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    pub(crate) span: Span,
    pub(crate) parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone)]
pub(crate) enum TemplatePart {
    Text(String),
    Value(PlaceholderPath),
}

/// The text between `{{` and `}}`.
#[derive(Debug, Clone)]
pub(crate) struct PlaceholderPath {
    /// The source text, trimmed.
    pub(crate) source: String,
    /// The step.
    pub(crate) root: String,
    pub(crate) segments: Vec<(PathSegment, Span)>,
    pub(crate) span: Span,
    /// True inside a string literal, where tokens have no spans of their own.
    pub(crate) in_literal: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathSegment {
    /// `.field`
    Field(String),
    /// `['key']`
    Key(String),
    /// `[0]`
    Index(usize),
}

impl Template {
    pub(crate) fn parse(literal: &LitStr) -> syn::Result<Self> {
        let span = literal.span();
        Ok(Self {
            span,
            parts: parse_parts(&literal.value(), span)?,
        })
    }
}

fn parse_parts(text: &str, span: Span) -> syn::Result<Vec<TemplatePart>> {
    let error = |message: String| Err(syn::Error::new(span, message));
    let mut parts = Vec::new();
    let mut rest = text;
    let mut written = String::new();
    loop {
        let (plain, after) = match rest.split_once("{{") {
            Some((plain, after)) => (plain, Some(after)),
            None => (rest, None),
        };
        if let Some(close) = plain.find("}}") {
            let before = &plain[..close + 2];
            return error(format!(
                "`}}}}` without `{{{{` before it in `{before}`; as text it is `{{{{'}}}}'}}}}`"
            ));
        }
        written.push_str(plain);
        if let Some((quoted, next)) = after.and_then(split_quoted) {
            written.push_str(quoted);
            rest = next;
            continue;
        }
        if !written.is_empty() {
            parts.push(TemplatePart::Text(std::mem::take(&mut written)));
        }
        let Some(after) = after else {
            return Ok(parts);
        };
        let never_closed = |source: &str| {
            error(format!(
                "`{{{{{source}` is never closed: `}}}}` is missing; as text, `{{{{` is `{{{{'{{{{'}}}}`"
            ))
        };
        let Some((source, next)) = after.split_once("}}") else {
            return never_closed(after);
        };
        if let Some((source, _)) = source.split_once("{{") {
            return never_closed(source);
        }
        parts.push(TemplatePart::Value(PlaceholderPath::parse(source, span)?));
        rest = next;
    }
}

/// The text of `'..'}}` at the start, which stands for itself, and what follows it.
fn split_quoted(after: &str) -> Option<(&str, &str)> {
    let after = after.trim_start_matches(' ');
    let quote = after.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (text, rest) = after[1..].split_once(quote)?;
    let rest = rest.trim_start_matches(' ').strip_prefix("}}")?;
    Some((text, rest))
}

impl PlaceholderPath {
    fn parse(source: &str, span: Span) -> syn::Result<Self> {
        let error = |message: String| Err(syn::Error::new(span, message));
        let text = source.trim();
        if text.is_empty() {
            return error(
                "an empty `{{}}`: write `{{step.response.field}}` or `{{step.headers.name}}`"
                    .to_owned(),
            );
        }
        let (root, mut rest) = text.split_at(word_end(text));
        if root.is_empty() {
            return error(format!(
                "`{{{{{source}}}}}` must start with the name of a step"
            ));
        }
        let mut segments = Vec::new();
        while let Some(c) = rest.chars().next() {
            let segment = match c {
                '.' => {
                    let (name, after) = rest[1..].split_at(word_end(&rest[1..]));
                    if name.is_empty() {
                        return error(format!(
                            "`{{{{{source}}}}}`: a field name must follow the `.`"
                        ));
                    }
                    rest = after;
                    PathSegment::Field(name.to_owned())
                }
                '[' => {
                    let Some((inside, after)) = rest[1..].split_once(']') else {
                        return error(format!("`{{{{{source}}}}}`: the `[` is never closed"));
                    };
                    rest = after;
                    let Some(segment) = parse_bracketed_segment(inside.trim()) else {
                        return error(format!(
                            "`{{{{{source}}}}}`: `[{inside}]` is neither an index like `[0]` nor a \
                             key like `['id']`"
                        ));
                    };
                    segment
                }
                _ => {
                    return error(format!(
                        "`{{{{{source}}}}}`: unexpected `{c}`; a path consists of `.field` and `[0]`"
                    ));
                }
            };
            segments.push((segment, span));
        }
        Ok(Self {
            source: text.to_owned(),
            root: root.to_owned(),
            segments,
            span,
            in_literal: true,
        })
    }

    /// The unquoted form `{{login.response.id}}`: every field keeps the span of its token.
    pub(crate) fn from_tokens(tokens: TokenStream, span: Span) -> syn::Result<Self> {
        let mut source = String::new();
        let mut spans = Vec::new();
        let mut after_dash = false;
        for token in tokens {
            match &token {
                TokenTree::Punct(punct) => after_dash = punct.as_char() == '-',
                // `x-session` is three tokens and one name
                _ if after_dash => after_dash = false,
                _ => spans.push(token.span()),
            }
            let text = token.to_string();
            source.push_str(text.strip_prefix("r#").unwrap_or(&text));
        }
        let mut path = Self::parse(&source, span)?;
        let mut spans = spans.into_iter();
        path.span = spans.next().unwrap_or(span);
        path.in_literal = false;
        for ((_, place), span) in path.segments.iter_mut().zip(spans) {
            *place = span;
        }
        Ok(path)
    }
}

fn parse_bracketed_segment(inside: &str) -> Option<PathSegment> {
    let key = ['"', '\''].iter().find_map(|&quote| {
        inside
            .strip_prefix(quote)?
            .strip_suffix(quote)
            .map(str::to_owned)
    });
    match key {
        Some(key) => Some(PathSegment::Key(key)),
        None if inside.bytes().all(|byte| byte.is_ascii_digit()) => {
            inside.parse().ok().map(PathSegment::Index)
        }
        None => None,
    }
}

fn word_end(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || "_-$".contains(c)))
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Vec<String>, String> {
        parse_parts(text, Span::call_site())
            .map(|parts| {
                parts
                    .into_iter()
                    .map(|part| match part {
                        TemplatePart::Text(text) => format!("text {text}"),
                        TemplatePart::Value(path) => format!("{} {:?}", path.root, kinds(&path)),
                    })
                    .collect()
            })
            .map_err(|error| error.to_string())
    }

    fn kinds(path: &PlaceholderPath) -> Vec<PathSegment> {
        path.segments.iter().map(|(s, _)| s.clone()).collect()
    }

    #[test]
    fn text_and_placeholders_come_out_in_order() {
        assert_eq!(
            parse("/a/{{ step1.response.items[0]['x y'].id }}?b").unwrap(),
            [
                "text /a/",
                r#"step1 [Field("response"), Field("items"), Index(0), Key("x y"), Field("id")]"#,
                "text ?b"
            ]
        );
        assert_eq!(parse("").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn single_braces_are_text() {
        assert_eq!(parse("{a} }").unwrap(), ["text {a} }"]);
    }

    #[test]
    fn text_in_quotes_is_itself() {
        assert_eq!(
            parse("a {{'{{name}}'}} b{{ \"}}\" }}").unwrap(),
            ["text a {{name}} b}}"]
        );
        assert_eq!(
            parse("{{'{{'}}{{login.token}}").unwrap(),
            ["text {{", r#"login [Field("token")]"#]
        );
        parse("{{'{{}}").unwrap_err();
    }

    #[test]
    fn mistakes_are_named() {
        for (text, message) in [
            (
                "{{a",
                "`{{a` is never closed: `}}` is missing; as text, `{{` is `{{'{{'}}`",
            ),
            (
                "{{a {{b}}",
                "`{{a ` is never closed: `}}` is missing; as text, `{{` is `{{'{{'}}`",
            ),
            (
                "/a}}",
                "`}}` without `{{` before it in `/a}}`; as text it is `{{'}}'}}`",
            ),
            ("{{.a}}", "`{{.a}}` must start with the name of a step"),
            ("{{a[0}}", "`{{a[0}}`: the `[` is never closed"),
            (
                "{{a[+1]}}",
                "`{{a[+1]}}`: `[+1]` is neither an index like `[0]` nor a key like `['id']`",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), message);
        }
    }

    #[test]
    fn unquoted_tokens_give_the_same_path() {
        let tokens = "login.headers.x-session".parse().unwrap();
        let path = PlaceholderPath::from_tokens(tokens, Span::call_site()).unwrap();
        assert_eq!(path.source, "login.headers.x-session");
        assert_eq!(path.segments.len(), 2);
    }

    fn segment() -> impl Strategy<Value = PathSegment> {
        prop_oneof![
            "[a-z_][a-z0-9_-]{0,6}".prop_map(PathSegment::Field),
            "[a-z .{]{0,6}".prop_map(PathSegment::Key),
            (0..1000_usize).prop_map(PathSegment::Index),
        ]
    }

    fn print(root: &str, segments: &[PathSegment]) -> String {
        let segments = segments.iter().map(|segment| match segment {
            PathSegment::Field(name) => format!(".{name}"),
            PathSegment::Key(key) => format!("['{key}']"),
            PathSegment::Index(index) => format!("[{index}]"),
        });
        format!("{{{{{root}{}}}}}", segments.collect::<String>())
    }

    /// Pieces of templates in any order, with any other text between them.
    fn strange_pieces() -> impl Strategy<Value = Vec<String>> {
        let known = proptest::sample::select(vec![
            "{{login.response.items[0].id}}",
            "{{ secret.NAME }}",
            "{{row['a key'].x}}",
            "{{",
            "}}",
            "{",
            "}",
            ".response",
            "['\u{e9}']",
            "[12]",
            "[",
            "/orders?q=",
            " ",
        ]);
        let piece = prop_oneof![4 => known.prop_map(str::to_owned), 1 => any::<String>()];
        proptest::collection::vec(piece, 0..12)
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_to_itself(
            root in "[a-z][a-z0-9_]{0,6}",
            segments in proptest::collection::vec(segment(), 0..5),
            before in "[a-z/?=]{0,5}",
        ) {
            let text = before.clone() + &print(&root, &segments);
            prop_assume!(!text[2 + before.len()..].contains("{{"));
            let parts = parse_parts(&text, Span::call_site()).unwrap();
            let Some(TemplatePart::Value(path)) = parts.last() else { panic!("{parts:?}") };
            prop_assert_eq!(&path.root, &root);
            prop_assert_eq!(kinds(path), segments);
            prop_assert_eq!(parts.len(), 1 + usize::from(!before.is_empty()));
        }

        #[test]
        fn text_without_placeholders_is_itself(text in any::<String>()) {
            prop_assume!(!text.contains("{{") && !text.contains("}}"));
            let parts = parse_parts(&text, Span::call_site()).unwrap();
            let back: String = parts
                .iter()
                .map(|part| match part {
                    TemplatePart::Text(text) => text.as_str(),
                    TemplatePart::Value(_) => panic!("a placeholder in {text:?}"),
                })
                .collect();
            prop_assert_eq!(back, text);
        }

        #[test]
        fn no_template_is_too_strange_and_its_text_is_kept(pieces in strange_pieces()) {
            let text = pieces.concat();
            let is_quoted = |quote| text.replace(' ', "").contains(&format!("{{{{{quote}"));
            prop_assume!(!is_quoted('\'') && !is_quoted('"'));
            let parts = parse_parts(&text, Span::call_site()).unwrap_or_default();
            let mut rest = text.as_str();
            for part in &parts {
                let shown = match part {
                    TemplatePart::Text(text) => text,
                    TemplatePart::Value(path) => &path.source,
                };
                let at = rest.find(shown.as_str());
                rest = &rest[at.expect("its parts are in the text, in order") + shown.len()..];
            }
        }

        #[test]
        fn braces_and_brackets_do_not_make_it_panic(text in "[{}\\[\\]'\".a0 é-]{0,24}") {
            let _ = parse_parts(&text, Span::call_site());
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = parse_parts(&text, Span::call_site());
        }
    }
}
