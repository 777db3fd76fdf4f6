//! Whether a source file calls `loadtest::main!`, told without compiling it.

/// Returns true if a line of `source` begins with `loadtest::main!`, outside of comments and strings. A path may lead
/// there (`acme::loadtest::main!`); `renamed` are further names of the crate.
pub(crate) fn calls_main(source: &str, renamed: &[String]) -> bool {
    let begins = |line| begins_with_call(line, renamed);
    source.contains("main") && strip_comments(source).lines().any(begins)
}

fn begins_with_call(line: &str, renamed: &[String]) -> bool {
    let mut rest = line.trim_start();
    rest = rest.strip_prefix("::").unwrap_or(rest).trim_start();
    let mut before = "";
    loop {
        let end = rest.find(|c| !is_identifier(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let after = after.trim_start();
        if word == "main" && after.starts_with('!') {
            return before == "loadtest" || renamed.iter().any(|name| name == before);
        }
        let Some(next) = after.strip_prefix("::").filter(|_| !word.is_empty()) else {
            return false;
        };
        (before, rest) = (word, next.trim_start());
    }
}

/// `source` with nothing in place of comments and literals; lines stay lines.
fn strip_comments(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    let mut previous = ' ';
    while let Some(first) = rest.chars().next() {
        let skipped = skip_comment(rest, previous);
        let taken = skipped.unwrap_or(first.len_utf8());
        if skipped.is_some() {
            // Something stands there, so what follows does not begin the line.
            code.push(if first == '/' { ' ' } else { '_' });
            code.extend(rest[..taken].chars().filter(|c| *c == '\n'));
            if first != '/' && rest[..taken].contains('\n') {
                code.push('_');
            }
        } else {
            code.push(first);
        }
        previous = if skipped.is_some() { ' ' } else { first };
        rest = &rest[taken..];
    }
    code
}

/// The length of the comment or literal that `rest` begins with.
fn skip_comment(rest: &str, previous: char) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    if let Some(body) = rest.strip_prefix('"') {
        return Some(1 + skip_string(body, '"'));
    }
    if rest.starts_with('r') && !is_identifier(previous) || is_prefixed_raw(rest, previous) {
        let start = rest.find('r').unwrap_or(0) + 1;
        let hashes = rest[start..].len() - rest[start..].trim_start_matches('#').len();
        let opening = start + hashes;
        if rest[opening..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let body = opening + 1;
            return Some(
                rest[body..]
                    .find(&end)
                    .map_or(rest.len(), |at| body + at + end.len()),
            );
        }
    }
    if let Some(quoted) = rest.strip_prefix('\'') {
        let mut chars = quoted.chars();
        return match (chars.next(), chars.next()) {
            (Some('\\'), _) => Some(1 + skip_string(quoted, '\'')),
            (Some(c), Some('\'')) => Some(2 + c.len_utf8()),
            // A lifetime.
            _ => None,
        };
    }
    None
}

fn is_prefixed_raw(rest: &str, previous: char) -> bool {
    !is_identifier(previous) && (rest.starts_with("br") || rest.starts_with("cr"))
}

fn is_identifier(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length up to and including the closing `quote`.
fn skip_string(body: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    body.len()
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::calls_main;

    #[test]
    fn a_call_at_the_start_of_a_line_counts() {
        for source in [
            "loadtest::main!();",
            "use x;\n\n    loadtest::main! {}\n",
            "::loadtest::main!();",
            "loadtest :: main !();",
            "const A: &str = r#\"\"#; // \"\nloadtest::main!();",
            "const QUOTE: char = '\"';\nloadtest::main!();",
            "const QUOTE: char = '\\'';\nfn a<'a>(_: &'a str) {}\nloadtest::main!();",
            "/* ü /* nested */ \" */\nloadtest::main!();",
            "/* before */ loadtest::main!();",
            "acme::loadtest::main!();",
            "::acme::tools::loadtest :: main!();",
        ] {
            assert!(calls_main(source, &[]), "{source}");
        }
    }

    #[test]
    fn a_call_elsewhere_does_not() {
        for source in [
            "",
            "// loadtest::main!();",
            "/// ends with\n/// loadtest::main!();\nfn a() {}",
            "/*\nloadtest::main!();\n*/",
            "/* /* */\nloadtest::main!();\n*/",
            "const A: &str = \"\nloadtest::main!();\n\";",
            "const A: &str = \"\\\"\nloadtest::main!();\n\";",
            "const A: &str = r##\"\"#\nloadtest::main!();\n\"##;",
            "const A: &[u8] = br\"\nloadtest::main!();\n\";",
            "fn main() { loadtest::main!(); }",
            "let text = \"\n\"; loadtest::main!();",
            "my_loadtest::main!();",
            "iai::main!();",
            "loadtest::iai::main!();",
            "main!();",
            "::main!();",
            "loadtest::main();",
            "loadtest::mains!();",
        ] {
            assert!(!calls_main(source, &[]), "{source}");
        }
    }

    #[test]
    fn a_call_under_another_name_counts_where_the_manifest_gives_it() {
        let renamed = ["strain".to_owned()];
        assert!(calls_main("strain::main!();", &renamed));
        assert!(calls_main("loadtest::main!();", &renamed));
        assert!(!calls_main("iai::main!();", &renamed));
    }

    #[test]
    fn unfinished_source_is_read_to_its_end() {
        for source in [
            "/* loadtest::main!",
            "\"main",
            "r#\"main",
            "'\\main",
            "main'",
        ] {
            assert!(!calls_main(source, &[]), "{source}");
        }
    }
}
