//! The service under test: the origin that most requests go to.

use crate::naming::{field_name, unique};
use crate::recording::{Constant, Recording, Text};
use crate::text::most_frequent;
use std::collections::{HashMap, HashSet};

/// Origin of requests whose host is not known.
pub(crate) const SOMEWHERE: &str = "http://127.0.0.1:8080";

impl Recording {
    /// Chooses the origin of most requests as the base, also for targets that are a whole URL at run time.
    ///
    /// An origin with names in braces is one that only a run knows: `https://pay.{STAGE}.example`. As the base it is
    /// [`SOMEWHERE`]; each other one becomes a constant, so that no request goes to the host of another one. Returns the
    /// names of these constants by their origin.
    pub(crate) fn choose_base(&mut self) -> HashMap<String, String> {
        let exchanges = self.exchanges.iter();
        let origins = exchanges.map(|exchange| exchange.origin.as_str());
        let origins = origins.filter(|origin| !origin.is_empty());
        let most = most_frequent(origins).unwrap_or(SOMEWHERE).to_owned();
        let base = if most.contains('{') { SOMEWHERE } else { &most };
        let names = self.constants.iter().map(|constant| constant.name.clone());
        let mut names: HashSet<String> = names.collect();
        let mut hosts: HashMap<String, usize> = HashMap::new();
        for exchange in &mut self.exchanges {
            let origin = std::mem::replace(&mut exchange.origin, base.to_owned());
            if origin.is_empty() || origin == most {
                continue;
            }
            if !origin.contains('{') {
                exchange.origin = origin;
                continue;
            }
            let number = *hosts.entry(origin).or_insert_with_key(|origin| {
                self.constants.push(host_constant(origin, &mut names));
                self.constants.len() - 1
            });
            let target = [Text::constant(number), std::mem::take(&mut exchange.target)];
            exchange.target = Text::join(target, "");
        }
        self.base = Some(base.to_owned());
        let hosts = hosts.into_iter();
        hosts
            .map(|(origin, number)| (origin, self.constants[number].name.clone()))
            .collect()
    }
}

/// Makes the constant of a host, with `unknown` in the place of each name in braces.
fn host_constant(origin: &str, names: &mut HashSet<String>) -> Constant {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let mut parts = origin.split('{');
    let mut value = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        value.push_str("unknown");
        value.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
    }
    if host == origin {
        value.insert_str(0, "http://");
    }
    Constant {
        name: unique(&field_name(host).to_ascii_uppercase(), names),
        value,
        what: format!("TODO: the address of `{origin}`, which only a run knows."),
    }
}
