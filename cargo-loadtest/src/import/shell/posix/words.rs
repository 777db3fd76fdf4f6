//! Words: quotes, escapes, variables.

use super::printed::constant;
use super::{Reader, runs, unclosed};
use crate::import::shell::{
    Output, Stdin, Variables, Word, begins_name, extent, is_in_name, output,
};
use crate::import::source::{Mistake, Span};

/// How deep programs within programs are looked into.
const DEEPEST: usize = 4;
/// The longest `${..}`, in bytes.
const LONGEST: usize = 256;

impl Reader<'_, '_> {
    /// A word; what of it is not known becomes a part of [`Reader::unknown`].
    pub(super) fn word(&mut self) -> Result<Word, Mistake> {
        let start = self.at;
        let mut text = Vec::new();
        self.variables.begin();
        self.look_for_typography();
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' => break,
                b'\r' if self.peek(1).is_none_or(|next| next == b'\n') => break,
                b'(' if self.at == start => break,
                // Of the definition of a function.
                b'(' if self.peek(1) == Some(b')') => {
                    text.extend_from_slice(b"()");
                    self.at += 2;
                }
                b'(' => self.parenthesis(&mut text),
                b'{' => {
                    self.look_for_range();
                    text.push(byte);
                    self.at += 1;
                }
                b')' if self.at == start || self.groups > 0 => break,
                0xc2 if self.peek(1) == Some(0xa0) => break,
                b'\\' => {
                    let end = self.line_end(1);
                    if end > 0 {
                        self.at += 1 + end;
                    } else {
                        text.extend(self.peek(1));
                        self.at += 2;
                    }
                }
                b'\'' => self.single(&mut text)?,
                b'"' => self.double(&mut text)?,
                b'$' => match self.peek(1) {
                    Some(b'\'') => self.ansi(&mut text)?,
                    Some(b'"') => {
                        self.at += 1;
                        self.double(&mut text)?;
                    }
                    _ => {
                        let from = (text.len(), self.at);
                        self.variable(&mut text)?;
                        if text[from.0..].iter().any(u8::is_ascii_whitespace) {
                            let words = "the value has blanks, at which a shell would split it";
                            let mistake = Mistake::new(from.1..self.at, words);
                            self.unknown
                                .push(mistake.help("put it within double quotes"));
                        }
                    }
                },
                b'`' => self.backticks(&mut text)?,
                byte => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at = self.at.min(self.text.len());
        if self.at == start {
            // Whatever it is, it is passed.
            self.at += 1;
        }
        Ok(Word {
            text,
            span: start..self.at,
        })
    }

    fn single(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let open = self.at;
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            if byte == b'\'' {
                return Ok(());
            }
            text.push(byte);
        }
        Err(unclosed(open..open + 1))
    }

    fn double(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let open = self.at;
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => match self.peek(1) {
                    Some(next @ (b'$' | b'`' | b'"' | b'\\')) => {
                        text.push(next);
                        self.at += 2;
                    }
                    _ if self.line_end(1) > 0 => self.at += 1 + self.line_end(1),
                    _ => {
                        text.push(b'\\');
                        self.at += 1;
                    }
                },
                b'$' => self.variable(text)?,
                b'`' => self.backticks(text)?,
                byte => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        Err(unclosed(open..open + 1))
    }

    /// What `$` begins.
    pub(super) fn variable(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let start = self.at;
        match self.peek(1) {
            Some(b'(') => {
                if let Some((value, length)) = constant(&self.text[start..]) {
                    text.extend(value);
                    self.at += length;
                    return Ok(());
                }
                let mistake = runs(start..start + 2);
                let Some(end) = self.closing(start + 1) else {
                    return Err(mistake);
                };
                let unknown = self.unknown.len();
                match self.look_into(start + 2..end - 1)? {
                    Some(marker) => text.extend_from_slice(marker.as_bytes()),
                    None => self.unknown.insert(unknown, mistake),
                }
                self.at = end;
                Ok(())
            }
            Some(b'{') => self.braced(text),
            Some(byte) if begins_name(byte) => {
                let name: Vec<u8> = self.text[start + 1..]
                    .iter()
                    .copied()
                    .take_while(|byte| is_in_name(*byte))
                    .collect();
                let span = start..start + 1 + name.len();
                self.at = span.end;
                self.put(&name, &span, text)
            }
            Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'$' | b'!') => {
                let words = "only a shell that runs knows this value";
                let mistake = Mistake::new(start..start + 2, words);
                let help = "write the value itself, or `\\$` for the character";
                self.unknown.push(mistake.help(help));
                self.at += 2;
                Ok(())
            }
            _ => {
                text.push(b'$');
                self.at += 1;
                Ok(())
            }
        }
    }

    /// `${NAME}`, `${NAME:-default}`.
    fn braced(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let start = self.at;
        let rest = self.text[start..].iter().take(LONGEST);
        let close = rest.copied().position(|byte| byte == b'}');
        let Some(close) = close else {
            return Err(unclosed(start..start + 2));
        };
        let span = start..start + close + 1;
        self.at = span.end;
        let inside = &self.text[start + 2..start + close];
        let length = inside.iter().take_while(|byte| is_in_name(**byte)).count();
        let (name, rest) = inside.split_at(length);
        let is_name = name.first().is_some_and(|byte| begins_name(*byte));
        let default = rest.strip_prefix(b":-").or(rest.strip_prefix(b"-"));
        let is_plain = |text: &&[u8]| !text.iter().any(|byte| b"$`'\"\\{".contains(byte));
        let default = default.filter(is_plain);
        if !is_name || !rest.is_empty() && default.is_none() {
            let words = "only the plain value of a variable can be used here: `${NAME}`";
            let help = "or `${NAME:-value}`, with a value for where the environment has none";
            self.unknown.push(Mistake::new(span, words).help(help));
            return Ok(());
        }
        let Some(default) = default else {
            return self.put(name, &span, text);
        };
        if default.starts_with(b"http")
            && self.variables.is_stood_for(&String::from_utf8_lossy(name))
        {
            text.extend_from_slice(default);
            return Ok(());
        }
        let value = self
            .variables
            .value(&String::from_utf8_lossy(name), &span)?;
        match value.filter(|value| !value.is_empty()) {
            Some(value) => text.extend(value),
            None => text.extend_from_slice(default),
        }
        Ok(())
    }

    /// The value of a variable that has to be there.
    fn put(&mut self, name: &[u8], span: &Span, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let name = String::from_utf8_lossy(name);
        match self.variables.value(&name, span)? {
            Some(value) => text.extend(value),
            None => self.unknown.push(self.variables.missing(&name, span)),
        }
        Ok(())
    }

    /// A program within backticks, which is not run.
    pub(super) fn backticks(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let mistake = runs(self.at..self.at + 1);
        let inside = self.at + 1;
        let length = self.text[inside..].iter().position(|byte| *byte == b'`');
        let Some(length) = length else {
            return Err(mistake);
        };
        let unknown = self.unknown.len();
        let span = inside..inside + length;
        // An escape in it is another one than within `$(..)`.
        let is_escape = |pair: &[u8]| pair[0] == b'\\' && b"$\"\\".contains(&pair[1]);
        let has_escapes = self.text[span.clone()].windows(2).any(is_escape);
        match self.look_into(span)? {
            Some(marker) if !has_escapes => text.extend_from_slice(marker.as_bytes()),
            _ => self.unknown.insert(unknown, mistake),
        }
        self.at = inside + length + 1;
        Ok(())
    }

    /// Finds the calls of curl in a program whose output is a value; what stands for that, where it is one of an
    /// answer.
    fn look_into(&mut self, span: Span) -> Result<Option<String>, Mistake> {
        if self.depth >= DEEPEST {
            return Ok(None);
        }
        if let Some(marker) = self.asked(&span) {
            return Ok(Some(marker));
        }
        let from = span.start;
        let mut reader = Reader {
            text: &self.text[..span.end],
            at: span.start,
            variables: &mut *self.variables,
            heredocs: Vec::new(),
            groups: 0,
            depth: self.depth + 1,
            is_open: false,
            unknown: Vec::new(),
            inner: Vec::new(),
            whole: Vec::new(),
        };
        let mut found = reader.commands()?;
        let path = output::path(&found);
        let is_whole = found.len() == 1;
        found.retain(super::commands::calls_curl);
        let mut marker = None;
        if let (Some(path), [request]) = (path, found.as_mut_slice()) {
            marker = self.variables.take();
            let output = marker.clone().map(|marker| Output { marker, path });
            request.outputs.extend(output);
        } else if let ([request], true) = (found.as_mut_slice(), is_whole) {
            request.answer = self.variables.answer();
            self.whole
                .extend(request.answer.map(|answer| (from, answer)));
        }
        self.inner.extend(found);
        Ok(marker)
    }

    /// What stands for a value of an answer that a variable has, where a program prints just that:
    /// `echo "$RESP" | jq -r .token`.
    fn asked(&mut self, span: &Span) -> Option<String> {
        const LONGEST: usize = 4096;
        if span.len() > LONGEST || !self.variables.has_answers() {
            return None;
        }
        let known = &*self.variables;
        let mut is_known = true;
        let mut lookup = |name: &str| {
            let answer = known
                .answer_of(name)
                .map(|answer| format!("answer{answer}"));
            is_known &= answer.is_some();
            answer
        };
        let mut variables = Variables::new(&mut lookup, None);
        let mut reader = Reader {
            text: &self.text[..span.end],
            at: span.start,
            variables: &mut variables,
            heredocs: Vec::new(),
            groups: 0,
            depth: self.depth + 1,
            is_open: false,
            unknown: Vec::new(),
            inner: Vec::new(),
            whole: Vec::new(),
        };
        let found = reader.commands().ok()?;
        let [filter] = found.as_slice() else {
            return None;
        };
        let Stdin::Text(text) = &filter.stdin else {
            return None;
        };
        let number = text.trim_ascii_end().strip_prefix(b"answer")?;
        let answer = std::str::from_utf8(number).ok()?.parse().ok()?;
        let path = output::filtered(filter).filter(|_| is_known)?;
        self.variables.take_of(answer, path)
    }

    /// The place behind the parenthesis that closes the one at `open`. After one that nothing closes no other is
    /// looked for, so that no text is gone through again and again.
    fn closing(&mut self, open: usize) -> Option<usize> {
        if self.is_open {
            return None;
        }
        let end = extent::closing(self.text, open);
        self.is_open = end.is_none();
        end
    }

    /// A parenthesis within a word: a list, or what fish would run.
    fn parenthesis(&mut self, text: &mut Vec<u8>) {
        let mistake = Mistake::new(
            self.at..self.at + 1,
            "a shell does not pass this parenthesis on",
        );
        self.unknown
            .push(mistake.help("put the word within quotes"));
        if let Some(end) = self.closing(self.at) {
            self.at = end;
        } else {
            text.push(b'(');
            self.at += 1;
        }
    }

    /// `{1..3}`, of which a shell makes several words.
    fn look_for_range(&mut self) {
        const LONGEST: usize = 24;
        let rest = &self.text[self.at + 1..];
        let end = rest.iter().take(LONGEST).position(|byte| *byte == b'}');
        let Some(inside) = end.and_then(|end| std::str::from_utf8(&rest[..end]).ok()) else {
            return;
        };
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if inside
            .split_once("..")
            .is_some_and(|(from, to)| is_number(from) && is_number(to))
        {
            let span = self.at..self.at + inside.len() + 2;
            let mistake = Mistake::new(span, "a shell makes several words of this range");
            let help = format!(
                "in a URL, write `[{}]`, which curl itself knows",
                inside.replace("..", "-")
            );
            self.unknown.push(mistake.help(help));
        }
    }

    /// Quotes and dashes that a text processor has put in the place of those that were typed.
    fn look_for_typography(&mut self) {
        let rest = &self.text[self.at..];
        let rest = &rest[..rest.len().min(3)];
        let letter = std::str::from_utf8(rest)
            .ok()
            .and_then(|text| text.chars().next());
        let follows = self
            .peek(3)
            .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'-');
        let words = match letter {
            Some('\u{2018}'..='\u{201f}') => "to a shell this quote is a letter as any other",
            Some('\u{2010}'..='\u{2015}' | '\u{2212}') if follows => {
                "to curl this dash is a letter as any other"
            }
            _ => return,
        };
        let mistake = Mistake::new(self.at..self.at + 3, words);
        let help = "a text processor has put it there: type `'`, `\"` or `-`";
        self.unknown.push(mistake.help(help));
    }
}
