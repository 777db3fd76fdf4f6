//! Where the time goes, step by step.

use super::Chart;
use crate::export::scene::{Anchor, Paint, Scene, SceneShape};
use loadtest_model::card::Card;
use loadtest_model::display;

/// The share of time of each step, side by side; the bottleneck in the colour of alarm.
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
        scene.rect((x, 0.0), (shown, high), paint_of(i, bottleneck.step));
        let text = format!("{} {}", step.name, display::format_percent(share));
        if text.chars().count() as f64 * 7.6 + 20.0 < width {
            scene.shapes.push(SceneShape::Text {
                at: (x + 10.0, 25.0),
                size: 14.0,
                text: text.clone(),
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

/// Returns the colour of a step.
pub(crate) fn paint_of(step: usize, bottleneck: usize) -> Paint {
    // Those on which a name in the colour of paper can be read.
    const CALM: [usize; 4] = [0, 3, 4, 5];
    if step == bottleneck {
        Paint::Alarm
    } else {
        // As if it were not there, so that all are used before one is used again.
        let number = step - usize::from(step > bottleneck);
        Paint::Series(CALM[number % CALM.len()])
    }
}
