//! The arguments of curl: options and their values.

use super::options::{self, CurlOption, OPTIONS, OptionEffect};
use crate::shell::ShellWord;
use crate::source::{Mistake, Note, Span};
use loadtest_console::suggestion::find_similar;

/// Options of `Invoke-WebRequest`, which PowerShell also calls `curl`.
const CMDLET_OPTIONS: [&str; 5] = ["Uri", "Headers", "Method", "Body", "ContentType"];

/// An option that matters.
#[derive(Debug, Clone)]
pub(super) struct CurlSetting {
    /// Its name; `url` for a word that is no option.
    pub(super) name: &'static str,
    pub(super) effect: OptionEffect,
    /// True where it is switched on.
    pub(super) on: bool,
    /// Its value; empty where it takes none.
    pub(super) value: Vec<u8>,
    /// The place of option and value; of a secret value without it.
    pub(super) span: Span,
}

impl CurlSetting {
    /// Returns the value as text.
    pub(super) fn text(&self) -> Result<&str, Mistake> {
        std::str::from_utf8(&self.value)
            .map_err(|_| Mistake::new(self.span.clone(), "this value is not text in UTF-8"))
    }
}

/// Reads the arguments, without the name of the program.
pub(super) fn read_settings(
    words: &[ShellWord],
    notes: &mut Vec<Note>,
) -> Result<Vec<CurlSetting>, Mistake> {
    let mut reader = ArgumentReader {
        words: words.iter(),
        settings: Vec::new(),
        notes,
    };
    let mut takes_options = true;
    while let Some(word) = reader.words.next() {
        match word.text.as_slice() {
            b"--" if takes_options => takes_options = false,
            [b'-', b'-', name @ ..] if takes_options => {
                let name = String::from_utf8_lossy(name);
                let found = options::find_name(&name).ok_or_else(|| unknown_option(word, &name));
                let (option, on) = found?;
                reader.take_option(word, option, on, None)?;
            }
            [b'-', letters @ ..] if takes_options && !letters.is_empty() => {
                reader.take_letters(word, letters)?;
            }
            _ => reader.settings.push(CurlSetting {
                name: "url",
                effect: OptionEffect::Honoured,
                on: true,
                value: word.text.clone(),
                span: word.span.clone(),
            }),
        }
    }
    Ok(reader.settings)
}

struct ArgumentReader<'a> {
    words: std::slice::Iter<'a, ShellWord>,
    settings: Vec<CurlSetting>,
    notes: &'a mut Vec<Note>,
}

impl ArgumentReader<'_> {
    /// Takes the letters of one word: `-sSL`, `-sXPOST`.
    fn take_letters(&mut self, word: &ShellWord, mut letters: &[u8]) -> Result<(), Mistake> {
        if CMDLET_OPTIONS
            .iter()
            .any(|option| option.as_bytes() == letters)
        {
            let words =
                "this is an option of `Invoke-WebRequest`, which PowerShell also calls `curl`";
            let help = "in the browser choose `Copy as cURL`; with `curl.exe` PowerShell calls curl itself";
            return Err(Mistake::new(word.span.clone(), words).help(help));
        }
        while let [letter, rest @ ..] = letters {
            let letter = char::from(*letter);
            let option = OPTIONS.iter().find(|option| option.letter == Some(letter));
            let option = option.ok_or_else(|| {
                let words = format!("curl has no option `-{}`", letter.escape_debug());
                Mistake::new(word.span.clone(), words)
            })?;
            let value = Some(rest).filter(|rest| option.takes_value && !rest.is_empty());
            self.take_option(word, option, true, value)?;
            letters = if option.takes_value { &[] } else { rest };
        }
        Ok(())
    }

    /// Takes an option; its value is in the same word or in the next one.
    fn take_option(
        &mut self,
        word: &ShellWord,
        option: &'static CurlOption,
        on: bool,
        value: Option<&[u8]>,
    ) -> Result<(), Mistake> {
        let mut span = word.span.clone();
        let value = match value {
            Some(value) => {
                if option.is_secret {
                    span.end = span.start + 2;
                }
                value.to_vec()
            }
            None if option.takes_value => {
                let next = self.words.next().ok_or_else(|| {
                    let words = format!("`--{}` needs a value, and nothing follows", option.name);
                    Mistake::new(span.clone(), words)
                })?;
                if !option.is_secret {
                    span.end = next.span.end;
                }
                next.text.clone()
            }
            None => Vec::new(),
        };
        match option.effect {
            OptionEffect::Refused(why) => {
                let words = format!("`--{}`: {why}", option.name);
                return Err(Mistake::new(word.span.clone(), words));
            }
            OptionEffect::Warned(why) if on => {
                let words = format!("`--{}`: {why}", option.name);
                self.notes.push(Note::new(span.clone(), words));
            }
            OptionEffect::Warned(_) | OptionEffect::Ignored => return Ok(()),
            OptionEffect::Header(_) | OptionEffect::Honoured => {}
        }
        self.settings.push(CurlSetting {
            name: option.name,
            effect: option.effect,
            on,
            value,
            span,
        });
        Ok(())
    }
}

fn unknown_option(word: &ShellWord, name: &str) -> Mistake {
    // What follows may be a password.
    let name = name.split('=').next().unwrap_or_default();
    let span = word.span.start..word.span.end.min(word.span.start + 2 + name.len());
    let meant = find_similar(name, OPTIONS.iter().map(|option| option.name));
    let meant = meant.map(|meant| format!("did you mean `--{meant} ..`? "));
    let help = meant.unwrap_or_default() + "options of `cargo loadtest` go before `--`";
    Mistake::new(span, format!("curl has no option `--{name}`")).help(help)
}
