//! Redirects that lead nowhere, or where nothing may be sent.

#![expect(
    clippy::too_many_lines,
    reason = "a row of a table is several lines long"
)]

use super::{answers, redirects};
use crate::messages::MANY_REDIRECTS;
use crate::row::{Row, fails};

pub(crate) fn rows() -> Vec<Row> {
    vec![
        redirects(
            "A redirect to itself",
            "HTTP/1.1 302 Found\r\nlocation: /page\r\ncontent-length: 0\r\n\r\n",
            fails(
                "redirect.loop",
                MANY_REDIRECTS,
            ),
        )
.peers("k6: 891 requests for 81, status 302 is no failure; oha: success; Goose: failures"),
        redirects(
            "A redirect without location",
            "HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n",
            fails("redirect.bad_location", "the 302 answer has no `location`"),
        ),
        redirects(
            "A redirect with an empty location",
            "HTTP/1.1 302 Found\r\nlocation:\r\ncontent-length: 0\r\n\r\n",
            fails(
                "redirect.loop",
                MANY_REDIRECTS,
            ),
        ),
        redirects(
            "A redirect to what is no URL",
            "HTTP/1.1 302 Found\r\nlocation: http://[::\r\ncontent-length: 0\r\n\r\n",
            fails(
                "redirect.bad_location",
                "the 302 answer has the unusable `location: http://[::`: invalid IPv6 address",
            ),
        ),
        redirects(
            "A redirect to a port that does not exist",
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:99999/\r\ncontent-length: 0\r\n\r\n",
            fails(
                "redirect.bad_location",
                "the 302 answer has the unusable `location: http://127.0.0.1:99999/`: invalid port number",
            ),
        ),
        redirects(
            "A redirect to another scheme",
            "HTTP/1.1 302 Found\r\nlocation: ftp://127.0.0.1/\r\ncontent-length: 0\r\n\r\n",
            fails(
                "redirect.bad_location",
                "the 302 answer has the unusable `location: ftp://127.0.0.1/`: the scheme `ftp` is neither http nor https",
            ),
        ),
        redirects(
            "A redirect to a file",
            "HTTP/1.1 302 Found\r\nlocation: file:///etc/passwd\r\ncontent-length: 0\r\n\r\n",
            fails(
                "redirect.bad_location",
                "the 302 answer has the unusable `location: file:///etc/passwd`: the scheme `file` is neither http nor https",
            ),
        ),
        redirects(
            "A redirect to a script",
            "HTTP/1.1 302 Found\r\nlocation: javascript:alert(1)\r\ncontent-length: 0\r\n\r\n",
            fails(
                "redirect.bad_location",
                "the 302 answer has the unusable `location: javascript:alert(1)`: the scheme `javascript` is neither http nor https",
            ),
        ),
        redirects(
            "A redirect to a host that is not a permitted target",
            "HTTP/1.1 302 Found\r\nlocation: http://192.0.2.1/\r\ncontent-length: 0\r\n\r\n",
            fails(
                "redirect.blocked",
                "a redirect is not followed: `http://192.0.2.1` is not a permitted target; load may go to this machine, to targets that the scenario starts, and to hosts listed in `loadtest.toml`. Add `[[targets]]` with `host = \"192.0.2.1\"`, `scheme = \"http\"` and `owner = \"..\"`; nothing was sent",
            ),
        )
.peers("k6, Goose: follow it; oha: does not"),
        redirects(
            "A redirect to the metadata of a cloud",
            "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest/\r\ncontent-length: 0\r\n\r\n",
            fails(
                "redirect.blocked",
                "a redirect is not followed: `http://169.254.169.254` is not a permitted target: it is a link-local address, such as cloud metadata, which no entry permits; nothing was sent",
            ),
        ),
        redirects(
            "A redirect with two locations",
            "HTTP/1.1 302 Found\r\nlocation: /a\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n",
            fails(
                "redirect.loop",
                MANY_REDIRECTS,
            ),
        ),
        redirects(
            "A redirect with a location that is not UTF-8",
            "HTTP/1.1 302 Found\r\nlocation: /\u{fc}\r\ncontent-length: 0\r\n\r\n",
            fails(
                "redirect.loop",
                MANY_REDIRECTS,
            ),
        ),
        answers(
            "A redirect where none is followed",
            "HTTP/1.1 302 Found\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n",
            fails(
                "status",
                "expected 2xx, got 302 Found to `/other`; `redirects = 5` follows redirects",
            ),
        ),
        redirects(
            "300 without location",
            "HTTP/1.1 300 Choices\r\ncontent-length: 0\r\n\r\n",
            fails("status", "expected 2xx, got 300 Multiple Choices"),
        ),
    ]
}
