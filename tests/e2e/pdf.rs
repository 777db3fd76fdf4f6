//! The card as a PDF document, as a reader of such files finds it.

use crate::call::{Call, Output};
use crate::site::{RunFolder, Sandbox, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::Server;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// What the bundled font has, and in which order people read it.
const KNOWN: &str = "zażółć · Ελληνικά · Привет · שלום · a ≥ b → c";

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials![
        a_run_is_exported_as_a_document,
        the_same_record_gives_the_same_document_in_every_process,
        a_font_that_is_none_is_refused_before_anything_is_built,
    ];
    trials.extend(trials![needing "pdftotext":
        a_reader_finds_the_text_of_every_script,
        what_a_given_font_has_is_shown_and_what_none_has_is_escaped,
        every_font_is_embedded_and_cut_down,
        the_dates_are_those_of_the_run_and_the_outline_names_its_sections,
    ]);
    trials
}

/// A run, and beside its record another one whose scenario and first step are called so.
fn renamed(name: &str) -> (Sandbox, PathBuf) {
    let (sandbox, run) = measured("");
    let mut record: Value = serde_json::from_str(&run.text("record.json")).expect("JSON");
    let definition = &mut record["scenarios"][0]["definition"];
    definition["name"] = json!(name);
    definition["steps"][0]["name"] = json!(name);
    let path = run.0.join("renamed.json");
    fs::write(&path, record.to_string()).expect("a record");
    (sandbox, path)
}

fn measured(line: &str) -> (Sandbox, RunFolder) {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    let line = format!("single --iterations 7 {line}");
    sandbox.run(&line, &server).run().exits(0);
    let run = sandbox.only_run();
    (sandbox, run)
}

/// The document of a record, written beside it.
fn exported(sandbox: &Sandbox, record: &Path, name: &str, fonts: &[&Path]) -> PathBuf {
    let path = record.with_file_name(name);
    let mut call = sandbox.call().arg("report").arg(record);
    call = call.arg("--export").arg(format!("pdf={}", path.display()));
    for font in fonts {
        call = call.arg("--pdf-font").arg(font);
    }
    call.run().exits(0);
    path
}

/// What a program of poppler says of a document.
fn read_by(program: &str, arguments: &[&str], document: &Path) -> Output {
    let folder = document.parent().expect("a folder");
    let call = Call::program(program, folder).args(arguments).arg(document);
    let to_stdout = (program == "pdftotext").then_some("-");
    let output = call.args(to_stdout).run().exits(0);
    assert_eq!(output.stderr, "", "{program} complains");
    output
}

fn a_run_is_exported_as_a_document() {
    let (sandbox, run) = measured("--export pdf");
    let file = fs::read(run.0.join("report.pdf")).expect("the document");
    assert!(file.starts_with(b"%PDF-1.7\n") && file.trim_ascii_end().ends_with(b"%%EOF"));
    assert!(file.len() < 300_000, "{} bytes", file.len());
    let output = Call::program("sh", &run.0)
        .args([
            "-c",
            "\"$0\" loadtest report \"$1\" --export pdf=- > out.pdf",
        ])
        .arg(crate::call::tool())
        .arg(&run.0)
        .run()
        .exits(0);
    assert_eq!(output.stdout, "");
    assert_eq!(fs::read(run.0.join("out.pdf")).expect("the same"), file);
    drop(sandbox);
}

fn the_same_record_gives_the_same_document_in_every_process() {
    let (sandbox, record) = renamed(&format!("{KNOWN} 注"));
    let [first, second] = ["a.pdf", "b.pdf"]
        .map(|name| fs::read(exported(&sandbox, &record, name, &[])).expect(name));
    assert!(first == second, "the documents differ");
}

fn a_font_that_is_none_is_refused_before_anything_is_built() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("notes.ttf");
    fs::write(&text, "no font at all").expect("a file");
    let sandbox = Sandbox::new();
    for (path, why) in [
        (&text, "neither TrueType nor OpenType"),
        (&folder.path().join("missing.ttf"), "No such file"),
    ] {
        for command in ["run", "report", "capacity"] {
            let call = sandbox.tool(command, "single --export pdf");
            let output = call.arg("--pdf-font").arg(path).run().exits(2);
            let output = output.has_one_error().says_no("Finished");
            output.says(&["`--pdf-font`", &path.display().to_string(), why]);
        }
    }
    assert!(sandbox.runs().is_empty(), "nothing was run");
}

fn a_reader_finds_the_text_of_every_script() {
    let (sandbox, record) = renamed(KNOWN);
    let document = exported(&sandbox, &record, "scripts.pdf", &[]);
    let text = read_by("pdftotext", &["-layout"], &document).stdout;
    for part in KNOWN.split(" · ") {
        assert!(text.contains(part), "{part}\n{text}");
    }
    for part in ["Steps", "page 1 / ", "Thresholds", "Environment"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let run: Value =
        serde_json::from_str(&fs::read_to_string(&record).expect("a record")).expect("JSON");
    let identifier = run["run_id"].as_str().expect("an identifier");
    let pages = text.matches('\u{c}').count();
    assert!(text.matches(identifier).count() > pages, "on every page");
    assert!(text.contains(&format!("page {pages} / {pages}")), "{text}");
    assert!(!text.contains("\\u{"), "{text}");
}

fn what_a_given_font_has_is_shown_and_what_none_has_is_escaped() {
    let (sandbox, record) = renamed("look ⍟ 注文 up");
    let without = exported(&sandbox, &record, "without.pdf", &[]);
    let text = read_by("pdftotext", &["-layout"], &without).stdout;
    for part in ["look \\u{235F} \\u{6CE8}\\u{6587} up", "--pdf-font"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let font = record.with_file_name("mono.ttf");
    fs::write(&font, dejavu::sans_mono::regular()).expect("a font");
    let with = exported(&sandbox, &record, "with.pdf", &[&font]);
    let text = read_by("pdftotext", &["-layout"], &with).stdout;
    assert!(text.contains("look ⍟ \\u{6CE8}\\u{6587} up"), "{text}");
}

fn every_font_is_embedded_and_cut_down() {
    let (sandbox, record) = renamed("look ⍟ up");
    let font = record.with_file_name("mono.ttf");
    fs::write(&font, dejavu::sans_mono::regular()).expect("a font");
    let document = exported(&sandbox, &record, "fonts.pdf", &[&font]);
    let fonts = read_by("pdffonts", &[], &document).stdout;
    let fonts: Vec<Vec<&str>> = fonts
        .lines()
        .skip(2)
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(fonts.len(), 3, "{fonts:?}");
    for font in fonts {
        // Embedded, a subset, and with the characters that its glyphs stand for.
        let columns: Vec<&str> = font.iter().rev().skip(2).take(3).copied().collect();
        assert_eq!(columns, ["yes", "yes", "yes"], "{font:?}");
        assert_eq!(font[0].find('+'), Some(6), "{font:?}");
    }
}

fn the_dates_are_those_of_the_run_and_the_outline_names_its_sections() {
    let (sandbox, record) = renamed("checkout Ω");
    let document = exported(&sandbox, &record, "dates.pdf", &[]);
    let facts = read_by("pdfinfo", &["-isodates"], &document).stdout;
    let run: Value =
        serde_json::from_str(&fs::read_to_string(&record).expect("a record")).expect("JSON");
    let began = run["started_at"].as_str().expect("a time");
    let fact = |name: &str| {
        let line = facts.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name}\n{facts}")).trim()
    };
    for date in ["CreationDate:", "ModDate:"] {
        assert_eq!(fact(date)[..19], began[..19], "{date}");
    }
    assert!(fact("Title:").contains("checkout Ω"), "{facts}");
    assert!(fact("Page size:").contains("(A4)"), "{facts}");
    let many: usize = fact("Pages:").parse().expect("a number");
    assert!((1..10).contains(&many), "{facts}");
    let outline = read_by("pdftohtml", &["-xml", "-i", "-stdout"], &document).stdout;
    let (_, outline) = outline.split_once("<outline>").expect("an outline");
    let (scenario, sections) = outline.split_once("<outline>").expect("a level below");
    assert!(scenario.contains("page=\"1\">checkout Ω<"), "{outline}");
    for section in ["Steps", "Thresholds", "Environment"] {
        assert!(sections.contains(&format!(">{section}<")), "{outline}");
    }
}
