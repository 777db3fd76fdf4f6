//! From drawn pages to a file: the one place that knows the crate that writes it.

use super::block::{At, PdfItem};
use super::flow::{Mark, PAGE};
use super::fonts::{Face, Fonts};
use super::text::Colour;
use lopdf::{Bookmark, Dictionary, Object, ObjectId, StringFormat, dictionary};
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
    pages: &[Vec<PdfItem>],
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
    add_bookmarks(&mut file, marks);
    let outline = file.build_outline();
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
fn collect_letters(pages: &[Vec<PdfItem>]) -> BTreeMap<Face, BTreeSet<char>> {
    let mut used: BTreeMap<Face, BTreeSet<char>> = BTreeMap::new();
    for item in pages.iter().flatten() {
        if let PdfItem::Text { face, text, .. } = item {
            used.entry(*face).or_default().extend(text.chars());
        }
    }
    used
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

fn to_ops(item: &PdfItem) -> Vec<Op> {
    match item {
        PdfItem::Area { points, colour } => vec![
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
        PdfItem::Stroke {
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
        PdfItem::Text {
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

/// A scenario with its sections below it.
fn add_bookmarks(file: &mut lopdf::Document, marks: &[Mark]) {
    let pages: Vec<ObjectId> = file.get_pages().into_values().collect();
    let mut scenario = None;
    for mark in marks {
        let bookmark = Bookmark::new(mark.title.clone(), [0.0; 3], 0, pages[mark.page]);
        let parent = scenario.filter(|_| mark.level > 0);
        let id = file.add_bookmark(bookmark, parent);
        if mark.level == 0 {
            scenario = Some(id);
        }
    }
}
