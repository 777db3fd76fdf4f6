//! The parts of `-F`.

use super::files::DataSource;
use crate::recording::Part;
use crate::shell::ShellVariables;
use crate::source::{Mistake, Span};

/// Types that curl takes files for, by the ends of their names.
const FILE_TYPES: [(&str, &str); 10] = [
    (".gif", "image/gif"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".png", "image/png"),
    (".svg", "image/svg+xml"),
    (".txt", "text/plain"),
    (".htm", "text/html"),
    (".html", "text/html"),
    (".pdf", "application/pdf"),
    (".xml", "application/xml"),
];

/// Reads the part of `-F name=value`, or of `--form-string`, where the value is literal.
pub(super) fn read_part(
    text: &str,
    is_literal: bool,
    reads: &DataSource<'_>,
    variables: &ShellVariables<'_>,
    span: &Span,
) -> Result<Part, Mistake> {
    let refuse = |words: String| Mistake::new(span.clone(), words);
    let (name, value) = text.split_once('=').ok_or_else(|| {
        refuse("a field of a form is `name=value`, and this has no `=`".to_owned())
    })?;
    let mut part = Part {
        name: variables.split_values(name.as_bytes()),
        ..Part::default()
    };
    if is_literal {
        part.content = variables.split_values(value.as_bytes());
        return Ok(part);
    }
    if value.starts_with('(') || name.is_empty() {
        return Err(refuse("forms within forms are not supported".to_owned()));
    }
    let plain = value.strip_prefix(['@', '<']);
    let fields = split_fields(plain.unwrap_or(value)).ok_or_else(|| {
        let words = "the double quote in this field is never closed";
        refuse(words.to_owned())
    })?;
    let mut fields = fields.into_iter();
    let path = fields.next().unwrap_or_default();
    let mut file_name = None;
    for field in fields {
        match field.split_once('=') {
            Some(("type", value)) if !value.contains(['\r', '\n']) => {
                part.content_type = Some(value.to_owned());
            }
            Some(("filename", value)) => file_name = Some(value.to_owned()),
            _ => {
                let words = "of a field, only `;type=` and `;filename=` are imported";
                let help = "put a value with a `;` within double quotes: `-F 'name=\"a;b\"'`";
                return Err(refuse(words.to_owned()).help(help));
            }
        }
    }
    if value.starts_with('@') {
        let own = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let lower = path.to_ascii_lowercase();
        let known = FILE_TYPES.iter().find(|(end, _)| lower.ends_with(end));
        let guessed = known.map_or("application/octet-stream", |(_, guessed)| guessed);
        part.content_type.get_or_insert_with(|| guessed.to_owned());
        file_name.get_or_insert_with(|| own.to_owned());
    }
    part.file_name = file_name.map(|name| variables.split_values(name.as_bytes()));
    let content = if plain.is_some() {
        reads.read(&path, span)?
    } else {
        path.into_bytes()
    };
    part.content = variables.split_values(&content);
    Ok(part)
}

/// Splits at semicolons, and removes double quotes around values; none where one is not closed.
fn split_fields(text: &str) -> Option<Vec<String>> {
    let (mut fields, mut field) = (Vec::new(), String::new());
    let mut is_quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let begins = field.is_empty() || !fields.is_empty() && field.ends_with('=');
        match letter {
            '"' if is_quoted || begins => is_quoted = !is_quoted,
            '\\' if is_quoted && matches!(letters.peek(), Some('\\' | '"')) => {
                field.extend(letters.next());
            }
            ';' if !is_quoted => fields.push(std::mem::take(&mut field)),
            ' ' if field.is_empty() && !is_quoted => {}
            letter => field.push(letter),
        }
    }
    fields.push(field);
    (!is_quoted).then_some(fields)
}
