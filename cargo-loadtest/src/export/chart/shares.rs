//! Where the time goes, step by step.

use super::Chart;
use crate::export::scene::{Anchor, At, Paint, Scene, SceneShape};
use loadtest_model::card::Card;
use loadtest_model::display;

/// The share of time of each step, side by side; the bottleneck has a mark and a border.
pub(crate) fn draw_shares(card: &Card) -> Option<Chart> {
    let bottleneck = card.bottleneck.as_ref()?;
    if card.steps.len() < 2 {
        return None;
    }
    let (wide, high) = (1000.0, 40.0);
    let mut scene = Scene::new((wide, high));
    let mut x = 0.0;
    let mut words = Vec::new();
    for (i, step) in card.steps.iter().enumerate() {
        let share = step.time_share.unwrap_or(0.0);
        let width = wide * share;
        let shown = (width - 2.0).max(0.5);
        scene.rect((x, 0.0), (shown, high), paint_of(i));
        let text = format!("{} {}", step.name, display::format_percent(share));
        let mut label = text.clone();
        if i == bottleneck.step {
            label.insert_str(0, "▲ ");
            if shown > 8.0 {
                outline_rect(&mut scene, (x, 0.0), (shown, high));
            }
        }
        if label.chars().count() as f64 * 7.6 + 20.0 < width {
            scene.shapes.push(SceneShape::Text {
                at: (x + 10.0, 25.0),
                size: 14.0,
                text: label,
                paint: Paint::Paper,
                anchor: Anchor::Start,
            });
        }
        words.push(text);
        x += width;
    }
    Some(Chart {
        title: "Where the time goes".to_owned(),
        label: format!("Share of service time: {}", words.join(", ")),
        scene,
        readout: None,
    })
}

/// Draws a border within a rectangle.
fn outline_rect(scene: &mut Scene, (x, y): At, (width, height): At) {
    let (left, top, right, bottom) = (x + 1.5, y + 1.5, x + width - 1.5, y + height - 1.5);
    let corners = [
        (left, top),
        (right, top),
        (right, bottom),
        (left, bottom),
        (left, top),
    ];
    scene.line(corners.to_vec(), Paint::Ink, 3.0);
}

/// Returns the colour of a step.
pub(crate) fn paint_of(step: usize) -> Paint {
    Paint::Series(step)
}
