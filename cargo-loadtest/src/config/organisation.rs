//! `[organisation]`: who may do what. It has no variables: the committed file decides.

use super::key::{ConfigTable, Given, keys_of, suggest_known};
use super::reader::{ConfigReader, Value};

/// Members and plan of the organisation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Organisation {
    /// `plan`.
    pub(crate) plan: Plan,
    /// The line of the plan, else that of the table.
    pub(crate) line: usize,
    /// `[organisation.members]`; everybody, where nobody is named.
    pub(crate) members: Vec<Member>,
}

/// The plan of the organisation, which limits the tests it may run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Plan {
    /// `pro`: scenarios.
    #[default]
    Pro,
    /// `free`: single-request tests only.
    Free,
}

impl Plan {
    /// The word in the file.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Pro => "pro",
            Self::Free => "free",
        }
    }
}

/// A member of the team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// Who: a login or an address.
    pub(crate) name: String,
    /// The permissions of the member.
    pub(crate) level: Level,
    /// The line.
    pub(crate) line: usize,
}

/// A level of permission; each includes the levels below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Look at scenarios, runs and reports.
    Viewer,
    /// Run, save baselines, duplicate scenarios.
    Tester,
    /// Change targets.
    Admin,
}

impl Level {
    const ALL: [Self; 3] = [Self::Viewer, Self::Tester, Self::Admin];

    /// The word in the file.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Tester => "tester",
            Self::Admin => "admin",
        }
    }
}

impl Organisation {
    /// The member that somebody is; letter case makes no other person.
    pub(crate) fn member(&self, name: &str) -> Option<&Member> {
        let mut members = self.members.iter();
        members.find(|member| member.name.eq_ignore_ascii_case(name))
    }
}

impl ConfigTable for Plan {
    const SECTION: &'static str = "organisation";

    fn set_key(&mut self, _: &str, given: &Given<'_>) -> Result<(), String> {
        *self = match given.text() {
            "pro" => Self::Pro,
            "free" => Self::Free,
            word => {
                let instead = suggest_known(word, &["pro", "free"]);
                return Err(format!("is not a plan; {instead}"));
            }
        };
        Ok(())
    }
}

/// Reads the table.
pub(super) fn read(
    value: Value<'_, '_>,
    line: usize,
    reader: &mut ConfigReader<'_>,
) -> Organisation {
    let mut organisation = Organisation {
        line,
        ..Organisation::default()
    };
    let Some(table) = reader.table("organisation", value) else {
        return organisation;
    };
    for (name, value) in table {
        match &**name.get_ref() {
            "plan" => {
                let plan = keys_of(Plan::SECTION).next();
                let read = plan.and_then(|key| reader.key(key, value, &mut organisation.plan));
                organisation.line = read.map_or(line, |read| read.line);
            }
            "members" => organisation.members = read_members(value, reader),
            _ => reader.unknown(name, &["plan", "members"]),
        }
    }
    organisation
}

fn read_members(value: Value<'_, '_>, reader: &mut ConfigReader<'_>) -> Vec<Member> {
    const EXAMPLE: &str = "write `\"ada@example.com\" = \"tester\"` below `[organisation.members]`";
    let mut members: Vec<Member> = Vec::new();
    let Some(table) = value.get_ref().as_table() else {
        let message = format!("`organisation.members` is a table; {EXAMPLE}");
        reader.mistake(value.span().start, message);
        return members;
    };
    if table.is_empty() {
        let message = format!("`organisation.members` is empty; {EXAMPLE}, or leave it out");
        reader.mistake(value.span().start, message);
    }
    for (key, value) in table {
        let (at, name) = (key.span().start, key.get_ref().trim());
        let words = Level::ALL.map(Level::word);
        let Some(word) = value.get_ref().as_str() else {
            let message = format!(
                "the level of `{name}` is text, one of {}",
                list_words(&words)
            );
            reader.mistake(value.span().start, message);
            continue;
        };
        let Some(level) = Level::ALL.into_iter().find(|level| level.word() == word) else {
            let instead = suggest_known(word, &words);
            reader.mistake(
                value.span().start,
                format!("`{word}` is not a level; {instead}"),
            );
            continue;
        };
        if name.is_empty() {
            reader.mistake(at, format!("a member has no name; {EXAMPLE}"));
        }
        let same = members
            .iter()
            .find(|one| one.name.eq_ignore_ascii_case(name));
        if let Some(same) = same {
            let message = format!("`{name}` is a member already, by line {}", same.line);
            reader.mistake(at, message);
            continue;
        }
        members.push(Member {
            name: name.to_owned(),
            level,
            line: reader.line(at),
        });
    }
    members.sort_by_key(|member| member.line);
    members
}

fn list_words(words: &[&str]) -> String {
    loadtest_console::suggestion::join_names(words)
}
