//! URLs that stand for several: `{a,b}`, `[1-3]`, `[a-z:2]`.

use super::super::source::{Mistake, Span};

/// The most URLs that one may stand for.
const MOST: usize = 200;
/// The most bytes that they may have in all.
const LONGEST: usize = 1024 * 1024;

/// All that `url` stands for, the last range the fastest.
pub(super) fn expand(url: &[u8], span: &Span) -> Result<Vec<Vec<u8>>, Mistake> {
    let mut done: Vec<Vec<u8>> = vec![Vec::new()];
    let mut at = 0;
    while let Some(&byte) = url.get(at) {
        let (choices, length) = match byte {
            b'\\' if matches!(url.get(at + 1), Some(b'{' | b'}' | b'[' | b']')) => {
                (vec![vec![url[at + 1]]], 2)
            }
            b'{' => set(&url[at..], span)?,
            b'[' => match range(&url[at..]) {
                Some(found) => found,
                None if is_address(&url[at..]) => (vec![vec![b'[']], 1),
                None => return Err(bad(span)),
            },
            b'}' => return Err(bad(span)),
            // The end of an address.
            byte => (vec![vec![byte]], 1),
        };
        at += length;
        if let [one] = choices.as_slice() {
            for url in &mut done {
                url.extend_from_slice(one);
            }
        } else {
            let each = choices.iter().map(Vec::len).max().unwrap_or(0) + url.len();
            let count = done.len().saturating_mul(choices.len());
            if count > MOST || count.saturating_mul(each) > LONGEST {
                return Err(Mistake::new(
                    span.clone(),
                    format!("this URL stands for {count} requests; at most {MOST} are taken"),
                )
                .help("with `--globoff` its braces and brackets are a part of the URL"));
            }
            done = done
                .iter()
                .flat_map(|url| choices.iter().map(|choice| [&url[..], choice].concat()))
                .collect();
        }
    }
    Ok(done)
}

fn bad(span: &Span) -> Mistake {
    Mistake::new(
        span.clone(),
        "curl reads braces and brackets in a URL as a range, and this is none",
    )
    .help("with `--globoff`, or `-g`, they are a part of the URL")
}

type Choices = (Vec<Vec<u8>>, usize);

/// `{a,b}`.
fn set(text: &[u8], span: &Span) -> Result<Choices, Mistake> {
    let mut choices = vec![Vec::new()];
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        at += 1;
        let escaped = text.get(at).copied();
        match (byte, escaped) {
            (b'}', _) if choices.len() == 1 && choices[0].is_empty() => return Err(bad(span)),
            (b'}', _) => return Ok((choices, at)),
            (b',', _) => choices.push(Vec::new()),
            (b'{' | b'[' | b']', _) => return Err(bad(span)),
            (b'\\', Some(next @ (b'{' | b'}' | b'[' | b']' | b','))) => {
                at += 1;
                choices.last_mut().unwrap_or(&mut Vec::new()).push(next);
            }
            (byte, _) => {
                if let Some(last) = choices.last_mut() {
                    last.push(byte);
                }
            }
        }
        if choices.len() > MOST {
            return Err(bad(span));
        }
    }
    Err(bad(span))
}

/// `[1-3]`, `[001-100:10]`, `[a-z]`.
fn range(text: &[u8]) -> Option<Choices> {
    const LONGEST_RANGE: usize = 64;
    let text = &text[..text.len().min(LONGEST_RANGE)];
    let close = text.iter().position(|byte| *byte == b']')?;
    let inside = std::str::from_utf8(&text[1..close]).ok()?;
    let (range, step) = inside.split_once(':').unwrap_or((inside, "1"));
    let step: u64 = step.parse().ok().filter(|step| *step > 0)?;
    let (from, to) = range.split_once('-')?;
    let step_size = usize::try_from(step).ok()?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let choices: Vec<Vec<u8>> = if is_number(from) && is_number(to) {
        let width = if from.starts_with('0') { from.len() } else { 0 };
        let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
        // One more than can be, so that it is refused as too many.
        (from..=to)
            .step_by(step_size)
            .take(MOST + 1)
            .map(|number| format!("{number:0width$}").into_bytes())
            .collect()
    } else {
        let ([from], [to]) = (from.as_bytes(), to.as_bytes()) else {
            return None;
        };
        let are_letters = from.is_ascii_alphabetic()
            && to.is_ascii_alphabetic()
            && from.is_ascii_lowercase() == to.is_ascii_lowercase();
        if !are_letters {
            return None;
        }
        (*from..=*to)
            .step_by(step_size)
            .map(|byte| vec![byte])
            .collect()
    };
    (!choices.is_empty()).then_some((choices, close + 1))
}

/// Whether this begins an address of IPv6: `[::1]`.
fn is_address(text: &[u8]) -> bool {
    let close = text.iter().take(64).position(|byte| *byte == b']');
    close.is_some_and(|close| {
        let inside = &text[1..close];
        inside.contains(&b':')
            && inside
                .iter()
                .all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.' | b'%'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(url: &str) -> Option<Vec<String>> {
        let expanded = expand(url.as_bytes(), &(0..url.len())).ok()?;
        let text = |url: Vec<u8>| String::from_utf8(url).unwrap();
        Some(expanded.into_iter().map(text).collect())
    }

    #[test]
    fn sets_and_ranges_stand_for_several() {
        assert_eq!(all("/{x,y}").unwrap(), ["/x", "/y"]);
        assert_eq!(all("/[8-10]").unwrap(), ["/8", "/9", "/10"]);
        assert_eq!(all("/[08-10:2]").unwrap(), ["/08", "/10"]);
        assert_eq!(all("/[a-c]{1,2}").unwrap().len(), 6);
        assert_eq!(all(r"/\[1\]\{x\}").unwrap(), ["/[1]{x}"]);
        assert_eq!(all("http://[::1]:80/[1-2]").unwrap().len(), 2);
        for bad in ["/[]", "/{}", "/{a", "/a}", "/[3-1]", "/[a-Z]"] {
            assert_eq!(all(bad), None, "{bad}");
        }
    }

    #[test]
    fn no_url_stands_for_too_many() {
        assert_eq!(all("/[1-200]").unwrap().len(), 200);
        for many in [
            "/[1-201]",
            "/[0-18446744073709551615]",
            "/[1-99][1-99]",
            "/[a-z][a-z][a-z][a-z][a-z][a-z][a-z][a-z][a-z]",
        ] {
            assert_eq!(all(many), None, "{many}");
        }
    }
}
