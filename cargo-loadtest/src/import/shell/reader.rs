//! The state that the readers for POSIX shells and PowerShell share.

use super::posix::{Assignment, Heredoc};
use super::{CommandInput, ShellCommand, ShellVariables};
use crate::import::source::{Mistake, Note, Span};

pub(super) struct ShellReader<'a, 'v> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    pub(super) variables: &'a mut ShellVariables<'v>,
    pub(super) notes: &'a mut Vec<Note>,
    /// True where lines begin with `$ ` and go on behind `> `.
    pub(super) has_prompts: bool,
    pub(super) commands: Vec<ShellCommand>,
    pub(super) current: ShellCommand,
    pub(super) assignments: Vec<Assignment>,
    /// Here-documents whose lines are still to come.
    pub(super) heredocs: Vec<Heredoc>,
    /// Standard input of the next command.
    pub(super) piped: Option<CommandInput>,
    /// First part of the current word that needs a running shell.
    pub(super) doubt: Option<Mistake>,
}

impl<'a, 'v> ShellReader<'a, 'v> {
    pub(super) fn new(
        text: &'a str,
        variables: &'a mut ShellVariables<'v>,
        notes: &'a mut Vec<Note>,
    ) -> Self {
        Self {
            text: text.as_bytes(),
            at: 0,
            variables,
            notes,
            has_prompts: text.trim_start().starts_with("$ "),
            commands: Vec::new(),
            current: ShellCommand::default(),
            assignments: Vec::new(),
            heredocs: Vec::new(),
            piped: None,
            doubt: None,
        }
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    pub(super) fn rest(&self, ahead: usize) -> &'a [u8] {
        self.text.get(self.at + ahead..).unwrap_or_default()
    }

    pub(super) fn skip_line(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// Notes why the current word needs a running shell.
    pub(super) fn doubt_word(&mut self, mistake: Mistake) {
        self.doubt.get_or_insert(mistake);
    }

    /// Notes why the current command needs a running shell.
    pub(super) fn doubt_command(&mut self, mistake: Mistake) {
        self.current.doubt.get_or_insert(mistake);
    }

    /// Appends the value of a variable.
    pub(super) fn push_value(
        &mut self,
        name: &[u8],
        span: &Span,
        text: &mut Vec<u8>,
    ) -> Result<(), Mistake> {
        let name = String::from_utf8_lossy(name);
        match self.variables.value(&name, span)? {
            Some(value) => text.extend(value),
            None => self.doubt_word(self.variables.missing(&name, span)),
        }
        Ok(())
    }

    /// Takes a variable from the environment, since its value in the text is a program's output.
    pub(super) fn take_from_environment(&mut self, name: &str, span: Span) {
        let words = format!("no program is run: `{name}` is taken from the environment");
        self.notes.push(Note::new(span, words));
        self.variables.set_unknown(name);
    }
}
