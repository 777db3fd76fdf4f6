//! Names for requests, after what they do: names of Rust functions and types.

mod words;

use super::marked::Exchange;
use std::collections::{HashMap, HashSet};
pub(super) use words::singular;
use words::{cleaned, word};

/// The longest name.
const LONGEST: usize = 48;
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
/// Those of them that are pages where they are only looked at.
const PAGES: [&str; 7] = [
    "checkout",
    "login",
    "register",
    "signin",
    "signup",
    "subscribe",
    "upload",
];
/// Words at the beginning of a name that say what is done with the rest.
const VERBS: [&str; 16] = [
    "add", "create", "delete", "fetch", "find", "get", "head", "list", "load", "options", "patch",
    "post", "put", "read", "show", "update",
];
/// What no function can be called, or none of a scenario: `http`, `secret` and `vu` are something else there, the
/// others are imported, or written beside it.
const RESERVED: [&str; 69] = [
    "abstract",
    "as",
    "async",
    "await",
    "become",
    "between",
    "box",
    "break",
    "check",
    "const",
    "continue",
    "crate",
    "decoded",
    "do",
    "dyn",
    "else",
    "encoded",
    "enum",
    "extern",
    "false",
    "feed",
    "final",
    "fn",
    "for",
    "gen",
    "http",
    "if",
    "impl",
    "in",
    "json",
    "let",
    "link",
    "loop",
    "macro",
    "main",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "pub",
    "ref",
    "response",
    "return",
    "scenario",
    "secret",
    "self",
    "setup",
    "state",
    "static",
    "step",
    "struct",
    "super",
    "teardown",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unescaped",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "vu",
    "where",
    "while",
    "yield",
];
/// What no type of a source can be called: what it imports, what needs no import, what is not raw.
const TYPES: [&str; 52] = [
    "Any",
    "AsMut",
    "AsRef",
    "Box",
    "Bytes",
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "Deserialize",
    "Drop",
    "Eq",
    "Err",
    "Error",
    "Extend",
    "Feed",
    "Fn",
    "FnMut",
    "FnOnce",
    "Form",
    "From",
    "FromIterator",
    "Future",
    "HeaderMap",
    "HeaderName",
    "HeaderValue",
    "Http",
    "Into",
    "IntoFuture",
    "IntoIterator",
    "Iterator",
    "None",
    "Ok",
    "Option",
    "Ord",
    "Part",
    "PartialEq",
    "PartialOrd",
    "Request",
    "Response",
    "Result",
    "Secret",
    "Self",
    "Send",
    "Sized",
    "Skip",
    "Some",
    "String",
    "Target",
    "Value",
    "Vec",
    "Vu",
];

/// A name for each of them, no two alike, none of them `taken`; with each comes its target, names in braces in the
/// place of what differs from request to request.
pub(super) fn steps<'a>(
    exchanges: impl IntoIterator<Item = (&'a Exchange, &'a str)>,
    taken: &[String],
) -> Vec<String> {
    let mut used: HashSet<String> = taken.iter().cloned().collect();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let exchanges = exchanges.into_iter();
    exchanges
        .map(|(exchange, target)| numbered(step(exchange, target), &mut used, &mut numbers))
        .collect()
}

/// A name that none of the others has; `numbers` has the last number of each, behind which the next is looked for.
fn numbered(
    name: String,
    used: &mut HashSet<String>,
    numbers: &mut HashMap<String, usize>,
) -> String {
    if used.insert(name.clone()) {
        return name;
    }
    let number = numbers.entry(name.clone()).or_insert(1);
    loop {
        *number += 1;
        let unique = format!("{name}_{number}");
        if used.insert(unique.clone()) {
            return unique;
        }
    }
}

/// A name for all of them.
pub(super) fn scenario(steps: &[String]) -> String {
    let name = match steps {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first, last] => format!("{first}_then_{last}"),
        [first, .., last] => format!("{first}_to_{last}"),
    };
    shortened(&name, 2 * LONGEST)
}

/// A name for requests in their order: after those that change something, where there are several of these among
/// many, else after all.
pub(super) fn journey<'a>(steps: impl IntoIterator<Item = (&'a Exchange, &'a str)>) -> String {
    let all: Vec<(&Exchange, &str)> = steps.into_iter().collect();
    let changes = |(exchange, _): &&(&Exchange, &str)| {
        !matches!(exchange.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    };
    let name = |(_, name): &(&Exchange, &str)| (*name).to_owned();
    let changing: Vec<String> = all.iter().filter(changes).map(name).collect();
    if all.len() > 2 && changing.len() > 1 {
        return scenario(&changing);
    }
    let mut names: Vec<String> = all.iter().map(name).collect();
    if let Some(last) = names.last_mut().filter(|_| all.len() > 2) {
        *last = unnumbered(last).to_owned();
    }
    scenario(&names)
}

/// A name without the number that tells it from others: `get_products` of `get_products_2`.
pub(super) fn unnumbered(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((before, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => before,
        _ => name,
    }
}

/// A function after what somebody calls it; nothing where no letters are left of that.
pub(super) fn titled(title: &str, otherwise: &str) -> Option<String> {
    let name = shortened(&cleaned(title), LONGEST);
    let letters = title.chars().filter(|letter| letter.is_alphanumeric());
    // A word of Latin letters in a title of others does not say what it does.
    let is_told = name.len() * 2 >= letters.count().min(LONGEST);
    (!name.is_empty() && is_told).then(|| allowed(&name, otherwise))
}

/// A name that none of the others has, which it becomes one of.
pub(super) fn unique(name: &str, used: &mut HashSet<String>) -> String {
    let mut unique = name.to_owned();
    let mut number = 1;
    while !used.insert(unique.clone()) {
        number += 1;
        unique = format!("{name}_{number}");
    }
    unique
}

/// The same of types, which have no underscores.
pub(super) fn unique_type(name: &str, used: &mut HashSet<String>) -> String {
    let mut unique = name.to_owned();
    let mut number = 1;
    while !used.insert(unique.clone()) {
        number += 1;
        unique = format!("{name}{number}");
    }
    unique
}

/// A field or a variable after a key of JSON.
pub(super) fn field(key: &str) -> String {
    let name = shortened(&cleaned(key), LONGEST);
    match name.bytes().next() {
        // What cannot be raw, or is not known everywhere.
        _ if ["crate", "gen", "self", "super"].contains(&name.as_str()) => format!("{name}_field"),
        Some(first) if first.is_ascii_alphabetic() => name,
        Some(_) => format!("field_{name}"),
        None => "field".to_owned(),
    }
}

/// A variable after a key of JSON or the like.
pub(super) fn variable(key: &str, used: &mut HashSet<String>) -> String {
    let name = field(key);
    let name = if RESERVED.contains(&name.as_str()) {
        format!("{name}_value")
    } else {
        name
    };
    unique(&name, used)
}

/// Whether it is a word of the language.
pub(super) fn is_keyword(name: &str) -> bool {
    const OURS: [&str; 18] = [
        "between",
        "check",
        "decoded",
        "encoded",
        "feed",
        "http",
        "json",
        "link",
        "main",
        "response",
        "scenario",
        "secret",
        "setup",
        "state",
        "step",
        "teardown",
        "unescaped",
        "vu",
    ];
    RESERVED.contains(&name) && !OURS.contains(&name)
}

/// A type after a step or a field: without what is done, `Order` of `post_orders`.
pub(super) fn of_type(name: &str, is_one: bool) -> String {
    let mut words: Vec<&str> = name.split('_').filter(|word| !word.is_empty()).collect();
    if words.len() > 1 && VERBS.contains(&words[0]) {
        words.remove(0);
    }
    let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    if let Some(last) = words.last_mut().filter(|_| is_one) {
        *last = singular(last);
    }
    let mut ty = String::new();
    for word in words {
        let (first, rest) = word.split_at(word.len().min(1));
        ty.push_str(&first.to_ascii_uppercase());
        ty.push_str(rest);
    }
    let begins_well = ty.starts_with(|first: char| first.is_ascii_alphabetic());
    if !begins_well || TYPES.contains(&ty.as_str()) {
        ty = format!("Answer{ty}");
    }
    ty
}

fn step(exchange: &Exchange, target: &str) -> String {
    let verb = cleaned(&exchange.method);
    let name = exchange.name.as_deref().map(str::trim).unwrap_or_default();
    let is_path = name.contains("://") || name.contains('/') && !name.contains(' ');
    let is_request = name
        .split_once(' ')
        .is_some_and(|(method, path)| path.starts_with('/') && method == exchange.method);
    if !is_path
        && !is_request
        && let Some(name) = titled(name, &verb)
    {
        return name;
    }
    allowed(&of_target(&verb, target), &verb)
}

/// After method and path.
fn of_target(verb: &str, target: &str) -> String {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let mut words: Vec<String> = Vec::new();
    let mut before: Option<bool> = None;
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        let word = word(segment);
        if word.is_none()
            && before == Some(true)
            && let Some(of_many) = words.last_mut()
            && words::is_identifier(segment)
        {
            *of_many = singular(of_many);
        }
        before = Some(word.is_some());
        words.extend(word);
    }
    match words.as_slice() {
        [] => match cleaned(path) {
            parameter if path.contains('{') && !parameter.is_empty() => {
                format!("{verb}_{parameter}")
            }
            _ => format!("{verb}_root"),
        },
        [.., last]
            if DEEDS.contains(&last.as_str())
                && !(verb == "get" && PAGES.contains(&last.as_str())) =>
        {
            last.clone()
        }
        [last] => format!("{verb}_{last}"),
        [.., before, last] => format!("{verb}_{before}_{last}"),
    }
}

/// The name, or one like it that a function can have.
fn allowed(name: &str, verb: &str) -> String {
    let name = shortened(name, LONGEST);
    let is_number = name.strip_prefix("step").is_some_and(|number| {
        number
            .trim_start_matches('_')
            .bytes()
            .all(|byte| byte.is_ascii_digit())
    });
    let begins_well = name.starts_with(|first: char| first.is_ascii_alphabetic());
    if begins_well && !is_number && !RESERVED.contains(&name.as_str()) {
        return name;
    }
    let verb = match verb.bytes().next() {
        Some(first) if first.is_ascii_alphabetic() => verb,
        _ => "send",
    };
    shortened(&format!("{verb}_{name}"), LONGEST)
}

/// As many of its words as there is room for.
fn shortened(name: &str, longest: usize) -> String {
    if name.len() <= longest {
        return name.trim_matches('_').to_owned();
    }
    // Names are ASCII.
    let cut = &name[..longest];
    let end = match cut.rfind('_') {
        Some(end) if end * 2 > longest && name.as_bytes()[longest] != b'_' => end,
        _ => longest,
    };
    cut[..end].trim_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(method: &str, target: &str, name: Option<&str>) -> String {
        let exchange = Exchange {
            method: method.to_owned(),
            name: name.map(str::to_owned),
            ..Exchange::default()
        };
        step(&exchange, target)
    }

    #[test]
    fn requests_are_named_after_what_they_do() {
        for (method, target, name) in [
            ("GET", "/", "get_root"),
            ("GET", "/api/v2/products?page=2", "get_products"),
            ("GET", "/products/42", "get_product"),
            ("GET", "/products/{id}", "get_product"),
            ("GET", "/categories/{id}/boxes/:box", "get_category_box"),
            ("PUT", "/status/7/addresses/8", "put_status_address"),
            ("POST", "/users/7/orderItems", "post_user_order_items"),
            ("POST", "/auth/login", "login"),
            ("GET", "/login", "get_login"),
            ("GET", "/search", "search"),
            (
                "DELETE",
                "/a/3f2504e0-4f89-11d3-9a0c-0305e82c3301",
                "delete_a",
            ),
            ("GET", "/%C3%BC/..;/x.json", "get_u_x"),
            ("GET", "{location}", "get_location"),
            ("M-SEARCH", "/", "m_search_root"),
            ("1", "/", "send_1_root"),
            ("", "/", "root"),
            ("GET", "/getHTTPResponse", "get_get_http_response"),
        ] {
            assert_eq!(named(method, target, None), name, "{method} {target}");
        }
    }

    #[test]
    fn what_somebody_calls_a_request_is_its_name() {
        for (title, name) in [
            ("getPetById", "get_pet_by_id"),
            ("Create a new order (v2)!", "create_a_new_order_v2"),
            ("Bücher löschen", "bucher_loschen"),
            ("The user's orders", "the_users_orders"),
            ("listHTTPServersV2", "list_http_servers_v2"),
            // What no function can be called.
            ("type", "post_type"),
            ("Secret", "post_secret"),
            ("3DS check", "post_3ds_check"),
            ("step 12", "post_step_12"),
            ("step12", "post_step12"),
            // What says less than the path.
            ("", "post_orders"),
            ("订单列表 API", "post_orders"),
            ("http://h/x", "post_orders"),
            ("POST /orders", "post_orders"),
            ("\u{202e}\n*/", "post_orders"),
        ] {
            assert_eq!(named("POST", "/orders", Some(title)), name, "{title}");
        }
        let long = named("GET", "/", Some(&"very long words ".repeat(100)));
        assert_eq!(long, "very_long_words_very_long_words_very_long_words");
        assert_eq!(named("GET", "/", Some(&"x".repeat(100))).len(), LONGEST);
    }

    #[test]
    fn a_journey_is_named_after_what_it_changes() {
        let named = |methods: &[&str]| {
            let exchange = |method: &&str| Exchange {
                method: (*method).to_owned(),
                ..Exchange::default()
            };
            let exchanges: Vec<_> = methods.iter().map(exchange).collect();
            let names = ["one", "two_2", "three", "four_2"];
            journey(exchanges.iter().zip(names))
        };
        assert_eq!(named(&["GET", "POST", "GET", "PUT"]), "two_2_then_four_2");
        assert_eq!(named(&["POST", "POST", "GET", "PUT"]), "one_to_four_2");
        assert_eq!(named(&["GET", "POST", "GET", "GET"]), "one_to_four");
        assert_eq!(named(&["POST", "GET"]), "one_then_two_2");
        assert_eq!(named(&["GET"]), "one");
    }

    #[test]
    fn no_two_names_are_alike() {
        let exchange = Exchange {
            method: "GET".to_owned(),
            ..Exchange::default()
        };
        let exchanges = ["/a", "/a/1", "/b"].map(|target| (&exchange, target));
        assert_eq!(
            steps(exchanges, &["get_b".to_owned()]),
            ["get_a", "get_a_2", "get_b_2"]
        );
    }

    #[test]
    fn the_next_name_is_looked_for_behind_the_last() {
        let (mut used, mut numbers) = (HashSet::new(), HashMap::new());
        for _ in 0..3 {
            numbered("a".to_owned(), &mut used, &mut numbers);
        }
        assert_eq!(numbers["a"], 3);
        used.remove("a_2");
        assert_eq!(numbered("a".to_owned(), &mut used, &mut numbers), "a_4");
    }

    #[test]
    fn types_are_named_after_what_they_hold() {
        for (name, is_one, ty) in [
            ("login", false, "Login"),
            ("get_products", false, "Products"),
            ("post_orders", true, "Order"),
            ("entries", true, "Entry"),
            ("value", false, "AnswerValue"),
            ("get_3ds", false, "Answer3ds"),
        ] {
            assert_eq!(of_type(name, is_one), ty, "{name}");
        }
    }
}
