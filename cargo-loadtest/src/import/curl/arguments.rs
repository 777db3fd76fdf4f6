//! The arguments of curl: options, their values, and `--next`.

use super::super::shell::ShellWord;
use super::super::source::{Mistake, Note, Span};
use super::options::{self, CurlOption, OptionEffect};

/// Options of `cargo loadtest`, which people also write behind the command.
const LOAD_OPTIONS: &str =
    "users iterations ramp-up duration export min-grade baseline ci allow-files seed base-url";
/// Options of `Invoke-WebRequest`, which PowerShell also calls `curl`.
const CMDLET_OPTIONS: &str = "uri headers method body contenttype usebasicparsing";

/// The options of a command, up to the next `--next`.
#[derive(Debug, Default)]
pub(super) struct CurlOperation {
    /// The options that matter, in their order.
    pub(super) settings: Vec<CurlSetting>,
}

/// An option.
#[derive(Debug, Clone)]
pub(super) struct CurlSetting {
    /// Its name; `url` for a word that is no option.
    pub(super) name: &'static str,
    /// True where it is switched on.
    pub(super) on: bool,
    /// Its value; empty where it takes none.
    pub(super) value: Vec<u8>,
    /// The place of option and value.
    pub(super) span: Span,
}

/// Reads the arguments, without the name of the program.
pub(super) fn read_operations(
    words: &[ShellWord],
    notes: &mut Vec<Note>,
) -> Result<Vec<CurlOperation>, Mistake> {
    let mut reader = ArgumentReader {
        words,
        at: 0,
        done: Vec::new(),
        current: CurlOperation::default(),
        notes,
    };
    let mut takes_options = true;
    while let Some(word) = words.get(reader.at) {
        reader.at += 1;
        match word.text.as_slice() {
            b"--" if takes_options => takes_options = false,
            [b'-', b'-', name @ ..] if takes_options => reader.read_long(word, name)?,
            [b'-', letters @ ..] if takes_options && !letters.is_empty() => {
                reader.read_letters(word, letters)?;
            }
            _ => reader.add_setting("url", true, word.text.clone(), word.span.clone()),
        }
    }
    let ArgumentReader {
        mut done, current, ..
    } = reader;
    done.push(current);
    Ok(done)
}

struct ArgumentReader<'a> {
    words: &'a [ShellWord],
    at: usize,
    done: Vec<CurlOperation>,
    current: CurlOperation,
    notes: &'a mut Vec<Note>,
}

impl ArgumentReader<'_> {
    fn read_long(&mut self, word: &ShellWord, name: &[u8]) -> Result<(), Mistake> {
        let name = String::from_utf8_lossy(name).into_owned();
        if let Some(expanded) = name.strip_prefix("expand-") {
            let mistake = Mistake::new(word.span.clone(), "variables of curl are not supported");
            return Err(mistake.help(format!("write `--{expanded}` with the value itself")));
        }
        let Some((known, on)) = options::find_name(&name) else {
            return Err(unknown_option(word, &name));
        };
        let value = known.takes_value.then(|| self.next_value(word, known));
        self.take(word, known, on, value.transpose()?)
    }

    /// Letters in one word: `-sSL`, `-sXPOST`.
    fn read_letters(&mut self, word: &ShellWord, letters: &[u8]) -> Result<(), Mistake> {
        let text = String::from_utf8_lossy(letters).to_ascii_lowercase();
        if CMDLET_OPTIONS.split(' ').any(|option| option == text) {
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
                self.next_value(word, known)?
            } else {
                let (text, span) = (rest.to_vec(), word.span.clone());
                ShellWord { text, span }
            };
            return self.take(word, known, true, Some(value));
        }
        Ok(())
    }

    fn next_value(&mut self, word: &ShellWord, known: &CurlOption) -> Result<ShellWord, Mistake> {
        let value = self.words.get(self.at).cloned();
        self.at += 1;
        value.ok_or_else(|| {
            let words = format!("`--{}` needs a value, and nothing follows", known.name);
            Mistake::new(word.span.clone(), words)
        })
    }

    fn take(
        &mut self,
        word: &ShellWord,
        known: &'static CurlOption,
        on: bool,
        value: Option<ShellWord>,
    ) -> Result<(), Mistake> {
        let end = value.as_ref().map_or(word.span.end, |value| value.span.end);
        let span = word.span.start..end.max(word.span.end);
        match known.effect {
            OptionEffect::Refused(why) => {
                let words = format!("`--{}`: {why}", known.name);
                let mistake = Mistake::new(word.span.clone(), words);
                return Err(mistake.help("write the options themselves into the command"));
            }
            OptionEffect::Warned(why) if on => {
                let words = format!("`--{}`: {why}", known.name);
                self.notes.push(Note::new(span.clone(), words));
                // Some of them keep others from being honoured.
                self.add_setting(known.name, on, Vec::new(), span);
            }
            OptionEffect::Warned(_) | OptionEffect::Ignored => {}
            OptionEffect::Honoured if known.name == "next" => {
                self.done.push(std::mem::take(&mut self.current));
            }
            OptionEffect::Honoured => {
                let value = value.map(|value| value.text).unwrap_or_default();
                self.add_setting(known.name, on, value, span);
            }
        }
        Ok(())
    }

    fn add_setting(&mut self, name: &'static str, on: bool, value: Vec<u8>, span: Span) {
        self.current.settings.push(CurlSetting {
            name,
            on,
            value,
            span,
        });
    }
}

fn unknown_option(word: &ShellWord, name: &str) -> Mistake {
    let (plain, value) = name.split_once('=').unwrap_or((name, ""));
    // What follows may be a password.
    let shown: String = plain.chars().take(40).collect();
    let shown = crate::console::clean(&shown);
    let mistake = Mistake::new(word.span.clone(), format!("curl has no option `--{shown}`"));
    match options::find_name(plain) {
        Some((known, _)) if !value.is_empty() => {
            let name = known.name;
            mistake.help(format!(
                "curl takes no `=` after an option: write `--{name} ..`"
            ))
        }
        _ if LOAD_OPTIONS.split(' ').any(|option| option == plain) => {
            mistake.help("options of `cargo loadtest` stand before `--`")
        }
        _ => match options::suggest_name(name) {
            Some(meant) => mistake.help(format!("did you mean `--{meant}`?")),
            None => mistake,
        },
    }
}
