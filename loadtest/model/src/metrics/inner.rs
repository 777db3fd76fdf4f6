//! The requests of a step that sends for itself, a row per name.

use super::folded::fold_ids;
use super::tally::{ErrorTally, InnerTally, MessageCounts, StepTally};
use crate::metrics::ErrorKind;
use crate::redacted::Redacted;
use std::time::Duration;

/// The most rows of one step, so that its figures stay small whatever it names them.
const MOST: usize = 32;

/// The most rows after these, each of names that differ only in ids. What has no row is counted in [`OTHERS`].
const MOST_FOLDED: usize = 8;

/// The most rows of one step in all.
pub const MOST_ROWS: usize = MOST + MOST_FOLDED + 1;

/// The name of the last row.
pub const OTHERS: &str = "(others)";

impl StepTally {
    /// The row `name`, or the one of what has no row of its own.
    pub fn inner(&mut self, name: &str) -> &mut InnerTally {
        let made = |name| InnerTally {
            name,
            ..InnerTally::default()
        };
        find_row(&mut self.inner, name, |row| &row.name, made)
    }
}

/// The row `name` of `rows`, or the one of what has no row of its own.
pub(super) fn find_row<'a, R>(
    rows: &'a mut Vec<R>,
    name: &str,
    name_of: fn(&R) -> &str,
    make: impl FnOnce(String) -> R,
) -> &'a mut R {
    let find = |rows: &[R], name: &str| rows.iter().position(|row| name_of(row) == name);
    let place = find(rows, name).unwrap_or_else(|| {
        let own = rows.iter().filter(|row| name_of(row) != OTHERS).count();
        let folded = (own >= MOST).then(|| fold_ids(name)).flatten();
        let name = match &folded {
            _ if own < MOST => name,
            Some(folded) if own < MOST + MOST_FOLDED || find(rows, folded).is_some() => folded,
            _ => OTHERS,
        };
        find(rows, name).unwrap_or_else(|| {
            rows.push(make(name.to_owned()));
            rows.len() - 1
        })
    });
    &mut rows[place]
}

impl InnerTally {
    /// Counts an operation that is no request, and succeeded.
    pub fn completed(&mut self, time: Duration) {
        self.requests += 1;
        self.service.record(time);
    }

    /// Counts an answer; `describe` writes its status with its reason: `404 Not Found`.
    pub fn answered(&mut self, status: u16, time: Duration, describe: impl FnOnce() -> Redacted) {
        self.requests += 1;
        *self.statuses.entry(status).or_default() += 1;
        if status < 400 {
            self.service.record(time);
            return;
        }
        self.failed += 1;
        self.failed_service.record(time);
        self.count_error(ErrorTally {
            kind: ErrorKind::Status,
            status: Some(status),
            count: 1,
            example: describe(),
            sample: None,
            traced: None,
        });
    }

    /// Counts a call that ended with a gRPC `code`; `describe` writes it with its message.
    pub fn called(&mut self, code: u16, time: Duration, describe: impl FnOnce() -> Redacted) {
        self.requests += 1;
        *self.statuses.entry(code).or_default() += 1;
        if code == 0 {
            self.service.record(time);
            return;
        }
        self.failed += 1;
        self.failed_service.record(time);
        self.count_error(ErrorTally {
            kind: ErrorKind::GrpcStatus,
            status: Some(code),
            count: 1,
            example: describe(),
            sample: None,
            traced: None,
        });
    }

    /// Counts the messages of a call.
    pub fn exchanged(&mut self, messages: MessageCounts) {
        *self.messages.get_or_insert_default() += messages;
    }

    /// Counts a request that was not answered in full, or an operation that failed. `code` is that of the WebSocket
    /// where it was closed.
    pub fn unanswered(
        &mut self,
        kind: ErrorKind,
        code: Option<u16>,
        message: Redacted,
        time: Duration,
    ) {
        self.requests += 1;
        self.failed += 1;
        if kind.is_timeout() {
            self.service.record(time);
            self.timed_out.record(time);
        } else {
            self.failed_service.record(time);
        }
        self.count_error(ErrorTally {
            kind,
            status: code,
            count: 1,
            example: message,
            sample: None,
            traced: None,
        });
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.failed += other.failed;
        self.service.merge(&other.service);
        self.timed_out.merge(&other.timed_out);
        self.failed_service.merge(&other.failed_service);
        if let Some(theirs) = &other.stream {
            self.stream.get_or_insert_default().merge(theirs);
        }
        if let Some(theirs) = other.messages {
            self.exchanged(theirs);
        }
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        for error in &other.errors {
            self.count_error(error.clone());
        }
    }

    fn count_error(&mut self, error: ErrorTally) {
        ErrorTally::count_among(&mut self.errors, error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(names: std::ops::Range<u8>) -> StepTally {
        let mut step = StepTally::default();
        for name in names {
            let letters = [b'a' + name / 26, b'a' + name % 26].map(char::from);
            let row = step.inner(&format!("GET /{}{}", letters[0], letters[1]));
            row.answered(200, Duration::from_millis(1), || "200".into());
        }
        step
    }

    #[test]
    fn what_has_no_row_of_its_own_is_counted_with_the_others() {
        let mut step = rows(0..40);
        assert_eq!(step.inner.len(), 33);
        assert_eq!(
            (&*step.inner[32].name, step.inner[32].requests),
            (OTHERS, 8)
        );
        // Merging in any order keeps the bound and loses nothing.
        step.merge(&rows(30..100));
        assert_eq!(step.inner.len(), 33);
        let all: u64 = step.inner.iter().map(|row| row.requests).sum();
        assert_eq!(all, 110);
        assert_eq!(step.inner[30].requests, 2, "its own row is found again");
    }

    #[test]
    fn names_with_ids_have_a_row_in_common_once_there_are_too_many() {
        let count = |step: &mut StepTally, names: std::ops::Range<usize>, of: &str| {
            for name in names {
                step.inner(&format!("/{of}/{name}")).requests += 1;
            }
        };
        let mut step = StepTally::default();
        count(&mut step, 0..1_000, "users");
        step.inner("receipt").requests += 1;
        let shown = |step: &StepTally, from: usize| -> Vec<(String, u64)> {
            let rows = step.inner[from..].iter();
            rows.map(|row| (row.name.clone(), row.requests)).collect()
        };
        let folded = ("/users/{..}".to_owned(), 968);
        assert_eq!(shown(&step, 32), [folded, (OTHERS.to_owned(), 1)]);
        // Others have other rows of their own; merging loses none.
        let mut other = StepTally::default();
        count(&mut other, 2_000..2_040, "users");
        step.merge(&other);
        assert_eq!(step.inner.len(), 34);
        assert_eq!(step.inner[32].requests, 968 + 40);
        // Such rows are bounded, too.
        for kind in 0..20 {
            count(&mut step, 0..2, &"x".repeat(kind + 1));
        }
        assert_eq!(step.inner.len(), 32 + 8 + 1);
        let all: u64 = step.inner.iter().map(|row| row.requests).sum();
        assert_eq!(all, 1_000 + 1 + 40 + 40);
    }

    #[test]
    fn refused_and_unanswered_requests_failed_and_only_deadlines_are_timed() {
        let mut row = InnerTally::default();
        let ms = Duration::from_millis;
        row.answered(302, ms(1), || "302".into());
        row.answered(404, ms(2), || "404".into());
        row.unanswered(ErrorKind::TimeoutHead, None, "late".into(), ms(30));
        row.unanswered(ErrorKind::ConnectRefused, None, "refused".into(), ms(4));
        row.unanswered(ErrorKind::ConnectRefused, None, "again".into(), ms(4));
        assert_eq!((row.requests, row.failed), (5, 4));
        assert_eq!(row.service.count(), 2);
        assert_eq!(row.service.max(), Some(ms(30)));
        assert_eq!(
            (row.timed_out.count(), row.timed_out.max()),
            (1, Some(ms(30)))
        );
        row.exchanged(MessageCounts {
            sent: 2,
            received: 1,
        });
        let mut both = row.clone();
        both.merge(&row);
        assert_eq!(
            both.messages.map(|both| (both.sent, both.received)),
            Some((4, 2))
        );
        assert_eq!((both.requests, both.service.count()), (10, 4));
        assert_eq!(both.timed_out.count(), 2);
        assert_eq!(both.statuses, [(302, 2), (404, 2)].into());
        assert_eq!(both.errors.len(), 3);
        assert_eq!(
            (both.errors[2].count, &*both.errors[2].example),
            (4, "refused")
        );
    }

    #[test]
    fn a_call_with_another_status_than_ok_has_failed_and_is_not_timed() {
        let mut row = InnerTally::default();
        let ms = Duration::from_millis;
        row.called(0, ms(1), || "OK".into());
        for _ in 0..2 {
            row.called(5, ms(2), || "NOT_FOUND: no such cart".into());
        }
        assert_eq!((row.requests, row.failed, row.service.count()), (3, 2, 1));
        assert_eq!(row.statuses, [(0, 1), (5, 2)].into());
        let error = &row.errors[0];
        assert_eq!(
            (error.kind, error.status, error.count),
            (ErrorKind::GrpcStatus, Some(5), 2)
        );
    }
}
