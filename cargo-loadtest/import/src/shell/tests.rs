use super::*;
use proptest::prelude::*;

/// Reads commands and notes, where the environment has one variable.
fn read(text: &str) -> Result<(Vec<ShellCommand>, Vec<String>), Mistake> {
    let mut lookup = |name: &str| (name == "TOKEN").then(|| "tok 1".to_owned());
    let mut variables = ShellVariables::new("", Some(&mut lookup), None);
    let mut notes = Vec::new();
    let commands = read_commands(text, &mut variables, &mut notes)?;
    Ok((commands, notes.into_iter().map(|note| note.words).collect()))
}

fn all(text: &str) -> Result<Vec<Vec<String>>, Mistake> {
    let shown = |word: ShellWord| String::from_utf8_lossy(&word.text).into_owned();
    let words = |command: ShellCommand| command.words.into_iter().map(shown).collect();
    Ok(read(text)?.0.into_iter().map(words).collect())
}

fn one(text: &str) -> Vec<String> {
    let mut commands = all(text).unwrap_or_else(|mistake| panic!("{text}: {mistake:?}"));
    assert_eq!(commands.len(), 1, "{text}: {commands:?}");
    commands.remove(0)
}

#[test]
fn words_of_a_posix_shell() {
    for (text, words) in [
        (r"curl 'a b'\''c' d\ e", &["curl", "a b'c", "d e"][..]),
        (r#"curl "a\"b\$c\d""#, &["curl", "a\"b$c\\d"]),
        (
            "curl \"$TOKEN\" '$TOKEN' \"${TOKEN}x\"",
            &["curl", "tok 1", "$TOKEN", "tok 1x"],
        ),
        (
            r"curl $'a\n\x41\u00e9\101\'\\' $'\ud83d\ude00'",
            &["curl", "a\nAéA'\\", "😀"],
        ),
        ("curl a \\\n  b \\\r\n c", &["curl", "a", "b", "c"]),
        ("# a comment\ncurl a#b # the end", &["curl", "a#b"]),
        ("curl a 2>/dev/null > out", &["curl", "a"]),
        ("curl a &> out", &["curl", "a"]),
        ("/usr/bin/curl a", &["/usr/bin/curl", "a"]),
        ("TOKEN=x curl \"$TOKEN\"", &["curl", "tok 1"]),
        ("export H=there; curl $H", &["curl", "there"]),
        ("curl a \\ \n  b \\\t\r\n c", &["curl", "a", "b", "c"]),
        (
            "curl -w %{http_code} a 2>&1",
            &["curl", "-w", "%{http_code}", "a"],
        ),
        ("curl ''", &["curl", ""]),
        (r#"curl 'a'"$(printf '\011\015')"'b'"#, &["curl", "a\t\rb"]),
    ] {
        assert_eq!(one(text), words, "{text}");
    }
}

#[test]
fn what_comes_of_variables_is_bounded() {
    let doubled = format!("A=xxxxxxxxxx\n{}", "A=$A$A$A$A$A$A$A$A$A$A\n".repeat(12));
    let half = "x".repeat(variables::MOST_BYTES / 2);
    let part = "x".repeat(variables::MOST_BYTES / 32);
    let end = "curl http://127.0.0.1/ -d";
    for (text, line) in [
        (format!("{doubled}{end} $A"), 8),
        (format!("{doubled}{end} $A").replace("$A", "${A}"), 8),
        // A here-document is one text, whatever its lines are.
        (format!("A={half}\n{end} @- <<E\n$A\n$A\n$A\nE\n"), 5),
        // Many words of which none is too long.
        (
            format!("A={part}\n{}", format!("{end} $A\n").repeat(40)),
            34,
        ),
    ] {
        let mut lookup = |_: &str| None;
        let mut variables = ShellVariables::new("", Some(&mut lookup), None);
        let mistake = read_commands(&text, &mut variables, &mut Vec::new()).unwrap_err();
        assert!(mistake.words.contains("exceed 16 MiB"), "{mistake:?}");
        let before = &text[..mistake.span.start];
        assert_eq!(before.matches('\n').count() + 1, line);
        assert!(variables.spent <= variables::MOST_BYTES * 2);
    }
    let words = one(&format!("A={part}\n{end} $A$A"));
    assert_eq!(words[3].len(), 2 * part.len());
}

#[test]
fn words_of_the_command_prompt() {
    for (text, words) in [
        (
            "curl ^\"http://h/?a=1^&b=2^\" ^\n  -H ^\"a: b^\"",
            &["curl", "http://h/?a=1&b=2", "-H", "a: b"][..],
        ),
        (
            "curl.exe \"a b\" ^\r\n -d \"{\\\"a\\\":1}\"",
            &["curl.exe", "a b", "-d", "{\"a\":1}"],
        ),
        ("curl ^\"{^\\^\"a^\\^\":1}^\"", &["curl", "{\"a\":1}"]),
        ("curl ^\"a^\n\nb^\"", &["curl", "a\nb"]),
        ("curl ^\"100^%^20^\" x", &["curl", "100%20", "x"]),
        ("curl ^\"x^\" > out & echo done", &["curl", "x"]),
        ("curl ^\"a\"\"b^\" ", &["curl", "a\"b"]),
    ] {
        assert_eq!(one(text), words, "{text}");
    }
    assert_eq!(one("curl ^\"%TOKEN%-%none%\""), ["curl", "tok 1-%none%"]);
    assert_eq!(one("@curl.exe \"%TOKEN%\""), ["@curl.exe", "tok 1"]);
}

#[test]
fn words_of_powershell() {
    for (text, words) in [
        (
            "curl.exe 'it''s' `\n -H \"a: `\"b`\"\" `\r\n 'c'",
            &["curl.exe", "it's", "-H", "a: \"b\"", "c"][..],
        ),
        ("curl \"$env:TOKEN x\" # the end", &["curl", "tok 1 x"]),
        (
            "curl.exe `\n -d '{\\\"a\\\":1}'",
            &["curl.exe", "-d", "{\"a\":1}"],
        ),
        (
            "& curl.exe `\n 'a' | ConvertFrom-Json > out",
            &["curl.exe", "a"],
        ),
    ] {
        assert_eq!(one(text), words, "{text}");
    }
}

#[test]
fn what_is_not_run_is_told() {
    for (text, urls, notes) in [
        (
            "curl a ;\ncurl b && curl c\ncurl d & curl e | jq . || echo no",
            &["a", "b", "c", "d", "e"][..],
            &["`jq` is not run: only curl commands are read (and 1 more like this)"][..],
        ),
        (
            "sudo curl \"$TOKEN\"\ncurl a",
            &["a"],
            &["`sudo` is not run: only curl commands are read"],
        ),
        (
            "curl '%TOKEN%'",
            &["%TOKEN%"],
            &["`%TOKEN%` is sent as it is; in a command for Windows, call it `curl.exe`"],
        ),
        ("curl '%C3%A9cole%20 100%'", &["%C3%A9cole%20 100%"], &[]),
    ] {
        let found = all(text).unwrap();
        let found: Vec<_> = found.iter().map(|words| &words[1]).collect();
        assert_eq!(found, urls, "{text}");
        assert_eq!(read(text).unwrap().1, notes, "{text}");
    }
}

#[test]
fn a_here_document_is_the_standard_input() {
    for (text, read_as) in [
        (
            "curl a -d @- <<EOF\na $TOKEN \\$x \"q\"\nb\\\nc\nEOF\ncurl b",
            "a tok 1 $x \"q\"\nbc\n",
        ),
        ("curl a -d @- << 'EOF' | jq .\n$TOKEN\nEOF", "$TOKEN\n"),
        ("curl a -d @- <<EOF\r\nx\r\nEOF\r\n", "x\n"),
        ("curl a -d @- <<EOF\nEOF", ""),
    ] {
        let stdin = read(text).unwrap().0.remove(0).stdin;
        assert_eq!(stdin.as_deref(), Some(read_as.as_bytes()), "{text}");
    }
}

#[test]
fn no_text_is_gone_through_again_and_again() {
    for part in [
        "A=$B$C\n",
        "x <<X\n",
        "x 'curl\n",
        "A=b\n",
        "x{",
        "x \"$TOKEN\n\" ",
    ] {
        for end in ["", "curl h", "curl `\n h", "curl ^\n h"] {
            let _ = all(&format!("{}{end}", part.repeat(10_000)));
        }
    }
    let names: Vec<_> = (0..10_000).map(|number| format!("A{number}=1")).collect();
    assert_eq!(
        one(&format!("{}\ncurl $A7", names.join("\n"))),
        ["curl", "1"]
    );
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_panic_or_grow(
        text in r#"(curl|[ -~]|['"$\\`^%<>|&;()\n\r{}#@é]|\$'|\$\{|<<|\^"|`\n|\^\n|\\\n|EOF){0,60}"#,
    ) {
        for text in [text.clone(), format!("curl {text}"), format!("curl ^\"{text}"), format!("curl `\n{text}")] {
            if let Ok(commands) = all(&text) {
                let length: usize = commands.iter().flatten().map(String::len).sum();
                // A letter that is no UTF-8 is shown by one of three bytes; a variable has five.
                prop_assert!(length <= 5 * text.len(), "{text:?}");
            }
        }
    }
}

/// What real shells make of a word.
#[cfg(unix)]
mod real {
    use super::*;
    use std::process::Command;

    /// Returns the words of each of these lines, joined by zeros; `None` of a line that is none.
    fn bash(lines: &[String]) -> Vec<Option<Vec<u8>>> {
        // One shell reads all: to start it takes longer than to read a line.
        let script = "curl() { printf 'w%s\\0' \"$@\"; }; for line; do eval \"$line\"; printf 'end %s\\0' $?; done";
        let output = Command::new("bash")
            .args(["-c", script, "bash"])
            .args(lines)
            .env_clear()
            .env("LC_ALL", "C.UTF-8")
            .output()
            .unwrap();
        let mut words = Vec::new();
        let mut read = Vec::new();
        for part in output.stdout.split_inclusive(|byte| *byte == 0) {
            if let Some(word) = part.strip_prefix(b"w") {
                words.extend_from_slice(word);
            } else {
                let words = std::mem::take(&mut words);
                read.push((part == b"end 0\0").then_some(words));
            }
        }
        assert_eq!(read.len(), lines.len(), "{output:?}");
        read
    }

    fn any_line() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            r"'[ -&(-~\n]{0,8}'",
            r#""([ !#%-\[\]-_a-~]|\\["$`\\n])*""#,
            r"\$'([ -&(-\[\]-~]|\\[nrt\\'abefv]|\\x[0-7][1-9a-f]|\\u00[ef][0-9a-f]|\\[01][0-7][1-7])*'",
            r"[a-zA-Z0-9_./:=@%+,-]{1,6}",
            r"\\[ -~]",
        ];
        let space = prop_oneof![Just(""), Just(" "), Just(" \\\n")];
        let words = prop::collection::vec((word, space), 1..6);
        words.prop_map(|words| {
            let words = words.iter().flat_map(|(word, space)| [word, *space]);
            format!("curl {}", words.collect::<String>())
        })
    }

    proptest! {
        #[test]
        fn words_that_we_write_are_read_as_they_were(
            words in proptest::collection::vec(proptest::collection::vec(1_u8.., 0..24), 1..4),
            text in "[ -~\\n\\t\\r\u{202e}é'\"$`!\\\\]{0,16}",
        ) {
            let mut line = "curl".to_owned();
            let words: Vec<Vec<u8>> = words.into_iter().chain([text.into_bytes()]).collect();
            for word in &words {
                line.push(' ');
                line.push_str(&loadtest::__private::quote_for_shell(word));
            }
            prop_assume!(Dialect::detect(&line) == Dialect::Posix);
            let read = read(&line).map_err(|mistake| TestCaseError::fail(mistake.words))?;
            let read: Vec<_> = read.0[0].words[1..].iter().map(|word| word.text.clone()).collect();
            prop_assert_eq!(read, words, "{:?}", line);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn words_are_those_that_bash_makes(lines in prop::collection::vec(any_line(), 16)) {
            // Nothing here is a backtick at the end of a line, or a caret before a quote.
            let is_posix = |line: &String| Dialect::detect(line) == Dialect::Posix && !line.contains("$env:");
            let lines: Vec<String> = lines.into_iter().filter(is_posix).collect();
            for (line, theirs) in lines.iter().zip(bash(&lines)) {
                let Some(theirs) = theirs else { continue };
                let ours = read(line).map_err(|mistake| TestCaseError::fail(mistake.words))?;
                let ours = ours.0[0].words[1..].iter().flat_map(|word| [&word.text[..], b"\0"]);
                let ours: Vec<u8> = ours.flatten().copied().collect();
                prop_assert_eq!(
                    String::from_utf8_lossy(&ours), String::from_utf8_lossy(&theirs), "{:?}", line
                );
            }
        }
    }
}
