//! From drawn pages to a file: the one place that knows the crate that writes it.

use super::block::{At, Item};
use super::flow::{Mark, PAGE};
use super::fonts::{Face, Fonts};
use super::text::Colour;
use lopdf::{Dictionary, Object, ObjectId, StringFormat, dictionary};
use printpdf::{
    Color, FontId, Line, LineCapStyle, LineDashPattern, LineJoinStyle, LinePoint, Mm,
    OffsetDateTime, Op, PaintMode, PdfDocument, PdfFont, PdfFontHandle, PdfPage, PdfSaveOptions,
    Point, Polygon, PolygonRing, Pt, Rgb, TextItem, WindingOrder,
};
use std::collections::{BTreeMap, BTreeSet};

/// The metadata of a document.
#[derive(Debug)]
pub(super) struct About {
    pub(super) title: String,
    pub(super) producer: String,
    /// Seconds since 1970.
    pub(super) time: i64,
    /// The identifier of the run.
    pub(super) identifier: String,
}

/// The file of these pages, in which the outline names the marks.
pub(super) fn write_file(
    pages: &[Vec<Item>],
    marks: &[Mark],
    about: &About,
    fonts: &Fonts,
) -> Vec<u8> {
    let mut document = PdfDocument::new(&about.title);
    for (face, font) in fonts.subsets(&collect_letters(pages)) {
        document
            .resources
            .fonts
            .map
            .insert(font_id(face), PdfFont::new(font));
    }
    let info = &mut document.metadata.info;
    if let Ok(time) = OffsetDateTime::from_unix_timestamp(about.time) {
        (
            info.creation_date,
            info.modification_date,
            info.metadata_date,
        ) = (time, time, time);
    }
    info.producer.clone_from(&about.producer);
    "cargo loadtest".clone_into(&mut info.creator);
    info.identifier.clone_from(&about.identifier);
    document.pages = pages
        .iter()
        .map(|items| {
            PdfPage::new(
                Mm(210.0),
                Mm(297.0),
                items.iter().flat_map(to_ops).collect(),
            )
        })
        .collect();
    let mut file =
        printpdf::serialize::to_lopdf_doc(&document, &PdfSaveOptions::default(), &mut Vec::new());
    // What the crate writes here is the standard of a printing press, which this is not, a version that
    // lacks the fonts of today, and a number that counts the documents of the process.
    "1.7".clone_into(&mut file.version);
    if let Some(info) = referenced_dictionary(&mut file, b"Info") {
        info.remove(b"GTS_PDFXVersion");
    }
    let identifier =
        || Object::String(about.identifier.clone().into_bytes(), StringFormat::Literal);
    file.trailer.set("ID", vec![identifier(), identifier()]);
    let outline = add_outline(&mut file, marks);
    if let Some(catalog) = referenced_dictionary(&mut file, b"Root") {
        catalog.set("Lang", Object::string_literal("en"));
        catalog.set(
            "ViewerPreferences",
            dictionary! { "DisplayDocTitle" => true },
        );
        if let Some(outline) = outline {
            catalog.set("Outlines", outline);
            catalog.set("PageMode", Object::Name(b"UseOutlines".to_vec()));
        }
    }
    file.compress();
    let mut bytes = Vec::new();
    file.save_to(&mut bytes)
        .expect("memory takes what is written");
    bytes
}

fn referenced_dictionary<'a>(
    file: &'a mut lopdf::Document,
    key: &[u8],
) -> Option<&'a mut Dictionary> {
    let id = file.trailer.get(key).and_then(Object::as_reference).ok()?;
    file.get_object_mut(id).and_then(Object::as_dict_mut).ok()
}

/// The characters that are drawn in each font.
fn collect_letters(pages: &[Vec<Item>]) -> BTreeMap<Face, BTreeSet<char>> {
    let mut used: BTreeMap<Face, BTreeSet<char>> = BTreeMap::new();
    for item in pages.iter().flatten() {
        if let Item::Text { face, text, .. } = item {
            used.entry(*face).or_default().extend(text.chars());
        }
    }
    used
}

fn to_integer(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn font_id(face: Face) -> FontId {
    FontId(format!("Face{}", face.0))
}

fn to_point((x, y): At) -> Point {
    Point {
        x: Pt(x as f32),
        y: Pt((PAGE.1 - y) as f32),
    }
}

fn to_path(points: &[At]) -> Vec<LinePoint> {
    let point = |at: &At| LinePoint {
        p: to_point(*at),
        bezier: false,
    };
    points.iter().map(point).collect()
}

fn to_color(colour: Colour) -> Color {
    let channel = |shift: u32| (colour.0 >> shift & 0xff) as f32 / 255.0;
    Color::Rgb(Rgb {
        r: channel(16),
        g: channel(8),
        b: channel(0),
        icc_profile: None,
    })
}

fn to_ops(item: &Item) -> Vec<Op> {
    match item {
        Item::Area { points, colour } => vec![
            Op::SetFillColor {
                col: to_color(*colour),
            },
            Op::DrawPolygon {
                polygon: Polygon {
                    rings: vec![PolygonRing {
                        points: to_path(points),
                    }],
                    mode: PaintMode::Fill,
                    winding_order: WindingOrder::NonZero,
                },
            },
        ],
        Item::Stroke {
            points,
            colour,
            width,
            dashed,
            closed,
        } => {
            let mut ops = vec![
                Op::SaveGraphicsState,
                Op::SetOutlineColor {
                    col: to_color(*colour),
                },
                Op::SetOutlineThickness {
                    pt: Pt(*width as f32),
                },
                Op::SetLineJoinStyle {
                    join: LineJoinStyle::Round,
                },
                Op::SetLineCapStyle {
                    cap: LineCapStyle::Round,
                },
            ];
            if *dashed {
                ops.push(Op::SetLineDashPattern {
                    dash: LineDashPattern::new(0.0, &[2.4, 2.4]),
                });
            }
            ops.push(Op::DrawLine {
                line: Line {
                    points: to_path(points),
                    is_closed: *closed,
                },
            });
            ops.push(Op::RestoreGraphicsState);
            ops
        }
        Item::Text {
            at,
            text,
            face,
            size,
            colour,
            ..
        } => vec![
            Op::StartTextSection,
            Op::SetFont {
                font: PdfFontHandle::External(font_id(*face)),
                size: Pt(*size as f32),
            },
            Op::SetFillColor {
                col: to_color(*colour),
            },
            Op::SetTextCursor { pos: to_point(*at) },
            Op::ShowText {
                items: vec![TextItem::Text(text.clone())],
            },
            Op::EndTextSection,
        ],
    }
}

/// The outline, a scenario with its sections below it; the crate has one level only, and in another order.
fn add_outline(file: &mut lopdf::Document, marks: &[Mark]) -> Option<ObjectId> {
    if marks.is_empty() {
        return None;
    }
    let pages: Vec<ObjectId> = file.get_pages().into_values().collect();
    let root = file.new_object_id();
    let ids: Vec<ObjectId> = marks.iter().map(|_| file.new_object_id()).collect();
    // A section before any scenario stands beside the scenarios.
    let parents: Vec<Option<usize>> = (0..marks.len())
        .map(|i| {
            let above = (0..i).rev().find(|above| marks[*above].level == 0);
            above.filter(|_| marks[i].level > 0)
        })
        .collect();
    let mut families: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (i, parent) in parents.iter().enumerate() {
        families.entry(*parent).or_default().push(i);
    }
    let children = |parent| families.get(&parent).map_or(&[][..], Vec::as_slice);
    let family = |dictionary: &mut Dictionary, children: &[usize]| {
        if let (Some(first), Some(last)) = (children.first(), children.last()) {
            dictionary.set("First", ids[*first]);
            dictionary.set("Last", ids[*last]);
        }
    };
    for (i, mark) in marks.iter().enumerate() {
        let place: Vec<Object> = vec![
            pages.get(mark.page).copied()?.into(),
            "XYZ".into(),
            Object::Null,
            ((PAGE.1 - mark.y + 6.0) as f32).into(),
            Object::Null,
        ];
        let mut entry = dictionary! {
            "Title" => lopdf::text_string(&mark.title),
            "Parent" => parents[i].map_or(root, |parent| ids[parent]),
            "Dest" => place,
        };
        let brothers = children(parents[i]);
        let own = brothers.binary_search(&i).ok()?;
        if own > 0 {
            entry.set("Prev", ids[brothers[own - 1]]);
        }
        if let Some(next) = brothers.get(own + 1) {
            entry.set("Next", ids[*next]);
        }
        let below = children(Some(i));
        if !below.is_empty() {
            entry.set("Count", to_integer(below.len()));
        }
        family(&mut entry, below);
        file.set_object(ids[i], entry);
    }
    let mut whole = dictionary! { "Type" => "Outlines", "Count" => to_integer(marks.len()) };
    family(&mut whole, children(None));
    file.set_object(root, whole);
    Some(root)
}
