//! The formats of a report: their names, their files, and the exporter of each.

use super::{csv, html, json, junit, markdown, openmetrics, pdf};
use loadtest_model::card::Report;

/// A format a report can be exported in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The card as data.
    Json,
    /// The card as a page.
    Html,
    /// The report as PDF.
    Pdf,
    /// The steps and thresholds as test cases.
    Junit,
    /// The card for a pull request.
    Markdown,
    /// The steps as rows.
    Csv,
    /// The figures as the text of `OpenMetrics`.
    Openmetrics,
}

impl Format {
    /// All formats, in the order of the help.
    pub(crate) const ALL: [Self; 7] = [
        Self::Html,
        Self::Pdf,
        Self::Json,
        Self::Junit,
        Self::Markdown,
        Self::Csv,
        Self::Openmetrics,
    ];

    /// The word on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Html => "html",
            Self::Pdf => "pdf",
            Self::Junit => "junit",
            Self::Markdown => "markdown",
            Self::Csv => "csv",
            Self::Openmetrics => "openmetrics",
        }
    }

    /// The name of the file in the folder of a run.
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            Self::Json => "report.json",
            Self::Html => "report.html",
            Self::Pdf => "report.pdf",
            Self::Junit => "junit.xml",
            Self::Markdown => "report.md",
            Self::Csv => "report.csv",
            Self::Openmetrics => "metrics.txt",
        }
    }

    /// Renders `report`; a PDF takes characters that its own font lacks from `fonts`.
    pub(crate) fn render(self, report: &Report, fonts: &[pdf::Font]) -> Vec<u8> {
        match self {
            Self::Html => html::render(report).into_bytes(),
            Self::Pdf => pdf::render(report, fonts),
            Self::Json => json::render(report).into_bytes(),
            Self::Junit => junit::render(report).into_bytes(),
            Self::Markdown => markdown::render(report).into_bytes(),
            Self::Csv => csv::render(report).into_bytes(),
            Self::Openmetrics => openmetrics::render(report).into_bytes(),
        }
    }
}
