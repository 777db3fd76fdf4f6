//! Names for requests, after what they do: names of Rust functions.

use super::recording::Exchange;
use std::collections::HashSet;

/// The longest name.
const LONGEST: usize = 48;
/// What says nothing of a path.
const SILENT: [&str; 4] = ["api", "rest", "index", "public"];
/// Words at the end of a path that say what is done.
const DEEDS: [&str; 12] = [
    "checkout",
    "login",
    "logout",
    "refresh",
    "register",
    "search",
    "signin",
    "signout",
    "signup",
    "subscribe",
    "token",
    "upload",
];

/// A name for each of them, no two alike.
pub(super) fn steps(exchanges: &[Exchange]) -> Vec<String> {
    let mut used = HashSet::new();
    let mut names = Vec::new();
    for exchange in exchanges {
        let name = step(&exchange.method, &exchange.target);
        let mut unique = name.clone();
        let mut number = 1;
        while !used.insert(unique.clone()) {
            number += 1;
            unique = format!("{name}_{number}");
        }
        names.push(unique);
    }
    names
}

/// A name for all of them.
pub(super) fn scenario(steps: &[String]) -> String {
    match steps {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first, last] => format!("{first}_then_{last}"),
        [first, .., last] => format!("{first}_to_{last}"),
    }
}

fn step(method: &str, target: &str) -> String {
    let path = target.split('?').next().unwrap_or_default();
    let words: Vec<String> = path.split('/').filter_map(word).collect();
    let verb = cleaned(&method.to_ascii_lowercase());
    let name = match words.as_slice() {
        [] => format!("{verb}_root"),
        [.., last] if DEEDS.contains(&last.as_str()) => last.clone(),
        [last] => format!("{verb}_{last}"),
        [.., before, last] => format!("{verb}_{before}_{last}"),
    };
    let mut name = name;
    name.truncate(LONGEST);
    let name = name.trim_end_matches('_').to_owned();
    match name.bytes().next() {
        Some(first) if first.is_ascii_alphabetic() => name,
        _ => format!("send_{name}"),
    }
}

/// What a segment of a path says; nothing where it is an identifier, a version or the like.
fn word(segment: &str) -> Option<String> {
    let stem = match segment.rsplit_once('.') {
        Some((stem, end)) if end.len() <= 5 && !stem.is_empty() => stem,
        _ => segment,
    };
    let is_version = stem.strip_prefix('v').is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    let digits = stem.bytes().filter(u8::is_ascii_digit).count();
    let is_identifier = digits * 2 >= stem.len()
        || stem.len() > 24
        || stem.len() >= 8
            && digits > 0
            && stem
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let word = cleaned(stem);
    let is_silent = SILENT.contains(&word.as_str());
    (!word.is_empty() && !is_version && !is_identifier && !is_silent).then_some(word)
}

/// A part of a name: lower case, digits, single underscores.
fn cleaned(text: &str) -> String {
    let mut word = String::new();
    let mut was_lower = false;
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            if letter.is_ascii_uppercase() && was_lower {
                word.push('_');
            }
            was_lower = letter.is_ascii_lowercase();
            word.push(letter.to_ascii_lowercase());
        } else if !word.is_empty() && !word.ends_with('_') {
            word.push('_');
            was_lower = false;
        }
    }
    word.trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_named_after_what_they_do() {
        for (method, target, name) in [
            ("GET", "/", "get_root"),
            ("GET", "/api/v2/products?page=2", "get_products"),
            ("GET", "/products/42", "get_products"),
            ("POST", "/users/7/orderItems", "post_users_order_items"),
            ("POST", "/auth/login", "login"),
            (
                "DELETE",
                "/a/3f2504e0-4f89-11d3-9a0c-0305e82c3301",
                "delete_a",
            ),
            ("GET", "/%C3%BC/..;/x.json", "get_c3_bc_x"),
            ("M-SEARCH", "/", "m_search_root"),
            ("1", "/", "send_1_root"),
        ] {
            assert_eq!(step(method, target), name, "{method} {target}");
        }
    }
}
