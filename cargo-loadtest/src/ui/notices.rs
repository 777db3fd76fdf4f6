//! Results of what pages ask for. Each belongs to one redirect, so that no other tab shows it.

use super::guard::random_secret;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// The most notices that wait for their page.
const WAITING: usize = 50;
/// The field of an address that names the notice of its page.
pub(super) const FIELD: &str = "notice";

/// A line at the head of a page: the result of what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) is_good: bool,
    pub(super) text: String,
}

/// Notices that no page has shown yet.
#[derive(Debug, Default)]
pub(super) struct Notices(Mutex<VecDeque<(String, Notice)>>);

impl Notices {
    /// Leaves a notice for the page at `path`; returns the address that shows it once.
    pub(super) fn leave(&self, path: &str, notice: Notice) -> String {
        let name: String = random_secret().chars().take(16).collect();
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push_back((name.clone(), notice));
        if waiting.len() > WAITING {
            waiting.pop_front();
        }
        address_with(path, &name)
    }

    /// Returns the notice of that name, once.
    pub(super) fn take(&self, name: &str) -> Option<Notice> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = waiting.iter().position(|(known, _)| known == name)?;
        waiting.remove(at).map(|(_, notice)| notice)
    }
}

/// Names a notice in the address of a page.
pub(super) fn address_with(path: &str, name: &str) -> String {
    let joint = if path.contains('?') { '&' } else { '?' };
    format!("{path}{joint}{FIELD}={name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(text: &str) -> Notice {
        Notice {
            is_good: true,
            text: text.to_owned(),
        }
    }

    fn name_in(address: &str) -> &str {
        address.rsplit_once('=').unwrap().1
    }

    #[test]
    fn a_notice_is_shown_once_and_by_the_page_that_its_redirect_leads_to() {
        let notices = Notices::default();
        let saved = notices.leave("/runs", notice("saved"));
        let started = notices.leave("/started?number=1", notice("started"));
        assert!(saved.starts_with("/runs?notice="), "{saved}");
        assert!(
            started.starts_with("/started?number=1&notice="),
            "{started}"
        );
        assert_eq!(notices.take("other"), None);
        assert_eq!(notices.take(name_in(&started)), Some(notice("started")));
        assert_eq!(notices.take(name_in(&started)), None);
        assert_eq!(notices.take(name_in(&saved)), Some(notice("saved")));
    }

    #[test]
    fn notices_that_nobody_reads_are_forgotten() {
        let notices = Notices::default();
        let first = notices.leave("/", notice("first"));
        for _ in 0..WAITING {
            notices.leave("/", notice("later"));
        }
        assert_eq!(notices.take(name_in(&first)), None);
    }
}
