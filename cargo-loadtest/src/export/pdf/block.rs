//! What is drawn, in pieces that no page parts; all lengths are points, from the upper left corner down.

use super::fonts::{Face, Fonts};
use super::text::{CODE, Colour, Line, PAPER, Span, Style, break_lines, plain_spans};
use crate::export::scene::{Anchor, Paint, Scene, SceneShape};

/// Letters below this size are hard to read on paper.
const SMALLEST: f64 = 6.4;
/// The height of a line, as a share of the size of its letters.
pub(super) const LEADING: f64 = 1.38;

pub(super) type At = (f64, f64);

/// Something drawn.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PdfItem {
    Area {
        points: Vec<At>,
        colour: Colour,
    },
    Stroke {
        points: Vec<At>,
        colour: Colour,
        width: f64,
        dashed: bool,
        closed: bool,
    },
    Text {
        /// The beginning of the base line.
        at: At,
        text: String,
        face: Face,
        size: f64,
        colour: Colour,
        /// It stands for a character that no font has.
        escaped: bool,
    },
}

impl PdfItem {
    pub(super) fn moved(mut self, by: At) -> Self {
        let shift = |at: &mut At| *at = (at.0 + by.0, at.1 + by.1);
        match &mut self {
            Self::Area { points, .. } | Self::Stroke { points, .. } => {
                points.iter_mut().for_each(shift);
            }
            Self::Text { at, .. } => shift(at),
        }
        self
    }
}

/// A drawing of some height.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Drawing {
    pub(super) items: Vec<PdfItem>,
    pub(super) height: f64,
}

impl Drawing {
    /// Nothing, of this height.
    pub(super) fn gap(height: f64) -> Self {
        Self {
            items: Vec::new(),
            height,
        }
    }

    pub(super) fn rect(&mut self, at: At, size: At, colour: Colour) {
        self.items.push(PdfItem::Area {
            points: outline_rect(at, size),
            colour,
        });
    }

    pub(super) fn frame(&mut self, at: At, size: At, colour: Colour) {
        self.items.push(PdfItem::Stroke {
            points: outline_rect(at, size),
            colour,
            width: 0.7,
            dashed: false,
            closed: true,
        });
    }

    /// A horizontal line.
    pub(super) fn rule(&mut self, from: At, to: f64, colour: Colour) {
        self.items.push(PdfItem::Stroke {
            points: vec![from, (to, from.1)],
            colour,
            width: 0.6,
            dashed: false,
            closed: false,
        });
    }

    /// A line of words whose base line begins here.
    pub(super) fn line(&mut self, line: Line, at: At) {
        for run in line.runs {
            let x = at.0 + run.x;
            let size = run.style.size;
            if run.style.code && !run.text.trim().is_empty() {
                let place = (x - 1.2, at.1 - 0.86 * size);
                self.rect(place, (run.width + 2.4, 1.12 * size), CODE);
            }
            self.items.push(PdfItem::Text {
                at: (x, at.1),
                text: run.text,
                face: run.face,
                size,
                colour: run.style.colour,
                escaped: run.escaped,
            });
        }
    }

    /// Puts another drawing on this one, and grows to hold it.
    pub(super) fn add(&mut self, block: Self, at: At) {
        self.height = self.height.max(at.1 + block.height);
        self.items
            .extend(block.items.into_iter().map(|item| item.moved(at)));
    }

    /// Puts another drawing below this one.
    pub(super) fn below(&mut self, block: Self) {
        self.add(block, (0.0, self.height));
    }

    /// Lines one below another.
    pub(super) fn lines(lines: Vec<Line>, size: f64) -> Self {
        let mut block = Self::default();
        for line in lines {
            block.line(line, (0.0, block.height + size * 1.04));
            block.height += size * LEADING;
        }
        block
    }

    /// A paragraph as a whole.
    pub(super) fn words(spans: &[Span], width: f64, most: usize, fonts: &Fonts) -> Self {
        let size = spans.iter().map(|span| span.style.size).fold(0.0, f64::max);
        Self::lines(break_lines(spans, width, most, fonts), size)
    }

    /// Draws a single line of one style.
    pub(super) fn label(text: &str, style: Style, width: f64, fonts: &Fonts) -> Self {
        Self::words(&plain_spans(text, style), width, 1, fonts)
    }

    /// A drawing of charts at this width.
    pub(super) fn scene(scene: &Scene, width: f64, fonts: &Fonts) -> Self {
        let scale = width / scene.size.0;
        let mut block = Self::gap(scene.size.1 * scale);
        let data = scene.groups.first().zip(scene.groups.last());
        let data = data.map_or(0..0, |(first, last)| first.start..last.end);
        // Nothing shines through an area, so the lines of all data come after all areas.
        let (areas, lines): (Vec<_>, Vec<_>) = scene.shapes[data.clone()]
            .iter()
            .partition(|shape| matches!(shape, SceneShape::Area { .. }));
        let (before, after) = (&scene.shapes[..data.start], &scene.shapes[data.end..]);
        for shape in before.iter().chain(areas).chain(lines).chain(after) {
            block.shape(shape, scene.size.0, scale, fonts);
        }
        block
    }

    /// Adds a shape of a drawing that is `wide`.
    fn shape(&mut self, shape: &SceneShape, wide: f64, scale: f64, fonts: &Fonts) {
        let at = |at: At| (at.0 * scale, at.1 * scale);
        match shape {
            SceneShape::Rect {
                at: corner,
                size,
                paint,
            } => self.rect(at(*corner), at(*size), light_colour(*paint)),
            SceneShape::Line {
                points,
                paint,
                width,
                dashed,
            } => self.items.push(PdfItem::Stroke {
                points: points.iter().copied().map(at).collect(),
                colour: light_colour(*paint),
                width: (width * scale).max(0.4),
                dashed: *dashed,
                closed: false,
            }),
            // Colours are mixed here: what shines through would be beyond the oldest readers.
            SceneShape::Area {
                points,
                paint,
                opacity,
            } => self.items.push(PdfItem::Area {
                points: points.iter().copied().map(at).collect(),
                colour: light_colour(*paint).tint(*opacity),
            }),
            SceneShape::Dot {
                at: centre,
                radius,
                paint,
            } => {
                let around =
                    (0..12).map(|i| (f64::from(i) * std::f64::consts::TAU / 12.0).sin_cos());
                let points =
                    around.map(|(sin, cos)| (centre.0 + radius * cos, centre.1 + radius * sin));
                self.items.push(PdfItem::Area {
                    points: points.map(at).collect(),
                    colour: light_colour(*paint),
                });
            }
            SceneShape::Text {
                at: place,
                size,
                text,
                paint,
                anchor,
            } => {
                let style = Style::new((size * scale).max(SMALLEST)).colour(light_colour(*paint));
                let (x, y) = at(*place);
                let room = match anchor {
                    Anchor::Start => (wide - place.0) * scale,
                    Anchor::Middle | Anchor::End => f64::INFINITY,
                };
                let words = break_lines(&plain_spans(&**text, style), room, 1, fonts);
                let line = words.into_iter().next().unwrap_or_default();
                let x = match anchor {
                    Anchor::Start => x,
                    Anchor::Middle => x - line.width / 2.0,
                    Anchor::End => x - line.width,
                };
                self.line(line, (x, y));
            }
        }
    }
}

/// The colour that a role has on light paper.
pub(super) fn light_colour(paint: Paint) -> Colour {
    let digits = paint.light().trim_start_matches('#');
    u32::from_str_radix(digits, 16).map_or(PAPER, Colour)
}

fn outline_rect((x, y): At, (width, height): At) -> Vec<At> {
    let (right, bottom) = (x + width, y + height);
    vec![(x, y), (right, y), (right, bottom), (x, bottom)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_keeps_its_shape_and_its_letters_stay_legible() {
        let fonts = Fonts::new(&[]);
        let mut scene = Scene::new((1_000.0, 100.0));
        scene.rect((0.0, 0.0), (500.0, 100.0), Paint::Alarm);
        scene.text((1_000.0, 50.0), "right", Paint::Ink, Anchor::End);
        let block = Drawing::scene(&scene, 250.0, &fonts);
        assert!((block.height - 25.0).abs() < 1e-9);
        let [PdfItem::Area { points, .. }, PdfItem::Text { at, size, .. }] = &block.items[..]
        else {
            panic!("{block:?}");
        };
        assert_eq!(points[2], (125.0, 25.0));
        assert!((*size - SMALLEST).abs() < 1e-9 && at.0 < 240.0 && at.0 > 200.0);
    }
}
