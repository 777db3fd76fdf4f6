//! The effective configuration, and where each value comes from.

use crate::commands::config::describe_tables;
use crate::ui::dashboard::Dashboard;
use crate::ui::frame::{Content, Section};
use loadtest_console::error::Error;
use maud::html;

/// The editors that places in source can lead to, by the schemes of their addresses.
const EDITORS: [(&str, &str); 4] = [
    ("", "no editor"),
    ("vscode", "VS Code"),
    ("zed", "Zed"),
    ("idea", "IntelliJ"),
];

/// Renders the page.
///
/// # Errors
/// What is wrong with `loadtest.toml`.
pub(super) fn render(dashboard: &Dashboard) -> Result<Content, Error> {
    let config = dashboard.config()?;
    let store = dashboard.store.directory().to_path_buf();
    let tables = describe_tables(&config, store, &dashboard.folder);
    let body = html! {
        h1 { "Settings" }
        p.sub {
            "The file is " code { (dashboard.shown_path(&config.folder.join(crate::config::FILE_NAME))) }
            @if !config.is_file { ", which does not exist: all values are built-in" }
            ". Edit it in your editor: changes to permitted targets should be reviewed."
        }
        @for table in &tables {
            section {
                h2 { code { (table.title) } " " span.sub { (table.note) } }
                div.scroll role="region" aria-label=(table.title) tabindex="0" {
                    table.list {
                        thead { tr { th scope="col" { "Key" } th scope="col" { "Value" } th scope="col" { "From" } } }
                        tbody {
                            @for row in &table.rows {
                                tr { th scope="row" { (row.name) } td { @if row.is_set { strong { (row.value) } } @else { (row.value) } } td.sub { (row.place) } }
                            }
                        }
                    }
                }
            }
        }
        section data-letters hidden {
            h2 { "This browser" }
            p.line { label { input type="checkbox" autocomplete="off"; " Single-key shortcuts" } }
            p.sub { "They open pages and press buttons, unless a field has the focus. Other shortcuts always work." }
            p.line { label { "Open source locations in "
                select data-editor autocomplete="off" {
                    @for (scheme, name) in EDITORS { option value=(scheme) { (name) } }
                }
            } }
        }
    };
    Ok(super::plain(Section::Settings, "Settings", body))
}
