//! `docs/errors.md` against the code.

use loadtest_model::metrics::ErrorKind;

const PAGE: &str = include_str!("../../../docs/errors.md");

#[test]
fn the_page_of_error_kinds_lists_exactly_those_of_the_code_and_whose_they_are() {
    let rows = PAGE.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| `")?.split(" | ").collect();
        let [kind, whose, _] = cells.as_slice() else {
            return None;
        };
        Some((kind.trim_end_matches('`'), *whose))
    });
    let listed: Vec<(&str, &str)> = rows.collect();
    let names: Vec<&str> = listed.iter().map(|(name, _)| *name).collect();
    let all: Vec<&str> = ErrorKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names, all);
    for (kind, (_, whose)) in ErrorKind::ALL.iter().zip(&listed) {
        let expected = match kind.name().split('.').next() {
            Some("step") => "scenario",
            _ if kind.is_ours() => "ours",
            _ => "target",
        };
        assert_eq!(*whose, expected, "{kind}");
    }
}
