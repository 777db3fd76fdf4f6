//! The arguments of curl: which options they are, what their values are, and where a new request begins.

use super::super::shell::Word;
use super::super::source::{Mistake, Note, Span};
use super::options::{self, CurlOption, Effect};

/// Options of ours, which people also write behind the command.
const LOADS: [&str; 11] = [
    "users",
    "iterations",
    "ramp-up",
    "duration",
    "export",
    "min-grade",
    "baseline",
    "ci",
    "allow-files",
    "seed",
    "base-url",
];

/// What a command asks for, up to the next `--next`.
#[derive(Debug, Default)]
pub(super) struct Operation {
    /// The options that matter, in their order.
    pub(super) settings: Vec<Setting>,
}

/// An option.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// Its name; `url` for what is no option.
    pub(super) name: &'static str,
    /// Whether it is switched on.
    pub(super) on: bool,
    /// Its value; empty where it takes none.
    pub(super) value: Vec<u8>,
    /// Where option and value stand.
    pub(super) span: Span,
}

/// Reads the arguments, without the name of the program.
pub(super) fn operations(words: &[Word], notes: &mut Vec<Note>) -> Result<Vec<Operation>, Mistake> {
    let mut reader = Reader {
        words,
        at: 0,
        done: Vec::new(),
        current: Operation::default(),
        notes,
    };
    let mut takes_options = true;
    while let Some(word) = words.get(reader.at) {
        reader.at += 1;
        match word.text.as_slice() {
            b"--" if takes_options => takes_options = false,
            [b'-', b'-', name @ ..] if takes_options => reader.long(word, name)?,
            [b'-', letters @ ..] if takes_options && !letters.is_empty() => {
                reader.cluster(word, letters)?;
            }
            _ => reader.set("url", true, word.text.clone(), word.span.clone()),
        }
    }
    let Reader {
        mut done, current, ..
    } = reader;
    done.push(current);
    Ok(done)
}

struct Reader<'a> {
    words: &'a [Word],
    at: usize,
    done: Vec<Operation>,
    current: Operation,
    notes: &'a mut Vec<Note>,
}

impl Reader<'_> {
    fn long(&mut self, word: &Word, name: &[u8]) -> Result<(), Mistake> {
        let name = String::from_utf8_lossy(name).into_owned();
        if let Some(expanded) = name.strip_prefix("expand-") {
            return Err(
                Mistake::new(word.span.clone(), "variables of curl are not supported")
                    .help(format!("write `--{expanded}` with the value itself")),
            );
        }
        let Some((known, on)) = options::find_name(&name) else {
            return Err(unknown(word, &name));
        };
        let value = if known.takes_value {
            Some(self.next(word, known)?)
        } else {
            None
        };
        self.take(word, known, on, value)
    }

    /// Letters in one word: `-sSL`, `-sXPOST`.
    fn cluster(&mut self, word: &Word, letters: &[u8]) -> Result<(), Mistake> {
        let is_cmdlet = [
            &b"Uri"[..],
            b"Headers",
            b"Method",
            b"Body",
            b"ContentType",
            b"UseBasicParsing",
        ];
        if is_cmdlet
            .iter()
            .any(|name| name.eq_ignore_ascii_case(letters))
        {
            let words =
                "this is an option of `Invoke-WebRequest`, which PowerShell also calls `curl`";
            let help = "in the browser choose `Copy as cURL`; with `curl.exe` PowerShell calls curl itself";
            return Err(Mistake::new(word.span.clone(), words).help(help));
        }
        for (i, letter) in letters.iter().enumerate() {
            let letter = char::from(*letter);
            let Some(known) = options::find_letter(letter) else {
                let words = format!("curl has no option `-{}`", letter.escape_debug());
                return Err(Mistake::new(word.span.clone(), words));
            };
            if !known.takes_value {
                self.take(word, known, true, None)?;
                continue;
            }
            let rest = &letters[i + 1..];
            let value = if rest.is_empty() {
                self.next(word, known)?
            } else {
                word.clone_with(rest)
            };
            return self.take(word, known, true, Some(value));
        }
        Ok(())
    }

    fn next(&mut self, word: &Word, known: &CurlOption) -> Result<Word, Mistake> {
        let value = self.words.get(self.at).cloned();
        self.at += 1;
        value.ok_or_else(|| {
            Mistake::new(
                word.span.clone(),
                format!("`--{}` needs a value, and nothing follows", known.name),
            )
        })
    }

    fn take(
        &mut self,
        word: &Word,
        known: &'static CurlOption,
        on: bool,
        value: Option<Word>,
    ) -> Result<(), Mistake> {
        let end = value.as_ref().map_or(word.span.end, |value| value.span.end);
        let span = word.span.start..end.max(word.span.end);
        match known.effect {
            Effect::Refused(why) => {
                return Err(
                    Mistake::new(word.span.clone(), format!("`--{}`: {why}", known.name))
                        .help("write the options themselves into the command"),
                );
            }
            Effect::Warned(why) if on => {
                let words = format!("`--{}`: {why}", known.name);
                self.notes.push(Note::new(span.clone(), words));
                // Some of them keep others from being honoured.
                self.set(known.name, on, Vec::new(), span);
            }
            Effect::Warned(_) | Effect::Ignored => {}
            Effect::Honoured if known.name == "next" => {
                self.done.push(std::mem::take(&mut self.current));
            }
            Effect::Honoured => {
                let value = value.map(|value| value.text).unwrap_or_default();
                self.set(known.name, on, value, span);
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &'static str, on: bool, value: Vec<u8>, span: Span) {
        self.current.settings.push(Setting {
            name,
            on,
            value,
            span,
        });
    }
}

impl Word {
    /// The same place, with another text.
    fn clone_with(&self, text: &[u8]) -> Self {
        Self {
            text: text.to_vec(),
            span: self.span.clone(),
        }
    }
}

fn unknown(word: &Word, name: &str) -> Mistake {
    let (plain, value) = name.split_once('=').unwrap_or((name, ""));
    // What follows may be a password.
    let shown: String = plain.chars().take(40).collect();
    let shown = crate::console::clean(&shown);
    let mistake = Mistake::new(word.span.clone(), format!("curl has no option `--{shown}`"));
    match options::find_name(plain) {
        Some((known, _)) if !value.is_empty() => mistake.help(format!(
            "curl takes no `=` after an option: write `--{} ..`",
            known.name
        )),
        _ if LOADS.contains(&plain) => {
            mistake.help("options of `cargo loadtest` stand before `--`")
        }
        _ => match options::suggest_name(name) {
            Some(meant) => mistake.help(format!("did you mean `--{meant}`?")),
            None => mistake,
        },
    }
}
