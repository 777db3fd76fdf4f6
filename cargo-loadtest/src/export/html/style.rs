//! The colours of the page, held against what people can read.

mod tests {
    use crate::export::html::BASE_STYLE;
    use crate::export::scene::Paint;
    use std::collections::BTreeMap;

    type Rgb = [u8; 3];
    type Palette = BTreeMap<&'static str, Rgb>;

    /// The colours of each `:root`: by day, in the dark, in print.
    fn palettes() -> Vec<Palette> {
        let blocks = BASE_STYLE.split(":root {").skip(1);
        let of = |block: &'static str| -> Palette {
            let (colours, _) = block.split_once('}').expect("an end");
            let lines = colours.split(';').filter_map(|line| line.split_once(':'));
            lines
                .map(|(name, value)| (name.trim().trim_start_matches("--"), rgb(value.trim())))
                .collect()
        };
        blocks.map(of).collect()
    }

    fn rgb(hex: &str) -> Rgb {
        let digits: Vec<char> = hex.trim_start_matches('#').chars().collect();
        let each = digits.len() / 3;
        [0, 1, 2].map(|i| {
            let part: String = digits[i * each..(i + 1) * each].iter().collect();
            let part = if each == 1 { part.repeat(2) } else { part };
            u8::from_str_radix(&part, 16).expect("a colour")
        })
    }

    /// The contrast ratio of WCAG 2.2.
    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let luminance = |colour: Rgb| {
            let [r, g, b] = colour.map(|part| {
                let part = f64::from(part) / 255.0;
                if part <= 0.040_45 {
                    part / 12.92
                } else {
                    ((part + 0.055) / 1.055).powf(2.4)
                }
            });
            0.212_6 * r + 0.715_2 * g + 0.072_2 * b
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn mixed(colour: Rgb, paper: Rgb, share: f64) -> Rgb {
        let part = |i: usize| f64::from(colour[i]) * share + f64::from(paper[i]) * (1.0 - share);
        [0, 1, 2].map(|i| part(i).round() as u8)
    }

    #[test]
    fn text_and_lines_stand_out_from_their_ground_by_day_in_the_dark_and_in_print() {
        let palettes = palettes();
        assert_eq!(palettes.len(), 3);
        for (i, palette) in palettes.iter().enumerate() {
            let of = |name: &str| palette[name];
            let paper = of("paper");
            let mut pairs = vec![];
            for text in ["ink", "muted", "alarm", "good", "fair", "link"] {
                pairs.push((text, of(text), paper, 4.5));
            }
            for text in ["alarm", "good", "fair", "muted"] {
                pairs.push((text, of(text), mixed(of(text), paper, 0.11), 4.5));
            }
            for ground in ["ground", "shade", "code"] {
                pairs.push(("muted", of("muted"), of(ground), 4.5));
                pairs.push(("ink", of("ink"), of(ground), 4.5));
            }
            // The colours of steps carry their names.
            for series in ["s0", "s3", "s4", "s5", "alarm"] {
                pairs.push((series, of(series), paper, 4.5));
            }
            for series in ["s1", "s2"] {
                pairs.push((series, of(series), paper, 3.0));
            }
            for (name, text, ground, least) in pairs {
                let ratio = contrast(text, ground);
                assert!(ratio >= least, "palette {i}: {name} has {ratio:.2}");
            }
        }
    }

    #[test]
    fn drawings_have_the_colours_of_the_page_where_no_style_applies() {
        let day = &palettes()[0];
        let roles = [
            Paint::Ink,
            Paint::Muted,
            Paint::Grid,
            Paint::Shade,
            Paint::Paper,
            Paint::Alarm,
        ];
        for paint in roles.into_iter().chain((0..6).map(Paint::Series)) {
            assert_eq!(rgb(paint.light()), day[&*paint.role()], "{paint:?}");
        }
    }
}
