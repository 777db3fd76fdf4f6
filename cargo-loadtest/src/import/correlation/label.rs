//! What the names around a value say of it, so that `/products/42` can be the `id` of a product.

/// What a value is called, and what it is a part of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Label {
    /// The words of its name: `access`, `token`; none for a segment of a path.
    pub(super) key: Vec<String>,
    /// What it belongs to, the nearest first, in the singular: `product`.
    pub(super) around: Vec<String>,
}

/// Names of what identifies a thing.
const IDENTIFIERS: [&str; 18] = [
    "id",
    "uuid",
    "guid",
    "pk",
    "oid",
    "slug",
    "sku",
    "handle",
    "key",
    "ref",
    "reference",
    "number",
    "token",
    "cursor",
    "nonce",
    "etag",
    "version",
    "revision",
];
/// Those that stand for each other.
const ALIKE: [&str; 10] = [
    "id", "uuid", "guid", "pk", "oid", "slug", "sku", "handle", "key", "ref",
];
/// What says nothing of what is within.
const WRAPPERS: [&str; 13] = [
    "data",
    "node",
    "edge",
    "attribute",
    "result",
    "response",
    "payload",
    "body",
    "embedded",
    "object",
    "hit",
    "source",
    "json",
];
/// What says only that there are many.
const LISTS: [&str; 11] = [
    "item",
    "entry",
    "record",
    "row",
    "list",
    "value",
    "content",
    "element",
    "document",
    "member",
    "collection",
];
/// What sort of an identifier it is.
const SORTS: [&str; 10] = [
    "database", "global", "internal", "external", "legacy", "numeric", "local", "short", "public",
    "unique",
];
/// Words of a path that name no thing.
const DEEDS: [&str; 18] = [
    "search", "find", "query", "all", "latest", "graphql", "api", "rest", "me", "index", "login",
    "list", "page", "auth", "session", "signin", "new", "create",
];

impl Label {
    /// That of a segment of a path: what is before it is what it belongs to.
    pub(super) fn segment(before: &str) -> Self {
        let thing = words(before).concat();
        Self {
            key: Vec::new(),
            around: Some(thing)
                .filter(|thing| is_thing(thing))
                .into_iter()
                .collect(),
        }
    }

    /// That of a field within others (the outermost first), in a request or an answer with this target.
    pub(super) fn field<'a>(
        name: &str,
        outer: impl DoubleEndedIterator<Item = &'a str>,
        target: &str,
    ) -> Self {
        let mut key = words(name);
        let is_of_thing = key.len() > 1
            && key
                .last()
                .is_some_and(|last| ALIKE.contains(&last.as_str()) || last == "number");
        if is_of_thing {
            let last = key.split_off(key.len() - 1);
            let is_sort = key
                .last()
                .is_some_and(|word| SORTS.contains(&word.as_str()));
            if !is_sort {
                return Self {
                    key: last,
                    around: vec![key.concat()],
                };
            }
            key = last;
        }
        let mut around = Vec::new();
        let mut list = None;
        for name in outer.rev() {
            let word = words(name).concat();
            if word.is_empty() || WRAPPERS.contains(&word.as_str()) {
                continue;
            }
            if LISTS.contains(&word.as_str()) {
                list = list.or(Some(word));
                continue;
            }
            // `order.items[0]` is an item, not an order.
            around.push(list.take().unwrap_or(word));
            break;
        }
        if around.is_empty() {
            around.extend(thing(target));
        }
        if !around.is_empty() {
            around.extend(list);
        }
        Self { key, around }
    }

    /// That of a name alone.
    pub(super) fn name(name: &str) -> Self {
        Self {
            key: words(name),
            around: Vec::new(),
        }
    }

    /// Whether the name is that of an identifier, or there is none.
    pub(super) fn is_identifier(&self) -> bool {
        let last = self.key.last();
        last.is_none_or(|last| IDENTIFIERS.contains(&last.as_str()) || last == "code")
    }

    /// How well a value with this label at its place comes from one with that label: from not at all, 0, to 3.
    pub(super) fn fits(&self, source: &Self) -> u8 {
        let (Some(from), to) = (source.key.last(), self.key.last()) else {
            return 0;
        };
        let is_condition = self.key.first().is_some_and(|word| word == "if") && from == "etag";
        if is_condition || self.is_credential() && source.is_credential() {
            return 3;
        }
        let thing = self.same_thing(source);
        if let Some(to) = to {
            if self.key == source.key {
                let is_of_anything = matches!(
                    to.as_str(),
                    "id" | "pk" | "oid" | "key" | "ref" | "number" | "version"
                );
                return if is_of_anything { thing } else { 3 };
            }
            let is_alike = |word: &String| ALIKE.contains(&word.as_str());
            if is_alike(to) && is_alike(from) {
                return thing.min(2);
            }
            // `"product": 42`, `?category=7`.
            if is_alike(from) && source.around.first() == Some(to) {
                return 2;
            }
            if is_alike(to) && self.around.first() == Some(from) {
                return 2;
            }
            return if to == from { 2 } else { 0 };
        }
        // A segment of a path.
        if source.is_identifier() && from != "version" && from != "revision" {
            return thing;
        }
        u8::from(self.around.first() == Some(from)) * 2
    }

    /// Whether both belong to the same: 3 where the nearest are the same, 1 where one is not known.
    fn same_thing(&self, other: &Self) -> u8 {
        match (self.around.first(), other.around.first()) {
            (Some(one), Some(another)) if one == another => 3,
            (Some(one), Some(another)) => {
                // `cart` and `shopping_cart`.
                let is_end = |long: &str, short: &str| short.len() >= 4 && long.ends_with(short);
                let is_near = other.around.contains(one)
                    || self.around.contains(another)
                    || is_end(one, another)
                    || is_end(another, one);
                if is_near { 2 } else { 0 }
            }
            _ => 1,
        }
    }

    /// Whether it says who asks, or that a form is our own.
    fn is_credential(&self) -> bool {
        let mut words = self.key.iter();
        words.any(|word| {
            matches!(
                word.as_str(),
                "authorization" | "token" | "jwt" | "bearer" | "csrf" | "xsrf" | "authenticity"
            )
        })
    }
}

/// The thing that a target is about: `order` of `/api/orders/17?full=1`.
fn thing(target: &str) -> Option<String> {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let mut segments = path.rsplit('/');
    segments.find_map(|segment| {
        let is_value = segment.len() > 32 || segment.bytes().any(|byte| byte.is_ascii_digit());
        // `task.list`
        let mut words = words(segment);
        words.retain(|word| is_thing(word));
        let thing = words.concat();
        (!is_value && !thing.is_empty()).then_some(thing)
    })
}

fn is_thing(word: &str) -> bool {
    !DEEDS.contains(&word) && !word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The words of a name, in lower case and the singular: `lineItems`, `line-items`, `LINE_ITEMS` alike.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was = ' ';
    for letter in name.chars().take(200) {
        let is_inner = letter.is_alphanumeric();
        if !is_inner || letter.is_uppercase() && was.is_lowercase() {
            words.push(std::mem::take(&mut word));
        }
        if is_inner {
            word.extend(letter.to_lowercase());
        }
        was = letter;
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    if words.len() > 1 && words.first().is_some_and(|first| first == "x") {
        words.remove(0);
    }
    words.iter().map(|word| singular(word)).collect()
}

/// `orders` is an order, `categories` are a category.
fn singular(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return format!("{stem}y");
    }
    for end in ["sses", "xes", "ches", "shes"] {
        if word.ends_with(end) {
            return word[..word.len() - 2].to_owned();
        }
    }
    let stem = word.strip_suffix('s');
    let stem = stem.filter(|stem| stem.len() > 1 && !stem.ends_with(['s', 'u', 'i']));
    stem.unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &[&str], target: &str) -> Label {
        let (name, outer) = path.split_last().unwrap();
        Label::field(name, outer.iter().copied(), target)
    }

    #[test]
    fn names_fit_where_they_mean_the_same() {
        let fits = |place: &Label, path: &[&str], target: &str| place.fits(&source(path, target));
        let product = Label::segment("products");
        assert_eq!(fits(&product, &["products", "id"], "/shop"), 3);
        assert_eq!(fits(&product, &["id"], "/api/products?page=2"), 3);
        assert_eq!(fits(&product, &["items", "id"], "/api/products/"), 3);
        assert_eq!(
            fits(
                &product,
                &["data", "products", "edges", "node", "id"],
                "/graphql"
            ),
            3
        );
        assert_eq!(fits(&product, &["productId"], "/orders"), 3);
        assert_eq!(fits(&product, &["items", "id"], "/search"), 1);
        assert_eq!(fits(&product, &["id"], "/orders"), 0);
        assert_eq!(fits(&product, &["order", "items", "id"], "/orders/7"), 0);
        assert_eq!(fits(&product, &["total"], "/products"), 0);
        let field = Label::field("product_id", [].into_iter(), "/orders");
        assert_eq!(fits(&field, &["products", "id"], "/"), 3);
        assert_eq!(fits(&field, &["orders", "id"], "/"), 0);
        let field = Label::field("product", [].into_iter(), "/orders");
        assert_eq!(fits(&field, &["products", "id"], "/"), 2);
        assert_eq!(fits(&field, &["quantity"], "/products"), 0);
        let header = Label::name("X-CSRF-Token");
        assert_eq!(fits(&header, &["csrfToken"], "/session"), 3);
        assert_eq!(
            fits(&Label::name("authorization"), &["access_token"], "/"),
            3
        );
        let version = Label::field("version", [].into_iter(), "/orders/7");
        assert_eq!(fits(&version, &["version"], "/orders/7"), 3);
        assert_eq!(fits(&version, &["id"], "/orders/7"), 0);
        assert_eq!(words("lineItemIDs"), ["line", "item", "id"]);
        for (many, one) in [
            ("categories", "category"),
            ("boxes", "box"),
            ("status", "status"),
            ("address", "address"),
            ("addresses", "address"),
            ("news", "new"),
            ("ids", "id"),
        ] {
            assert_eq!(singular(many), one);
        }
    }
}
