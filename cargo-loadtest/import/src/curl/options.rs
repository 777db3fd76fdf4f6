//! The options of curl, those of its newer versions included.

use std::sync::LazyLock;

/// An option of curl: a row of `data/curl-options.tsv`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CurlOption {
    pub(super) letter: Option<char>,
    pub(super) name: &'static str,
    /// True where the next word is its value.
    pub(super) takes_value: bool,
    /// True where the value is shown nowhere.
    pub(super) is_secret: bool,
    pub(super) effect: OptionEffect,
}

/// Effect of an option on the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionEffect {
    /// The request is as the option says.
    Honoured,
    /// The option sets the header of this name, unless `-H` does; also the text before its value.
    Header((&'static str, &'static str)),
    /// The option is about output and files, and makes no other request.
    Ignored,
    /// The option is not honoured, with this warning.
    Warned(&'static str),
    /// Without the option the requests would be others, so nothing is read.
    Refused(&'static str),
}

pub(super) static OPTIONS: LazyLock<Vec<CurlOption>> = LazyLock::new(|| {
    let rows = include_str!("../data/curl-options.tsv").lines();
    rows.filter_map(parse_row).collect()
});

/// Parses a row: letter or `-`, name, `flag`, `value` or `secret`, effect, and the words of a warning or refusal.
fn parse_row(row: &'static str) -> Option<CurlOption> {
    let mut fields = row.split('\t');
    let letter = fields.next()?.parse().ok().filter(|letter| *letter != '-');
    let name = fields.next()?;
    let kind = fields.next()?;
    let effect = match fields.next()? {
        "yes" => OptionEffect::Honoured,
        "header" => OptionEffect::Header(fields.next()?.split_once(": ")?),
        "warn" => OptionEffect::Warned(fields.next()?),
        "refuse" => OptionEffect::Refused(fields.next()?),
        _ => OptionEffect::Ignored,
    };
    Some(CurlOption {
        letter,
        name,
        takes_value: kind != "flag",
        is_secret: kind == "secret",
        effect,
    })
}

/// Returns the option of a name, and whether the name switches it on.
pub(super) fn find_name(name: &str) -> Option<(&'static CurlOption, bool)> {
    let find = |name: &str| OPTIONS.iter().find(|option| option.name == name);
    let off = || find(name.strip_prefix("no-")?).filter(|option| !option.takes_value);
    find(name)
        .map(|option| (option, true))
        .or_else(|| off().map(|option| (option, false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_an_option_with_a_name_and_a_letter_of_its_own() {
        let rows = include_str!("../data/curl-options.tsv").lines();
        let rows = rows.filter(|row| !row.starts_with("# "));
        assert_eq!(rows.count(), OPTIONS.len());
        for (i, option) in OPTIONS.iter().enumerate() {
            for other in &OPTIONS[..i] {
                assert_ne!(option.name, other.name);
                assert!(
                    option.letter != other.letter || option.letter.is_none(),
                    "{option:?}"
                );
            }
        }
    }
}
