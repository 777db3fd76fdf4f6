//! The admin of Django: sessions, CSRF tokens, forms with everything that a row has, lists, confirmations.

use super::{JOURNEYS, Visitor, import, installed, new_trial, run};
use crate::call::Call;
use libtest_mimic::Trial;
use loadtest::targets::Target;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const FILES: [(&str, &str); 4] = [
    (
        "manage.py",
        include_str!("../../fixtures/applications/manage.py"),
    ),
    ("library/__init__.py", ""),
    (
        "library/admin.py",
        include_str!("../../fixtures/applications/library/admin.py"),
    ),
    (
        "library/models.py",
        include_str!("../../fixtures/applications/library/models.py"),
    ),
];
const PASSWORD: &str = "lovelace-1843";

pub(super) fn trial() -> Trial {
    let python = installed("django/bin/python");
    new_trial(
        "rows_of_an_admin_are_made_changed_and_deleted_in_another_instance",
        python,
        rows,
    )
}

/// A library, and the folder with its data.
struct Library {
    target: Target,
    folder: TempDir,
}

impl Library {
    fn open(python: &Path, first: u32) -> Self {
        let folder = tempfile::tempdir().expect("a folder of the system");
        for (path, text) in FILES {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("our own folder");
            fs::write(path, text).expect("our own folder");
        }
        let manage = folder.path().join("manage.py").display().to_string();
        let target = Target::binary(python)
            .args([&*manage, "{port}", &first.to_string()])
            .ready("/admin/login/")
            .ready_within(Duration::from_secs(120))
            .start()
            .expect("a library");
        Self { target, folder }
    }

    fn rows(&self, python: &Path) -> Value {
        let output = Call::program(python, self.folder.path())
            .line("manage.py rows")
            .run()
            .exits(0);
        serde_json::from_str(&output.stdout).expect("rows")
    }
}

/// Changes the second book, adds an author and a book of that author, notes something at the book, adds another author
/// and deletes that one.
fn work(url: &str) -> Value {
    const SAVE: &str = "[name=_save]";
    let mut visitor = Visitor::new(&format!("{url}/admin/"));
    visitor.browser.fill_in("[name=username]", "ada");
    visitor.browser.fill_in("[name=password]", PASSWORD);
    visitor.go("[type=submit]", ".model-book th a");

    visitor.go(".model-book th a", "#result_list");
    visitor.go("#result_list tbody tr:nth-child(2) th a", "#book_form");
    visitor.browser.fill_in("[name=copies]", "7");
    visitor.go(SAVE, "#result_list");

    for (name, email) in [
        ("Mary Blue", "mary@example.org"),
        ("Jane Grey", "jane@example.org"),
    ] {
        visitor.go(
            "#nav-sidebar .model-author th a",
            "#result_list .field-email",
        );
        visitor.go("#nav-sidebar .model-author .addlink", "#author_form");
        visitor.browser.fill_in("[name=name]", name);
        visitor.browser.fill_in("[name=email]", email);
        visitor.go(SAVE, "#result_list");
    }
    visitor.go("#result_list tbody tr:last-child th a", "#author_form");
    visitor.go(".deletelink", ".delete-confirmation [type=submit]");
    visitor.go("#content [type=submit]", "#result_list");

    visitor.go("#nav-sidebar .model-book .addlink", "#book_form");
    visitor.browser.fill_in("[name=title]", "Blue Tea");
    visitor.browser.fill_in("[name=slug]", "blue-tea");
    visitor.browser.value(
        "(() => { const all = document.querySelector('[name=author]'); \
         all.selectedIndex = [...all.options].findIndex(one => one.text === 'Mary Blue'); })()",
    );
    visitor.go(SAVE, "#result_list");
    visitor.go("#result_list tbody tr:last-child th a", "#book_form");
    visitor.browser.fill_in("[name=notes]", "To be read");
    visitor.go(SAVE, "#result_list");
    visitor.archive()
}

fn rows(python: &Path) {
    let recorded = Library::open(python, 41);
    let archive = work(recorded.target.url());
    let (project, _) = import("applications_django", &archive);
    let other = Library::open(python, 9207);
    run(&project, other.target.url(), "2", PASSWORD);

    let rows = other.rows(python);
    let [books, authors] =
        ["books", "authors"].map(|kind| rows[kind].as_array().expect("rows").as_slice());
    // Those that were there, of which the second one was changed, and nothing else of it.
    let book = |id: u32, copies: u32| {
        json!([
            id + 20,
            format!("Tea {id}"),
            format!("tea-{id}"),
            id,
            copies,
            ""
        ])
    };
    assert_eq!(
        books[..3],
        [book(9207, 1), book(9208, 7), book(9209, 3)],
        "{rows:#}"
    );
    let author = |id: u32| json!([id, format!("Author {id}"), format!("a{id}@example.org")]);
    assert_eq!(
        authors[..3],
        [author(9207), author(9208), author(9209)],
        "{rows:#}"
    );
    // Each journey made an author and a book of that one, and another author, who is gone again.
    assert_eq!(
        (books.len(), authors.len()),
        (3 + JOURNEYS, 3 + JOURNEYS),
        "{rows:#}"
    );
    for author in &authors[3..] {
        let name = author[1].as_str().expect("a name");
        let own = name
            .strip_prefix("Mary Blue-")
            .unwrap_or_else(|| panic!("{rows:#}"));
        assert_eq!(author[2], format!("mary-{own}@example.org"), "{rows:#}");
        let is_of_author = |book: &&Value| book[3] == author[0];
        let book = books
            .iter()
            .find(is_of_author)
            .unwrap_or_else(|| panic!("{rows:#}"));
        let [title, slug] = ["Blue Tea", "blue-tea"].map(|name| format!("{name}-{own}"));
        assert_eq!(
            book.as_array().expect("a row")[1..],
            [
                json!(title),
                json!(slug),
                author[0].clone(),
                json!(1),
                json!("To be read")
            ]
        );
    }
}
