//! The service under test: the origin that most requests go to.

use super::Recording;
use std::collections::HashMap;

/// Origin of requests whose host is not known.
pub(crate) const SOMEWHERE: &str = "http://127.0.0.1:8080";

impl Recording {
    /// Chooses the origin of most requests as the base, also for targets that are a whole URL at run time.
    pub(crate) fn choose_base(&mut self) {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let exchanges = self.exchanges.iter();
        let origins = exchanges.map(|exchange| exchange.origin.as_str());
        let origins = origins.filter(|origin| !origin.is_empty());
        for origin in origins.clone() {
            *counts.entry(origin).or_default() += 1;
        }
        // The first of those with the most.
        let most = origins.rev().max_by_key(|origin| counts[origin]);
        let base = most.unwrap_or(SOMEWHERE).to_owned();
        for exchange in &mut self.exchanges {
            if exchange.origin.is_empty() {
                exchange.origin.clone_from(&base);
            }
        }
        self.base = Some(base);
    }
}
