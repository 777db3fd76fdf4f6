//! The page of the job that runs us, where a build server says so.

use loadtest::redact;
use url::Url;

/// Variables of further build servers, that hold the address as it is.
const WHOLE: [&str; 4] = [
    "CI_JOB_URL",
    "BUILD_URL",
    "BUILDKITE_BUILD_URL",
    "CIRCLE_BUILD_URL",
];

/// The address of the page, by the variables of the environment.
pub(super) fn job_page_url(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let github = || {
        let server = variable("GITHUB_SERVER_URL")?;
        let repository = variable("GITHUB_REPOSITORY")?;
        let run = variable("GITHUB_RUN_ID")?;
        let attempt = variable("GITHUB_RUN_ATTEMPT")
            .map(|attempt| format!("/attempts/{attempt}"))
            .unwrap_or_default();
        Some(format!("{server}/{repository}/actions/runs/{run}{attempt}"))
    };
    let given = github().or_else(|| WHOLE.iter().find_map(|name| variable(name)))?;
    let url = Url::parse(given.trim()).ok()?;
    // Parsed and printed, it holds no space, quote, bracket or control character.
    matches!(url.scheme(), "http" | "https").then(|| redact::redact(url.as_str()).into_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<String> {
        job_page_url(|wanted| {
            let mut all = variables.iter();
            let found = all.find(|(name, _)| *name == wanted);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_job_of_each_build_server_is_named() {
        assert_eq!(found(&[]), None);
        let github = [
            ("GITHUB_SERVER_URL", "https://github.example"),
            ("GITHUB_REPOSITORY", "acme/shop"),
            ("GITHUB_RUN_ID", "42"),
        ];
        let page = "https://github.example/acme/shop/actions/runs/42";
        assert_eq!(found(&github).unwrap(), page);
        let again = [&github[..], &[("GITHUB_RUN_ATTEMPT", "2")]].concat();
        assert_eq!(found(&again).unwrap(), format!("{page}/attempts/2"));
        assert_eq!(found(&github[..2]), None);
        for name in WHOLE {
            let page = "https://ci.example/acme/shop/-/jobs/7";
            assert_eq!(found(&[(name, page)]).unwrap(), page);
        }
    }

    #[test]
    fn what_is_no_page_or_holds_a_secret_is_not_passed_on() {
        for odd in ["", "file:///etc/passwd", "javascript:alert(1)", "7"] {
            assert_eq!(found(&[("BUILD_URL", odd)]), None, "{odd}");
        }
        let named = found(&[("BUILD_URL", "https://ada:pw@ci.example/1")]).unwrap();
        assert!(!named.contains("pw"), "{named}");
        let bent = found(&[("BUILD_URL", "https://ci.example/<!channel>|\n\"x\"")]).unwrap();
        assert!(!bent.contains(['<', '>', '\n', '"']), "{bent}");
    }
}
