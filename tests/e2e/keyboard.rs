//! The keyboard of the browser.

use crate::browser::{Browser, LIMIT};
use crate::call::wait_at_most;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// No page has so many places for the focus.
const STOPS: usize = 300;
/// Keys that have a code and no letter.
const CODES: [(&str, u32); 14] = [
    ("Backspace", 8),
    ("Tab", 9),
    ("Enter", 13),
    ("Escape", 27),
    (" ", 32),
    ("PageUp", 33),
    ("PageDown", 34),
    ("End", 35),
    ("Home", 36),
    ("ArrowLeft", 37),
    ("ArrowUp", 38),
    ("ArrowRight", 39),
    ("ArrowDown", 40),
    ("F8", 119),
];
/// Keys that are held, with their bits.
const HELD: [(&str, u32); 4] = [("Alt", 1), ("Control", 2), ("Meta", 4), ("Shift", 8)];

/// Seconds since 1970.
fn now() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("a time after 1970").as_secs_f64()
}

impl Browser {
    /// Presses and releases a key, while others may be held: `a`, `Enter`, `Shift+Tab`.
    pub(crate) fn press(&mut self, keys: &str) {
        self.press_at(keys, now());
    }

    /// Presses keys one after the other, a tenth of a second apart by what the page is told, however long it takes.
    pub(crate) fn press_in_succession(&mut self, keys: &[&str]) {
        let mut at = now();
        for key in keys {
            self.press_at(key, at);
            at += 0.1;
        }
    }

    /// Presses and releases a key at a time in seconds since 1970.
    fn press_at(&mut self, keys: &str, at: f64) {
        let (held, key) = match keys.rsplit_once('+') {
            Some((held, key)) if !key.is_empty() => (held, key),
            _ => ("", keys),
        };
        let bits = |name: &str| HELD.iter().find(|(held, _)| *held == name);
        let held = held.split('+').filter_map(bits);
        let held: u32 = held.map(|(_, bit)| bit).sum();
        let letter = key.chars().next().filter(|_| key.chars().count() == 1);
        let code = CODES.iter().find(|(name, _)| *name == key);
        let code = match (code, letter) {
            (Some((_, code)), _) => *code,
            (None, Some(letter)) if letter.is_ascii_alphanumeric() => {
                u32::from(letter.to_ascii_uppercase())
            }
            _ => 0,
        };
        // With one of the others held it types nothing.
        let text = match (key, letter) {
            ("Enter", _) => Some('\r'),
            (_, letter) if held & !8 == 0 => letter,
            _ => None,
        };
        let mut parameters = json!({
            "type": if text.is_some() { "keyDown" } else { "rawKeyDown" },
            "key": key,
            "windowsVirtualKeyCode": code,
            "modifiers": held,
            "timestamp": at,
        });
        if let Some(text) = text {
            parameters["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", parameters);
        self.call(
            "Input.dispatchKeyEvent",
            json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code, "modifiers": held, "timestamp": at }),
        );
    }

    /// Types letter by letter.
    pub(crate) fn write(&mut self, text: &str) {
        for letter in text.chars() {
            self.press(letter.encode_utf8(&mut [0; 4]));
        }
    }

    /// Moves the focus by Tab to a part of the page, once it is there; every stop on the way must be seen.
    #[track_caller]
    pub(crate) fn tab_to(&mut self, selector: &str) {
        self.wait_until_there_is(selector);
        let look = format!(
            "(() => {{
                const one = document.activeElement;
                const {{ outlineStyle, outlineWidth }} = getComputedStyle(one);
                const {{ top, bottom, width }} = one.getBoundingClientRect();
                const isSeen = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 && width > 0 && top < innerHeight && bottom > 0;
                return {{ isThere: one.matches({}), isSeen: isSeen || one === document.body, html: one.outerHTML.slice(0, 200) }};
            }})()",
            json!(selector)
        );
        let look = json!({ "expression": look, "returnByValue": true });
        for _ in 0..STOPS {
            self.press("Tab");
            // A page that is loaded again has no answer.
            let stop: Value = wait_at_most(LIMIT, selector, || {
                let answer = self.ask("Runtime.evaluate", look.clone())?;
                let stop = answer["result"]["value"].clone();
                stop.is_object().then_some(stop)
            });
            assert_eq!(stop["isSeen"], true, "the focus is not seen: {stop}");
            if stop["isThere"] == true {
                return;
            }
        }
        panic!("Tab does not lead to {selector}");
    }
}
