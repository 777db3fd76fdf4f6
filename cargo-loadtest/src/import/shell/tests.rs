use super::*;
use proptest::prelude::*;

fn all(text: &str) -> Result<Vec<Vec<String>>, Mistake> {
    let mut lookup = |name: &str| (name == "TOKEN").then(|| "tok 1".to_owned());
    let mut variables = ShellVariables::new("", Some(&mut lookup));
    let commands = read_commands(text, &mut variables, &mut Vec::new())?;
    let shown = |word: ShellWord| String::from_utf8_lossy(&word.text).into_owned();
    let words = |command: ShellCommand| command.words.into_iter().map(shown).collect();
    Ok(commands.into_iter().map(words).collect())
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

/// What a text is refused for, where that is, and how much came of variables until then.
fn excess(text: &str) -> (String, usize, usize) {
    let mut lookup = |_: &str| None;
    let mut variables = ShellVariables::new("", Some(&mut lookup));
    let mistake = read_commands(text, &mut variables, &mut Vec::new()).expect_err(text);
    let line = text[..mistake.span.start].matches('\n').count() + 1;
    let shown = format!("{}: {}", &text[mistake.span.clone()], mistake.words);
    (shown, line, variables.spent)
}

#[test]
fn what_comes_of_variables_is_bounded() {
    let ten = |one: &str| one.repeat(10);
    let posix = format!("A=xxxxxxxxxx\n{}", format!("A={}\n", ten("$A")).repeat(12));
    let braces = posix.replace("$A", "${A}");
    let end = "curl http://127.0.0.1/";
    for (text, name) in [
        (format!("{posix}{end}$A"), "$A"),
        (format!("{braces}{end}${{A}}"), "${A}"),
    ] {
        let (words, line, spent) = excess(&text);
        let expected =
            format!("{name}: with this variable all values in the text come to more than 16 MiB");
        assert_eq!((words, line), (expected, 8), "{text}");
        assert!(spent <= variables::MOST_BYTES * 2, "{text}: {spent}");
    }
    // A here-document is one text, whatever its lines are.
    let long = "x".repeat(variables::MOST_BYTES / 2);
    let text = format!("A={long}\n{end} -d @- <<E\n$A\n$A\n$A\nE\n");
    assert_eq!(excess(&text).1, 5);
    // Many words of which none is too long.
    let long = "x".repeat(variables::MOST_BYTES / 32);
    let text = format!("A={long}\n{}", format!("{end} -d \"$A\"\n").repeat(40));
    assert_eq!(excess(&text).1, 34);
    let text = format!("A={long}\n{end} -d $A$A");
    assert_eq!(one(&text)[3].len(), 2 * long.len());
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
fn several_commands_are_several() {
    let text = "curl a ;\ncurl b && curl c\ncurl d & curl e | jq . || echo no";
    let urls: Vec<_> = all(text)
        .unwrap()
        .into_iter()
        .map(|mut words| words.remove(1))
        .collect();
    assert_eq!(urls, ["a", "b", "c", "d", "e"]);
}

#[test]
fn what_is_not_run_is_told() {
    let (urls, notes) = told("cd x && curl a | jq .");
    assert_eq!(urls, ["a"]);
    assert_eq!(
        notes,
        ["`cd` is not run: only curl commands are read (and 1 more like this)"]
    );
    let (_, notes) = told("sudo curl $TOKEN\ncurl a");
    assert_eq!(notes, ["`sudo` is not run: only curl commands are read"]);
    assert_eq!(told("curl '%TOKEN%'").1.len(), 1);
    assert_eq!(told("curl '%C3%A9cole%20 100%'").1.len(), 0);
}

/// The URLs of the commands, and what is told of the rest.
fn told(text: &str) -> (Vec<String>, Vec<String>) {
    let mut lookup = |name: &str| (name == "TOKEN").then(|| "tok".to_owned());
    let mut variables = ShellVariables::new("", Some(&mut lookup));
    let mut notes = Vec::new();
    let found = read_commands(text, &mut variables, &mut notes);
    let found = found.unwrap_or_else(|mistake| panic!("{text}: {mistake:?}"));
    let url = |command: ShellCommand| String::from_utf8_lossy(&command.words[1].text).into_owned();
    (
        found.into_iter().map(url).collect(),
        notes.into_iter().map(|note| note.words).collect(),
    )
}

#[test]
fn a_here_document_is_the_standard_input() {
    let stdin = |text: &str| {
        let mut lookup = |name: &str| (name == "TOKEN").then(|| "t".to_owned());
        let mut variables = ShellVariables::new("", Some(&mut lookup));
        let mut all = read_commands(text, &mut variables, &mut Vec::new()).unwrap();
        String::from_utf8(all.remove(0).stdin.unwrap()).unwrap()
    };
    for (text, read_as) in [
        (
            "curl a -d @- <<EOF\na $TOKEN \\$x \"q\"\nb\\\nc\nEOF\ncurl b",
            "a t $x \"q\"\nbc\n",
        ),
        ("curl a -d @- << 'EOF' | jq .\n$TOKEN\nEOF", "$TOKEN\n"),
        ("curl a -d @- <<EOF\r\nx\r\nEOF\r\n", "x\n"),
        ("curl a -d @- <<EOF\nEOF", ""),
    ] {
        assert_eq!(stdin(text), read_as, "{text}");
    }
}

#[test]
fn a_refusal_says_where() {
    for (text, marked, words) in [
        ("curl 'a", "'a", "never closed"),
        ("curl a \"b", "\"b", "never closed"),
        ("curl $(cat url)", "$(", "no shell is ever run"),
        ("curl \"`cat url`\"", "`", "no shell is ever run"),
        ("TOKEN=$(date)\ncurl a", "$(", "no shell is ever run"),
        ("curl <(x)", "<", "`<` is not imported"),
        ("curl h/<id>", "<id", "`<` is not imported"),
        ("curl a <<< x", "<<<", "`<` is not imported"),
        ("curl a <<-E\n\tE", "<<-", "`<` is not imported"),
        ("curl $NONE", "$NONE", "not in the environment"),
        ("curl ^\"%NONE%\"", "%NONE", "not in the environment"),
        ("curl ${A%b}", "${A", "only a shell"),
        ("curl ${A:-b}", "${A", "only a shell"),
        ("curl ${A", "${A", "only a shell"),
        ("curl $TOKEN", "$TOKEN", "split"),
        ("curl $1", "$1", "only a shell"),
        ("curl $'\\cA'", "\\c", "this escape"),
        ("curl $'a\\x00'", "\\x00", "this escape"),
        ("curl <<EOF\nx", "EOF\nx", "ends this text"),
        ("curl ^\"a^\" ^\n \"b", "\"b", "never closed"),
        ("curl `\n 'a", "'a", "never closed"),
        ("curl `\n \"`u{41}\"", "`u", "this escape"),
        ("curl `\n $x", "$x", "only a shell"),
        ("curl `\n $(x)", "$(", "no shell is ever run"),
        (
            "$x = 1\ncurl.exe `\n $x",
            "$x",
            "no expressions of PowerShell",
        ),
        ("x\nfor i in 1 2; do curl $i; done", "for", "`for` is not"),
        ("x\nfor i in 1 2; do\n curl a; done", "for", "`for` is not"),
        ("while true; do curl a; done", "while", "`while` is not"),
        ("if curl a; then curl b; fi", "if", "`if` is not"),
        ("{ curl a; }", "{", "`{` is not"),
        ("$ curl a", "$", "`$` is not"),
        ("curl ^\"a^\"\nfor %i in (1) do x", "for", "`for` is not"),
        ("(curl a)", "(", "this parenthesis"),
        ("login() {\n  curl a\n}", "(", "this parenthesis"),
        ("curl a\n  -H b", "-H", "not a part of the command"),
        (
            "curl a \\\n\n  --header b",
            "--header",
            "not a part of the command",
        ),
        ("curl h/a?b=c&d=e", "&d", "ends the command"),
        ("curl h/{1..3}", "{1..3}", "several words"),
        ("curl -d {a,b}", "{a,b}", "several words"),
        ("curl “h”", "“h", "this quote"),
        ("curl\u{a0}h", "\u{a0}", "this quote or blank"),
        ("curl –X POST h", "–X", "this dash"),
        ("curl \"a\"(date)", "(date)", "this parenthesis"),
        (" wget http://h ", "wget", "no curl command"),
        ("sudo curl a", "sudo", "no curl command"),
        ("Invoke-WebRequest -Uri x", "Invoke", "no curl command"),
    ] {
        let mistake = all(text).unwrap_err();
        assert!(mistake.words.contains(words), "{text}: {mistake:?}");
        assert_eq!(
            Some(mistake.span.start),
            text.find(marked),
            "{text}: {mistake:?}"
        );
    }
}

#[test]
fn no_text_is_gone_through_again_and_again() {
    for part in [
        "x $(\n",
        "x ${\n",
        "x \"$(\n",
        "x `\n",
        "$ curl <<X\n",
        "$a = @'\n",
        "A=$B$C\n",
        "x (\n",
        "```\n",
        "x 'curl\n",
    ] {
        for end in ["", "curl h", "curl `\n h", "curl ^\n h"] {
            let text = format!("{}{end}", part.repeat(50_000));
            let _ = all(&text);
        }
    }
    let names: Vec<_> = (0..50_000).map(|number| format!("A{number}=1")).collect();
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

    fn bash(line: &str) -> Option<Vec<u8>> {
        let output = Command::new("bash")
            .args([
                "-c",
                &format!("curl() {{ printf '%s\\0' \"$@\"; }}; {line}"),
            ])
            .env_clear()
            .env("LC_ALL", "C.UTF-8")
            .output()
            .ok()?;
        output.status.success().then_some(output.stdout)
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
            let mut lookup = |_: &str| None;
            let mut variables = ShellVariables::new("", Some(&mut lookup));
            let read = read_commands(&line, &mut variables, &mut Vec::new());
            let read = read.map_err(|mistake| TestCaseError::fail(format!("{line:?} {mistake:?}")))?;
            let read: Vec<_> = read[0].words[1..].iter().map(|word| word.text.clone()).collect();
            prop_assert_eq!(read, words, "{:?}", line);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn words_are_those_that_bash_makes(
            words in proptest::collection::vec(
                prop_oneof![
                    r"'[ -&(-~\n]{0,8}'",
                    r#""([ !#%-\[\]-_a-~]|\\["$`\\n])*""#,
                    r"\$'([ -&(-\[\]-~]|\\[nrt\\'abefv]|\\x[0-7][1-9a-f]|\\u00[ef][0-9a-f]|\\[01][0-7][1-7])*'",
                    r"[a-zA-Z0-9_./:=@%+,-]{1,6}",
                    r"\\[ -~]",
                ],
                1..6,
            ),
            spaces in proptest::collection::vec(prop_oneof![Just(""), Just(" "), Just(" \\\n")], 6),
        ) {
            let mut line = "curl ".to_owned();
            for (word, space) in words.iter().zip(&spaces) {
                line.push_str(word);
                line.push_str(space);
            }
            // Nothing here is a backtick at the end of a line, or a caret before a quote.
            prop_assume!(Dialect::detect(&line) == Dialect::Posix && !line.contains("$env:"));
            let Some(theirs) = bash(&line) else { return Ok(()) };
            let mut lookup = |_: &str| None;
            let mut variables = ShellVariables::new("", Some(&mut lookup));
            let ours = read_commands(&line, &mut variables, &mut Vec::new());
            let ours = ours.map_err(|mistake| TestCaseError::fail(format!("{line:?} {mistake:?}")))?;
            let mut bytes = Vec::new();
            for word in &ours[0].words[1..] {
                bytes.extend_from_slice(&word.text);
                bytes.push(0);
            }
            prop_assert_eq!(
                String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&theirs), "{:?}", line
            );
        }
    }
}
