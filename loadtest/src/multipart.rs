//! Forms of several parts, sent as browsers send them.

pub use reqwest::multipart::Part;
use std::borrow::Cow;

/// A form of several parts, for [`Request::multipart`](crate::Request::multipart) and for the requests of `async` steps.
///
/// Names of fields are sent in UTF-8, as browsers send them, with line ends and quotes as `%0D`, `%0A` and `%22`.
///
/// Source: HTML, 4.10.21.8, "Multipart form data".
#[derive(Debug)]
pub struct Form(reqwest::multipart::Form);

impl Form {
    /// A form without parts.
    #[expect(clippy::new_without_default, reason = "an empty form is of no use")]
    pub fn new() -> Self {
        Self(reqwest::multipart::Form::new().percent_encode_noop())
    }

    /// The line between the parts, which is drawn at random.
    pub fn boundary(&self) -> &str {
        self.0.boundary()
    }

    /// Adds a field with a text.
    #[must_use]
    pub fn text(
        self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.part(name, Part::text(value))
    }

    /// Adds a field with any content.
    #[must_use]
    pub fn part(self, name: impl Into<Cow<'static, str>>, part: Part) -> Self {
        let mut name = name.into();
        if name.contains(['"', '\r', '\n']) {
            let lines = name.replace('\r', "%0D").replace('\n', "%0A");
            name = Cow::Owned(lines.replace('"', "%22"));
        }
        Self(self.0.part(name, part))
    }
}

impl From<Form> for reqwest::multipart::Form {
    fn from(form: Form) -> Self {
        form.0
    }
}
