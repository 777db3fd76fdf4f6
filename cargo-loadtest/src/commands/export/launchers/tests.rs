use super::*;
use crate::cli::{self, Command};
use crate::session::sample;
use loadtest_model::definition::{Load, Rate};
use loadtest_model::exit_code::ExitCode;
use loadtest_model::plan::{GradingDefaults, Overrides};
use std::ffi::OsString;

fn render(line: &str) -> Result<String, Error> {
    render_scenario(line, false)
}

fn render_scenario(line: &str, starts_target: bool) -> Result<String, Error> {
    let mut scenario = sample::definition("check_out", &[]);
    scenario.starts_target = starts_target;
    render_for(line, scenario)
}

fn render_for(line: &str, mut scenario: ScenarioDef) -> Result<String, Error> {
    let words = format!("cargo-loadtest export {line}");
    let words = words.split_whitespace().map(OsString::from);
    let cli = cli::parse(words).unwrap();
    let Command::Export(args) = cli.command else {
        panic!("{line}");
    };
    scenario.package = "shop".into();
    let plan = Plan::new(
        &scenario,
        &Overrides::default(),
        &GradingDefaults::default(),
        0,
    );
    args.launcher.unwrap().render(&scenario, plan.ok().as_ref())
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
            format!("compose check_out {IMAGE} --agents 3 --base-url http://shop:3000"),
        ),
    ] {
        insta::assert_snapshot!(format!("launcher_{name}"), render(&line).unwrap());
    }
}

#[test]
fn every_place_of_a_template_is_filled() {
    for line in [
        "slurm check_out --base-url http://shop:3000".to_owned(),
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
    assert_eq!(error.exit_code(), ExitCode::Usage);
    assert!(
        error.to_string().contains("is named by no digest"),
        "{error}"
    );
}

#[test]
fn a_target_of_the_scenario_itself_needs_a_base_url() {
    let line = format!("compose check_out {IMAGE}");
    let error = render_scenario(&line, true).unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::Usage);
    assert!(
        error
            .to_string()
            .contains("a setup of `check_out` starts the target"),
        "{error}"
    );
    render_scenario(&format!("{line} --base-url http://shop:3000"), true).unwrap();
    // The script has the address from whoever starts it.
    render_scenario("slurm check_out", true).unwrap();
}

#[test]
fn a_loopback_address_is_refused() {
    let lines = [
        format!("kubernetes check_out {IMAGE}"),
        format!("compose check_out {IMAGE}"),
        "slurm check_out".to_owned(),
    ];
    for line in &lines {
        for base in [
            "http://127.0.0.1:3000",
            "http://localhost",
            "https://[::1]/api",
        ] {
            let error = render(&format!("{line} --base-url {base}")).unwrap_err();
            assert_eq!(error.exit_code(), ExitCode::Usage);
            assert!(
                error.to_string().contains("is a loopback address"),
                "{error}"
            );
        }
        let mut scenario = sample::definition("check_out", &[]);
        scenario.base = Some("http://127.0.0.1:3000".into());
        let declared = render_for(line, scenario.clone());
        // The script may get another one.
        assert_eq!(declared.is_ok(), line.starts_with("slurm"), "{line}");
        render_for(&format!("{line} --base-url http://shop:3000"), scenario).unwrap();
    }
}

#[test]
fn limits_of_time_follow_the_load() {
    let two_hours = Load::rate(Rate::per_second(5.0), Duration::from_secs(7_200));
    for (load, seconds) in [
        // The load, its grace of 30 s, and half an hour.
        (two_hours.clone(), 7_200_u64 + 30 + 1_800),
        (
            two_hours.clone().warm_up(Duration::from_secs(60)),
            7_260 + 30 + 1_800,
        ),
        (Load::iterations(9, 3), 3_600),
    ] {
        let mut scenario = sample::definition("check_out", &[]);
        scenario.load = Some(load);
        let text = render_for(&format!("kubernetes check_out {IMAGE}"), scenario.clone()).unwrap();
        let deadline = format!("activeDeadlineSeconds: {seconds}\n");
        assert_eq!(text.matches(&deadline).count(), 2, "{text}");
        let text = render_for("slurm check_out", scenario).unwrap();
        let minutes = seconds.div_ceil(60);
        assert!(
            text.contains(&format!("#SBATCH --time={minutes}\n")),
            "{text}"
        );
    }
    let mut scenario = sample::definition("check_out", &[]);
    scenario.load = Some(two_hours);
    let error = render_for("slurm check_out --limit 2h", scenario.clone()).unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::Usage);
    assert!(error.to_string().contains("ends the load"), "{error}");
    let text = render_for("slurm check_out --limit 3h", scenario).unwrap();
    assert!(text.contains("#SBATCH --time=180\n"), "{text}");
}

#[test]
fn services_get_the_secrets_of_the_scenario() {
    let mut scenario = sample::definition("check_out", &[]);
    scenario.secrets = vec!["API_TOKEN".into(), "SHOP_PASSWORD".into()].into();
    let base = "--base-url http://shop:3000";
    let text = render_for(&format!("compose check_out {IMAGE} {base}"), scenario).unwrap();
    let secrets = "      \"API_TOKEN\":\n      \"SHOP_PASSWORD\":\n    volumes:\n";
    let agent = format!("    environment:\n{secrets}");
    let controller =
        format!("    environment:\n      LOADTEST_BASE_URL: \"http://shop:3000\"\n{secrets}");
    assert_eq!(text.matches(&agent).count(), 1, "{text}");
    assert_eq!(text.matches(&controller).count(), 1, "{text}");
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
