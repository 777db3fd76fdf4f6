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

    /// The strength of the light of each part.
    fn linear(colour: Rgb) -> [f64; 3] {
        colour.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    /// The contrast ratio of WCAG 2.2.
    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let luminance = |colour: Rgb| {
            let [r, g, b] = linear(colour);
            0.212_6 * r + 0.715_2 * g + 0.072_2 * b
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn mixed(colour: Rgb, paper: Rgb, share: f64) -> Rgb {
        let part = |i: usize| f64::from(colour[i]) * share + f64::from(paper[i]) * (1.0 - share);
        [0, 1, 2].map(|i| part(i).round() as u8)
    }

    /// The colours of data, in the order of use.
    const DATA: [&str; 9] = ["s0", "s1", "s2", "s3", "s4", "s5", "q0", "q1", "q2"];

    #[test]
    fn text_and_lines_stand_out_from_their_ground_by_day_in_the_dark_and_in_print() {
        let palettes = palettes();
        assert_eq!(palettes.len(), 3);
        for (i, palette) in palettes.iter().enumerate() {
            let of = |name: &str| palette[name];
            let paper = of("paper");
            let mut pairs = vec![];
            for text in ["ink", "muted", "alarm", "good", "fair", "accent"] {
                pairs.push((text, of(text), paper, 4.5));
                pairs.push((text, of(text), of("ground"), 4.5));
            }
            for text in ["alarm", "good", "fair", "muted", "accent"] {
                pairs.push((text, of(text), mixed(of(text), paper, 0.11), 4.5));
            }
            for ground in ["shade", "code"] {
                pairs.push(("muted", of("muted"), of(ground), 4.5));
                pairs.push(("ink", of("ink"), of(ground), 4.5));
            }
            for name in DATA {
                // The colours of steps carry their names.
                let least = if name.starts_with('s') { 4.5 } else { 3.0 };
                pairs.push((name, of(name), paper, least));
                pairs.push((name, of(name), of("ground"), 3.0));
                pairs.push((name, of(name), of("shade"), 3.0));
            }
            for (name, text, ground, least) in pairs {
                let ratio = contrast(text, ground);
                assert!(ratio >= least, "palette {i}: {name} has {ratio:.2}");
            }
        }
    }

    /// Light as it reaches eyes without green cones, as red, green and blue of its strength (Machado, Oliveira and
    /// Fernandes, 2009).
    fn without_green_cones(colour: Rgb) -> [f64; 3] {
        let light = linear(colour);
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ]
        .map(|row| {
            let parts = row.iter().zip(light).map(|(share, part)| share * part);
            parts.sum::<f64>().clamp(0.0, 1.0)
        })
    }

    /// The place of light in CIE L*a*b*, white being D65.
    fn lab(light: [f64; 3]) -> [f64; 3] {
        let root = |share: f64| {
            if share > 0.008_856 {
                share.cbrt()
            } else {
                7.787 * share + 16.0 / 116.0
            }
        };
        let [x, y, z] = [
            [0.412_4 / 0.950_5, 0.357_6 / 0.950_5, 0.180_5 / 0.950_5],
            [0.212_6, 0.715_2, 0.072_2],
            [0.019_3 / 1.089, 0.119_2 / 1.089, 0.950_5 / 1.089],
        ]
        .map(|row| {
            let parts = row.iter().zip(light).map(|(share, part)| share * part);
            root(parts.sum())
        });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn colours_of_data_are_told_apart_without_green_cones_and_none_is_that_of_alarm() {
        for (i, palette) in palettes().iter().enumerate() {
            for names in [&DATA[..6], &DATA[6..]] {
                let names = names.iter().chain(&["alarm"]);
                let all: Vec<_> = names.map(|name| (*name, palette[name])).collect();
                for (at, (name, one)) in all.iter().enumerate() {
                    for (other, another) in &all[at + 1..] {
                        let is_alarm = *other == "alarm";
                        let [one, another] = [one, another].map(|colour| {
                            // Failures have words and marks beside their colour.
                            let light = if is_alarm {
                                linear(*colour)
                            } else {
                                without_green_cones(*colour)
                            };
                            lab(light)
                        });
                        let parts = one.iter().zip(another).map(|(a, b)| (a - b).powi(2));
                        let apart = parts.sum::<f64>().sqrt();
                        assert!(
                            apart >= 14.0,
                            "palette {i}: {name} and {other} are {apart:.1} apart"
                        );
                    }
                }
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
        for paint in roles
            .into_iter()
            .chain((0..6).map(Paint::Series))
            .chain((0..3).map(Paint::Quantile))
        {
            assert_eq!(rgb(paint.light()), day[&*paint.role()], "{paint:?}");
        }
    }
}
