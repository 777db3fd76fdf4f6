//! The names of runs: in the order of time, short, and unlike any other.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::hash::{BuildHasher as _, RandomState};

const FORMAT: &str = "%Y%m%d-%H%M%S";
/// In their order.
const LETTERS: &[u8; 32] = b"2345678abcdefghijkmnopqrstuvwxyz";
/// The number of letters after the time.
const SUFFIX: usize = 4;

/// `20261121-143005-k3f9`: the time to the second; two letters for the part of the second, so that runs of one
/// second are in their order too; two random letters.
pub(super) fn identifier(now: Timestamp) -> String {
    let part = now.subsec_nanosecond().unsigned_abs() as usize * 1024 / 1_000_000_000;
    let random = RandomState::new().hash_one(now) as usize;
    let suffix: String = [part / 32, part, random / 32, random]
        .map(|number| char::from(LETTERS[number % LETTERS.len()]))
        .iter()
        .collect();
    format!("{}-{suffix}", now.strftime(FORMAT))
}

/// Returns the start of the run of that name; `None` for foreign names.
pub(super) fn began(identifier: &str) -> Option<Timestamp> {
    let (time, suffix) = identifier.rsplit_once('-')?;
    let is_ours = time.len() == "20261121-143005".len()
        && suffix.len() == SUFFIX
        && suffix.bytes().all(|letter| LETTERS.contains(&letter));
    let time = DateTime::strptime(FORMAT, time).ok().filter(|_| is_ours)?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_sorts_by_time() {
        let at = |second| identifier(Timestamp::from_second(second).unwrap());
        let one = at(1_795_271_405);
        assert!(one.starts_with("20261121-143005-"), "{one}");
        assert_eq!(one.len(), "20261121-143005-k3f9".len());
        assert!(one < at(1_795_271_406));
        let within =
            |ms: i64| identifier(Timestamp::from_millisecond(1_795_271_405_000 + ms).unwrap());
        let second: Vec<String> = (0..1_000).map(within).collect();
        assert!(second.is_sorted_by(|before, after| before[..18] < after[..18]));
        assert!(second.iter().all(|name| began(name).is_some()));
    }

    #[test]
    fn the_names_of_runs_are_told_from_others() {
        let at = Timestamp::from_second(1_795_271_405).unwrap();
        assert_eq!(began(&identifier(at)), Some(at));
        for other in [
            "",
            "latest",
            "20261121-143005",
            "20261121-143005-k3f9-copy",
            "20261121-143005-k3f",
            "20261121-143005-K3F9",
            "20261321-143005-k3f9",
            "2026112-1143005-k3f9",
            "backup-k3f9",
        ] {
            assert_eq!(began(other), None, "{other}");
        }
    }
}
