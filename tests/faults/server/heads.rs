//! Heads that are broken or unusual.

#![expect(
    clippy::too_many_lines,
    reason = "a row of a table is several lines long"
)]

use super::{OK, answers, closes};
use crate::messages::{CLOSED_EARLY, INVALID_HEADER, INVALID_STATUS, LARGE_HEAD, NOT_HTTP_1};
use crate::row::{Row, fails, passes};

pub(crate) fn rows() -> Vec<Row> {
    vec![
        closes(
            "No byte, then closed",
            "",
            fails("closed.fresh", CLOSED_EARLY),
        )
        .peers("k6: error 1000 (EOF); oha, Goose: failures"),
        closes(
            "Half a status line, then closed",
            "HTTP/1.1 20",
            fails("closed.fresh", CLOSED_EARLY),
        ),
        closes(
            "Half a head, then closed",
            "HTTP/1.1 200 OK\r\ncontent-",
            fails("closed.fresh", CLOSED_EARLY),
        ),
        closes(
            "A head without the empty line at its end, then closed",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n",
            fails("closed.fresh", CLOSED_EARLY),
        ),
        answers(
            "A status line without a version",
            "200 OK\r\n\r\n",
            fails("head.malformed", NOT_HTTP_1),
        ),
        answers(
            "A status line in lower case",
            "http/1.1 200 OK\r\n\r\n",
            fails("head.malformed", NOT_HTTP_1),
        ),
        answers(
            "Version HTTP/1.2",
            "HTTP/1.2 200 OK\r\ncontent-length: 0\r\n\r\n",
            fails("head.malformed", NOT_HTTP_1),
        ),
        answers(
            "Version HTTP/2.0 in a status line",
            "HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n",
            fails("head.malformed", NOT_HTTP_1),
        ),
        answers(
            "HTTP/0.9: a body without a head",
            "<html>hello</html>\r\n",
            fails("head.malformed", NOT_HTTP_1),
        ),
        answers(
            "A greeting of SMTP",
            "220 mail.shop.test ESMTP\r\n",
            fails("head.malformed", NOT_HTTP_1),
        ),
        answers(
            "The banner of SSH",
            "SSH-2.0-OpenSSH_9.9\r\n",
            fails("head.malformed", NOT_HTTP_1),
        ),
        answers(
            "A request in place of an answer",
            "GET / HTTP/1.1\r\nhost: shop\r\n\r\n",
            fails("head.malformed", NOT_HTTP_1),
        ),
        answers(
            "NUL bytes",
            "\0\0\0\0\0\0\0\0\r\n\r\n",
            fails("head.malformed", NOT_HTTP_1),
        ),
        answers(
            "No status",
            "HTTP/1.1 OK\r\ncontent-length: 0\r\n\r\n",
            fails("head.malformed", INVALID_STATUS),
        ),
        answers(
            "A status of two digits",
            "HTTP/1.1 20 OK\r\ncontent-length: 0\r\n\r\n",
            fails("head.malformed", INVALID_STATUS),
        ),
        answers(
            "A status of four digits",
            "HTTP/1.1 2000 OK\r\ncontent-length: 0\r\n\r\n",
            fails("head.malformed", INVALID_STATUS),
        ),
        answers(
            "Status 000",
            "HTTP/1.1 000 None\r\ncontent-length: 0\r\n\r\n",
            fails("head.malformed", INVALID_STATUS),
        ),
        answers(
            "Status 099",
            "HTTP/1.1 099 None\r\ncontent-length: 0\r\n\r\n",
            fails("head.malformed", INVALID_STATUS),
        ),
        answers(
            "Status -20",
            "HTTP/1.1 -20 OK\r\ncontent-length: 0\r\n\r\n",
            fails("head.malformed", INVALID_STATUS),
        ),
        answers(
            "Status 600",
            "HTTP/1.1 600 Odd\r\ncontent-length: 0\r\n\r\n",
            fails("status", "expected 2xx, got 600"),
        ),
        answers(
            "Status 999",
            "HTTP/1.1 999 Denied\r\ncontent-length: 0\r\n\r\n",
            fails("status", "expected 2xx, got 999"),
        ),
        answers(
            "Status 404",
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            fails("status", "expected 2xx, got 404 Not Found"),
        ),
        answers(
            "Status 429",
            "HTTP/1.1 429 Too Many Requests\r\nretry-after: 9999999\r\ncontent-length: 0\r\n\r\n",
            fails("status", "expected 2xx, got 429 Too Many Requests"),
        ),
        answers(
            "Status 500 without a body",
            "HTTP/1.1 500 Error\r\ncontent-length: 0\r\n\r\n",
            fails("status", "expected 2xx, got 500 Internal Server Error"),
        ),
        answers(
            "Status 503",
            "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n",
            fails("status", "expected 2xx, got 503 Service Unavailable"),
        ),
        answers(
            "No reason after the status",
            "HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n",
            passes(),
        ),
        answers(
            "A reason that is not ASCII",
            "HTTP/1.1 200 schön\r\ncontent-length: 0\r\n\r\n",
            passes(),
        ),
        answers(
            "Lines that end with LF alone",
            "HTTP/1.1 200 OK\ncontent-length: 2\n\nhi",
            passes(),
        ),
        answers(
            "Empty lines before the status line",
            "\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            passes(),
        ),
        answers(
            "A header without a colon",
            "HTTP/1.1 200 OK\r\nno colon\r\ncontent-length: 0\r\n\r\n",
            fails("head.malformed", INVALID_HEADER),
        ),
        answers(
            "A header without a name",
            "HTTP/1.1 200 OK\r\n: value\r\ncontent-length: 0\r\n\r\n",
            fails("head.malformed", INVALID_HEADER),
        ),
        answers(
            "A blank in the name of a header",
            "HTTP/1.1 200 OK\r\nx y: 1\r\ncontent-length: 0\r\n\r\n",
            fails("head.malformed", INVALID_HEADER),
        ),
        answers(
            "A blank before the colon of a header",
            "HTTP/1.1 200 OK\r\ncontent-length : 0\r\n\r\n",
            fails("head.malformed", INVALID_HEADER),
        ),
        answers(
            "A NUL in a header",
            "HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 0\r\n\r\n",
            fails("head.malformed", INVALID_HEADER),
        ),
        answers(
            "A bare CR in a header",
            "HTTP/1.1 200 OK\r\nx: a\rb\r\ncontent-length: 0\r\n\r\n",
            fails("head.malformed", INVALID_HEADER),
        ),
        answers(
            "A folded header",
            "HTTP/1.1 200 OK\r\nx: a\r\n b\r\ncontent-length: 0\r\n\r\n",
            fails("head.malformed", INVALID_HEADER),
        ),
        answers(
            "A header that is not UTF-8",
            "HTTP/1.1 200 OK\r\nx: \u{fc}\r\ncontent-length: 0\r\n\r\n",
            passes(),
        ),
        answers(
            "An empty header value",
            "HTTP/1.1 200 OK\r\nx:\r\ncontent-length: 0\r\n\r\n",
            passes(),
        ),
        answers(
            "A header of 100 KB",
            huge_header(),
            fails("head.too_large", LARGE_HEAD),
        ),
        answers("100 headers", many_headers(99), passes()),
        answers(
            "1,000 headers",
            many_headers(1_000),
            fails("head.too_large", LARGE_HEAD),
        ),
        closes(
            "1xx answers, and no other",
            "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(20),
            fails("closed.fresh", CLOSED_EARLY),
        ),
        answers(
            "20 interim answers (1xx) before the answer",
            format!("{}{OK}", "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(20)),
            passes(),
        ),
        answers(
            "10,000 interim answers (1xx) before the answer",
            format!("{}{OK}", "HTTP/1.1 100 Continue\r\n\r\n".repeat(10_000)),
            fails("head.too_large", LARGE_HEAD),
        ),
        answers(
            "101 Switching Protocols, which nobody asked for",
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
            fails("status", "expected 2xx, got 101 Switching Protocols"),
        ),
        answers(
            "The preface of HTTP/2",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            fails("head.malformed", NOT_HTTP_1),
        ),
        answers(
            "A SETTINGS frame of HTTP/2",
            "\0\0\0\x04\0\0\0\0\0",
            fails("head.malformed", NOT_HTTP_1),
        ),
    ]
}

fn huge_header() -> String {
    format!(
        "HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 0\r\n\r\n",
        "h".repeat(100_000)
    )
}

/// A head with `count` headers and a `content-length`.
fn many_headers(count: usize) -> String {
    let headers = "x: 1\r\n".repeat(count);
    format!("HTTP/1.1 200 OK\r\n{headers}content-length: 0\r\n\r\n")
}
