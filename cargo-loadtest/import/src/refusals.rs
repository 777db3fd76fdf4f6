//! Every refusal of every importer, and the place in the input that it shows: a `«` stands before it.
//!
//! A refusal that is new is one more line in a table.

use super::*;
use postman::read_environment;
use std::fmt::Write as _;
use std::path::PathBuf;

/// An input that is refused: with these options, as `--tag x`, and with these words.
type Row<'a> = (&'a str, &'a str, &'a str);

fn options(line: &str, name: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let pairs = words.chunks_exact(2);
    let pairs = pairs.filter(|pair| pair[0] == format!("--{name}"));
    pairs.map(|pair| pair[1].to_owned()).collect()
}

fn refusal(from: &str, given: &str, input: &Input) -> Mistake {
    let read = match from {
        "har" => read_har(
            input,
            &HarOptions {
                hosts: options(given, "host"),
                ..HarOptions::default()
            },
        ),
        "openapi" => {
            let options = OpenApiOptions {
                tags: options(given, "tag"),
                operations: options(given, "operation"),
                paths: options(given, "path"),
                parameters: Vec::new(),
                base: options(given, "base-url").pop(),
            };
            read_openapi(input, &options)
        }
        "jmx" => read_jmx(input),
        "k6" => read_k6(input),
        "postman" => read_postman(
            input,
            &PostmanOptions {
                folders: options(given, "folder"),
                environment: None,
            },
        ),
        "environment" => read_environment(input).map(|_| Recording::default()),
        _ => {
            let files = PermittedFiles {
                folder: PathBuf::from("/nowhere"),
                are_permitted: given == "--allow-files",
            };
            read_text(input, &files, Some(&mut |_| None), None)
        }
    };
    match read {
        Ok(recording) => panic!("{from} is read: {}\n{recording:?}", input.text),
        Err(mistake) => mistake,
    }
}

fn check(from: &str, rows: &[Row<'_>]) {
    let mut wrong = String::new();
    for (text, given, words) in rows {
        assert_eq!(text.matches('«').count(), 1, "{text}");
        let at = text.find('«').unwrap();
        let input = Input::new("input", text.replace('«', ""));
        let mistake = refusal(from, given, &input);
        let (line, column) = input.place(at);
        let place = format!("--> input:{line}:{column}\n");
        let shown = input.excerpt(&mistake.span);
        if !shown.contains(&place) || !mistake.words.contains(words) {
            let start: String = text.chars().take(200).collect();
            let _ = writeln!(
                wrong,
                "{start}\n  {given} has {words:?} at {place}  {}\n{shown}",
                mistake.words
            );
        }
    }
    assert!(wrong.is_empty(), "{from}\n{wrong}");
}

#[test]
fn what_is_no_document_is_refused_where_it_goes_wrong() {
    let deep = format!("{}«[[", "[".repeat(512));
    let closed = format!("{deep}{}", "]".repeat(514));
    let rows = [
        ("«", "", "nothing in it"),
        ("«  \n", "", "nothing in it"),
        ("{\"a\": «}", "", "not JSON: expected value"),
        ("{\n  \"a\": 1,\n«}", "", "not JSON: key must be a string"),
        ("{\"a\": [1, «2", "", "not JSON: EOF"),
        ("{\"a\": 1}\n«x", "", "not JSON: trailing characters"),
        (
            "{\"a\": {\"é\": \"x\", «y}}",
            "",
            "not JSON: key must be a string",
        ),
        (&closed, "", "nesting depth"),
        ("a: [1, 2\nb«: 3", "", "not YAML"),
        ("a: 1\n? «[x, y]\n: 2", "", "cannot be a name"),
        ("a: «*nowhere", "", "not YAML"),
        ("a: &a [«*a]", "", "an alias"),
        ("a: 1\n«---\nb: 2", "", "second document"),
        ("{\"a\": 1, «\"a\": 2}", "", "a name of this object already"),
    ];
    for from in ["har", "openapi", "postman", "environment"] {
        check(from, &rows);
    }
}

#[test]
fn what_is_something_else_is_refused_where_it_shows() {
    for (from, words) in [
        ("har", "not an archive of requests"),
        ("openapi", "not an OpenAPI document"),
        ("postman", "not a Postman collection"),
        ("environment", "not an environment"),
    ] {
        check(
            from,
            &[
                ("«{}", "", words),
                ("  «[1, 2]", "", words),
                ("«7", "", words),
                ("«just a text\n", "", words),
                ("{\n  «\"a\": 1,\n  \"b\": 2\n}", "", words),
                ("# a comment\n«a: 1\nb: 2\n", "", words),
            ],
        );
    }
    let har = "{«\"log\": {\"entries\": []}}";
    let api = "{«\"openapi\": \"3.0.0\", \"paths\": {}}";
    let collection = "{«\"info\": {}, \"item\": []}";
    check(
        "har",
        &[
            (api, "", "not an archive"),
            (collection, "", "not an archive"),
        ],
    );
    check(
        "openapi",
        &[
            (har, "", "not an OpenAPI"),
            (collection, "", "not an OpenAPI"),
        ],
    );
    check(
        "postman",
        &[
            (har, "", "not a Postman collection"),
            (api, "", "not a Postman collection"),
        ],
    );
    check(
        "environment",
        &[
            (har, "", "not an environment"),
            (collection, "", "not an environment"),
        ],
    );
}

#[test]
fn refusals_of_scripts() {
    let none = "no request in it";
    let deep = format!("x = {}«[[", "[".repeat(397));
    let closed = format!("{deep}{}", "]".repeat(399));
    let rows = [
        ("«", "", "nothing in it"),
        ("export default function () «{ ", "", "not JavaScript"),
        ("let a = 1;\nlet b = «@ 2;", "", "not JavaScript"),
        (
            "import http from 'k6/http';\n«export default function () {}",
            "",
            none,
        ),
        ("«export default 7", "", none),
        ("«let a = 1;", "", none),
        (
            "import http from 'k6/http';\nfunction f() { «http.get('http://h/'); }\nexport default function () {}",
            "",
            "nothing that is followed calls `f`",
        ),
        (
            "import { buy } from './buy.js';\nexport default function () { «buy(1); }",
            "",
            "`buy` is of another file or library",
        ),
        (
            "import ws from «'k6/ws';\nexport default function () { ws.connect('ws://h/', {}, () => {}); }",
            "",
            "`ws = \"..\"`",
        ),
        (
            "import grpc from «'k6/net/grpc';\nexport default function () {}",
            "",
            "`http.grpc()`",
        ),
        (&closed, "", "nested too deeply"),
    ];
    check("k6", &rows);
}

#[test]
fn refusals_of_plans() {
    let none = "no HTTP request in it";
    let deep = format!("{}«<a>", "<a>".repeat(200));
    let rows = [
        ("«", "", "nothing in it"),
        ("«just a text", "", "not XML"),
        ("<jmeterTestPlan>\n«<hashTree>", "", "not closed"),
        ("«<html></html>", "", "not a JMeter plan"),
        ("«<jmeterTestPlan></jmeterTestPlan>", "", none),
        (
            "<jmeterTestPlan><hashTree>\n«<TestPlan testname=\"a\"/><hashTree/></hashTree></jmeterTestPlan>",
            "",
            none,
        ),
        (&deep, "", "nested too deeply"),
    ];
    check("jmx", &rows);
}

/// An archive of these entries.
fn entries(entries: &str) -> String {
    format!("{{\n\"log\": {{\n\"entries\": [\n{entries}\n]}}}}")
}

/// An archive of one request with these fields.
fn request(request: &str) -> String {
    entries(&format!("{{\"request\": {{{request}}}}}"))
}

/// Checks rows whose texts are put together.
fn check_all(from: &str, rows: &[(String, &str, &str)]) {
    let rows = rows.iter();
    let rows: Vec<Row<'_>> = rows
        .map(|(text, given, words)| (text.as_str(), *given, *words))
        .collect();
    check(from, &rows);
}

#[test]
fn refusals_of_archives() {
    let texts: Vec<(String, &str, &str)> = vec![
        (
            "{«\"log\": {\"pages\": []}}".to_owned(),
            "",
            "no list `log.entries`",
        ),
        (
            "{\"log\": {«\"entries\": {}}}".to_owned(),
            "",
            "no list `log.entries`",
        ),
        (
            "{\"log\": {«\"entries\": \"x\"}}".to_owned(),
            "",
            "no list `log.entries`",
        ),
        (
            "{\"log\": {\"entries\": «[]}}".to_owned(),
            "",
            "no requests in it",
        ),
        (entries("«7"), "", "this is a number without one"),
        (
            entries("{\"request\": «{}}"),
            "",
            "this is an object without one",
        ),
        (request("\"url\": «7"), "", "this is a number"),
        (request("\"url\": «{\"a\":\n 1}"), "", "this is an object"),
        (
            request("\"url\": «\"\""),
            "",
            "cannot be read (relative URL",
        ),
        (
            request("\"url\": «\"/a/b\""),
            "",
            "cannot be read (relative URL",
        ),
        (
            request("\"url\": «\"http://[::1\""),
            "",
            "cannot be read (invalid IPv6",
        ),
        (
            request("\"url\": «\"http://\""),
            "",
            "cannot be read (empty host)",
        ),
        (
            request("\"method\": \"GET\",\n \"url\": «\"http://h:99999/\""),
            "",
            "invalid port",
        ),
        (
            request("\"url\": \"http://h/\",\n \"method\": «\"GE T\""),
            "",
            "not a method of HTTP",
        ),
        (
            entries("{\"request\": {\"url\": «\"http://\"}},\n{\"request\": {\"url\": 7}}"),
            "",
            "cannot be read (empty host)",
        ),
    ];
    check_all("har", &texts);
}

#[test]
fn refusals_of_archives_of_which_nothing_is_left() {
    let answered = |url: &str, status: u16| {
        format!("{{\"request\": {{\"url\": {url}}}, \"response\": {{\"status\": {status}}}}}")
    };
    let texts: Vec<(String, &str, &str)> = vec![
        (
            request("\"url\": «\"http://h/socket.io/?transport=polling\""),
            "",
            "is left: Socket.IO and WebTransport (1)",
        ),
        (
            request("\"url\": «\"data:text/plain,x\""),
            "",
            "is left: no requests over HTTP (1)",
        ),
        (
            request("\"method\": \"CONNECT\", \"url\": «\"h:443\""),
            "",
            "proxy tunnels (1)",
        ),
        (
            entries(&format!(
                "{},\n{}",
                answered("«\"data:,\"", 200),
                answered("\"http://h/a.js\"", 200)
            )),
            "",
            "no requests over HTTP (1); static files (1)",
        ),
        (
            entries(&format!(
                "{},\n{}",
                answered("\"http://h/a.js\"", 200),
                answered("«\"http://h/a\"", 200)
            ))
            .replace("«", "")
            .replacen("\"http://h/a.js", "«\"http://h/a.js", 1),
            "--host other",
            "other hosts (2)",
        ),
        (
            entries(&format!(
                "{},\n{{\"request\": {{\"url\": \"http://\"}}}}",
                answered("«\"http://h/a.js\"", 200)
            )),
            "",
            "cannot be read (1); static files (1)",
        ),
    ];
    check_all("har", &texts);
}

#[test]
fn refusals_of_descriptions() {
    let tagged = "openapi: 3.0.0\npaths:\n  /a:\n    get: {tags: [x]}\n    put:\n      operationId: putA\n      tags: [orders]\n";
    let operation = tagged.replace("put:", "«put:");
    let first = tagged.replace("get:", "«get:");
    let untagged = "openapi: 3.0.0\npaths:\n  /a:\n    «get: {}\n";
    check(
        "openapi",
        &[
            ("{«\"openapi\": \"3.1.0\"}", "", "no operation"),
            ("openapi: 3.1.0\n«paths: {}", "", "no operation"),
            (
                "openapi: 3.1.0\n«paths:\n  /a: {parameters: []}\n  /b: 7\n",
                "",
                "no operation",
            ),
            (
                "a: 1\nswaggerVersion: '1.2'\n"
                    .replacen("a:", "«a:", 1)
                    .as_str(),
                "",
                "not an OpenAPI document",
            ),
            (&operation, "--tag order", "has the tag `order`"),
            (
                &first,
                "--tag nothing-like-it",
                "has the tag `nothing-like-it`",
            ),
            (untagged, "--tag x", "has the tag `x`"),
            (&operation, "--operation puta", "has the name `puta`"),
            (&first, "--path /b", "no path matches `/b`"),
            (
                &first,
                "--operation nothing-like-it",
                "has the name `nothing-like-it`",
            ),
            (
                &first,
                "--tag x --operation putA",
                "no operation has all of this tag, name and path",
            ),
            (
                "openapi: 3.0.0\n«servers: [{url: http://h}]\npaths: {/a: {get: {}}}",
                "--base-url ftp://h",
                "`--base-url` is not a URL",
            ),
            (
                "swagger: '2.0'\n«host: h\npaths: {/a: {get: {}}}",
                "--base-url x",
                "is not a URL",
            ),
            (
                "«openapi: 3.0.0\npaths: {/a: {get: {}}}",
                "--base-url http://ada:canary@h",
                "or has credentials or a query",
            ),
            (
                "«openapi: 3.0.0\npaths: {/a: {get: {}}}",
                "--base-url http://h/?a=1",
                "or has credentials or a query",
            ),
        ],
    );
}

#[test]
fn refusals_of_collections() {
    let items =
        |items: &str| format!("{{\n\"info\": {{\"name\": \"c\"}},\n\"item\": [\n{items}\n]}}");
    let url = |url: &str| {
        items(&format!(
            "{{\"name\": \"r\",\n\"request\": {{\"method\": \"GET\",\n\"url\": {url}}}}}"
        ))
    };
    let texts: Vec<(String, &str, &str)> = vec![
        (
            "{«\"id\": 1, \"requests\": []}".to_owned(),
            "",
            "has no `item`",
        ),
        (
            "{\"id\": 1, «\"values\": []}".to_owned(),
            "",
            "variables of an environment",
        ),
        ("{«\"info\": {}}".to_owned(), "", "has no `item`"),
        (
            "{\"info\": {}, \"item\": «{\"a\":\n1}}".to_owned(),
            "",
            "`item` is an object",
        ),
        (
            "{\"collection\": {«\"info\": {}}}".to_owned(),
            "",
            "has no `item`",
        ),
        (
            "{\"info\": {}, «\"item\": []}".to_owned(),
            "",
            "no request in it",
        ),
        (
            items("«7"),
            "",
            "not a folder and has no `request`: it is left out, and no request is left",
        ),
        (
            url("«\"ws://h/a\""),
            "",
            "not HTTP: `GET r` is left out, and no request is left",
        ),
        (
            url("«\"http://[::1/a\""),
            "",
            "the host of this URL is not valid (invalid IPv6",
        ),
        (
            url("{\n\"raw\": «\"http://[::1/a\"\n}"),
            "",
            "the host of this URL is not valid",
        ),
        (
            url("{\n\"host\": [\n«\"a b\"],\n\"path\": [\"x\"]\n}"),
            "",
            "the host of this URL is not valid",
        ),
        (url("«\"http://https://h/\""), "", "two schemes"),
        (
            url("null").replace("\"url\"", "«\"url\""),
            "",
            "there is no URL: `GET r` is left out",
        ),
        (
            url("\"http://h/\"").replace("\"GET\"", "«\"GE T\""),
            "",
            "not a method of HTTP",
        ),
        (
            items(
                "{\"name\": \"a\", \"request\": «\"ws://h/\"},\n{\"name\": \"b\", \"request\": \"http://[\"}",
            ),
            "",
            "not HTTP: `GET a` is left out, and no request is left",
        ),
    ];
    check_all("postman", &texts);
    check(
        "environment",
        &[
            (
                "{\"id\": 1, \"values\": «{\"a\":\n1}}",
                "",
                "`values` is an object",
            ),
            ("{\"id\": 1, \"values\": «7}", "", "`values` is a number"),
            ("{«\"item\": []}", "", "not an environment"),
        ],
    );
}

#[test]
fn refusals_of_folders() {
    let items =
        |items: &str| format!("{{\n\"info\": {{\"name\": \"c\"}},\n\"item\": [\n{items}\n]}}");
    let folders = items(
        "{\"name\": \"One\", \"item\": [{\"request\": \"http://h/\"}]}, {\"name\": \"Two\", \"item\": [{\"request\": {\"url\": \"ws://h/\"}}]}, {\"name\": \"None\", \"item\": []}",
    );
    let texts: Vec<(String, &str, &str)> = vec![
        (
            folders.replace("\"One\"", "«\"One\""),
            "--folder on",
            "no folder `on`",
        ),
        (
            folders.replace("\"One\"", "«\"One\""),
            "--folder nothing-like-it",
            "no folder `nothing-like-it`",
        ),
        (
            folders.replace("\"ws:", "«\"ws:"),
            "--folder Two",
            "this is not HTTP",
        ),
        (
            folders.replace("\"None\"", "«\"None\""),
            "--folder None",
            "no request in it",
        ),
        (
            items("{\"request\": \"http://h/\"}").replace("\"item\"", "«\"item\""),
            "--folder a",
            "no folder `a`",
        ),
    ];
    check_all("postman", &texts);
}

#[test]
fn refusals_of_commands() {
    let rows = [
        ("«", "no curl command"),
        ("\n  «wget http://h/", "no curl command"),
        ("«curl -s", "no URL"),
        ("curl \\\n  «--data-row x", "no option `--data-row`"),
        ("curl h «--data-ra 1", "no option"),
        ("curl h «-d", "needs a value"),
        ("curl «-K cfg h", "`--config`"),
        ("«curl h --next", "no URL"),
        ("curl «'http://h/{a,b}/{c,d}'", "a second set"),
        ("curl «-Uri h", "Invoke-WebRequest"),
        ("curl «ftp://h/", "only `http` and `https`"),
        ("curl «http:///a", "no host"),
        ("curl «http://h:x/", "invalid host or port"),
        ("curl «'http://h/a b'", "a blank"),
        ("curl «'http://h/{a'", "as a range"),
        ("curl «-H 'a b: c' h", "name of a header"),
        ("curl «-H x h", "has no `:`"),
        ("curl «-H $'a: b\\nc' h", "no line breaks"),
        ("curl «-H $'a: \\xff' h", "not text in UTF-8"),
        ("curl «-X 'GE T' h", "not a method"),
        ("curl «-m soon h", "number of seconds"),
        ("curl «-u ada h", "password of this user"),
        ("curl «-F a h", "has no `=`"),
        ("curl «-F 'a=(b' h", "forms within forms"),
        ("curl «-F 'a=b;headers=c' h", "only `;type=`"),
        ("curl «-F 'a=\"b' h", "never closed"),
        ("curl -d a «-F b=c h", "only one of"),
        ("curl -G «-d 'a b' h", "a blank"),
        ("curl «-d @body.json h", "not permitted"),
        ("curl «-E me.pem:pw h", "reads the file `me.pem`"),
        ("curl «-d @- h", "standard input"),
        ("cat x | curl «-d @- h", "standard input"),
        ("curl h -d «'a", "never closed"),
        ("curl ^\"a^\" ^\n «\"b", "never closed"),
        ("curl `\n «'a", "never closed"),
        ("curl h/«$(id)", "run a program"),
        ("curl \"«`id`\"", "run a program"),
        ("curl h/«$A", "not in the environment"),
        ("curl ^\"«%ABC%\"", "not in the environment"),
        ("curl «${A", "only a shell"),
        ("curl «${A:-b}", "only a shell"),
        ("curl h/«$1", "only a shell"),
        ("curl `\n «$x", "only a shell"),
        ("A='b c'\ncurl «$A", "split"),
        ("curl $'a«\\x00'", "this escape"),
        ("curl `\n \"«`u{41}\"", "this escape"),
        ("«$x = 1\ncurl.exe `\n h", "not PowerShell expressions"),
        ("«for i in 1 2; do curl $i; done", "`for` is not"),
        ("«$ curl a", "`$` is not"),
        ("login«() {\n  curl a\n}", "this parenthesis"),
        ("curl <<«EOF\nx", "ends this text"),
        ("curl a «<<< x", "`<` is not"),
        ("curl h/«<id>", "around a placeholder"),
        ("curl h?a=1«&b=2", "ends the command"),
        ("curl h\n«-H 'a: b'", "not a part of the command above"),
        ("curl h/«{1..3}", "several words"),
        ("curl -d «{a,b} h", "several words"),
        ("curl «“h”", "this quote"),
        ("curl«\u{a0}h", "this quote or blank"),
        ("curl «–X POST h", "this dash"),
    ];
    check("curl", &rows.map(|(text, words)| (text, "", words)));
    let text = "curl «-d @/nowhere/at/all http://h/";
    check("curl", &[(text, "--allow-files", "/nowhere")]);
}
