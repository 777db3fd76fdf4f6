//! What a browser may do with the page: use its style and run our own script, and ask nobody for anything.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};

/// The content security policy of a page with that script.
pub(super) fn content_policy(script: Option<&str>) -> String {
    let mut policy = "default-src 'none'; style-src 'unsafe-inline'".to_owned();
    if let Some(script) = script {
        // A parser of HTML reads every end of a line as one character.
        let hash = digest(&SHA256, script.replace("\r\n", "\n").as_bytes());
        policy.push_str("; script-src 'sha256-");
        policy.push_str(&STANDARD.encode(hash));
        policy.push('\'');
    }
    policy.push_str("; base-uri 'none'; form-action 'none'");
    policy
}
