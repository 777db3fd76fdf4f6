//! Clients that a scenario brings itself: what is measured of them, how they fail, and where they may connect to.

use loadtest::card::{Card, InnerRow, StepRow};
use loadtest::prelude::*;
use loadtest::{Control, MeasureError, Run, RunError, Scenario, Stream};
use loadtest_model::definition::{Letter, Load};
use std::future::{pending, ready};
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::sync::{LazyLock, OnceLock};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::sleep;

const MS: Duration = Duration::from_millis(1);

fn run(scenario: &'static Scenario) -> Card {
    let run = Run::new(scenario).load(Load::iterations(4, 2));
    run.without_validity().run_blocking().unwrap()
}

fn errors(card: &Card) -> Vec<(&str, u64, &str)> {
    let errors = card.errors.iter();
    errors
        .map(|error| (error.kind.name(), error.count, &*error.example))
        .collect()
}

/// Name, operations and failures of each row.
fn rows(step: &StepRow) -> Vec<(&str, u64, u64)> {
    let rows = step.inner.iter();
    rows.map(|row: &InnerRow| (&*row.name, row.requests, row.failed))
        .collect()
}

/// Sends back what comes, on every connection.
fn echo() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut from, mut to) = (stream.as_ref().unwrap(), stream.as_ref().unwrap());
                // What comes after the user is gone is of no interest.
                let _ = io::copy(&mut from, &mut to);
            }
        });
        format!("tcp://{address}")
    })
}

#[scenario]
fn ledger() {
    #[step(apdex = 10ms)]
    async fn transfer(vu: &mut Vu) -> Result<u64, Error> {
        vu.measure("debit", async {
            sleep(60 * MS).await;
            Ok::<_, Error>(())
        })
        .await?;
        let both = tokio::join!(
            vu.measure("credit", ready(Ok::<_, io::Error>(1)))
                .into_future(),
            vu.measure("credit", ready(Ok::<_, io::Error>(2)))
                .bytes(10, 20)
                .into_future(),
        );
        Ok(both.0? + both.1?)
    }

    #[step(apdex = 10ms)]
    async fn look(transfer: &u64) -> Result<u64, Error> {
        Ok(*transfer)
    }
}

#[test]
fn operations_are_timed_graded_and_counted_in_their_rows() {
    let card = run(ledger());
    let step = &card.steps[0];
    assert_eq!(rows(step), [("debit", 4, 0), ("credit", 8, 0)]);
    assert_eq!((step.executed, step.ok), (4, 4));
    assert!(step.response.p50.unwrap() >= 60 * MS, "{step:?}");
    assert!(step.inner[0].service.p50.unwrap() >= 60 * MS);
    // More than four times of what satisfies.
    assert_eq!(step.grade.unwrap().letter, Letter::F);
    assert_eq!((step.sent_bytes, step.received_bytes), (40, 80));
    assert!(step.statuses.is_empty());
    // A step that measured nothing has no grade, and the card says how it gets one.
    assert_eq!(card.steps[1].grade, None);
    let note = "Not graded, because they measured nothing: look. An `async` step is measured by what it sends with \
                `http`, and by what it gives to `vu.measure(..)`.";
    assert!(
        card.notes.iter().any(|known| known == note),
        "{:?}",
        card.notes
    );
}

#[derive(Debug, thiserror::Error)]
#[error("db error")]
struct Db(#[source] io::Error);

struct Opaque(u64);

#[scenario]
fn failing() {
    #[step]
    async fn unanswered(vu: &mut Vu) -> Result<(), Error> {
        vu.measure("query", pending::<Result<(), Error>>())
            .timeout(20 * MS)
            .await?;
        Ok(())
    }

    #[step(timeout = 30ms)]
    async fn slow(vu: &mut Vu) -> Result<(), Error> {
        vu.measure("query", pending::<Result<(), Error>>()).await?;
        Ok(())
    }

    #[step]
    async fn refused(vu: &mut Vu) -> Result<(), Error> {
        let refused = Db(io::ErrorKind::ConnectionRefused.into());
        vu.measure("query", ready(Err::<(), _>(refused))).await?;
        Ok(())
    }

    #[step]
    async fn rejected(vu: &mut Vu) -> Result<(), Error> {
        let rejected = Db(io::Error::other("deadlock detected"));
        let failed: MeasureError = vu
            .measure("query", ready(Err::<(), _>(rejected)))
            .await
            .unwrap_err();
        assert_eq!((failed.kind(), failed.is_timeout()), ("op.error", false));
        assert_eq!(failed.to_string(), "`query` failed");
        Err(failed.into())
    }

    #[step]
    async fn late(vu: &mut Vu) -> Result<(), Error> {
        let late = async {
            tokio::time::timeout(20 * MS, pending::<()>()).await?;
            Ok::<_, Error>(())
        };
        vu.measure("query", late).bytes(u64::MAX, u64::MAX).await?;
        Ok(())
    }

    #[step]
    async fn doubled(vu: &mut Vu) -> Result<(), Error> {
        let timed_out = io::Error::new(io::ErrorKind::TimedOut, Db(io::Error::other("db error")));
        vu.measure("query", ready(Err::<(), _>(timed_out))).await?;
        Ok(())
    }

    #[step]
    async fn told(vu: &mut Vu) -> Result<(), Error> {
        vu.measure("send", ready(Err::<(), _>(Opaque(7))))
            .reason(|opaque| format!("code {}", opaque.0))
            .await?;
        Ok(())
    }

    #[step]
    async fn handled(vu: &mut Vu) -> Result<(), Error> {
        let failed = vu.measure("query", ready(Err::<(), _>("gone"))).await;
        assert!(failed.is_err());
        Ok(())
    }
}

#[test]
fn a_failed_operation_has_the_kind_of_what_is_behind_it_and_fails_the_step_that_returns_it() {
    let card = run(failing());
    assert_eq!(
        errors(&card),
        [
            (
                "timeout.total",
                4,
                "`query` failed: it did not end within 20ms"
            ),
            (
                "timeout.total",
                4,
                "`query` failed: it did not end within 30ms"
            ),
            (
                "connect.refused",
                4,
                "`query` failed: db error: connection refused"
            ),
            ("op.error", 4, "`query` failed: db error: deadlock detected"),
            ("timeout.total", 4, "`query` failed: deadline has elapsed"),
            ("timeout.total", 4, "`query` failed: db error"),
            ("op.error", 4, "`send` failed: code 7"),
        ]
    );
    let note = "`handled` did not return 4 failures of `query`, op.error: gone";
    assert!(
        card.notes.iter().any(|known| known == note),
        "{:?}",
        card.notes
    );
    for step in &card.steps {
        let (name, failed) = (&*step.name, if step.name == "handled" { 0 } else { 4 });
        assert_eq!((name, step.executed, step.failed), (name, 4, failed));
        assert_eq!(step.inner[0].failed, 4, "{name}");
    }
    assert!(card.steps[0].response.p50.unwrap() >= 20 * MS);
}

#[scenario]
fn varied() {
    #[step]
    async fn send(vu: &mut Vu) -> Result<(), Error> {
        let number = vu.iteration();
        let failed = vu.measure("send", ready(Err::<(), _>(Opaque(number))));
        failed.reason(|opaque| format!("code {}", opaque.0)).await?;
        Ok(())
    }
}

#[test]
fn reasons_are_told_apart_up_to_a_number() {
    let run = Run::new(varied()).load(Load::iterations(40, 1));
    let card = run.without_validity().run_blocking().unwrap();
    let errors = errors(&card);
    assert_eq!(errors.len(), 33);
    assert_eq!(errors.iter().map(|error| error.1).sum::<u64>(), 40);
    assert!(errors.contains(&("op.error", 8, "(others)")), "{errors:?}");
}

/// Ends the load of [`at_once`] once a user has had so many turns.
static ENOUGH: LazyLock<Control> = LazyLock::new(Control::new);
const TURNS: u64 = 400;

/// A client whose connection is gone fails without waiting for anything.
#[scenario]
fn at_once() {
    #[step]
    async fn ask(vu: &mut Vu) -> Result<(), Error> {
        let user = vu.id();
        vu.count(format!("user {user}"), 1);
        if vu.iteration() + 1 == TURNS {
            ENOUGH.stop();
        }
        let broken = ready(Err::<(), _>(io::Error::from(io::ErrorKind::BrokenPipe)));
        Ok(vu.measure("ask", broken).await?)
    }
}

#[test]
fn users_whose_operations_end_at_once_take_turns() {
    let long = Load::users(2, Duration::from_secs(3600));
    let until_enough = Run::new(at_once()).load(long).control(&ENOUGH);
    let fixed = Run::new(at_once()).load(Load::iterations(1_000, 2));
    for run in [until_enough, fixed] {
        let card = run.without_validity().run_blocking().unwrap();
        let counts: Vec<_> = card.counters.iter().map(|row| row.count).collect();
        let [one, other] = counts[..] else {
            panic!("{counts:?}")
        };
        assert!(one.abs_diff(other) <= 1, "{counts:?}");
        assert!(one + other >= 2 * TURNS - 1, "{counts:?}");
    }
}

#[scenario]
fn raw() {
    #[step(once)]
    async fn line(net: &mut Net) -> Result<Stream, Error> {
        Ok(net.connect(echo()).await?)
    }

    #[step]
    async fn ask(line: &mut Stream, vu: &mut Vu) -> Result<Vec<u8>, Error> {
        let answer = vu.measure("echo", async {
            line.write_all(b"ping\n").await?;
            let mut answer = vec![0; 5];
            line.read_exact(&mut answer).await?;
            Ok::<_, io::Error>(answer)
        });
        Ok(answer.await?)
    }

    #[check]
    fn same(ask: &Vec<u8>) -> bool {
        ask == b"ping\n"
    }
}

#[test]
fn a_connection_of_ones_own_is_an_operation_kept_by_its_user_and_its_bytes_count() {
    let run = Run::new(raw()).load(Load::iterations(6, 1));
    let card = run.without_validity().run_blocking().unwrap();
    let [line, ask] = &card.steps[..] else {
        panic!("two steps")
    };
    assert_eq!(rows(line), [(&*format!("connect {}", echo()), 1, 0)]);
    assert!(line.phases.connect > Duration::ZERO && line.grade.is_some());
    assert_eq!(rows(ask), [("echo", 6, 0)]);
    assert_eq!((ask.sent_bytes, ask.received_bytes), (30, 30));
    assert_eq!((ask.checks_passed, ask.failed), (6, 0));
}

#[scenario]
fn with_a_target() {
    #[step]
    async fn line(net: &mut Net) -> Result<(), Error> {
        let mut line = net.connect(net.target()?).await?;
        line.write_all(b"ping\n").await?;
        Ok(())
    }
}

#[test]
fn a_client_finds_the_target_of_its_scenario() {
    let run = || {
        Run::new(with_a_target())
            .load(Load::iterations(1, 1))
            .without_validity()
    };
    let base = echo().replace("tcp://", "http://");
    let card = run().base_url(base).run_blocking().unwrap();
    assert_eq!(
        rows(&card.steps[0]),
        [(&*format!("connect {}", echo()), 1, 0)]
    );
    let card = run().run_blocking().unwrap();
    let words = "`net.target()`: the scenario has no target: give it `base = \"..\"` or a `#[setup]` that returns a `Target`";
    let errors = errors(&card);
    assert!(errors[0].2.contains(words), "{errors:?}");
}

#[scenario]
fn forbidden() {
    #[step]
    async fn foreign(net: &mut Net) -> Result<(), Error> {
        net.connect("tcp://192.0.2.1:9").await?;
        Ok(())
    }

    #[step]
    async fn unknown(net: &mut Net) -> Result<(), Error> {
        net.permitted("tcp://db.example.com:5432")?;
        Ok(())
    }

    #[step]
    async fn web(net: &mut Net) -> Result<(), Error> {
        net.connect("http://127.0.0.1:80").await?;
        Ok(())
    }

    #[step]
    async fn datagrams(net: &mut Net) -> Result<(), Error> {
        net.connect("udp://127.0.0.1:53").await?;
        Ok(())
    }
}

#[test]
fn only_what_is_permitted_can_be_connected_to() {
    let run = Run::new(forbidden()).load(Load::iterations(1, 1));
    let card = run.without_validity().run_blocking().unwrap();
    let listed = "; load may go to this machine, to targets that the scenario starts, and to hosts listed in `loadtest.toml`. Add \
                  `[[targets]]` with `host = \"192.0.2.1\"`, `scheme = \"tcp\"`, `port = 9` and `owner = \"..\"`; \
                  nothing was sent";
    let usable = "write for example `tcp://127.0.0.1:5432`";
    let expected = [
        ("guard.blocked", 1, format!("`tcp://192.0.2.1:9` is not a permitted target{listed}")),
        (
            "guard.blocked",
            1,
            "`tcp://db.example.com:5432` is not a permitted target: it was not known before the run; name it in `reaches` of the \
             scenario; nothing was sent"
                .to_owned(),
        ),
        (
            "step.error",
            1,
            format!(
                "`http://127.0.0.1:80` cannot be connected to: it must start with `tcp://`, `tls://` or `udp://`; {usable}"
            ),
        ),
        (
            "step.error",
            1,
            format!("`udp://127.0.0.1:53` cannot be connected to: `net.udp(..)` is for `udp://`; {usable}"),
        ),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(kind, count, words)| (*kind, *count, &**words))
        .collect();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../").replace("loadtest/../", "");
    let errors = errors(&card);
    let errors: Vec<_> = errors
        .iter()
        .map(|(kind, count, words)| (*kind, *count, words.replace(&root, "")))
        .collect();
    let errors: Vec<_> = errors
        .iter()
        .map(|(kind, count, words)| (*kind, *count, &**words))
        .collect();
    assert_eq!(errors, expected);
}

#[scenario(reaches = ["tcp://127.0.0.1:1"])]
fn unreachable() {
    #[step]
    async fn ask(vu: &mut Vu) -> Result<(), Error> {
        Ok(vu.measure("ask", ready(Ok::<_, Error>(()))).await?)
    }
}

#[test]
fn a_run_does_not_begin_where_nothing_answers_at_what_it_reaches() {
    let refused: RunError = Run::new(unreachable()).run_blocking().unwrap_err();
    let words = "nothing answers at tcp://127.0.0.1:1 (127.0.0.1:1): Connection refused (os error 111); is the target running?";
    assert_eq!(refused.to_string(), words);
}

/// Answers each datagram that does not begin with `lost`, after another one.
fn answering() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        thread::spawn(move || {
            let mut datagram = [0; 100];
            while let Ok((count, from)) = socket.recv_from(&mut datagram) {
                let datagram = &datagram[..count];
                if !datagram.starts_with(b"lost") {
                    let sent = [&b"other"[..], datagram].map(|one| socket.send_to(one, from));
                    assert!(sent.iter().all(Result::is_ok));
                }
            }
        });
        format!("udp://{address}")
    })
}

#[scenario]
fn names() {
    #[step]
    async fn query(net: &mut Net, vu: &mut Vu) -> Result<usize, Error> {
        let socket = net.udp(answering()).await?;
        let answer = vu
            .measure("A record", socket.ask(b"shop", |answer| answer == b"shop"))
            .await?;
        Ok(answer.len())
    }

    #[step]
    async fn lost(net: &mut Net, vu: &mut Vu) -> Result<(), Error> {
        let socket = net.udp(answering()).await?;
        vu.measure("A record", socket.ask(b"lost", |_| true))
            .timeout(30 * MS)
            .await?;
        Ok(())
    }
}

#[test]
fn a_datagram_is_answered_or_lost() {
    let card = run(names());
    assert_eq!(rows(&card.steps[0]), [("A record", 4, 0)]);
    assert_eq!(
        (card.steps[0].sent_bytes, card.steps[0].received_bytes),
        (16, 36)
    );
    assert_eq!(
        errors(&card),
        [(
            "timeout.total",
            4,
            "`A record` failed: it did not end within 30ms"
        )]
    );
}

#[scenario]
fn driven() {
    #[step]
    async fn ask(net: &mut Net, vu: &mut Vu) -> Result<(), Error> {
        let (answer, waiting) = tokio::sync::oneshot::channel::<()>();
        net.drive(async move {
            drop(answer);
            Err::<(), _>("the server hung up")
        });
        // What succeeds meanwhile does not keep it from being told.
        vu.measure("other", async {
            sleep(5 * MS).await;
            Ok::<_, Error>(())
        })
        .await?;
        vu.measure("ask", waiting).await?;
        Ok(())
    }
}

#[scenario]
fn driven_into_panic() {
    #[step]
    async fn ask(net: &mut Net, vu: &mut Vu) -> Result<(), Error> {
        let (answer, waiting) = tokio::sync::oneshot::channel::<()>();
        net.drive(async move {
            assert!(answer.is_closed(), "a frame that nobody knows");
        });
        vu.measure("ask", waiting).await?;
        Ok(())
    }
}

#[test]
fn a_connection_that_panics_is_told_as_well() {
    let card = run(driven_into_panic());
    let words =
        "`ask` failed: channel closed; its connection ended: panicked: a frame that nobody knows";
    assert_eq!(errors(&card), [("op.error", 4, words)]);
}

#[test]
fn a_connection_that_fails_beside_an_operation_is_told_with_it() {
    let card = run(driven());
    assert_eq!(
        errors(&card),
        [(
            "op.error",
            4,
            "`ask` failed: channel closed; its connection ended: the server hung up"
        )]
    );
}
