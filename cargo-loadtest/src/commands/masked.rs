//! What a step declares, as it may be shown: no secret is in it, its placeholders are.

use loadtest::definition::ScenarioDef;
use loadtest::redact;

/// The definition as it may be shown.
pub(super) fn scenario(scenario: &ScenarioDef) -> ScenarioDef {
    let mut shown = scenario.clone();
    shown.base = shown.base.map(|base| url(&base).into());
    for step in shown.steps.to_mut() {
        step.url = step.url.take().map(|template| url(&template).into());
        for one in step.headers.to_mut() {
            one.value = header(&one.name, &one.value).into();
        }
        if let Some(declared) = &mut step.body {
            declared.template = body(&declared.template).into();
        }
    }
    shown
}

/// A URL.
pub(super) fn url(template: &str) -> String {
    redact::template(template).into_owned()
}

/// A body.
pub(super) fn body(template: &str) -> String {
    redact::text(template).into_owned()
}

/// The value of a header: of a secret one, no more than its scheme and its placeholders.
pub(super) fn header(name: &str, value: &str) -> String {
    let shown = redact::header(name, value);
    if shown == redact::REDACTED && holds_placeholders_only(value) {
        return value.to_owned();
    }
    shown.into_owned()
}

/// Whether nothing is written in `value` but placeholders, perhaps behind the word of a scheme.
fn holds_placeholders_only(value: &str) -> bool {
    const SCHEMES: [&str; 3] = ["bearer", "basic", "token"];
    let mut rest = value.trim();
    if let Some((first, after)) = rest.split_once(' ')
        && SCHEMES.contains(&first.to_ascii_lowercase().as_str())
    {
        rest = after.trim_start();
    }
    if rest.is_empty() {
        return false;
    }
    while let Some(inner) = rest.strip_prefix("{{") {
        let Some((path, after)) = inner.split_once("}}") else {
            return false;
        };
        if path.contains('{') {
            return false;
        }
        rest = after.trim_start();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_secret_header_only_placeholders_are_shown() {
        for (value, shown) in [
            ("Bearer {{login.response.token}}", true),
            ("{{secret.KEY}}", true),
            ("Bearer {{a.b}}{{c.d}}", true),
            ("Bearer abc", false),
            ("Bearer", false),
            ("Bearer x{{a.b}}", false),
            ("{{a.b}}x", false),
            ("{{a.b", false),
            ("", false),
        ] {
            assert_eq!(header("authorization", value) == value, shown, "{value}");
        }
    }
}
