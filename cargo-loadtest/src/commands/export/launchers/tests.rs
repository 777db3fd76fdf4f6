use super::*;
use crate::cli::{self, Command};
use crate::session::sample;
use std::ffi::OsString;

fn render(line: &str) -> Result<String, Error> {
    render_scenario(line, false)
}

fn render_scenario(line: &str, starts_target: bool) -> Result<String, Error> {
    let words = format!("cargo-loadtest export {line}");
    let words = words.split_whitespace().map(OsString::from);
    let cli = cli::parse(words).unwrap();
    let Command::Export(args) = cli.command else {
        panic!("{line}");
    };
    let mut scenario = sample::definition("check_out", &[]);
    scenario.package = "shop".into();
    scenario.starts_target = starts_target;
    args.launcher.unwrap().render(&scenario)
}

const IMAGE: &str = "--image registry.example.com/loadtest@sha256:5f70bf18";

#[test]
fn golden_launchers() {
    for (name, line) in [
        ("slurm", "slurm check_out --shards 8 --limit 90s".to_owned()),
        (
            "kubernetes",
            format!("kubernetes check_out {IMAGE} --base-url https://staging.example.com"),
        ),
        (
            "compose",
            format!("compose check_out {IMAGE} --agents 3 --base-url http://127.0.0.1:3000"),
        ),
    ] {
        insta::assert_snapshot!(format!("launcher_{name}"), render(&line).unwrap());
    }
}

#[test]
fn every_place_of_a_template_is_filled() {
    for line in [
        "slurm check_out --base-url http://127.0.0.1:3000".to_owned(),
        format!("kubernetes check_out {IMAGE}"),
        format!("compose check_out {IMAGE}"),
    ] {
        let text = render(&line).unwrap();
        assert!(!text.contains("{{") && !text.contains(": \n"), "{text}");
    }
}

#[test]
fn an_image_without_digest_is_refused() {
    let error = render("kubernetes check_out --image loadtest:latest").unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(
        error.to_string().contains("is named by no digest"),
        "{error}"
    );
}

#[test]
fn a_target_of_the_scenario_itself_needs_a_base_url() {
    let line = format!("compose check_out {IMAGE}");
    let error = render_scenario(&line, true).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(
        error
            .to_string()
            .contains("a setup of `check_out` starts the target"),
        "{error}"
    );
    render_scenario(&format!("{line} --base-url http://127.0.0.1:3000"), true).unwrap();
    // The script has the address from whoever starts it.
    render_scenario("slurm check_out", true).unwrap();
}

#[test]
fn a_launcher_knows_its_file() {
    for (output, command) in [
        ("", "docker compose -f check-out.yaml up"),
        ("-o ops/compose.yaml", "docker compose -f compose.yaml up"),
        ("-o a'b.yaml", r"docker compose -f 'a'\''b.yaml' up"),
    ] {
        let text = render(&format!("compose check_out {IMAGE} {output}")).unwrap();
        assert!(text.contains(command), "{text}");
    }
}

#[test]
fn values_are_quoted_for_their_language() {
    assert_eq!(quote_shell_word("shop::load::visit"), "shop::load::visit");
    assert_eq!(quote_shell_word("a b'$(c)"), r"'a b'\''$(c)'");
    assert_eq!(quote_yaml_text("a\": b\n"), r#""a\": b\n""#);
    assert_eq!(name_of_job("Größe_1"), "gr--e-1");
    assert_eq!(name_of_job("__"), "loadtest");
}
