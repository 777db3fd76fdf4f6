//! The addresses of the dashboard: what each needs, and how a page links to it.

use super::assets::Asset;
use crate::export::Format;
use crate::policy::Action;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Characters that need no escape in a part of a path.
const PART: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':');

/// An address with its method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    /// Exchanges the code of the printed address for the cookie.
    Open(String),
    /// Answers the tool with a new code.
    Code,
    Asset(Asset),
    Scenarios,
    /// The history of a scenario, by its identity.
    Scenario(String),
    /// New tests, and requests to make them from.
    New,
    /// The form of a scenario.
    Edit(String),
    /// One journey of a scenario.
    Try(String),
    Runs,
    /// A report, or the live view of a run that is under way.
    Run(String),
    /// A report as a file.
    Report(String, Format),
    Compare,
    Baselines,
    Events,
    Settings,
    /// A run that was asked for and has no folder yet.
    Started,
    /// Fragments of a page, as they change.
    Stream,
    StartRun,
    StopRun,
    AbortRun,
    /// Takes a run out of the queue, by its number.
    Unqueue,
    /// Deletes runs.
    RemoveRuns,
    StartTry,
    SaveBaseline,
    RemoveBaseline,
    /// Shows what a form would change.
    PreviewEdit,
    /// Writes it.
    SaveEdit,
    /// Takes the last change back.
    UndoEdit,
    /// Checks the file with the compiler.
    CheckSource,
    /// Reads requests, and shows what they would be as Rust.
    ReadImport,
    /// Writes them as a module of a load test.
    SaveImport,
    /// Shows what an empty scenario would be as Rust.
    PreviewScenario,
    /// Adds it to a load test.
    AddScenario,
    /// Copies a scenario as a new version beside it.
    Duplicate,
    /// Builds the load tests and asks them for their scenarios.
    Refresh,
}

/// What a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Nothing: it gives away nothing.
    Public,
    /// The cookie.
    Read,
    /// The cookie, the same origin, and a dashboard that is not read-only.
    Change,
}

impl Route {
    /// Finds the route of a request; `None` where there is none.
    pub(super) fn find(method: &http::Method, path: &str) -> Option<Self> {
        let parts: Vec<String> = path
            .strip_prefix('/')?
            .split('/')
            .map(|part| percent_decode_str(part).decode_utf8().map(String::from))
            .collect::<Result<_, _>>()
            .ok()?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        if *method == http::Method::POST {
            return Some(match parts[..] {
                ["runs", "start"] => Self::StartRun,
                ["runs", "stop"] => Self::StopRun,
                ["runs", "abort"] => Self::AbortRun,
                ["runs", "unqueue"] => Self::Unqueue,
                ["runs", "remove"] => Self::RemoveRuns,
                ["try", "start"] => Self::StartTry,
                ["baselines", "save"] => Self::SaveBaseline,
                ["baselines", "remove"] => Self::RemoveBaseline,
                ["edit", "preview"] => Self::PreviewEdit,
                ["edit", "save"] => Self::SaveEdit,
                ["edit", "undo"] => Self::UndoEdit,
                ["edit", "check"] => Self::CheckSource,
                ["new", "read"] => Self::ReadImport,
                ["new", "save"] => Self::SaveImport,
                ["new", "preview"] => Self::PreviewScenario,
                ["new", "add"] => Self::AddScenario,
                ["scenarios", "duplicate"] => Self::Duplicate,
                ["scenarios", "refresh"] => Self::Refresh,
                _ => return None,
            });
        }
        if *method != http::Method::GET && *method != http::Method::HEAD {
            return None;
        }
        Some(match parts[..] {
            [""] => Self::Scenarios,
            ["open", code] => Self::Open(code.to_owned()),
            ["code"] => Self::Code,
            ["assets", name] => Self::Asset(Asset::find(name)?),
            ["scenarios", identity] => Self::Scenario(identity.to_owned()),
            ["scenarios", identity, "edit"] => Self::Edit(identity.to_owned()),
            ["scenarios", identity, "try"] => Self::Try(identity.to_owned()),
            ["new"] => Self::New,
            ["runs"] => Self::Runs,
            ["runs", run] => Self::Run(run.to_owned()),
            ["runs", run, file] => {
                let format = Format::ALL
                    .into_iter()
                    .find(|format| format.file_name() == file)?;
                Self::Report(run.to_owned(), format)
            }
            ["compare"] => Self::Compare,
            ["baselines"] => Self::Baselines,
            ["events"] => Self::Events,
            ["settings"] => Self::Settings,
            ["started"] => Self::Started,
            ["stream"] => Self::Stream,
            _ => return None,
        })
    }

    /// Returns the path of the route, for links and forms.
    pub(super) fn path(&self) -> String {
        let part = |text: &str| utf8_percent_encode(text, PART).to_string();
        match self {
            Self::Open(code) => format!("/open/{}", part(code)),
            Self::Code => "/code".to_owned(),
            Self::Asset(asset) => format!("/assets/{}", asset.name()),
            Self::Scenarios => "/".to_owned(),
            Self::Scenario(identity) => format!("/scenarios/{}", part(identity)),
            Self::Edit(identity) => format!("/scenarios/{}/edit", part(identity)),
            Self::Try(identity) => format!("/scenarios/{}/try", part(identity)),
            Self::New => "/new".to_owned(),
            Self::Runs => "/runs".to_owned(),
            Self::Run(run) => format!("/runs/{}", part(run)),
            Self::Report(run, format) => format!("/runs/{}/{}", part(run), format.file_name()),
            Self::Compare => "/compare".to_owned(),
            Self::Baselines => "/baselines".to_owned(),
            Self::Events => "/events".to_owned(),
            Self::Settings => "/settings".to_owned(),
            Self::Started => "/started".to_owned(),
            Self::Stream => "/stream".to_owned(),
            Self::StartRun => "/runs/start".to_owned(),
            Self::StopRun => "/runs/stop".to_owned(),
            Self::AbortRun => "/runs/abort".to_owned(),
            Self::Unqueue => "/runs/unqueue".to_owned(),
            Self::RemoveRuns => "/runs/remove".to_owned(),
            Self::StartTry => "/try/start".to_owned(),
            Self::SaveBaseline => "/baselines/save".to_owned(),
            Self::RemoveBaseline => "/baselines/remove".to_owned(),
            Self::PreviewEdit => "/edit/preview".to_owned(),
            Self::SaveEdit => "/edit/save".to_owned(),
            Self::UndoEdit => "/edit/undo".to_owned(),
            Self::CheckSource => "/edit/check".to_owned(),
            Self::ReadImport => "/new/read".to_owned(),
            Self::SaveImport => "/new/save".to_owned(),
            Self::PreviewScenario => "/new/preview".to_owned(),
            Self::AddScenario => "/new/add".to_owned(),
            Self::Duplicate => "/scenarios/duplicate".to_owned(),
            Self::Refresh => "/scenarios/refresh".to_owned(),
        }
    }

    /// Returns what a request for the route needs.
    pub(super) fn access(&self) -> Access {
        match self {
            Self::Open(_) | Self::Asset(_) => Access::Public,
            Self::Code
            | Self::Scenarios
            | Self::Scenario(_)
            | Self::New
            | Self::Edit(_)
            | Self::Try(_)
            | Self::Runs
            | Self::Run(_)
            | Self::Report(..)
            | Self::Compare
            | Self::Baselines
            | Self::Events
            | Self::Settings
            | Self::Started
            | Self::Stream => Access::Read,
            Self::StartRun
            | Self::StopRun
            | Self::AbortRun
            | Self::Unqueue
            | Self::RemoveRuns
            | Self::StartTry
            | Self::SaveBaseline
            | Self::RemoveBaseline
            | Self::PreviewEdit
            | Self::SaveEdit
            | Self::UndoEdit
            | Self::CheckSource
            | Self::ReadImport
            | Self::SaveImport
            | Self::PreviewScenario
            | Self::AddScenario
            | Self::Duplicate
            | Self::Refresh => Access::Change,
        }
    }

    /// Returns what the organisation must permit the caller.
    pub(super) fn action(&self) -> Option<Action> {
        Some(match self {
            Self::StartRun | Self::StopRun | Self::AbortRun | Self::Unqueue | Self::RemoveRuns => {
                Action::Run
            }
            Self::StartTry => Action::Debug,
            Self::SaveBaseline | Self::RemoveBaseline => Action::Baseline,
            Self::PreviewEdit
            | Self::SaveEdit
            | Self::UndoEdit
            | Self::CheckSource
            | Self::ReadImport
            | Self::SaveImport
            | Self::PreviewScenario
            | Self::AddScenario => Action::Edit,
            Self::Duplicate => Action::Duplicate,
            _ => return None,
        })
    }

    /// Returns the method of the route.
    #[cfg(test)]
    pub(super) fn method(&self) -> http::Method {
        match self.access() {
            Access::Change => http::Method::POST,
            Access::Public | Access::Read => http::Method::GET,
        }
    }

    /// Returns every route once, with invented names.
    #[cfg(test)]
    pub(super) fn samples() -> Vec<Self> {
        let name = || "shop::load::a b/ü".to_owned();
        vec![
            Self::Open("code".to_owned()),
            Self::Code,
            Self::Asset(Asset::Style),
            Self::Asset(Asset::Script),
            Self::Scenarios,
            Self::Scenario(name()),
            Self::New,
            Self::Edit(name()),
            Self::Try(name()),
            Self::Runs,
            Self::Run(name()),
            Self::Report(name(), Format::Html),
            Self::Compare,
            Self::Baselines,
            Self::Events,
            Self::Settings,
            Self::Started,
            Self::Stream,
            Self::StartRun,
            Self::StopRun,
            Self::AbortRun,
            Self::Unqueue,
            Self::RemoveRuns,
            Self::StartTry,
            Self::SaveBaseline,
            Self::RemoveBaseline,
            Self::PreviewEdit,
            Self::SaveEdit,
            Self::UndoEdit,
            Self::CheckSource,
            Self::ReadImport,
            Self::SaveImport,
            Self::PreviewScenario,
            Self::AddScenario,
            Self::Duplicate,
            Self::Refresh,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_changes_something_needs_a_permission() {
        for route in Route::samples() {
            // To list scenarios is permitted to viewers, too.
            let is_change = route.access() == Access::Change && route != Route::Refresh;
            assert_eq!(route.action().is_some(), is_change, "{route:?}");
        }
    }

    #[test]
    fn the_path_of_every_route_leads_to_it_and_only_with_its_method() {
        for route in Route::samples() {
            let path = route.path();
            assert_eq!(
                Route::find(&route.method(), &path),
                Some(route.clone()),
                "{path}"
            );
            let other = if route.method() == http::Method::POST {
                http::Method::GET
            } else {
                http::Method::POST
            };
            assert_ne!(Route::find(&other, &path), Some(route.clone()), "{path}");
            assert_eq!(Route::find(&http::Method::DELETE, &path), None);
        }
        for path in [
            "",
            "x",
            "//",
            "/nothing",
            "/runs/a/b",
            "/assets/other.js",
            "/runs/%ff",
        ] {
            assert_eq!(Route::find(&http::Method::GET, path), None, "{path}");
        }
    }
}
