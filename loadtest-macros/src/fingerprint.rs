//! A hash of tokens that formatting, comments and the place in the file do not change.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// FNV-1a with 128 bits, written out here since std's hashers may change between releases
/// (<https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>).
pub(crate) struct Fingerprint(u128);

const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

impl Fingerprint {
    /// The fingerprint of several streams of tokens.
    pub(crate) fn from_streams(parts: impl IntoIterator<Item = TokenStream>) -> String {
        let mut hash = Self(OFFSET);
        for part in parts {
            hash.hash_tokens(&flatten_groups(part));
            hash.add_delimited(b"");
        }
        format!("{:032x}", hash.0)
    }

    fn add_delimited(&mut self, bytes: &[u8]) {
        self.hash_bytes(bytes);
        // no byte of UTF-8, so that words do not run into each other
        self.hash_bytes(&[0xff]);
    }

    fn hash_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }

    /// Normalises as it goes: doc comments and imports are left out, and so is what a formatter may
    /// add or drop.
    fn hash_tokens(&mut self, tokens: &[TokenTree]) {
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            if let Some(end) = end_of_doc_comment(tokens, at).or_else(|| end_of_import(tokens, at))
            {
                at = end;
                continue;
            }
            match token {
                TokenTree::Punct(punct) => {
                    let is_optional = match punct.as_char() {
                        ',' => is_optional_comma(tokens, at),
                        ';' => is_optional_semicolon(tokens, at),
                        '|' => is_leading_bar(tokens, at),
                        _ => false,
                    };
                    if !is_optional {
                        self.add_delimited(&[b'p', punct.as_char() as u8]);
                    }
                }
                TokenTree::Ident(word) => {
                    self.add_delimited(b"i");
                    self.add_delimited(word.to_string().as_bytes());
                }
                TokenTree::Literal(literal) => {
                    self.add_delimited(b"l");
                    self.add_delimited(literal.to_string().as_bytes());
                }
                TokenTree::Group(group) => {
                    let inside = flatten_groups(group.stream());
                    if group.delimiter() == Delimiter::Brace
                        && self.hash_bare_body(tokens, at, &inside)
                    {
                        at += 1;
                        continue;
                    }
                    let inside = if group.delimiter() == Delimiter::Parenthesis {
                        strip_double_parentheses(inside)
                    } else {
                        inside
                    };
                    self.add_delimited(match group.delimiter() {
                        Delimiter::Brace => b"{",
                        Delimiter::Bracket => b"[",
                        _ => b"(",
                    });
                    self.hash_tokens(&inside);
                    self.add_delimited(b")");
                }
            }
            at += 1;
        }
    }

    /// The block around the one expression of a match arm or a closure is the formatter's choice:
    /// `=> { a }` counts as `=> a,`.
    fn hash_bare_body(&mut self, tokens: &[TokenTree], at: usize, inside: &[TokenTree]) -> bool {
        let before = |back: usize| at.checked_sub(back).and_then(|i| tokens.get(i));
        let is_arm = is_punct(before(2), '=') && is_punct(before(1), '>');
        let is_closure = is_punct(before(1), '|');
        let leaves = is_jump_keyword(inside.first());
        let inside = match inside.split_last() {
            Some((last, rest)) if leaves && is_punct(Some(last), ';') => rest,
            _ => inside,
        };
        let is_one_expression =
            !inside.is_empty() && !inside.iter().any(|token| is_punct(Some(token), ';'));
        if !((is_arm || is_closure) && is_one_expression) {
            return false;
        }
        self.hash_tokens(inside);
        if is_arm && at + 1 < tokens.len() && !is_brace_group(inside.last()) {
            self.add_delimited(b"p,");
        }
        true
    }
}

fn is_optional_comma(tokens: &[TokenTree], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|i| tokens.get(i));
    let after = tokens.get(at + 1);
    after.is_none()
        || is_brace_group(before)
        || is_punct(after, '>')
        || (is_brace_group(after) && is_in_where(&tokens[..at]))
}

/// Returns true if `tokens` end within a `where` clause.
fn is_in_where(tokens: &[TokenTree]) -> bool {
    tokens
        .iter()
        .rev()
        .take_while(|token| !is_brace_group(Some(token)) && !is_punct(Some(token), ';'))
        .any(|token| matches!(token, TokenTree::Ident(word) if word == "where"))
}

/// Returns true for a `;` that follows another one, or `return x` at the end of a block.
fn is_optional_semicolon(tokens: &[TokenTree], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|i| tokens.get(i));
    if is_punct(before, ';') {
        return true;
    }
    let statement = tokens[..at]
        .iter()
        .rposition(|token| is_punct(Some(token), ';') || is_brace_group(Some(token)))
        .map_or(0, |end| end + 1);
    at + 1 == tokens.len() && is_jump_keyword(tokens.get(statement))
}

/// `return`, `break` or `continue`, whose value is never one of its block.
fn is_jump_keyword(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Ident(word))
        if ["return", "break", "continue"].iter().any(|leave| word == leave))
}

/// The `|` before the first pattern of a match arm, `if let` or `while let`.
fn is_leading_bar(tokens: &[TokenTree], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|i| tokens.get(i));
    if matches!(before, Some(TokenTree::Ident(word)) if word == "let") {
        return true;
    }
    // an arm ends with `=>`; a closure at the start of a block or after `,` has its second bar first
    let starts = before.is_none() || is_punct(before, ',') || is_brace_group(before);
    starts
        && tokens[at + 1..]
            .iter()
            .position(|token| is_punct(Some(token), '>'))
            .is_some_and(|end| {
                let pattern = &tokens[at + 1..at + 1 + end];
                is_punct(pattern.last(), '=')
                    && !pattern
                        .iter()
                        .any(|token| is_punct(Some(token), ',') || is_punct(Some(token), ';'))
            })
}

/// `x` of `((x))`: a pair of parentheses that a formatter takes away.
fn strip_double_parentheses(inside: Vec<TokenTree>) -> Vec<TokenTree> {
    if let [TokenTree::Group(group)] = inside.as_slice()
        && group.delimiter() == Delimiter::Parenthesis
    {
        let inner = flatten_groups(group.stream());
        let is_one = !inner.is_empty() && !inner.iter().any(|token| is_punct(Some(token), ','));
        if is_one {
            return strip_double_parentheses(inner);
        }
    }
    inside
}

/// The end of the doc comment at `at`.
fn end_of_doc_comment(tokens: &[TokenTree], at: usize) -> Option<usize> {
    if !is_punct(tokens.get(at), '#') {
        return None;
    }
    let group = at + 1 + usize::from(is_punct(tokens.get(at + 1), '!'));
    match tokens.get(group) {
        Some(TokenTree::Group(attribute))
            if attribute.delimiter() == Delimiter::Bracket
                && matches!(attribute.stream().into_iter().next(),
                    Some(TokenTree::Ident(word)) if word == "doc") =>
        {
            Some(group + 1)
        }
        _ => None,
    }
}

/// The end of the `use` item at `at`: a formatter reorders imports, and they do nothing by themselves.
fn end_of_import(tokens: &[TokenTree], at: usize) -> Option<usize> {
    let before = at.checked_sub(1).and_then(|i| tokens.get(i));
    let starts_item = before.is_none() || is_punct(before, ';') || is_brace_group(before);
    match tokens.get(at) {
        Some(TokenTree::Ident(word)) if starts_item && word == "use" => {
            let length = tokens[at..]
                .iter()
                .position(|token| is_punct(Some(token), ';'))?;
            Some(at + length + 1)
        }
        _ => None,
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn is_brace_group(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace)
}

/// Looks through the invisible groups that `macro_rules!` leaves.
fn flatten_groups(tokens: TokenStream) -> Vec<TokenTree> {
    let mut flat = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                flat.extend(flatten_groups(group.stream()));
            }
            other => flat.push(other),
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        Fingerprint::from_streams([text.parse().unwrap()])
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        let mut hash = Fingerprint(OFFSET);
        hash.hash_bytes(b"a");
        assert_eq!(
            format!("{:032x}", hash.0),
            "d228cb696f1a8caf78912b704e4a8964"
        );
    }

    #[test]
    fn the_value_is_the_same_in_every_release() {
        assert_eq!(of("fn a() { b(1) }"), "430cdd321e6e4910de1601ba42e6793b");
    }

    #[test]
    fn formatting_does_not_change_it() {
        let same = [
            (
                "fn a() { f(x, y); match z { A => b, C => { d; } } }",
                "/// doc\nfn a()\n{ // c\n f(\n x,\n y,\n); match z { A => { b } C => { d; } } }",
            ),
            ("v.map(|x| { x + 1 })", "v.map(|x| x + 1)"),
            ("&&x", "& &x"),
            ("use a::b; use c; f()", "use c; use a::b; f()"),
            (
                "match x { A => return y, B => c }",
                "match x { A => { return y; } B => c }",
            ),
            ("Vec<Option<u8,>,>", "Vec<Option<u8> >"),
            ("{ if x { return a } b }", "{ if x { return a; } b }"),
            ("{ loop { a(); break } }", "{ loop { a(); break; } }"),
            (
                "{ for a in b { if c {} continue } }",
                "{ for a in b { if c {} continue; } }",
            ),
            (
                "{ let Some(a) = b else { return None }; }",
                "{ let Some(a) = b else { return None; }; }",
            ),
            (
                "fn f<T>() where T: Debug {}",
                "fn f<T>() where T: Debug, {}",
            ),
            ("a * ((b + c))", "a * (b + c)"),
            ("{ a();; b(); }", "{ a(); b(); }"),
            (
                "match x { | A | B => c, D => e }",
                "match x { A | B => c, D => e }",
            ),
            ("match x { A => {} | B => c }", "match x { A => {} B => c }"),
            ("if let | A | B = c {}", "if let A | B = c {}"),
        ];
        for (one, other) in same {
            assert_eq!(of(one), of(other), "{one} | {other}");
        }
    }

    #[test]
    fn meaning_does() {
        let different = [
            ("f(x, y)", "f(x, z)"),
            ("(a, -b)", "(a - b)"),
            ("if x { a(); } b();", "if x { a(); b(); }"),
            ("1.0", "1.00"),
            ("\"a\"", "\"a \""),
            ("a; b;", "b; a;"),
            ("[a]", "(a)"),
            ("|x| { a; x }", "|x| x"),
            ("f(())", "f()"),
            ("f((a, b))", "f(a, b)"),
            ("{ a; }", "{ a }"),
            ("{ f(); g(); }", "{ f(); g() }"),
            ("match x { A | B => c }", "match x { A B => c }"),
            ("f(|a| a, b)", "f(a| a, b)"),
            ("(a, { b })", "(a { b })"),
        ];
        for (one, other) in different {
            assert_ne!(of(one), of(other), "{one} | {other}");
        }
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let part = |text: &str| text.parse::<TokenStream>().unwrap();
        assert_ne!(
            Fingerprint::from_streams([part("a"), part("b")]),
            Fingerprint::from_streams([part("a b")])
        );
    }
}
