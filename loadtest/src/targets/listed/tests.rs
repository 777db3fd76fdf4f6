use super::*;

fn read(text: &str) -> Result<Vec<ListedTarget>, Vec<String>> {
    ListedTarget::read(text).map_err(|mistakes| {
        let line = |mistake: &Mistake| format!("{}: {}", mistake.line, mistake.message);
        mistakes.iter().map(line).collect()
    })
}

#[test]
fn every_key_of_a_target_is_read() {
    let text = "# who may be tested\n[grading]\napdex = \"300ms\"\n\n[[targets]]\nhost = \"Shop.Staging.Example.com.\"\n\
                scheme = \"http\"\nport = 8_080\nowner = \"shop-team@example.com\"\nmax_rate = \"200/s\"\n\
                max_in_flight = 50\nmax_duration = \"30m\"\naddresses = [\n  \"10.20.0.0/16\", # staging\n  \"10.30.0.1\",\n]\n\
                proof = \"well-known\"\n\n[[targets]]\nhost = \"::1\"\nowner = 'me'\n[[notify]]\nurl = \"https://x.test/\"\n";
    let all = read(text).unwrap();
    assert_eq!(all.len(), 2);
    let one = &all[0];
    assert_eq!(one.origin(), "http://shop.staging.example.com:8080");
    assert_eq!(one.owner, "shop-team@example.com");
    assert_eq!((one.max_rate, one.max_in_flight), (Some(200.0), Some(50)));
    assert_eq!(one.max_duration, Some(Duration::from_secs(1800)));
    assert_eq!((one.proof, one.line), (true, 5));
    for (address, has) in [
        ("10.20.3.4", true),
        ("10.30.0.1", true),
        ("10.30.0.2", false),
    ] {
        assert_eq!(one.has(address.parse().unwrap()), has, "{address}");
    }
    assert_eq!(all[1].origin(), "https://[::1]");
    assert!(
        all[1].has("192.0.2.1".parse().unwrap()),
        "nothing is pinned"
    );
}

#[test]
fn what_clients_of_ones_own_reach_has_a_scheme_a_port_and_no_proof() {
    let read_one = |keys: &str| {
        read(&format!(
            "[[targets]]\nhost = \"db.test\"\nowner = \"ada\"\n{keys}"
        ))
    };
    let all = read_one("scheme = \"tls\"\nport = 5432\n").unwrap();
    assert_eq!(all[0].origin(), "tls://db.test:5432");
    for (keys, told) in [
        (
            "scheme = \"tcp\"\n",
            "1: a target with `scheme = \"tcp\"` needs `port`; write for example `port = 5432`",
        ),
        (
            "scheme = \"udp\"\nport = 53\nproof = \"well-known\"\n",
            "1: `proof` is read by HTTP, which a target with `scheme = \"udp\"` does not speak; leave it out",
        ),
    ] {
        assert_eq!(read_one(keys).unwrap_err(), [told]);
    }
}

#[test]
fn what_is_no_target_is_left_to_others() {
    for text in [
        "",
        "[store]\nkeep = 3\n",
        "[notify]\ntargets = 1\n",
        "[load.peak]\nrate = \"1/s\"\nstages = [{ rate = \"1/s\" }, [1, 2]]\n",
        "[other.targets]\nhost = 1\n",
    ] {
        assert_eq!(read(text), Ok(Vec::new()), "{text}");
    }
}

#[test]
fn every_mistake_is_told_with_its_line() {
    let text = "[[targets]]\nhost = \"https://shop.test/x\"\nowners = \"ada\"\nport = 0\nmax_rate = 200\n\
                max_in_flight = \"5\"\nmax_duration = \"soon\"\naddresses = \"10.0.0.1\"\nproof = \"dns\"\n\
                scheme = \"ftp\"\n[[targets]]\nhost = \"*.shop.test\"\nowner = \" \"\nbandwidth = 1\n";
    let mistakes = read(text).unwrap_err();
    let expected = [
        "1: a target needs `owner`; write for example `owner = \"shop-team@example.com\"`",
        "2: `host = \"https://shop.test/x\"` is more than a host; use the keys `scheme` and `port`",
        "3: unknown key `owners`; did you mean `owner`?",
        "4: `port` is a number from 1 to 65535; write for example `port = 443`",
        "5: `max_rate` is text; write it in quotes: `\"200\"`",
        "6: `max_in_flight` is a whole number above 0; write for example `max_in_flight = 200`",
        "7: `max_duration = \"soon\"` is not a time; write for example `30m`",
        "8: `addresses` is a list: `addresses = [\"10.20.0.0/16\"]`",
        "9: `proof = \"dns\"` is not known; write `well-known`, or leave it out",
        "10: `scheme = \"ftp\"` is not one of `https`, `http`, `tcp`, `tls` and `udp`",
        "12: `host = \"*.shop.test\"` is not a host; list each host separately, without `*`",
        "13: `owner` is empty; name the person or team responsible for the target",
        "14: unknown key `bandwidth`; a target has `host`, `scheme`, `port`, `owner`, `max_rate`, `max_in_flight`, \
         `max_duration`, `addresses`, `proof`",
    ];
    assert_eq!(mistakes, expected);
}

#[test]
fn what_is_never_tested_cannot_be_listed() {
    for host in [
        "169.254.169.254",
        "0.0.0.0",
        "224.0.0.1",
        "fe80::1",
        "0xa9fea9fe",
    ] {
        let text = format!("[[targets]]\nhost = \"{host}\"\nowner = \"ada\"\n");
        let mistakes = read(&text).unwrap_err();
        assert!(
            mistakes[0].contains("which is never tested"),
            "{mistakes:?}"
        );
    }
}

#[test]
fn a_target_in_another_shape_is_refused_and_not_overlooked() {
    for (text, line) in [
        ("[targets]\nhost = \"shop.test\"\n", 1),
        ("\n[targets.shop]\nhost = \"shop.test\"\n", 2),
        ("targets = [{ host = \"shop.test\" }]\n", 1),
        ("targets.host = \"shop.test\"\n", 1),
        ("\"targets\" = 1\n", 1),
    ] {
        let mistakes = read(text).unwrap_err();
        let told = format!("{line}: a target is an entry of a list; write `[[targets]]`");
        assert!(mistakes[0].starts_with(&told), "{text}: {mistakes:?}");
    }
}

#[test]
fn the_same_target_twice_is_a_mistake_and_another_port_of_it_is_none() {
    let target =
        |port: &str| format!("[[targets]]\nhost = \"shop.test\"\nowner = \"ada\"\n{port}\n");
    assert!(read(&(target("") + &target("port = 444"))).is_ok());
    let mistakes = read(&(target("") + &target("port = 443"))).unwrap_err();
    assert_eq!(
        mistakes,
        ["5: https://shop.test is listed twice; the first time in line 1"]
    );
    let mistakes =
        read("[[targets]]\nhost = \"a.test\"\nowner = \"b\"\nhost = \"c.test\"\n").unwrap_err();
    assert_eq!(mistakes, ["4: `host` is set twice in this target"]);
}

#[test]
fn a_file_of_very_many_targets_has_the_line_of_each() {
    // As many as a file may have. What is quadratic takes minutes for them.
    let target = |number: u32| format!("[[targets]]\nhost = \"{number}.test\"\nowner = \"a\"\n");
    let text: String = (0..24_000).map(target).collect();
    assert!(text.len() <= 1 << 20, "{}", text.len());
    assert_eq!(read(&text).unwrap().len(), 24_000);
    let mistakes = read(&(text + &target(7) + "[[targets]]\nhost = 1\n")).unwrap_err();
    assert_eq!(mistakes.len(), 3, "{mistakes:?}");
    assert_eq!(
        mistakes[0],
        "72001: https://7.test is listed twice; the first time in line 22"
    );
    assert!(mistakes[1].starts_with("7200"), "{mistakes:?}");
}

#[test]
fn text_that_is_no_toml_names_the_line() {
    for text in [
        "[[targets]]\nhost = \n",
        "[[targets]]\nhost = \"a\n",
        "[[targets\n",
    ] {
        let mistakes = read(text).unwrap_err();
        assert!(!mistakes.is_empty(), "{text}");
    }
}

#[test]
fn no_list_is_too_strange_and_each_mistake_has_a_line() {
    let seeds = [
        "[[targets]]\nhost = \"shop.test\"\nowner = \"ada\"\nmax_rate = \"20/s\"\nmax_in_flight = 2\nmax_duration = \"30m\"\n",
        "[run]\nseed = 1\n\n[[targets]]\nhost = \"[::1]\"\nscheme = \"http\"\nport = 8080\nowner = 'x'\nproof = \"well-known\"\n",
        "targets = [{ host = \"10.0.0.1\", owner = \"\"\"a\nb\"\"\", addresses = [\"10.0.0.0/8\", \"::/0\"] }]\n",
        "# nothing\n[targets]\nhost = 1\n",
        &format!("[[targets]]\nhost = {}\n", "[".repeat(20_000)),
    ];
    loadtest_tests::fuzz::fuzz_texts(seeds, |text| match ListedTarget::read(text) {
        Ok(targets) => {
            for target in targets {
                assert!(!target.host.is_empty() && !target.owner.is_empty());
            }
        }
        Err(mistakes) => {
            assert!(!mistakes.is_empty());
            for mistake in mistakes {
                assert!((1..=text.split('\n').count()).contains(&mistake.line));
                assert!(!mistake.message.is_empty());
            }
        }
    });
}
