//! URLs that stand for several: `{a,b}`, `[1-3]`, `[a-z:2]`.

use super::super::source::{Mistake, Span};

/// Most URLs that one may stand for.
const MOST: usize = 200;
/// Most bytes of all of them.
const LONGEST: usize = 1024 * 1024;

/// Returns all URLs that one stands for, the last range the fastest.
pub(super) fn expand_url(url: &[u8], span: &Span) -> Result<Vec<Vec<u8>>, Mistake> {
    let mut done: Vec<Vec<u8>> = vec![Vec::new()];
    let mut at = 0;
    while let Some(&byte) = url.get(at) {
        let (choices, length) = match byte {
            b'\\' if matches!(url.get(at + 1), Some(b'{' | b'}' | b'[' | b']')) => {
                (vec![vec![url[at + 1]]], 2)
            }
            b'{' => read_set(&url[at..], span)?,
            b'[' => match read_range(&url[at..]) {
                Some(found) => found,
                None if is_address(&url[at..]) => (vec![vec![b'[']], 1),
                None => return Err(no_range(span)),
            },
            b'}' => return Err(no_range(span)),
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
                let words =
                    format!("this URL stands for {count} requests; at most {MOST} are taken");
                let help = "with `--globoff` its braces and brackets are a part of the URL";
                return Err(Mistake::new(span.clone(), words).help(help));
            }
            let urls = done.iter();
            done = urls
                .flat_map(|url| choices.iter().map(|choice| [&url[..], choice].concat()))
                .collect();
        }
    }
    Ok(done)
}

fn no_range(span: &Span) -> Mistake {
    let words = "curl reads braces and brackets in a URL as a range, and this is none";
    let help = "with `--globoff`, or `-g`, they are a part of the URL";
    Mistake::new(span.clone(), words).help(help)
}

type Choices = (Vec<Vec<u8>>, usize);

/// Reads `{a,b}`.
fn read_set(text: &[u8], span: &Span) -> Result<Choices, Mistake> {
    let mut choices = Vec::new();
    let mut choice = Vec::new();
    let mut at = 1;
    while let Some(&byte) = text.get(at).filter(|_| choices.len() < MOST) {
        at += 1;
        match (byte, text.get(at)) {
            (b'}', _) if choices.is_empty() && choice.is_empty() => break,
            (b'{' | b'[' | b']', _) => break,
            (b'}', _) => {
                choices.push(choice);
                return Ok((choices, at));
            }
            (b',', _) => choices.push(std::mem::take(&mut choice)),
            (b'\\', Some(next @ (b'{' | b'}' | b'[' | b']' | b','))) => {
                at += 1;
                choice.push(*next);
            }
            (byte, _) => choice.push(byte),
        }
    }
    Err(no_range(span))
}

/// Reads `[1-3]`, `[001-100:10]`, `[a-z]`.
fn read_range(text: &[u8]) -> Option<Choices> {
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

/// Returns true where this begins an address of IPv6: `[::1]`.
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
        let expanded = expand_url(url.as_bytes(), &(0..url.len())).ok()?;
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
