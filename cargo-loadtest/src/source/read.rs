//! Reads the text of a file: its scenarios, their parts and the options of these, each with its place.
//!
//! The boundaries are those that the macros find.

use super::attribute::{Attribute, OptionText};
use super::edit::EditRefusal;
use super::items::{Item, find_attributes, item_end, split_items};
use super::kinds::Owner;
use super::tokens::{Token, Unreadable, find_comments, lex_text};
use std::ops::Range;

/// The role of a part of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    Step,
    Setup,
    Feed,
    State,
    Check,
    Teardown,
    /// Its members follow it. Without a name it places one that is declared elsewhere.
    Group,
    /// Anything else that may stand in a scenario.
    Rust,
}

const ROLES: [(&str, Role); 7] = [
    ("step", Role::Step),
    ("setup", Role::Setup),
    ("feed", Role::Feed),
    ("state", Role::State),
    ("check", Role::Check),
    ("teardown", Role::Teardown),
    ("group", Role::Group),
];

/// A text that was read.
#[derive(Debug, Clone)]
pub(super) struct SourceText {
    pub(super) text: String,
    /// The places where lines end.
    line_ends: Vec<usize>,
    pub(super) comments: Vec<Range<usize>>,
    pub(super) scenarios: Vec<Holder>,
    /// The `#[group]` functions outside of scenarios.
    pub(super) groups: Vec<Holder>,
    /// The modules with `#[scenarios]`; their parts are the functions that all scenarios share.
    pub(super) modules: Vec<Holder>,
    /// The types with `#[response]`.
    pub(super) answers: Vec<Item>,
}

/// A function or a module that holds parts.
#[derive(Debug, Clone)]
pub(super) struct Holder {
    /// The modules of the file that it is in, and its name, joined by `::`.
    pub(super) path: String,
    pub(super) item: Item,
    pub(super) attribute: Attribute,
    pub(super) parts: Vec<SourcePart>,
    /// The number of the module with `#[scenarios]` that a scenario is in.
    pub(super) module: Option<usize>,
}

/// An item in the body of a scenario.
#[derive(Debug, Clone)]
pub(super) struct SourcePart {
    pub(super) role: Role,
    pub(super) item: Item,
    /// That of the role.
    pub(super) attribute: Option<Attribute>,
    /// The number of the group among the parts.
    pub(super) group: Option<usize>,
}

impl SourceText {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// A text that is no Rust.
    pub(super) fn read(text: &str) -> Result<Self, Unreadable> {
        let tokens = lex_text(text)?;
        let mut source = Self {
            comments: find_comments(text, &tokens),
            line_ends: text.match_indices('\n').map(|(at, _)| at).collect(),
            text: text.to_owned(),
            scenarios: Vec::new(),
            groups: Vec::new(),
            modules: Vec::new(),
            answers: Vec::new(),
        };
        source.add_items(text, &tokens, &[], None);
        Ok(source)
    }

    /// The number of the line at this place, from 1.
    pub(super) fn line_of(&self, at: usize) -> usize {
        1 + self.line_ends.partition_point(|end| *end < at)
    }

    /// The comments within a place.
    pub(super) fn comments_within(&self, place: &Range<usize>) -> &[Range<usize>] {
        let from = self
            .comments
            .partition_point(|comment| comment.start < place.start);
        let to = self
            .comments
            .partition_point(|comment| comment.start < place.end);
        &self.comments[from..to.max(from)]
    }

    fn add_items(&mut self, text: &str, tokens: &[Token], modules: &[&str], module: Option<usize>) {
        let mut at = 0;
        while at < tokens.len() {
            let start = at;
            at = find_attributes(text, tokens, at).1;
            let Some(token) = tokens.get(at) else { return };
            if at > start && self.add_item(text, &tokens[start..], modules, module) {
                at = item_end(text, tokens, at);
                continue;
            }
            if token.is_word(text, "mod")
                && let Some([name, body]) = tokens.get(at + 1..at + 3)
                && let (Some(name), Some(inside)) = (name.word(text), body.group('{'))
            {
                self.add_items(text, inside, &[modules, &[name]].concat(), None);
                at += 3;
                continue;
            }
            // what a macro is made of is not a scenario yet
            let is_of_macro =
                at > 0 && tokens[at - 1].is_punct('!') || at > 1 && tokens[at - 2].is_punct('!');
            if let Some(inside) = token.group('{').filter(|_| !is_of_macro) {
                self.add_items(text, inside, modules, None);
            }
            at += 1;
        }
    }

    /// Adds the item at the start, if it is one to be read; returns false for any other.
    fn add_item(
        &mut self,
        text: &str,
        tokens: &[Token],
        modules: &[&str],
        module: Option<usize>,
    ) -> bool {
        let (attributes, head) = find_attributes(text, tokens, 0);
        let named = |wanted: &str| {
            attributes
                .iter()
                .find_map(|attribute| attribute.options_of(text, wanted))
        };
        let item = || {
            let end = item_end(text, tokens, head);
            Item::read(text, &tokens[..end], head)
        };
        if let Some(attribute) = named("scenario") {
            let Some(holder) = item().into_holder(text, attribute, modules, module) else {
                return false;
            };
            let is_answer =
                |part: &&SourcePart| part.role == Role::Rust && part.item.is_answer(text);
            let answers = holder.parts.iter().filter(is_answer);
            self.answers.extend(answers.map(|part| part.item.clone()));
            self.scenarios.push(holder);
        } else if let Some(attribute) = named("group") {
            match item().into_holder(text, attribute, modules, None) {
                Some(holder) => self.groups.push(holder),
                None => return false,
            }
        } else if let Some(attribute) = named("scenarios") {
            let item = item();
            let Some(inside) = item.body_tokens().map(<[Token]>::to_vec) else {
                return false;
            };
            let path: Vec<&str> = [modules, &[&item.name]].concat();
            let number = self.modules.len();
            let is_shared = |part: &SourcePart| {
                matches!(
                    part.role,
                    Role::Setup | Role::Feed | Role::State | Role::Teardown
                )
            };
            let mut parts = read_parts(text, &inside);
            parts.retain(is_shared);
            self.modules.push(Holder {
                path: path.join("::"),
                attribute,
                parts,
                module: None,
                item: item.clone(),
            });
            self.add_items(text, &inside, &path, Some(number));
        } else if named("response").is_some() {
            self.answers.push(item());
        } else {
            return false;
        }
        true
    }
}

impl Item {
    fn into_holder(
        self,
        text: &str,
        attribute: Attribute,
        modules: &[&str],
        module: Option<usize>,
    ) -> Option<Holder> {
        let inside = self.body_tokens().filter(|_| self.is_function)?;
        let parts = read_parts(text, inside);
        let path = [modules, &[self.name.as_str()]].concat().join("::");
        Some(Holder {
            path,
            item: self,
            attribute,
            parts,
            module,
        })
    }
}

/// Reads the items of a body; those of a group follow it.
fn read_parts(text: &str, body: &[Token]) -> Vec<SourcePart> {
    let mut parts = Vec::new();
    for (tokens, head) in split_items(text, body) {
        let (attributes, _) = find_attributes(text, tokens, 0);
        let role = attributes.iter().find_map(|attribute| {
            let name = attribute.name?;
            let (_, role) = ROLES.iter().find(|(word, _)| *word == name)?;
            Some((*role, attribute.options_of(text, name)?))
        });
        let item = Item::read(text, tokens, head);
        let (role, attribute) = match role {
            Some((role, attribute)) => (role, Some(attribute)),
            None => (Role::Rust, None),
        };
        let number = parts.len();
        let members = item.body_tokens().filter(|_| role == Role::Group);
        let members = members.map(|inside| read_parts(text, inside));
        parts.push(SourcePart {
            role,
            item,
            attribute,
            group: None,
        });
        parts.extend(members.into_iter().flatten().map(|mut member| {
            member.group = Some(number);
            member
        }));
    }
    parts
}

impl SourcePart {
    /// The options of its attribute.
    pub(super) fn options(&self) -> &[OptionText] {
        self.attribute
            .as_ref()
            .map_or(&[], |attribute| &attribute.options)
    }
}

impl Holder {
    /// The place between the braces.
    pub(super) fn body(&self) -> Range<usize> {
        self.item.body.clone().unwrap_or_default()
    }

    /// The number of a part among all parts.
    pub(super) fn find_part(&self, name: &str) -> Option<usize> {
        self.parts
            .iter()
            .position(|part| part.role != Role::Rust && part.item.name == name)
    }
}

impl SourceText {
    /// The scenario or the shared group with this path.
    pub(super) fn find_holder(&self, path: &str) -> Result<(Owner, &Holder), EditRefusal> {
        let scenarios = self
            .scenarios
            .iter()
            .map(|holder| (Owner::Scenario, holder));
        let groups = self.groups.iter().map(|holder| (Owner::Group, holder));
        let mut found = scenarios
            .chain(groups)
            .filter(|(_, holder)| holder.path == path);
        let holder = found
            .next()
            .ok_or_else(|| EditRefusal::Missing(path.to_owned()))?;
        if found.next().is_some() {
            let reason = format!("the file has several functions `{path}`");
            return Err(EditRefusal::Refused(reason));
        }
        match holder.1.locked() {
            Some(reason) => Err(EditRefusal::Refused(reason.to_owned())),
            None => Ok(holder),
        }
    }
}

impl Holder {
    /// The reason why no form can edit it.
    pub(super) fn locked(&self) -> Option<&'static str> {
        (self.attribute.is_conditional)
            .then_some("its attribute is within `cfg_attr(..)`: edit it in Rust")
    }
}
