//! A drawing of few shapes, and its SVG back end.
//!
//! Colours are roles, so that a page can give them other values in the dark; each shape carries the
//! light value as well, for viewers that ignore styles.

use super::markup::escape;
use loadtest_console::console::clean;
use std::fmt::Write as _;
use std::ops::Range;

/// The role of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Text that is read.
    Ink,
    /// Text beside it.
    Muted,
    /// Lines behind the data.
    Grid,
    /// Ground behind a part of the data.
    Shade,
    /// The gap between two areas.
    Paper,
    /// Stands out as bad.
    Alarm,
    /// Data, told apart by number.
    Series(usize),
    /// A quantile of three, the higher the stronger.
    Quantile(usize),
}

/// The light colours of data, in the order of use.
const SERIES: [&str; 6] = [
    "#2f6fc9", "#8f5c08", "#a8479f", "#0f5f58", "#3b3386", "#6f757c",
];
/// The light colours of quantiles: one hue.
const QUANTILES: [&str; 3] = ["#4b9592", "#12706f", "#083b3d"];

impl Paint {
    /// The name of the role in a style sheet.
    pub(crate) fn role(self) -> String {
        match self {
            Self::Ink => "ink".to_owned(),
            Self::Muted => "muted".to_owned(),
            Self::Grid => "grid".to_owned(),
            Self::Shade => "shade".to_owned(),
            Self::Paper => "paper".to_owned(),
            Self::Alarm => "alarm".to_owned(),
            Self::Series(i) => format!("s{}", i % SERIES.len()),
            Self::Quantile(i) => format!("q{}", i % QUANTILES.len()),
        }
    }

    /// The colour on light paper, as `#rrggbb`.
    pub(crate) fn light(self) -> &'static str {
        match self {
            Self::Ink => "#191d23",
            Self::Muted => "#5a626b",
            Self::Grid => "#e1e4e8",
            Self::Shade => "#f2f4f6",
            Self::Paper => "#ffffff",
            Self::Alarm => "#c0362c",
            Self::Series(i) => SERIES[i % SERIES.len()],
            Self::Quantile(i) => QUANTILES[i % QUANTILES.len()],
        }
    }
}

/// The size of letters.
const TEXT: f64 = 12.0;

/// The end of a text that lies on its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A position: right and down from the upper left corner.
pub(crate) type At = (f64, f64);

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SceneShape {
    Rect {
        at: At,
        size: At,
        paint: Paint,
    },
    Line {
        points: Vec<At>,
        paint: Paint,
        width: f64,
        dashed: bool,
    },
    Area {
        points: Vec<At>,
        paint: Paint,
        opacity: f64,
    },
    Dot {
        at: At,
        radius: f64,
        paint: Paint,
    },
    Text {
        at: At,
        size: f64,
        text: String,
        paint: Paint,
        anchor: Anchor,
    },
}

/// A drawing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scene {
    pub(crate) size: At,
    pub(crate) shapes: Vec<SceneShape>,
    /// Shapes that belong together, in their order.
    pub(crate) groups: Vec<Range<usize>>,
    pub(crate) legend: Option<Legend>,
}

/// A key of colours in a strip at the top; a page has it beside the drawing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Legend {
    pub(crate) shapes: Range<usize>,
    pub(crate) height: f64,
}

impl Scene {
    pub(crate) fn new(size: At) -> Self {
        Self {
            size,
            shapes: Vec::new(),
            groups: Vec::new(),
            legend: None,
        }
    }

    pub(crate) fn text(&mut self, at: At, text: impl Into<String>, paint: Paint, anchor: Anchor) {
        self.shapes.push(SceneShape::Text {
            at,
            size: TEXT,
            text: text.into(),
            paint,
            anchor,
        });
    }

    pub(crate) fn rect(&mut self, at: At, size: At, paint: Paint) {
        self.shapes.push(SceneShape::Rect { at, size, paint });
    }

    pub(crate) fn line(&mut self, points: Vec<At>, paint: Paint, width: f64) {
        self.shapes.push(SceneShape::Line {
            points,
            paint,
            width,
            dashed: false,
        });
    }

    /// The drawing as an SVG element without its legend; `label` says in words what it shows.
    pub(crate) fn svg(&self, label: &str) -> String {
        let (width, height) = self.size;
        let (strip, legend) = match &self.legend {
            Some(legend) => (legend.height, legend.shapes.clone()),
            None => (0.0, 0..0),
        };
        let mut out = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {strip} {width} {}" role="img" aria-label="{}">"#,
            height - strip,
            escape(&clean(label))
        );
        for (i, shape) in self.shapes.iter().enumerate() {
            for group in self.groups.iter().filter(|group| group.start == i) {
                out.push_str(if group.is_empty() { "<g></g>" } else { "<g>" });
            }
            if legend.contains(&i) {
                continue;
            }
            svg_of(shape, &mut out);
            if self
                .groups
                .iter()
                .any(|group| group.end == i + 1 && !group.is_empty())
            {
                out.push_str("</g>");
            }
        }
        out.push_str("</svg>");
        out
    }
}

fn svg_of(shape: &SceneShape, out: &mut String) {
    let done = match shape {
        SceneShape::Rect {
            at: (x, y),
            size: (width, height),
            paint,
        } => write!(
            out,
            r#"<rect x="{}" y="{}" width="{}" height="{}" fill="{}" class="f-{}"/>"#,
            format_coordinate(*x),
            format_coordinate(*y),
            format_coordinate(*width),
            format_coordinate(*height),
            paint.light(),
            paint.role()
        ),
        SceneShape::Line {
            points,
            paint,
            width,
            dashed,
        } => write!(
            out,
            r#"<polyline points="{}" fill="none" stroke="{}" stroke-width="{width}" stroke-linejoin="round" stroke-linecap="round"{} class="l-{}"/>"#,
            format_points(points),
            paint.light(),
            if *dashed {
                r#" stroke-dasharray="5 4""#
            } else {
                ""
            },
            paint.role()
        ),
        SceneShape::Area {
            points,
            paint,
            opacity,
        } => write!(
            out,
            r#"<polygon points="{}" fill="{}" fill-opacity="{opacity}" class="f-{}"/>"#,
            format_points(points),
            paint.light(),
            paint.role()
        ),
        SceneShape::Dot {
            at: (x, y),
            radius,
            paint,
        } => write!(
            out,
            r#"<circle cx="{}" cy="{}" r="{radius}" fill="{}" class="f-{}"/>"#,
            format_coordinate(*x),
            format_coordinate(*y),
            paint.light(),
            paint.role()
        ),
        SceneShape::Text {
            at: (x, y),
            size,
            text,
            paint,
            anchor,
        } => write!(
            out,
            r#"<text x="{}" y="{}" font-size="{size}" fill="{}" text-anchor="{}" class="f-{}">{}</text>"#,
            format_coordinate(*x),
            format_coordinate(*y),
            paint.light(),
            match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            },
            paint.role(),
            escape(&clean(text))
        ),
    };
    done.expect("a string takes any text");
}

/// Points, to a tenth.
fn format_points(points: &[At]) -> String {
    let mut out = String::with_capacity(points.len() * 10);
    for (i, (x, y)) in points.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        out.push_str(&format_coordinate(*x));
        out.push(',');
        out.push_str(&format_coordinate(*y));
    }
    out
}

fn format_coordinate(number: f64) -> String {
    let rounded = (number * 10.0).round() / 10.0;
    format!("{rounded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_escapes_its_texts_and_names_its_roles() {
        let mut scene = Scene::new((100.0, 50.0));
        scene.text((1.0, 2.04), "<b>&", Paint::Ink, Anchor::End);
        scene.line(vec![(0.0, 0.0), (1.25, 3.0)], Paint::Series(7), 1.5);
        let svg = scene.svg("a \"label\"");
        assert!(svg.contains(">&lt;b&gt;&amp;</text>"), "{svg}");
        assert!(svg.contains(r#"x="1" y="2""#), "{svg}");
        assert!(svg.contains(r#"points="0,0 1.3,3""#), "{svg}");
        assert!(svg.contains(r#"class="l-s1""#), "{svg}");
        assert!(!svg.contains(r#""a "label""#), "{svg}");
    }
}
