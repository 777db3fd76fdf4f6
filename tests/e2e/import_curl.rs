//! Copied curl commands as scenarios: what is written sends what curl sends.

use crate::curl::{folder, forms, tool, write_forms};
use crate::project::{Files, LOAD_TEST, STANDS_ALONE, dependency, header};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Copied, Reply, Request, Server, Taking};
use std::fs;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        an_imported_scenario_sends_what_was_copied,
        the_source_of_every_form_sends_what_curl_sends,
        an_import_says_what_its_package_lacks,
        an_import_keeps_secrets_out_and_files_as_they_are,
    ]
}

fn an_imported_scenario_sends_what_was_copied() {
    let server = Server::recording(|_| Reply::text("ok"));
    let url = server.url();
    let text = format!(
        "curl '{url}/products?page=2' -H 'X-Shop: 7 \"a\"' -H 'accept: text/html' ;
         curl '{url}/orders' -H 'content-type: application/json' --data-raw '{{\"product\":7,\"notes\":[\"a b\",null,1.5]}}' ;
         curl '{url}/search' -d 'q=a+b&n=1%2F2' ;
         curl '{url}/raw' -H 'content-type: text/plain' --data-binary 'it'\\''s {{}} \\n' ;
         curl '{url}/form' -F a=b -F 'c=d e' ;
         curl '{url}/parts' -F 'c={{\"x\":1}};type=application/json' ;
         curl -X PROPFIND '{url}/dav' ;
         curl '{url}/bytes' -H 'content-type: a/b' --data-binary $'\\xff{{{{x}}}}' ;
         curl -I '{url}/head' -L -m 3\n"
    );
    let folder = folder();
    fs::write(folder.path().join("copied.sh"), text).expect("a file");
    let output = tool(folder.path(), "import curl copied.sh -o load.rs")
        .run()
        .exits(0);
    output.says(&["Wrote load.rs"]);
    let source = fs::read_to_string(folder.path().join("load.rs")).expect("a source");
    let manifest = format!(
        "{}[dev-dependencies]\nloadtest = {}\n\n{LOAD_TEST}\n{STANDS_ALONE}",
        header("imported"),
        dependency()
    );
    let project = Files::new("imported")
        .file("Cargo.toml", manifest)
        .file("src/lib.rs", "")
        .file("tests/load.rs", source)
        .create();
    project
        .tool("run", "--iterations 1")
        .args(["--base-url", &url])
        .run()
        .exits(0);
    let imported = server.recorded();
    tool(folder.path(), "run --iterations 1 --curl copied.sh")
        .run()
        .exits(0);
    let copied = server.recorded().split_off(imported.len());
    assert_eq!((imported.len(), copied.len()), (9, 9));
    for (imported, copied) in imported.iter().zip(&copied) {
        // Each form has a boundary of its own.
        let plain = |request: &Request| {
            let content_type = request.header("content-type").unwrap_or_default();
            let boundary = content_type.split_once("boundary=");
            let boundary = boundary.map_or("BOUNDARY", |(_, boundary)| boundary);
            let is_own = |name: &str| matches!(name, "host" | "content-length" | "loadtest-run");
            let mut headers = request.headers.clone();
            headers.retain(|(name, _)| !is_own(name));
            headers.sort();
            let (method, target) = (&request.method, &request.target);
            format!("{method} {target} {headers:?} {}", request.text())
                .replace(boundary, "BOUNDARY")
                .to_lowercase()
        };
        assert_eq!(plain(imported), plain(copied));
    }
}

fn the_source_of_every_form_sends_what_curl_sends() {
    const HEADER_REMOVED: &str = "header removal";
    let table = forms();
    let folder = folder();
    write_forms(&table, folder.path(), "8080");
    let output = tool(
        folder.path(),
        "import curl copied.sh --allow-files -o load.rs",
    );
    output.run().exits(0);
    let source = fs::read_to_string(folder.path().join("load.rs")).expect("a source");
    // A source cannot leave this header out, and says so.
    let left_out = "Recorded without the header `accept`, which is sent here";
    assert_eq!(source.matches(left_out).count(), 1, "{source}");
    let forms = table["forms"].as_array().expect("forms");
    let before = forms
        .iter()
        .take_while(|form| form["name"] != HEADER_REMOVED);
    let before = before.map(|form| form["requests"].as_array().expect("requests").len());
    let copied = || Copied::new(&table).with(before.clone().sum(), "accept");
    let count = copied().count();
    let project = Files::single("import_curl_forms", &source).create();
    let smoke = |server: &Taking| {
        let call = project
            .cargo("test --test load")
            .env("LOADTEST_BASE_URL", server.server.url());
        call.env("TOKEN", "tok123")
            .env("PASSWORD", "pass")
            .env("PASSWORD_2", "p@ss")
            .env("COOKIE", "a=1; b=2")
            .env("COOKIE_2", "sid=abc")
            .run()
    };
    // No command says more of its answer than that it is a success.
    let server = copied().start(|number| [200, 201, 202, 204][number % 4]);
    let output = smoke(&server);
    assert_eq!(server.refusals.told(), Vec::<String>::new(), "{output}");
    output.exits(0).prints(&["1 passed"]);
    assert_eq!(server.taken(), count);
    let last = count - 1;
    let server = copied().start(move |number| if number == last { 404 } else { 200 });
    let output = smoke(&server).exits(101);
    output.prints(&["1 failed", "expected 2xx, got 404"]);
    assert_eq!(server.taken(), count);
}

fn an_import_says_what_its_package_lacks() {
    const PACKAGE: &str = "[package]\nname = \"site\"\nversion = \"0.1.0\"\n";
    let folder = folder();
    fs::write(folder.path().join("Cargo.toml"), PACKAGE).expect("a file");
    let import = || {
        let call = tool(
            folder.path(),
            "import curl -o tests/pages/visit.rs --force --",
        );
        call.args(["curl", "http://127.0.0.1:1/"]).run().exits(0)
    };
    import().says(&[
        "Wrote tests/pages/visit.rs",
        "`tests/pages/visit.rs` is not a load test yet",
        "path = \"tests/pages/visit.rs\"",
        "harness = false",
    ]);
    let target = "[[test]]\nname = \"visit\"\npath = \"tests/pages/visit.rs\"\nharness = false\n";
    let manifest = format!("{PACKAGE}\n{target}");
    fs::write(folder.path().join("Cargo.toml"), manifest).expect("a file");
    import().says_no("a load test yet");
}

fn an_import_keeps_secrets_out_and_files_as_they_are() {
    let folder = folder();
    let call = tool(
        folder.path(),
        "import curl -- curl http://h/a?token=canary-1 -u ada:canary-2",
    );
    let output = call
        .args(["-H", "X-Api-Key: canary-3", "-d", "password=canary-4"])
        .run()
        .exits(0);
    output.says(&["Secret PASSWORD"]);
    let output = tool(
        folder.path(),
        "import curl -- curl http://h/a?token=canary-1",
    )
    .run()
    .exits(0);
    assert!(
        !output.stdout.contains("canary") && !output.stderr.contains("canary"),
        "{output}"
    );
    let output = output.prints(&["get = \"/a?token={{secret.TOKEN}}\"", "fn get_a();"]);
    assert!(
        output
            .stderr
            .contains("TOKEN: `token` in the URL of `get_a`"),
        "{output}"
    );
    fs::write(folder.path().join("load.rs"), "mine").expect("a file");
    let call = || tool(folder.path(), "import curl -o load.rs");
    call()
        .args(["--", "curl", "http://h/"])
        .run()
        .exits(2)
        .says(&["exists already", "--force"]);
    assert_eq!(
        fs::read_to_string(folder.path().join("load.rs")).expect("a file"),
        "mine"
    );
    call()
        .args(["--force", "--", "curl", "http://h/"])
        .run()
        .exits(0);
    assert_ne!(
        fs::read_to_string(folder.path().join("load.rs")).expect("a file"),
        "mine"
    );
    fs::write(folder.path().join("host.sh"), "curl \"https://$HOST/\"").expect("a file");
    tool(folder.path(), "import curl host.sh")
        .run()
        .exits(2)
        .says(&[
            "host.sh:1:6",
            "the host comes from the variable `HOST`",
            "export `HOST`",
        ]);
    tool(folder.path(), "import curl host.sh")
        .env("HOST", "shop.example")
        .run()
        .exits(0)
        .prints(&["base = \"https://shop.example\""]);
    tool(
        folder.path(),
        "import curl host.sh --base-url http://127.0.0.1:3000",
    )
    .run()
    .exits(0)
    .prints(&["base = \"http://127.0.0.1:3000\"", "get = \"/"]);
    fs::write(
        folder.path().join("host.sh"),
        "curl http://h/ -H \"X-A: b $NAME\"",
    )
    .expect("a file");
    tool(folder.path(), "import curl host.sh")
        .run()
        .exits(0)
        .prints(&["\"b {{secret.NAME}}\""]);
}
