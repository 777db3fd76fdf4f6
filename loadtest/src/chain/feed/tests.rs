use super::open::{Row, Rows, draw, fewest, open_feed};
use super::*;
use crate::chain::{SetupContext, SetupError, Vu};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::convert::Infallible;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct User {
    name: String,
    age: Option<u8>,
}

/// A folder of its own for every test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("loadtest-feed-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn context(&self) -> SetupContext {
        SetupContext {
            root: self.0.clone(),
            seed: 7,
            users: 4,
            ..SetupContext::default()
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.0);
    }
}

/// The rows of the first iterations of user 0.
fn drawn<T: Clone + Send + Sync + 'static>(rows: &Rows<T>, iterations: u64) -> Vec<T> {
    let mut row = Row::default();
    let mut vu = Vu::new(0, 7);
    (0..iterations)
        .map(|turn| {
            vu.begin(turn, turn);
            row.draw(rows, &vu, 0);
            row.get(rows).clone()
        })
        .collect()
}

fn open<T: Send + Sync + 'static>(
    feed: Feed<T>,
    context: &SetupContext,
) -> Result<Rows<T>, String> {
    open_feed("user", context, 1, || Ok::<_, Infallible>(feed))
        .map_err(|error: SetupError| error.to_string())
}

/// The first `count` rows of the file `name` that holds `content`.
fn read<T: Clone + Send + Sync + 'static>(
    name: &str,
    content: impl AsRef<[u8]>,
    feed: fn(String) -> Feed<T>,
    count: u64,
) -> Vec<T> {
    let folder = Folder::new();
    fs::write(folder.0.join(name), content).unwrap();
    drawn(
        &open(feed(name.to_owned()), &folder.context()).unwrap(),
        count,
    )
}

/// What is said of the file `name` that holds `content`.
fn refused<T: Send + Sync + 'static>(
    name: &str,
    content: impl AsRef<[u8]>,
    feed: fn(String) -> Feed<T>,
) -> String {
    let folder = Folder::new();
    fs::write(folder.0.join(name), content).unwrap();
    let error = open(feed(name.to_owned()), &folder.context()).unwrap_err();
    let error = error
        .strip_prefix("feed `user` failed: ")
        .unwrap()
        .to_owned();
    assert!(!error.contains("hunter2"), "{error}");
    error
}

fn user(name: &str, age: Option<u8>) -> User {
    User {
        name: name.to_owned(),
        age,
    }
}

#[test]
fn a_csv_file_is_read_as_it_is_written() {
    let content = "\u{FEFF}name,age,note\r\n ada ,36,\"a, \"\"b\"\"\r\n\"\r\n\r\ngrace,,\r\n";
    let rows = read("users.csv", content, Feed::<User>::csv, 3);
    let ada = user(" ada ", Some(36));
    assert_eq!(rows, [ada.clone(), user("grace", None), ada]);
    let rows = read(
        "users.csv",
        content,
        Feed::<HashMap<String, String>>::csv,
        1,
    );
    assert_eq!(rows[0]["note"], "a, \"b\"\r\n");
    let rows = read(
        "users.csv",
        content,
        Feed::<(String, String, String)>::csv,
        2,
    );
    assert_eq!(rows[1].1, "");
    assert_eq!(read("ids.csv", "id\n7\n8\n", Feed::<u64>::csv, 2), [7, 8]);
}

#[test]
fn the_text_of_an_untyped_cell_is_never_another_afterwards() {
    let cells = [
        ("7", json!(7)),
        ("-7", json!(-7)),
        ("1.5", json!(1.5)),
        ("true", json!(true)),
        ("", Value::Null),
        ("007", json!("007")),
        ("+49", json!("+49")),
        ("1.10", json!("1.10")),
        ("1e3", json!("1e3")),
        ("NaN", json!("NaN")),
        ("-0", json!("-0")),
        ("99999999999999999999", json!("99999999999999999999")),
        ("True", json!("True")),
        ("null", json!("null")),
    ];
    for (cell, expected) in cells {
        let rows = read("a.csv", format!("a,b\n{cell},x\n"), Feed::<Value>::csv, 1);
        assert_eq!(rows[0], json!({ "a": expected, "b": "x" }), "{cell}");
    }
}

#[test]
fn mistakes_of_a_csv_file_are_placed_and_tell_no_value() {
    let cases = [
        (
            "name,age\nada,36\n\"x\ny\",hunter2\n",
            "users.csv:3: field `age`: invalid digit found in string",
        ),
        (
            "name,age\r\n\r\nada,300\r\n",
            "users.csv:3: field `age`: number too large to fit in target type",
        ),
        (
            "name,age\nada, 36\n",
            "users.csv:2: field `age`: invalid digit found in string (spaces count: nothing is trimmed)",
        ),
        (
            "name,age\nada,36\nhunter2\n",
            "users.csv:3: this row has 1 cell, and the header row has 2; a cell with a comma must be \
             quoted: \"a, b\"",
        ),
        (
            "name,age\nada,36\n\"hunter2,36\nx,7\n",
            "users.csv:3: the quote of this cell is never closed: a `\"` is missing",
        ),
        (
            "age,name\n36,ada\n36,x\n37,\"hunter2\n",
            "users.csv:4: the quote of this cell is never closed: a `\"` is missing",
        ),
        (
            "\nage\n36\n",
            "users.csv:2: there is no column `name`: name it in the header row, or make the field an \
             `Option`",
        ),
        (
            "Name ,age\nada,36\n",
            "users.csv:1: there is no column `name`: the header row has `Name `, and names must be equal",
        ),
        (
            "hunter2,name,hunter2\na,b,c\n",
            "users.csv:1: columns 1 and 3 of the header row have the same name",
        ),
        (
            "",
            "users.csv: the file has no rows; a feed has at least one",
        ),
        (
            "name,age\n",
            "users.csv: the file has no rows; a feed has at least one",
        ),
    ];
    for (content, expected) in cases {
        assert_eq!(refused("users.csv", content, Feed::<User>::csv), expected);
    }
}

#[test]
fn a_cell_is_one_value_and_a_row_of_several_is_not() {
    let list = refused(
        "a.csv",
        "a\nhunter2\n",
        Feed::<HashMap<String, Vec<u8>>>::csv,
    );
    assert!(
        list.starts_with("a.csv:2: field `a`: a cell holds one value"),
        "{list}"
    );
    let one = refused("a.csv", "a,b\nhunter2,1\n", Feed::<u64>::csv);
    assert!(
        one.starts_with("a.csv:2: this row has 2 columns, and"),
        "{one}"
    );
    let pair = refused("a.csv", "a,b,c\nhunter2,1,2\n", Feed::<(String, u8)>::csv);
    assert!(
        pair.starts_with("a.csv:2: this row has 3 columns, and the tuple"),
        "{pair}"
    );
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Plan {
    Free,
    Paid,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Odd {
    plan: Plan,
    letter: char,
    ratio: f32,
    is_new: bool,
    #[serde(default)]
    other: u8,
}

#[test]
fn cells_become_what_their_fields_are() {
    let rows = read(
        "a.csv",
        "ratio,is_new,plan,letter,ignored\n0.5,true,paid,é,\n1,false,free,b,9\n",
        Feed::<Odd>::csv,
        2,
    );
    assert_eq!(
        rows[0],
        Odd {
            plan: Plan::Paid,
            letter: 'é',
            ratio: 0.5,
            is_new: true,
            other: 0
        }
    );
    assert_eq!(rows[1].plan, Plan::Free);
    let variant = refused(
        "a.csv",
        "plan,letter,ratio,is_new\nhunter2,a,1,true\n",
        Feed::<Odd>::csv,
    );
    assert_eq!(
        variant,
        "a.csv:2: field `plan`: unknown variant `[redacted]`, expected `free` or `paid`"
    );
}

#[test]
fn json_is_read_from_an_array_or_from_lines() {
    let both = [user("ada", Some(36)), user("grace", None)];
    let array = "\u{FEFF} [{\"name\": \"ada\", \"age\": 36},\n {\"name\": \"grace\"}]";
    assert_eq!(read("a.json", array, Feed::<User>::json, 2), both);
    let lines = "{\"name\": \"ada\", \"age\": 36}\r\n\r\n{\"name\": \"grace\"}\n";
    assert_eq!(read("a.jsonl", lines, Feed::<User>::json_lines, 2), both);
}

#[test]
fn mistakes_of_a_json_file_are_placed_and_tell_no_value() {
    for (content, expected) in [
        (
            "[\n {\"name\": \"ada\", \"age\": \"hunter2\"}]",
            "a.json:2:33: invalid type: string \"[redacted]\", expected u8",
        ),
        (
            "[{\"name\": \"ada\"},\n {\"nam\": \"hunter2\"}]",
            "a.json:2:19: missing field `name`",
        ),
        (
            "[{\"name\": \"ada\"}\n",
            "a.json:2: EOF while parsing a list",
        ),
        (
            "\n{\"name\": \"hunter2\"}",
            "a.json:2: this is not an array: the file must contain `[row, row, ..]`; for a row on every line use \
             `Feed::json_lines`",
        ),
        (
            " \n",
            "a.json: the file has no rows; a feed has at least one",
        ),
        (
            "[]",
            "a.json: the file has no rows; a feed has at least one",
        ),
    ] {
        assert_eq!(refused("a.json", content, Feed::<User>::json), expected);
    }
    for (content, expected) in [
        (
            "{\"name\": \"ada\"}\n\n{\"name\": 7}\n",
            "a.jsonl:3:10: invalid type: integer `[redacted]`, expected a string",
        ),
        (
            "{\"name\":\n\"hunter2\"}",
            "a.jsonl:1:8: EOF while parsing a value",
        ),
        (
            "\n",
            "a.jsonl: the file has no rows; a feed has at least one",
        ),
    ] {
        assert_eq!(
            refused("a.jsonl", content, Feed::<User>::json_lines),
            expected
        );
    }
}

#[test]
fn what_is_no_readable_file_is_said_without_the_folder_of_this_machine() {
    let folder = Folder::new();
    fs::create_dir(folder.0.join("data")).unwrap();
    let error = |path: &str| open(Feed::<User>::csv(path), &folder.context()).unwrap_err();
    assert_eq!(
        error("users.csv"),
        "feed `user` failed: users.csv: there is no such file; its path is relative to the folder of \
         the package"
    );
    assert_eq!(
        error("data"),
        "feed `user` failed: data: a feed is read from a file, and this is a folder"
    );
    #[cfg(unix)]
    {
        let pipe = folder.0.join("rows.csv");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert_eq!(
            error("rows.csv"),
            "feed `user` failed: rows.csv: it is a pipe or a device, and only regular files are read"
        );
    }
    let latin = refused("a.csv", b"name\nada\nj\xF6rg hunter2\n", Feed::<User>::csv);
    assert_eq!(latin, "a.csv:3: this is not UTF-8: save the file as UTF-8");
    let wide = refused("a.csv", b"\xFF\xFEn\0a\0", Feed::<User>::csv);
    assert_eq!(wide, "a.csv:1: the file is UTF-16: save it as UTF-8");
}

#[test]
fn a_path_is_relative_to_the_current_folder_where_the_package_is_not_on_this_machine() {
    let context = SetupContext {
        root: "/no/such/folder".into(),
        ..SetupContext::default()
    };
    // cargo runs tests in the folder of their package
    let rows = open(Feed::<HashMap<String, String>>::csv("Cargo.toml"), &context);
    assert!(rows.unwrap_err().contains("Cargo.toml:"), "it was found");
}

#[test]
fn orders_and_ends_that_contradict_each_other_are_refused() {
    let context = SetupContext::default();
    let error = |feed: Feed<u64>| open(feed, &context).unwrap_err();
    let feed = || Feed::iter(0..10_u64);
    let made = || Feed::generate(|n| n);
    for (feed, words) in [
        (
            feed().shuffle().random(),
            "`.shuffle()` and `.random()` contradict each other",
        ),
        (
            feed().unique().sequential(),
            "`.unique()` and `.sequential()` contradict",
        ),
        (feed().cycle().stop(), "`.cycle()` and `.stop()` contradict"),
        (
            feed().random().stop(),
            "`.stop()` is not possible here: rows drawn with `.random()`",
        ),
        (
            feed().unique().stop(),
            "`.stop()` is not possible here: with `.unique()`",
        ),
        (
            made().shuffle(),
            "`.shuffle()` is not possible here: `Feed::generate`",
        ),
        (
            made().random(),
            "`.random()` is not possible here: `Feed::generate`",
        ),
        (
            made().stop(),
            "`.stop()` is not possible here: `Feed::generate`",
        ),
        (
            made().cycle(),
            "`.cycle()` is not possible here: `Feed::generate`",
        ),
        (Feed::iter([]), "it has no rows"),
    ] {
        let error = error(feed);
        assert!(error.contains(words), "{error}");
    }
    for feed in [
        feed().shuffle().shuffle().stop().stop(),
        feed().random().cycle(),
        feed().sequential().stop(),
        made().sequential(),
        made().unique(),
    ] {
        assert!(open(feed, &context).is_ok());
    }
}

#[test]
fn an_iterator_without_end_is_refused_and_the_other_way_is_named() {
    let error = open(Feed::iter(std::iter::repeat(())), &SetupContext::default()).unwrap_err();
    assert!(
        error.contains("more than 10,000,000 rows") && error.contains("Feed::generate"),
        "{error}"
    );
}

#[test]
fn unique_rows_are_enough_for_all_users_or_shared_on_purpose() {
    let context = SetupContext {
        users: 4,
        ..SetupContext::default()
    };
    let error = open(Feed::iter([1, 2, 3]).unique(), &context).unwrap_err();
    assert!(
        error.contains("it has 3 rows for up to 4 virtual users"),
        "{error}"
    );
    assert!(error.contains("`.unique().cycle()`"), "{error}");
    let rows = open(Feed::iter([1, 2, 3]).unique().cycle(), &context).unwrap();
    let of = |user| {
        let (mut row, mut vu) = (Row::default(), Vu::new(user, 7));
        [0, 5].map(|turn| {
            vu.begin(turn, turn);
            row.draw(&rows, &vu, 0);
            *row.get(&rows)
        })
    };
    assert_eq!([of(0), of(2), of(3)], [[1, 1], [3, 3], [1, 1]]);
    assert!(open(Feed::iter([1, 2, 3, 4]).unique(), &context).is_ok());
    let smoke = SetupContext {
        first_rows: true,
        ..context
    };
    assert!(open(Feed::iter([1]).unique(), &smoke).is_ok());
}

#[test]
fn rows_are_made_of_their_number() {
    let rows = open(
        Feed::generate(|n| format!("user-{n}")),
        &SetupContext::default(),
    )
    .unwrap();
    assert_eq!(drawn(&rows, 3), ["user-0", "user-1", "user-2"]);
}

#[test]
fn a_seed_gives_one_order_and_another_seed_another() {
    let order = |seed, feed: fn(Feed<u64>) -> Feed<u64>| {
        let context = SetupContext {
            seed,
            ..SetupContext::default()
        };
        drawn(&open(feed(Feed::iter(0..40)), &context).unwrap(), 80)
    };
    for feed in [Feed::shuffle, Feed::random] {
        assert_eq!(order(1, feed), order(1, feed));
        assert_ne!(order(1, feed), order(2, feed));
    }
    let shuffled = order(1, Feed::shuffle);
    assert_ne!(shuffled[..40], shuffled[40..]);
}

#[test]
fn the_first_iteration_of_a_smoke_test_has_the_first_row() {
    let context = SetupContext {
        first_rows: true,
        seed: 3,
        ..SetupContext::default()
    };
    for feed in [Feed::shuffle, Feed::random, Feed::unique, Feed::sequential] {
        let rows = open(feed(Feed::iter(0..1_000)), &context).unwrap();
        assert_eq!(drawn(&rows, 1), [0]);
    }
}

#[test]
fn the_feed_with_the_fewest_rows_ends_the_load() {
    let context = SetupContext::default();
    let limit = |name, feed| {
        let rows = open_feed::<u64, Infallible>(name, &context, 1, || Ok(feed));
        rows.unwrap().limit()
    };
    let limits = [
        limit("long", Feed::iter(0..9).stop()),
        limit("cycled", Feed::iter(0..2)),
        limit("short", Feed::iter(0..4).shuffle().stop()),
    ];
    let limit = fewest(limits).unwrap();
    assert_eq!((&*limit.feed, limit.rows), ("short", 4));
    assert_eq!(fewest([]), None);
}

#[test]
fn several_rows_for_an_iteration_are_consecutive_and_enough_or_refused() {
    let context = SetupContext {
        users: 2,
        ..SetupContext::default()
    };
    let open = |feed: Feed<u64>| {
        let opened = open_feed("user", &context, 3, || Ok::<_, Infallible>(feed));
        opened.map_err(|error| error.to_string())
    };
    let drawn = |rows: &Rows<u64>, user: u64, turn: u64| {
        let (mut own, mut vu) = (<[Row; 3]>::default(), Vu::new(user, 7));
        vu.begin(turn, turn);
        draw(&mut own, rows, &vu);
        own.map(|row| *row.get(rows))
    };
    let eight = || Feed::iter(0..8);
    let rows = open(eight()).unwrap();
    assert_eq!(
        [0, 1, 2].map(|turn| drawn(&rows, 0, turn)),
        [[0, 1, 2], [3, 4, 5], [6, 7, 0]]
    );
    let rows = open(eight().stop()).unwrap();
    assert_eq!(rows.limit().unwrap().rows, 2, "two rows are left over");
    let rows = open(eight().unique()).unwrap();
    assert_eq!(
        [drawn(&rows, 0, 9), drawn(&rows, 1, 4)],
        [[0, 1, 2], [3, 4, 5]]
    );
    let rows = open(Feed::generate(|n| n * 10)).unwrap();
    assert_eq!(drawn(&rows, 0, 2), [60, 70, 80]);
    assert_eq!(
        open(Feed::iter(0..2)).unwrap_err(),
        "feed `user` failed: it has 2 rows, and each journey takes 3: add rows, or take fewer"
    );
    assert_eq!(
        open(Feed::iter(0..5).unique()).unwrap_err(),
        "feed `user` failed: it has 5 rows for up to 2 virtual users, and with `.unique()` each has 3 \
         rows of its own: add rows, let the load have at most 1 users, or let users share rows with \
         `.unique().cycle()`"
    );
    assert!(open(Feed::iter(0..3).unique().cycle()).is_ok());
}

#[test]
fn feeds_that_share_their_rows_have_none_in_common() {
    let context = |users, seed| SetupContext {
        seed,
        users,
        ..SetupContext::default()
    };
    let rows = |feed: fn(Feed<u64>) -> Feed<u64>, seed| {
        open(feed(Feed::iter(0..7)).shared("ids"), &context(2, seed)).unwrap()
    };
    let orders: [fn(Feed<u64>) -> Feed<u64>; 3] = [Feed::sequential, Feed::shuffle, |feed| {
        feed.unique().cycle()
    }];
    for order in orders {
        let (first, second) = (rows(order, 1), rows(order, 2));
        assert_eq!(first.shared().unwrap().take_part(0, 2).unwrap(), None);
        assert_eq!(second.shared().unwrap().take_part(1, 2).unwrap(), None);
        let (first, second) = (drawn(&first, 40), drawn(&second, 40));
        assert!(first.iter().all(|row| row % 2 == 0), "{first:?}");
        assert!(second.iter().all(|row| row % 2 == 1), "{second:?}");
    }
    let third = rows(Feed::stop, 1);
    let limit = third.shared().unwrap().take_part(2, 3).unwrap();
    assert_eq!(limit.unwrap().rows, 2);
    assert_eq!(drawn(&third, 2), [2, 5]);
    let alone = rows(Feed::sequential, 1);
    assert_eq!(
        drawn(&alone, 3),
        [0, 1, 2],
        "outside of a mix all rows are its own"
    );
}

#[test]
fn parts_that_are_too_small_and_sources_that_differ_are_refused() {
    let context = SetupContext {
        users: 3,
        ..SetupContext::default()
    };
    let shared = |feed: Feed<u64>| {
        open(feed.shared("ids"), &context)
            .unwrap()
            .shared()
            .unwrap()
    };
    let four = || shared(Feed::iter(0..4));
    let said = |error: SetupError| error.to_string();
    assert_eq!(
        said(
            shared(Feed::iter(0..4).unique())
                .take_part(1, 2)
                .unwrap_err()
        ),
        "feed `user` failed: its part of the rows that 2 feeds share as `ids` is too small: it has 2 rows for \
         up to 3 virtual users, and with `.unique()` each has a row of its own: add rows, let the load \
         have at most 2 users, or let users share rows with `.unique().cycle()`"
    );
    assert_eq!(
        said(four().take_part(4, 5).unwrap_err()),
        "feed `user` failed: its part of the rows that 5 feeds share as `ids` is too small: it has 0 rows, \
         and each journey takes 1: add rows, or take fewer"
    );
    assert!(four().require_rows_of(&four(), "shop::buy").is_ok());
    let made = || shared(Feed::generate(|n| n));
    assert!(made().require_rows_of(&made(), "shop::buy").is_ok());
    for (other, rows) in [
        (shared(Feed::iter(0..5)), "5 of an iterator"),
        (made(), "those of a function"),
    ] {
        assert_eq!(
            said(four().require_rows_of(&other, "shop::buy").unwrap_err()),
            format!(
                "feed `user` failed: it shares its rows as `ids` with `user` of `shop::buy`, but their rows \
                 differ: it has 4 of an iterator, and the other {rows}; use the same source, \
                 or different names"
            )
        );
    }
}

#[test]
fn what_a_feed_function_says_or_panics_with_is_its_failure() {
    let context = SetupContext::default();
    let said = open_feed::<u8, _>("user", &context, 1, || Err("no password=hunter2"));
    assert_eq!(
        said.unwrap_err().to_string(),
        "feed `user` failed: no password=[redacted]"
    );
    let panicked = open_feed::<u8, Infallible>("user", &context, 1, || panic!("token=hunter2"));
    assert_eq!(
        panicked.unwrap_err().to_string(),
        "feed `user` failed: panicked: token=[redacted]"
    );
}
