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

    /// Leaves out doc comments, imports, and what a formatter may add or drop: commas, semicolons, and the block
    /// around the one expression of a match arm or a closure.
    fn hash_tokens(&mut self, tokens: &[TokenTree]) {
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            if let Some(end) = end_of_doc_comment(tokens, at).or_else(|| end_of_import(tokens, at))
            {
                at = end;
                continue;
            }
            match token {
                TokenTree::Punct(punct) if matches!(punct.as_char(), ',' | ';') => {}
                TokenTree::Punct(punct) => self.add_delimited(&[b'p', punct.as_char() as u8]),
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
                    if group.delimiter() == Delimiter::Brace && is_bare_body(&tokens[..at], &inside)
                    {
                        self.hash_tokens(&inside);
                    } else {
                        self.add_delimited(match group.delimiter() {
                            Delimiter::Brace => b"{",
                            Delimiter::Bracket => b"[",
                            _ => b"(",
                        });
                        self.hash_tokens(&inside);
                        self.add_delimited(b")");
                    }
                }
            }
            at += 1;
        }
    }
}

/// Returns true for a block of one expression after `=>` or the bars of a closure.
fn is_bare_body(before: &[TokenTree], inside: &[TokenTree]) -> bool {
    let follows = match before {
        [.., first, second] => is_punct(Some(first), '=') && is_punct(Some(second), '>'),
        _ => false,
    };
    let statements = inside.split_last().map_or(inside, |(_, rest)| rest);
    (follows || is_punct(before.last(), '|'))
        && !inside.is_empty()
        && !statements.iter().any(|token| is_punct(Some(token), ';'))
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
            ("{ a();; b(); }", "{ a(); b(); }"),
        ];
        for (one, other) in same {
            assert_eq!(of(one), of(other), "{one} | {other}");
        }
    }

    #[test]
    fn meaning_does() {
        let different = [
            ("f(x, y)", "f(x, z)"),
            ("if x { a(); } b();", "if x { a(); b(); }"),
            ("1.0", "1.00"),
            ("\"a\"", "\"a \""),
            ("a; b;", "b; a;"),
            ("[a]", "(a)"),
            ("|x| { a; x }", "|x| x"),
            ("f(())", "f()"),
            ("f((a, b))", "f(a, b)"),
            ("match x { A | B => c }", "match x { A B => c }"),
            ("f(|a| a, b)", "f(a| a, b)"),
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
