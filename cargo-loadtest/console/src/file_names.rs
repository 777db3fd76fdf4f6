//! Names of baselines and scenarios that are valid file names on every system.

use crate::error::Error;
use ring::digest::{SHA256, digest};
use std::fmt::Write as _;

/// The longest name of a baseline.
const LONGEST: usize = 64;
/// Shorter names differ by one letter without a slip: `api`, `app`.
const SHORTEST_SLIP: usize = 4;
/// The longest part of a scenario's identity that names a folder.
const LONGEST_SCENARIO: usize = 100;
/// The name of the newest run, reserved where a baseline could be meant too.
const LATEST: &str = "latest";
/// Devices of Windows, which no file may be called, whatever follows after a full stop.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// An invalid name of a baseline.
#[derive(Debug)]
pub struct BaselineNameError {
    /// The name.
    pub name: String,
    /// The reason, as a verb phrase.
    pub reason: &'static str,
    /// A valid name that could be meant.
    pub example: String,
}

impl From<BaselineNameError> for Error {
    fn from(error: BaselineNameError) -> Self {
        let BaselineNameError {
            name,
            reason,
            example,
        } = error;
        Self::usage(format!(
            "`{name}` is not a valid baseline name: it {reason}"
        ))
        .with_help(format!("write for example `{example}`"))
    }
}

/// Refuses an invalid name of a baseline.
///
/// # Errors
/// The reason, and a valid name.
pub fn check_baseline_name(name: &str) -> Result<(), BaselineNameError> {
    let why = if name.is_empty() {
        "is empty"
    } else if name.eq_ignore_ascii_case(LATEST) {
        "means the newest run"
    } else if name.len() > LONGEST {
        "has more than 64 characters"
    } else if !name.chars().all(is_plain) {
        "has characters other than letters, digits, `-`, `_` and `.`"
    } else if !name.starts_with(|letter: char| letter.is_ascii_alphanumeric()) {
        "starts with neither a letter nor a digit"
    } else if name.ends_with('.') {
        "ends with a full stop"
    } else if is_device(name) {
        "is a device on Windows"
    } else {
        return Ok(());
    };
    Err(BaselineNameError {
        name: name.to_owned(),
        reason: why,
        example: suggest_baseline_name(name),
    })
}

/// Returns true if `name` is one letter away from `known`. Names that differ in digits or separators are not
/// misspellings: `main-2` after `main`.
pub fn is_misspelling(name: &str, known: &str) -> bool {
    let letters = |name: &str| -> String {
        let letters = name.chars().filter(char::is_ascii_alphabetic);
        letters.collect()
    };
    name.len().min(known.len()) >= SHORTEST_SLIP
        && letters(name) != letters(known)
        && strsim::damerau_levenshtein(name, known) == 1
}

/// Returns true if a run identifier is a valid file name.
pub fn is_file_name(run_id: &str) -> bool {
    (1..=LONGEST_SCENARIO).contains(&run_id.len())
        && run_id.chars().all(is_plain)
        && !run_id.starts_with('.')
        && !is_device(run_id)
}

/// The folder of a scenario: its identity with full stops; where that is not unlike any other on every
/// system, with what is.
pub fn scenario_folder(identity: &str) -> String {
    let name = identity.replace("::", ".");
    let is_told = |letter: char| is_plain(letter) && !letter.is_ascii_uppercase();
    if (1..=LONGEST_SCENARIO).contains(&name.len())
        && name.chars().all(is_told)
        && !name.starts_with('.')
        && !name.ends_with('.')
        && !is_device(&name)
    {
        return name;
    }
    let mut readable: String = name
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '_' })
        .take(LONGEST_SCENARIO)
        .collect();
    for byte in &digest(&SHA256, identity.as_bytes()).as_ref()[..6] {
        let _ = write!(readable, "{byte:02x}");
    }
    format!("_{readable}")
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.')
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_lowercase();
    let is_port = |port: &str| {
        stem.strip_prefix(port)
            .is_some_and(|number| number.len() == 1 && number.chars().all(|n| n.is_ascii_digit()))
    };
    DEVICES.contains(&&*stem) || is_port("com") || is_port("lpt")
}

/// A name like it that can be one.
fn suggest_baseline_name(name: &str) -> String {
    let like: String = name
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '-' })
        .take(LONGEST)
        .collect();
    let like = like.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
    if like.is_empty() || is_device(like) || like.eq_ignore_ascii_case(LATEST) {
        "main".to_owned()
    } else {
        like.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_baselines_are_file_names_everywhere() {
        for name in [
            "main",
            "release-1.2",
            "v2",
            "nightly_x86",
            "console",
            "com10",
        ] {
            assert!(check_baseline_name(name).is_ok(), "{name}");
        }
        for (name, instead) in [
            ("", "main"),
            ("..", "main"),
            ("../main", "main"),
            ("/etc", "etc"),
            ("release/1.2", "release-1.2"),
            ("a\\b", "a-b"),
            ("Aux", "main"),
            ("nul.txt", "main"),
            ("lpt1", "main"),
            ("latest", "main"),
            ("main.", "main"),
            (".main", "main"),
            ("größe", "gr--e"),
            ("a b", "a-b"),
            ("a:b", "a-b"),
        ] {
            let Err(BaselineNameError { example: told, .. }) = check_baseline_name(name) else {
                panic!("{name}")
            };
            assert_eq!(told, instead, "{name}");
            assert!(check_baseline_name(&told).is_ok());
        }
        assert!(
            check_baseline_name(&"a".repeat(64)).is_ok()
                && check_baseline_name(&"a".repeat(65)).is_err()
        );
    }

    #[test]
    fn a_slip_is_told_from_another_name() {
        for slip in ["mian", "man1", "maim", "amin", "mains", "mmain"] {
            assert_eq!(is_misspelling(slip, "main"), slip != "man1", "{slip}");
        }
        assert!(is_misspelling("releas-1.2", "release-1.2"));
        for (name, known) in [
            ("main-2", "main"),
            ("main2", "main"),
            ("main_2", "main-2"),
            ("release-1.3", "release-1.2"),
            ("us-west", "eu-west"),
            ("app", "api"),
            ("main-linux", "main"),
        ] {
            assert!(
                !is_misspelling(name, known) && !is_misspelling(known, name),
                "{name}"
            );
        }
    }

    #[test]
    fn scenarios_have_folders_of_their_own_on_every_system() {
        assert_eq!(
            scenario_folder("shop::load::checkout"),
            "shop.load.checkout"
        );
        let odd = [
            "Shop::load::checkout",
            "shop::load::Checkout",
            "shop::load::prüfen",
            "con::load::checkout",
            "shop::load::../../x",
            &"a".repeat(200),
            "",
        ];
        let mut names: Vec<String> = odd
            .iter()
            .map(|odd| scenario_folder(odd).to_lowercase())
            .collect();
        assert!(
            names
                .iter()
                .all(|name| name.chars().all(is_plain) && name.starts_with('_'))
        );
        assert!(
            names
                .iter()
                .all(|name| name.len() < 130 && !is_device(name)),
            "{names:?}"
        );
        names.sort();
        names.dedup();
        assert_eq!(names.len(), odd.len());
    }

    #[test]
    fn identifiers_of_runs_do_not_leave_the_folder() {
        assert!(is_file_name("20261121-143005-k3f9"));
        for odd in ["", "..", "a/b", "a\\b", "nul", "ü", &"a".repeat(200)] {
            assert!(!is_file_name(odd), "{odd}");
        }
    }
}
