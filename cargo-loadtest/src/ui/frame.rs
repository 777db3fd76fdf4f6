//! What all pages have: head, navigation, the line of the run under way.

use super::assets::Asset;
use super::dashboard::Dashboard;
use super::live;
use super::notices::Notice;
use super::route::Route;
use crate::export::html::render_logo;
use maud::{DOCTYPE, Markup, html};

/// The element of the line of the run under way.
pub(super) const BAR: &str = "bar";

/// A page without its frame.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) title: String,
    /// The entry of the navigation that is current.
    pub(super) section: Section,
    /// The query of its stream.
    pub(super) stream: String,
    pub(super) body: Markup,
}

/// The entries of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Scenarios,
    New,
    Runs,
    Compare,
    Baselines,
    Events,
    Settings,
    None,
}

impl Section {
    const ALL: [(Self, &'static str, Route, char); 7] = [
        (Self::Scenarios, "Scenarios", Route::Scenarios, 's'),
        (Self::New, "New test", Route::New, 'n'),
        (Self::Runs, "Runs", Route::Runs, 'r'),
        (Self::Compare, "Compare", Route::Compare, 'c'),
        (Self::Baselines, "Baselines", Route::Baselines, 'b'),
        (Self::Events, "Events", Route::Events, 'e'),
        (Self::Settings, "Settings", Route::Settings, ','),
    ];
}

/// Puts a page into the frame; `notice` is the result of what led to it.
pub(super) fn render_page(
    dashboard: &Dashboard,
    content: &Content,
    notice: Option<&Notice>,
) -> Markup {
    let name = dashboard.name();
    html! {
        (render_head(&format!("{} · {name} · loadtest", content.title)))
        body data-stream=(format!("{}?{}", Route::Stream.path(), content.stream)) {
            a.skip href="#main" { "Skip to the content" }
            header.frame {
                a.mark href="/" { (render_logo()) "loadtest" }
                nav aria-label="Pages" {
                    ul {
                        @for (section, title, route, key) in Section::ALL {
                            li { a href=(route.path()) data-go=(key) aria-current=[(section == content.section).then_some("page")] { (title) } }
                        }
                    }
                }
                span.where { (name) @if let Some(caller) = describe_caller(dashboard) { " · " (caller) } }
            }
            (render_bar(dashboard))
            div #status.unseen role="status" {}
            main #main tabindex="-1" {
                @if let Some(notice) = notice {
                    p.notice.(if notice.is_good { "t-good" } else { "t-bad" }) role="status" { (notice.text) }
                }
                (content.body)
            }
            footer.end {
                button.plain type="button" data-keys hidden { "Keys" }
                button.plain type="button" data-pause data-key="p" hidden { "Pause the view" }
                " loadtest " (env!("CARGO_PKG_VERSION"))
            }
        }
    }
}

/// Renders a page that has no frame, since it knows nothing.
pub(super) fn render_bare(title: &str, body: &Markup) -> Markup {
    html! {
        (render_head(title))
        body { main { (body) } }
    }
}

fn render_head(title: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en";
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) }
            link rel="stylesheet" href=(Route::Asset(Asset::Style).path());
            link rel="icon" href="data:,";
            script src=(Route::Asset(Asset::Script).path()) defer {}
        }
    }
}

/// Returns the caller and their level, where `[organisation]` gives levels.
fn describe_caller(dashboard: &Dashboard) -> Option<String> {
    let config = dashboard.config().ok()?;
    config.organisation.as_ref()?;
    let caller = dashboard.caller();
    let level = caller.as_ref().and_then(|caller| caller.level(&config));
    let name = caller.and_then(|caller| caller.names.into_iter().next());
    let level = level.map_or("no member", |level| level.word());
    Some(format!("{}, {level}", name.as_deref().unwrap_or("unknown")))
}

/// Renders the line of the run under way; it is empty where none is.
pub(super) fn render_bar(dashboard: &Dashboard) -> Markup {
    html! {
        div id=(BAR) { (live::render_bar(dashboard)) }
    }
}
