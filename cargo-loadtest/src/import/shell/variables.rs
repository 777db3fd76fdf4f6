//! Variables, as far as a text sets them or the environment has them.

use super::super::marked::{Key, Secret};
use super::super::source::{Mistake, Span};
use super::{Command, Output};
use std::collections::{HashMap, HashSet};

/// What the values of one word, line or here-document come to at most, in bytes.
pub(super) const LONGEST_VALUE: usize = 1024 * 1024;
/// And all that come of variables in one text.
pub(super) const MOST_VALUES: usize = 16 * 1024 * 1024;

/// The variables of the environment, and which of them were asked for.
pub(in crate::import) struct Variables<'a> {
    lookup: &'a mut dyn FnMut(&str) -> Option<String>,
    set: HashMap<String, Value>,
    pub(in crate::import) used: Vec<Secret>,
    names: HashSet<String>,
    /// What the markers begin with that stand for what the text takes of answers; none where nothing can be taken.
    outputs: Option<String>,
    /// How many there are.
    taken: usize,
    /// How many answers are those of variables.
    answers: usize,
    /// What was taken of them.
    asked: Vec<(usize, Output)>,
    /// What was put in the place of variables since the last [`Variables::begin`], in bytes.
    here: usize,
    /// And in all.
    pub(super) spent: usize,
    /// Where that was too much first; also what is passed over counts.
    pub(super) beyond: Option<Mistake>,
}

/// What a text sets a variable to.
#[derive(Debug, Clone)]
enum Value {
    Known(Vec<u8>),
    /// What a program prints; the environment may have it.
    Printed,
    /// The whole answer of this number, which only a filter gets; else as what a program prints.
    Answer(usize),
    /// Another one each time.
    Looped,
}

impl<'a> Variables<'a> {
    pub(in crate::import) fn new(
        lookup: &'a mut dyn FnMut(&str) -> Option<String>,
        outputs: Option<&str>,
    ) -> Self {
        Self {
            lookup,
            set: HashMap::new(),
            used: Vec::new(),
            names: HashSet::new(),
            outputs: outputs.map(str::to_owned),
            taken: 0,
            answers: 0,
            asked: Vec::new(),
            here: 0,
            spent: 0,
            beyond: None,
        }
    }

    /// What stands for another value of an answer.
    pub(super) fn take(&mut self) -> Option<String> {
        let begin = self.outputs.as_deref()?;
        self.taken += 1;
        Some(format!("{begin}{}e", self.taken))
    }

    /// The number of another answer that a variable is to have.
    pub(super) fn answer(&mut self) -> Option<usize> {
        self.outputs.as_ref()?;
        self.answers += 1;
        Some(self.answers)
    }

    pub(super) fn has_answers(&self) -> bool {
        self.answers > 0
    }

    /// The number of the answer that a variable has.
    pub(super) fn answer_of(&self, name: &str) -> Option<usize> {
        match self.set.get(name) {
            Some(Value::Answer(answer)) => Some(*answer),
            _ => None,
        }
    }

    /// What stands for a value of such an answer; the same for the same one.
    pub(super) fn take_of(&mut self, answer: usize, path: Vec<Key>) -> Option<String> {
        const NEAR: usize = 100;
        let is_same = |asked: &&(usize, Output)| asked.0 == answer && asked.1.path == path;
        if let Some((_, output)) = self.asked.iter().rev().take(NEAR).find(is_same) {
            return Some(output.marker.clone());
        }
        let marker = self.take()?;
        let output = Output {
            marker: marker.clone(),
            path,
        };
        self.asked.push((answer, output));
        Some(marker)
    }

    /// Gives the commands what was taken of their answers.
    pub(super) fn hand_out(&mut self, commands: &mut [Command]) {
        let mut asked: HashMap<usize, Vec<Output>> = HashMap::new();
        for (answer, output) in self.asked.drain(..) {
            asked.entry(answer).or_default().push(output);
        }
        for command in commands {
            let outputs = command.answer.and_then(|answer| asked.remove(&answer));
            command.outputs.extend(outputs.unwrap_or_default());
        }
    }

    /// Begins a word, a line or a here-document.
    pub(super) fn begin(&mut self) {
        self.here = 0;
    }

    /// What a variable holds, to be put where it is named.
    ///
    /// # Errors
    /// Where the values would come to more than a text may make of them: a few lines can double one again and again.
    pub(super) fn value(&mut self, name: &str, span: &Span) -> Result<Option<Vec<u8>>, Mistake> {
        let known = match self.set.get(name) {
            Some(Value::Known(value)) => value.len(),
            _ => 0,
        };
        self.look_for_space(known, span)?;
        let Some(value) = self.held(name) else {
            return Ok(None);
        };
        self.look_for_space(value.len(), span)?;
        self.here += value.len();
        self.spent += value.len();
        Ok(Some(value))
    }

    fn look_for_space(&mut self, length: usize, span: &Span) -> Result<(), Mistake> {
        const MIB: usize = 1024 * 1024;
        let words = if self.here + length > LONGEST_VALUE {
            let most = LONGEST_VALUE / MIB;
            format!("with this variable the text here comes to more than {most} MiB")
        } else if self.spent + length > MOST_VALUES {
            let most = MOST_VALUES / MIB;
            format!("with this variable all values in the text come to more than {most} MiB")
        } else {
            return Ok(());
        };
        let help = "write a shorter value, or the text itself in the place of the variable";
        let mistake = Mistake::new(span.clone(), words).help(help);
        self.beyond.get_or_insert_with(|| mistake.clone());
        Err(mistake)
    }

    /// What the text set it to, or that of the environment.
    fn held(&mut self, name: &str) -> Option<Vec<u8>> {
        match self.set.get(name) {
            Some(Value::Known(value)) => return Some(value.clone()),
            Some(Value::Looped) => return None,
            Some(Value::Printed | Value::Answer(_)) | None => {}
        }
        let value = (self.lookup)(name)?;
        if !value.is_empty() && self.names.insert(name.to_owned()) {
            self.used.push(Secret {
                name: name.to_owned(),
                what: "a variable of the copied command".to_owned(),
                value: value.clone(),
            });
        }
        Some(value.into_bytes())
    }

    /// Whether something like nothing else would stand for it in a source, which has to name its host.
    pub(super) fn is_stood_for(&self, name: &str) -> bool {
        self.outputs.is_some() && !self.is_set(name)
    }

    /// Whether the text sets it.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.set.contains_key(name)
    }

    pub(super) fn set(&mut self, name: &str, value: Vec<u8>) {
        self.put(name, Value::Known(value));
    }

    /// Sets it to what is not known without running a program.
    pub(super) fn set_to_output(&mut self, name: &str) {
        self.put(name, Value::Printed);
    }

    /// Sets it to all of an answer.
    pub(super) fn set_to_answer(&mut self, name: &str, answer: usize) {
        self.put(name, Value::Answer(answer));
    }

    /// Sets it to what a loop goes through.
    pub(super) fn set_by_loop(&mut self, name: &str) {
        self.put(name, Value::Looped);
    }

    fn put(&mut self, name: &str, value: Value) {
        self.set.insert(name.to_owned(), value);
    }

    /// What it holds, of one that has to be there.
    pub(super) fn needed(&mut self, name: &str, span: &Span) -> Result<Vec<u8>, Mistake> {
        match self.value(name, span)? {
            Some(value) => Ok(value),
            None => Err(self.missing(name, span)),
        }
    }

    /// Why there is no value.
    pub(super) fn missing(&self, name: &str, span: &Span) -> Mistake {
        let mistake = |words: String| Mistake::new(span.clone(), words);
        match self.set.get(name) {
            Some(Value::Looped) => {
                mistake(format!("a loop gives `{name}` its values, and is not run"))
                    .help("write the value itself, or a range into the URL: `[1-3]`")
            }
            Some(_) => mistake(format!(
                "`{name}` is set to what a program prints, and none is run"
            ))
            .help(format!(
                "export `{name}` with its value first: that is taken"
            )),
            None => mistake(format!("the variable `{name}` is not in the environment"))
                .help("export it first; it is never sent with an empty value"),
        }
    }
}
