//! `where` of `[[observe]]`: which values of a label count, as in a query of Prometheus.

use regex::Regex;

/// One of the labels in `where`.
#[derive(Debug, Clone)]
pub(crate) struct LabelMatch {
    label: String,
    /// As it is written: `user`, `!idle`, `/user|system/` or `!/idle|iowait/`.
    written: String,
    is_negated: bool,
    text: String,
    /// In place of the text, if it is between slashes.
    expression: Option<Regex>,
}

impl PartialEq for LabelMatch {
    fn eq(&self, other: &Self) -> bool {
        (&self.label, &self.written) == (&other.label, &other.written)
    }
}

impl LabelMatch {
    /// Reads the text of a label.
    ///
    /// # Errors
    /// When it holds an expression that is none.
    pub(crate) fn parse(label: String, written: String) -> Result<Self, String> {
        let text = written.strip_prefix('!').unwrap_or(&written);
        let is_negated = text.len() < written.len();
        let between = text
            .strip_prefix('/')
            .and_then(|text| text.strip_suffix('/'));
        let expression = between.map(compile).transpose()?;
        Ok(Self {
            label,
            is_negated,
            text: text.to_owned(),
            expression,
            written,
        })
    }

    /// Returns the name of the label.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Returns true if a value counts; that of a label that is not there is empty.
    pub(crate) fn matches(&self, value: &str) -> bool {
        let is_it = match &self.expression {
            None => value == self.text,
            Some(expression) => expression.is_match(value),
        };
        is_it != self.is_negated
    }
}

/// Compiles an expression that has to be about the whole value.
fn compile(expression: &str) -> Result<Regex, String> {
    // By itself first: brackets that do not match could fit those around it.
    let whole = Regex::new(expression).and_then(|_| Regex::new(&format!("^(?s:{expression})$")));
    whole.map_err(|error| {
        let words = error.to_string();
        let why = words.rsplit("error: ").next().unwrap_or_default();
        format!("has `/{expression}/`, which is not a regular expression: {why}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching(written: &str) -> Vec<&'static str> {
        let found = LabelMatch::parse("mode".to_owned(), written.to_owned()).unwrap();
        let values = ["user", "users", "system", "idle", "/user/", ""];
        values
            .into_iter()
            .filter(|value| found.matches(value))
            .collect()
    }

    #[test]
    fn a_label_is_compared_as_in_a_query_of_prometheus() {
        for (written, found) in [
            ("user", &["user"][..]),
            ("!user", &["users", "system", "idle", "/user/", ""]),
            ("/user|system/", &["user", "system"]),
            ("!/user.*|idle/", &["system", "/user/", ""]),
            ("/.+/", &["user", "users", "system", "idle", "/user/"]),
            ("//", &[""]),
            ("!//", &["user", "users", "system", "idle", "/user/"]),
            ("/\\/user\\//", &["/user/"]),
            ("/", &[]),
            ("!", &["user", "users", "system", "idle", "/user/"]),
        ] {
            assert_eq!(matching(written), found, "{written}");
        }
    }

    #[test]
    fn an_expression_that_is_none_says_why() {
        for (written, why) in [
            (
                "/user(/",
                "has `/user(/`, which is not a regular expression: unclosed group",
            ),
            (
                "!/a)|(b/",
                "has `/a)|(b/`, which is not a regular expression: unopened group",
            ),
            (
                "/(?=a)/",
                "has `/(?=a)/`, which is not a regular expression: look-around, including look-ahead and look-behind, is not supported",
            ),
        ] {
            let wrong = LabelMatch::parse("mode".to_owned(), written.to_owned());
            assert_eq!(wrong.unwrap_err(), why);
        }
        let long = LabelMatch::parse("mode".to_owned(), "/(\\w{1000}){1000}/".to_owned());
        let wrong = long.unwrap_err();
        assert!(wrong.contains("exceeds size limit"), "{wrong}");
    }
}
