//! Variables, as far as a text sets them or the environment has them.

use super::super::recording::Secret;
use super::super::source::{Mistake, Span};
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
            Some(Value::Printed) | None => {}
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
