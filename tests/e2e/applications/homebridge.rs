//! The user interface of Homebridge: a single page that asks for JSON with a bearer token, and shows users.

use super::{JOURNEYS, Visitor, import, installed, new_trial, run};
use crate::import_visit::ask;
use crate::project::workspace;
use libtest_mimic::Trial;
use loadtest::targets::Target;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const PASSWORD: &str = "lovelace-1843";

pub(super) fn trial() -> Trial {
    let standalone = "homebridge/node_modules/homebridge-config-ui-x/dist/bin/standalone.js";
    new_trial(
        "rows_of_a_single_page_are_made_changed_and_deleted_in_another_instance",
        installed(standalone),
        rows,
    )
}

/// A home, and the folder with its data.
struct Home {
    target: Target,
    folder: TempDir,
}

impl Home {
    /// Opens one with two users besides its administrator; so many have left before.
    fn open(standalone: &Path, left: u32) -> Self {
        let folder = tempfile::tempdir().expect("a folder of the system");
        let script = workspace().join("tests/fixtures/applications/homebridge.cjs");
        let [script, standalone, data] =
            [&*script, standalone, folder.path()].map(|path| path.display().to_string());
        let target = Target::binary("node")
            .args([&*script, &standalone, &data, "{port}"])
            .ready("/api/auth/settings")
            .ready_within(Duration::from_secs(120))
            .start()
            .expect("a home");
        let token = ask(
            &target,
            "GET",
            "/api/setup-wizard/get-setup-wizard-token",
            "",
            &Value::Null,
        );
        let token = token["access_token"].as_str().expect("a token").to_owned();
        let user = |name: &str, user: &str| json!({ "name": name, "username": user, "password": PASSWORD, "admin": false });
        let path = "/api/setup-wizard/create-first-user";
        ask(&target, "POST", path, &token, &user("Ada Lovelace", "ada"));
        let login = json!({ "username": "ada", "password": PASSWORD });
        let token = ask(&target, "POST", "/api/auth/login", "", &login);
        let token = token["access_token"].as_str().expect("a token").to_owned();
        for number in 0..left + 2 {
            let (name, login) = (
                format!("Grace {left}-{number}"),
                format!("grace{left}{number}"),
            );
            ask(&target, "POST", "/api/users", &token, &user(&name, &login));
        }
        for id in 2..2 + left {
            ask(
                &target,
                "DELETE",
                &format!("/api/users/{id}"),
                &token,
                &Value::Null,
            );
        }
        Self { target, folder }
    }

    /// The users, as the file has them in which they are stored.
    fn users(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("auth.json")).expect("a file");
        serde_json::from_str(&text).expect("a list")
    }
}

/// Changes the name of the second user, adds one and changes that one, and adds another one who is deleted.
fn work(url: &str) -> Value {
    let mut visitor = Visitor::new(&format!("{url}/users"));
    visitor.browser.fill_in("#form-username", "ada");
    visitor.browser.fill_in("#form-pass", PASSWORD);
    visitor.browser.click_on("#submit-button:enabled");
    edit(&mut visitor, 2, "Grace Hopper");
    for (name, user) in [("Mary Blue", "mary"), ("Jane Grey", "jane")] {
        visitor.browser.click_on("[aria-label='Add User']");
        visitor
            .browser
            .fill_in(".modal-content #form-username", user);
        visitor
            .browser
            .fill_in(".modal-content #form-pass", PASSWORD);
        visitor
            .browser
            .fill_in(".modal-content #form-pass-confirm", PASSWORD);
        save(&mut visitor, name);
    }
    edit(&mut visitor, 4, "Mary Green");
    visitor
        .browser
        .click_on(&format!("{} [aria-label=Delete]", card(5)));
    visitor.wait_until(&format!(
        "{IS_CLOSED} && !document.body.innerText.includes('Jane Grey')"
    ));
    visitor.archive()
}

/// The dialog is closed.
const IS_CLOSED: &str = "!document.querySelector('ngb-modal-window, ngb-modal-backdrop')";

/// The selector of the card of a user, by its number from 1.
fn card(number: usize) -> String {
    format!("app-users .row > .col-md-6:nth-child({number})")
}

fn edit(visitor: &mut Visitor, number: usize, name: &str) {
    visitor
        .browser
        .click_on(&format!("{} [aria-label=Edit]", card(number)));
    save(visitor, name);
}

/// Fills in the full name, saves, and waits until the list has it.
fn save(visitor: &mut Visitor, name: &str) {
    visitor.browser.fill_in(".modal-content #form-name", name);
    visitor
        .browser
        .click_on(".modal-content [type=submit]:enabled");
    visitor.wait_until(&format!(
        "{IS_CLOSED} && document.body.innerText.includes('{name}')"
    ));
}

fn rows(standalone: &Path) {
    let recorded = Home::open(standalone, 0);
    let archive = work(recorded.target.url());
    let (project, _) = import("applications_homebridge", &archive);
    let other = Home::open(standalone, 3);
    // It reads its file and writes it again, so that users at the same time would undo what others did.
    run(&project, other.target.url(), "1", PASSWORD);

    let users = other.users();
    let shown = format!("{users:#?}");
    let user = |at: usize| {
        [
            &users[at]["id"],
            &users[at]["name"],
            &users[at]["username"],
            &users[at]["admin"],
        ]
        .map(Value::clone)
    };
    assert_eq!(
        user(0),
        [json!(1), json!("Ada Lovelace"), json!("ada"), json!(true)],
        "{shown}"
    );
    assert_eq!(
        user(1),
        [
            json!(5),
            json!("Grace Hopper"),
            json!("grace33"),
            json!(false)
        ],
        "{shown}"
    );
    assert_eq!(
        user(2),
        [json!(6), json!("Grace 3-4"), json!("grace34"), json!(false)],
        "{shown}"
    );
    // Each journey made one and changed that one, and made another one who is gone again.
    assert_eq!(users.len(), 3 + JOURNEYS, "{shown}");
    for made in &users[3..] {
        assert_eq!(made["name"], "Mary Green", "{shown}");
        let name = made["username"].as_str().expect("a name");
        assert!(name.starts_with("mary") && name.len() == 14, "{shown}");
    }
}
