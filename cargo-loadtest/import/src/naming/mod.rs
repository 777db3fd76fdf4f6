//! Names of Rust functions, fields and types, after requests and keys of JSON.

use super::recording::{Exchange, Piece, Recording, RunValue};
use super::text::{has_word, percent_decode, singular};
use deunicode::deunicode;
use heck::ToSnakeCase as _;
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::LazyLock;

/// The longest name.
const LONGEST: usize = 48;
/// The words of `data/names.toml`, which describes each list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    actions: Vec<String>,
    pages: Vec<String>,
    verbs: Vec<String>,
    silent: Vec<String>,
    keywords: Vec<String>,
    scenario_words: Vec<String>,
    types: Vec<String>,
}

static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    toml::from_str(include_str!("../data/names.toml")).expect("the lists are valid")
});

/// Returns true for a name that no function of a scenario can have.
fn is_reserved(name: &str) -> bool {
    is_keyword(name) || has_word(&LISTS.scenario_words, name)
}

/// Names steps after their requests. No two names are alike.
pub(super) fn name_steps<'a>(
    recording: &Recording,
    exchanges: impl IntoIterator<Item = &'a Exchange>,
) -> Vec<String> {
    let mut used = HashSet::new();
    let names = exchanges.into_iter().map(|exchange| {
        let target = show_target(recording, exchange);
        unique(&name_step(exchange, &target), &mut used)
    });
    names.collect()
}

/// Returns a target with names in braces in the place of values.
fn show_target(recording: &Recording, exchange: &Exchange) -> String {
    let shown = exchange.target.shown(|piece| match piece {
        Piece::Reference(at) => format!("{{{}}}", recording.references[*at].from.word()),
        Piece::Secret(at) => format!("{{{}}}", recording.secrets[*at].name),
        Piece::Constant(at) => format!("{{{}}}", recording.constants[*at].name),
        Piece::Run(RunValue::Row { column, .. }) => {
            format!("{{{}}}", column.as_deref().unwrap_or("row"))
        }
        Piece::Run(RunValue::Uuid) => "{uuid}".to_owned(),
        Piece::Run(RunValue::Unique) => "{unique}".to_owned(),
        _ => String::new(),
    });
    exchange.pattern.clone().unwrap_or(shown)
}

/// Joins the names of steps.
pub(super) fn join_names(steps: &[String]) -> String {
    let name = match steps {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first, last] => format!("{first}_then_{last}"),
        [first, .., last] => format!("{first}_to_{last}"),
    };
    shorten(&name, 2 * LONGEST)
}

/// Names a scenario after its steps: those that change something, where there are several of these.
pub(super) fn name_scenario<'a>(
    steps: impl IntoIterator<Item = (&'a Exchange, &'a str)>,
) -> String {
    let (mut all, mut changing) = (Vec::new(), Vec::new());
    for (exchange, name) in steps {
        all.push(name.to_owned());
        if !["GET", "HEAD", "OPTIONS"].contains(&exchange.method.as_str()) {
            changing.push(name.to_owned());
        }
    }
    if all.len() > 2 && changing.len() > 1 {
        return join_names(&changing);
    }
    join_names(&all)
}

/// Removes the number of a name: `get_products` of `get_products_2`.
pub(super) fn unnumbered(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((before, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => before,
        _ => name,
    }
}

/// Names a function after a title, where that has letters.
pub(super) fn function_name(title: &str, otherwise: &str) -> Option<String> {
    let name = shorten(&clean_word(title), LONGEST);
    (!name.is_empty()).then(|| allow_name(&name, otherwise))
}

/// Makes a name unique, and notes it as used.
pub(super) fn unique(name: &str, used: &mut HashSet<String>) -> String {
    add_number(name, "_", used)
}

/// Makes the name of a type unique, without underscores.
pub(super) fn unique_type(name: &str, used: &mut HashSet<String>) -> String {
    add_number(name, "", used)
}

fn add_number(name: &str, separator: &str, used: &mut HashSet<String>) -> String {
    let mut unique = name.to_owned();
    let mut number = 1;
    while !used.insert(unique.clone()) {
        number += 1;
        unique = format!("{name}{separator}{number}");
    }
    unique
}

/// Names a field after a key of JSON.
pub(super) fn field_name(key: &str) -> String {
    let name = shorten(&clean_word(key), LONGEST);
    match name.bytes().next() {
        // What cannot be raw, or is not known everywhere.
        _ if ["crate", "gen", "self", "super"].contains(&name.as_str()) => format!("{name}_field"),
        Some(first) if first.is_ascii_alphabetic() => name,
        Some(_) => format!("field_{name}"),
        None => "field".to_owned(),
    }
}

/// Names a variable after a key, and notes it as used.
pub(super) fn variable(key: &str, used: &mut HashSet<String>) -> String {
    let name = field_name(key);
    let end = if is_reserved(&name) { "_value" } else { "" };
    unique(&format!("{name}{end}"), used)
}

/// Returns true for a word of Rust.
pub(super) fn is_keyword(name: &str) -> bool {
    has_word(&LISTS.keywords, name)
}

/// Names a type after a step or a field, without its verb: `Order` of `post_orders`.
pub(super) fn type_name(name: &str, is_one: bool) -> String {
    let mut words: Vec<String> = name.split('_').map(str::to_owned).collect();
    if words.len() > 1 && has_word(&LISTS.verbs, &words[0]) {
        words.remove(0);
    }
    if let Some(last) = words.last_mut().filter(|_| is_one) {
        *last = singular(last);
    }
    let words = words.iter().map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    let mut ty: String = words.collect();
    let begins_well = ty.starts_with(|first: char| first.is_ascii_alphabetic());
    if !begins_well || has_word(&LISTS.types, &ty) {
        ty = format!("Answer{ty}");
    }
    ty
}

fn name_step(exchange: &Exchange, target: &str) -> String {
    let verb = clean_word(&exchange.method);
    let name = exchange.name.as_deref().map(str::trim).unwrap_or_default();
    // A path, a URL or a request says what the target says.
    let is_request =
        name.contains('/') && (!name.contains(' ') || name.starts_with(&exchange.method));
    let title = Some(name).filter(|_| !is_request && !name.contains("://"));
    title
        .and_then(|title| function_name(title, &verb))
        .unwrap_or_else(|| allow_name(&name_target(&verb, target), &verb))
}

/// Names a request after its method and its path.
fn name_target(verb: &str, target: &str) -> String {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let mut words: Vec<String> = Vec::new();
    let mut before: Option<bool> = None;
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        let word = path_word(segment);
        if word.is_none()
            && before == Some(true)
            && let Some(of_many) = words.last_mut()
            && is_identifier(segment)
        {
            *of_many = singular(of_many);
        }
        before = Some(word.is_some());
        words.extend(word);
    }
    match words.as_slice() {
        [] => match clean_word(path) {
            parameter if path.contains('{') && !parameter.is_empty() => {
                format!("{verb}_{parameter}")
            }
            // A short one that is like an identifier, or says nothing beside others.
            _ => match path.rsplit('/').find(|segment| is_short_word(segment)) {
                Some(segment) => format!("{verb}_{}", clean_word(segment)),
                None => format!("{verb}_root"),
            },
        },
        [.., last]
            if has_word(&LISTS.actions, last)
                && !(verb == "get" && has_word(&LISTS.pages, last)) =>
        {
            last.clone()
        }
        [last] => format!("{verb}_{last}"),
        [.., before, last] => format!("{verb}_{before}_{last}"),
    }
}

/// Returns the name, or one like it that a function can have.
fn allow_name(name: &str, verb: &str) -> String {
    let name = shorten(name, LONGEST);
    let is_number = name.strip_prefix("step").is_some_and(|number| {
        number
            .trim_start_matches('_')
            .bytes()
            .all(|byte| byte.is_ascii_digit())
    });
    let begins_well = name.starts_with(|first: char| first.is_ascii_alphabetic());
    if begins_well && !is_number && !is_reserved(&name) {
        return name;
    }
    let verb = match verb.bytes().next() {
        Some(first) if first.is_ascii_alphabetic() => verb,
        _ => "send",
    };
    shorten(&format!("{verb}_{name}"), LONGEST)
}

/// Drops the last words of a name that is too long.
fn shorten(name: &str, longest: usize) -> String {
    // Names are ASCII.
    let name = match name.get(..longest) {
        Some(cut) if cut != name => cut.rsplit_once('_').map_or(cut, |(words, _)| words),
        _ => name,
    };
    name.trim_matches('_').to_owned()
}

/// Returns the word of a segment of a path, unless it is an identifier, a version or the like.
fn path_word(segment: &str) -> Option<String> {
    let decoded = percent_decode(segment);
    let stem = match decoded.rsplit_once('.') {
        Some((stem, end)) if end.len() <= 5 && !stem.is_empty() => stem,
        _ => &decoded,
    };
    let word = clean_word(stem);
    let is_silent = has_word(&LISTS.silent, &word);
    (!word.is_empty() && !is_version(stem) && !is_identifier(stem) && !is_silent).then_some(word)
}

/// Returns true where a segment of a path differs from request to request.
fn is_identifier(segment: &str) -> bool {
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    let is_hexadecimal = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    let is_parameter = segment.starts_with(['{', ':', '<']);
    is_parameter
        || !is_version(segment)
            && (digits * 2 >= segment.len()
                || segment.len() > 24
                || segment.len() >= 12 && digits >= 3
                || segment.len() >= 8 && digits > 0 && segment.bytes().all(is_hexadecimal))
}

/// Returns true for a segment that names something where no other one does.
fn is_short_word(segment: &str) -> bool {
    segment.len() < 8
        && segment.starts_with(|first: char| first.is_ascii_alphabetic())
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Spells a text in lower case letters of ASCII and digits, with underscores between words.
fn clean_word(text: &str) -> String {
    let letters = text.chars().filter(|letter| !matches!(letter, '\'' | '’'));
    let plain = deunicode(&letters.take(400).collect::<String>());
    let is_sign = |letter: char| !letter.is_ascii_alphanumeric();
    plain.replace(is_sign, " ").to_snake_case()
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
        name_step(&exchange, target)
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
            ("GET", "/api/h3", "get_h3"),
            ("GET", "/api/", "get_api"),
            ("GET", "/api/17", "get_api"),
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
            ("订单列表 API", "ding_dan_lie_biao_api"),
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
            name_scenario(exchanges.iter().zip(names))
        };
        assert_eq!(named(&["GET", "POST", "GET", "PUT"]), "two_2_then_four_2");
        assert_eq!(named(&["POST", "POST", "GET", "PUT"]), "one_to_four_2");
        assert_eq!(named(&["GET", "POST", "GET", "GET"]), "one_to_four_2");
        assert_eq!(named(&["POST", "GET"]), "one_then_two_2");
        assert_eq!(named(&["GET"]), "one");
    }

    #[test]
    fn no_two_names_are_alike() {
        let exchanges = ["/a", "/a/1", "/b"].map(|target| Exchange {
            method: "GET".to_owned(),
            target: target.into(),
            ..Exchange::default()
        });
        let names = name_steps(&Recording::default(), &exchanges);
        assert_eq!(names, ["get_a", "get_a_2", "get_b"]);
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
            assert_eq!(type_name(name, is_one), ty, "{name}");
        }
    }
}
