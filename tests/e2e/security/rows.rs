//! What is done, and what must happen.

use super::{Counts, Row};

const NOTHING: Counts = &[];
/// Steps that ended as they should, in a scenario of three journeys.
const ALL_OK: Counts = &[("ask", 3, 0, 0)];
const ALL_FAILED: Counts = &[("ask", 0, 3, 0)];

/// A run that is refused before anything is sent, since the base URL may not be tested.
const fn refused_base(name: &'static str, url: &'static str, says: &'static str) -> Row {
    Row {
        base: Some(url),
        exit: 103,
        sent: 0,
        ..Row::run(name, "plain", NOTHING, says)
    }
}

/// A target that asks for the end in its fifth answer.
const fn stopped(name: &'static str, scenario: &'static str, counts: Counts) -> Row {
    Row {
        exit: 103,
        sent: 5,
        ..Row::run(
            name,
            scenario,
            counts,
            "asked for it by the header `loadtest-stop`",
        )
    }
}

/// A step that shows what the scenario or the target wrote.
const fn shown(name: &'static str, scenario: &'static str, sent: u64, says: &'static str) -> Row {
    Row {
        exit: 99,
        sent,
        ..Row::run(name, scenario, ALL_FAILED, says)
    }
}

/// A secret that is sent and comes back, in a run, in `debug` and in a test.
const fn leaked(name: &'static str, scenario: &'static str) -> Row {
    Row {
        exit: 99,
        is_shown_everywhere: true,
        ..Row::run(name, scenario, ALL_FAILED, "[secret:ODD]")
    }
}

/// The text of the scenarios as it may be shown.
const ODD: &str = "␛]0;title␇ ␛[31m ␍ \u{fffd}31m \u{fffd} <b>@team</b> | `x` end";

pub(super) const ROWS: &[Row] = &[
    refused_base(
        "a_name_that_no_list_has",
        "http://shop.example",
        "a name that is not listed is looked up in the hosts file only",
    ),
    refused_base(
        "an_address_that_no_list_has",
        "http://198.51.100.7",
        "may not be tested; besides loopback",
    ),
    refused_base(
        "metadata_of_clouds",
        "http://169.254.169.254",
        "which no entry permits",
    ),
    refused_base(
        "metadata_as_a_number",
        "http://2852039166",
        "which no entry permits",
    ),
    refused_base(
        "metadata_in_hexadecimal",
        "http://0xa9fea9fe",
        "which no entry permits",
    ),
    refused_base(
        "metadata_mapped",
        "http://[::ffff:169.254.169.254]",
        "which no entry permits",
    ),
    refused_base(
        "metadata_of_aws_over_ipv6",
        "http://[fd00:ec2::254]",
        "which no entry permits",
    ),
    refused_base(
        "metadata_of_google_over_ipv6",
        "http://[fd20:ce::254]",
        "which no entry permits",
    ),
    refused_base(
        "link_local_over_ipv6",
        "http://[fe80::1]",
        "which no entry permits",
    ),
    refused_base("multicast", "http://224.0.0.1", "which no entry permits"),
    refused_base(
        "broadcast",
        "http://255.255.255.255",
        "which no entry permits",
    ),
    refused_base(
        "the_unspecified_address",
        "http://0.0.0.0",
        "which no entry permits",
    ),
    stopped(
        "stop_in_a_closed_load",
        "stopped",
        &[("ask", 3, 0, 0), ("again", 2, 0, 1)],
    ),
    stopped("stop_in_an_open_load", "stopped_rate", &[("ask", 5, 0, 1)]),
    stopped("stop_in_fixed_work", "stopped_work", &[("ask", 5, 0, 1)]),
    stopped(
        "stop_in_a_step_that_goes_on_whatever_it_is_told",
        "relentless",
        &[("hammer", 0, 0, 1)],
    ),
    Row {
        sent: 3,
        other: 3,
        ..Row::run(
            "credentials_on_a_redirect_elsewhere",
            "away_by_get",
            ALL_OK,
            "PASSED",
        )
    },
    Row {
        exit: 99,
        sent: 3,
        ..Row::run(
            "a_body_on_a_redirect_elsewhere",
            "away_with_body",
            ALL_FAILED,
            "redirect.blocked",
        )
    },
    Row {
        exit: 99,
        sent: 3,
        ..Row::run(
            "a_redirect_to_an_unlisted_host",
            "away_unlisted",
            ALL_FAILED,
            "redirect.blocked",
        )
    },
    Row {
        sent: 3,
        ..Row::run(
            "what_a_scenario_prints",
            "prints",
            ALL_OK,
            "printed odd   ␍ \u{fffd}31m \u{fffd} <b>@team</b> | `x` end 0",
        )
    },
    Row {
        sent: 3,
        ..Row::run(
            "core_dumps_of_the_tool",
            "prints",
            ALL_OK,
            "of the tool: Max core file size 0",
        )
    },
    Row {
        exit: 100,
        sent: 0,
        ..Row::run("the_error_of_a_setup", "setup_fails", NOTHING, ODD)
    },
    Row {
        sent: 3,
        ..Row::run("the_error_of_a_teardown", "teardown_fails", ALL_OK, ODD)
    },
    shown("the_body_of_a_refusal", "refused", 3, "␛]0;title␇"),
    // Without a request it is no failure of the step, but of the journey.
    Row {
        counts: &[("ask", 0, 0, 0)],
        ..shown("the_error_of_a_step", "errs", 0, "␛]0;title␇")
    },
    shown("a_panic", "panics", 0, "␛]0;title␇"),
    shown("a_check", "checked", 3, "␛]0;title␇"),
    Row {
        sent: 3,
        ..Row::run("the_name_of_a_request", "named", ALL_OK, "␛]0;title␇")
    },
    Row {
        exit: 2,
        sent: 0,
        arguments: &["--rate", "\x1b]0;title\x07"],
        ..Row::run("a_value_of_an_option", "plain", NOTHING, "invalid value")
    },
    Row {
        exit: 2,
        sent: 0,
        arguments: &["--\x1b]0;title\x07"],
        ..Row::run("an_unknown_option", "plain", NOTHING, "unexpected argument")
    },
    Row {
        exit: 3,
        sent: 0,
        arguments: &["no\x1b]0;title\x07\u{9b}\u{202e}"],
        ..Row::run("a_filter", "", NOTHING, "␛]0;title␇")
    },
    Row {
        exit: 2,
        base: Some("http://h\x1b]0;title\x07"),
        sent: 0,
        ..Row::run("a_base_url", "plain", NOTHING, "␛]0;title␇")
    },
    leaked("a_secret_in_a_path", "in_path"),
    leaked("a_secret_in_a_query", "in_query"),
    leaked("a_secret_in_a_template", "in_template"),
    leaked("a_secret_in_a_header", "in_header"),
    leaked("a_secret_in_a_cookie", "in_cookie"),
    leaked("a_secret_in_a_form", "in_form"),
    leaked("a_secret_in_json", "in_json"),
    Row {
        exit: 99,
        is_shown_everywhere: true,
        ..Row::run(
            "a_password_that_is_written_down_in_a_part",
            "in_part",
            ALL_FAILED,
            "[redacted]",
        )
    },
];
