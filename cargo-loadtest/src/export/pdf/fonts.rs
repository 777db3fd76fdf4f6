//! Which font has which character, how wide it is there, and what of a font a document needs.

use printpdf::ParsedFont;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, LazyLock};
use subsetter::GlyphRemapper;

static REGULAR: LazyLock<Font> = LazyLock::new(|| {
    Font::parse("DejaVuSansCondensed", dejavu::sans_condensed::regular())
        .expect("a font of the crate")
});
static BOLD: LazyLock<Font> = LazyLock::new(|| {
    Font::parse("DejaVuSansCondensed-Bold", dejavu::sans_condensed::bold())
        .expect("a font of the crate")
});

/// A font in the format of TrueType or OpenType.
#[derive(Clone)]
pub(crate) struct Font(Arc<FontData>);

struct FontData {
    name: String,
    bytes: Cow<'static, [u8]>,
    parsed: ParsedFont,
}

/// The reason why a file is no usable font.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoFont {
    /// It is something else, or broken.
    Format,
    /// It has no outlines that a document could take over: pictures, say.
    Outlines,
}

impl fmt::Display for NoFont {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Format => "it is neither TrueType nor OpenType, or broken",
            Self::Outlines => "its characters are not outlines of TrueType or CFF",
        })
    }
}

impl Font {
    /// Reads a font; of a collection, the first one. `name` is what it is called in a document.
    ///
    /// # Errors
    /// [`NoFont`].
    pub(crate) fn parse(name: &str, bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self, NoFont> {
        let bytes = bytes.into();
        let mut parsed =
            ParsedFont::from_bytes(&bytes, 0, &mut Vec::new()).ok_or(NoFont::Format)?;
        // Here once already; the copy would be kept as long as the font.
        parsed.original_bytes = Vec::new();
        let some = parsed
            .codepoint_to_glyph
            .values()
            .copied()
            .find(|glyph| *glyph != 0);
        if some.is_none() || parsed.units_per_em == 0 {
            return Err(NoFont::Format);
        }
        let name: String = name
            .chars()
            .filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-')
            .collect();
        let font = Self(Arc::new(FontData {
            name,
            bytes,
            parsed,
        }));
        match some.and_then(|glyph| font.cut(&GlyphRemapper::new_from_glyphs(&[glyph]))) {
            Some(_) => Ok(font),
            None => Err(NoFont::Outlines),
        }
    }

    fn glyph(&self, letter: char) -> Option<u16> {
        let glyph = self.0.parsed.lookup_glyph_index(letter.into());
        glyph.filter(|glyph| *glyph != 0)
    }

    fn cut(&self, glyphs: &GlyphRemapper) -> Option<Vec<u8>> {
        subsetter::subset(&self.0.bytes, 0, glyphs).ok()
    }

    /// The font with these characters only, named as the standard asks for: a tag, and its own name.
    fn subset(&self, letters: &BTreeSet<char>, number: usize) -> ParsedFont {
        let parsed = &self.0.parsed;
        let mut glyphs = GlyphRemapper::new();
        let found: Vec<(char, u16, u16)> = letters
            .iter()
            .filter_map(|letter| Some((*letter, self.glyph(*letter)?)))
            .map(|(letter, glyph)| (letter, glyph, glyphs.remap(glyph)))
            .collect();
        let cut = self.cut(&glyphs);
        let is_whole = cut.is_none();
        let mut characters = BTreeMap::new();
        let mut widths = BTreeMap::new();
        for (letter, glyph, new) in found {
            let number = if is_whole { glyph } else { new };
            characters.insert(u32::from(letter), number);
            widths.insert(number, parsed.get_glyph_width(glyph).unwrap_or_default());
        }
        let tag: String = [0, 0, 0, 0, number / 26, number % 26]
            .into_iter()
            .map(|letter| char::from(b'A' + letter as u8))
            .collect();
        ParsedFont {
            // What cannot be cut is better large than not there.
            original_bytes: cut.unwrap_or_else(|| self.0.bytes.to_vec()),
            font_name: Some(format!("{tag}+{}", self.0.name)),
            font_index: 0,
            codepoint_to_glyph: characters,
            glyph_widths: widths,
            ..parsed.clone()
        }
    }
}

impl fmt::Debug for Font {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Font").field(&self.0.name).finish()
    }
}

/// A font of a document, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Face(pub(super) usize);

impl Face {
    pub(super) const REGULAR: Self = Self(0);
    pub(super) const BOLD: Self = Self(1);
}

/// The fonts of a document: the bundled ones, and those that help out.
#[derive(Debug)]
pub(super) struct Fonts(Vec<Font>);

impl Fonts {
    pub(super) fn new(more: &[Font]) -> Self {
        let mut all = vec![REGULAR.clone(), BOLD.clone()];
        all.extend(more.iter().cloned());
        Self(all)
    }

    /// The first font that has the character; `None` if none has.
    pub(super) fn face_of(&self, letter: char, bold: bool) -> Option<Face> {
        let first = if bold { Face::BOLD } else { Face::REGULAR };
        let faces = std::iter::once(first).chain((0..self.0.len()).map(Face));
        let mut having = faces.filter(|face| self.0[face.0].glyph(letter).is_some());
        having.next()
    }

    /// The width of a character in a font that has it, as a share of the size.
    pub(super) fn width(&self, face: Face, letter: char) -> f64 {
        let font = &self.0[face.0];
        let width = font
            .glyph(letter)
            .and_then(|glyph| font.0.parsed.get_glyph_width(glyph));
        f64::from(width.unwrap_or_default()) / f64::from(font.0.parsed.units_per_em)
    }

    /// Returns the part of each font that a document needs.
    pub(super) fn subsets(&self, used: &BTreeMap<Face, BTreeSet<char>>) -> Vec<(Face, ParsedFont)> {
        used.iter()
            .map(|(face, letters)| (*face, self.0[face.0].subset(letters, face.0)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_fonts_have_what_reports_say() {
        let fonts = Fonts::new(&[]);
        let letters = "AZaz09 äßłőçñ ΑΩαω БЯбя ≥≤→−µ·–…✓✗×± \u{202f}\u{a0} שלום مرحبا";
        for (letter, bold) in letters
            .chars()
            .flat_map(|letter| [(letter, false), (letter, true)])
        {
            let face = fonts.face_of(letter, bold);
            assert_eq!(face, Some(Face(usize::from(bold))), "{letter:?}");
        }
        assert_eq!(fonts.face_of('注', false), None);
    }

    #[test]
    fn digits_stand_below_one_another() {
        let fonts = Fonts::new(&[]);
        for face in [Face::REGULAR, Face::BOLD] {
            let widths: BTreeSet<u64> = ('0'..='9')
                .map(|digit| fonts.width(face, digit).to_bits())
                .collect();
            assert_eq!(widths.len(), 1);
        }
    }

    #[test]
    fn what_the_bundled_font_lacks_comes_from_the_one_that_was_given() {
        let letter = '⍟';
        assert_eq!(Fonts::new(&[]).face_of(letter, true), None);
        let more = Font::parse("Mono", dejavu::sans_mono::regular()).unwrap();
        let fonts = Fonts::new(&[more]);
        assert_eq!(fonts.face_of(letter, true), Some(Face(2)));
        assert_eq!(fonts.face_of('a', true), Some(Face::BOLD));
        assert!(fonts.width(Face(2), letter) > 0.3);
    }

    #[test]
    fn a_subset_is_small_and_has_a_tag() {
        let letters = "Checkout 95 %".chars().collect();
        let subset = REGULAR.subset(&letters, 27);
        assert_eq!(
            subset.font_name.as_deref(),
            Some("AAAABB+DejaVuSansCondensed")
        );
        assert_eq!(subset.codepoint_to_glyph.len(), letters.len());
        let bytes = subset.original_bytes.len();
        assert!((1_000..40_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn what_is_no_font_is_refused() {
        for bytes in [
            &b""[..],
            b"%PDF-1.7",
            b"\0\x01\0\0\xff\xff",
            b"OTTO",
            &[0; 4_096],
        ] {
            assert_eq!(
                Font::parse("x", bytes.to_vec()).unwrap_err(),
                NoFont::Format
            );
        }
        let cut = dejavu::sans::regular()[..4_000].to_vec();
        assert!(Font::parse("x", cut).is_err());
    }
    #[test]
    fn a_font_without_outlines_is_refused() {
        let mut bytes = dejavu::sans_mono::regular().to_vec();
        let table = bytes.windows(4).position(|tag| tag == b"glyf").unwrap();
        bytes[table..table + 4].copy_from_slice(b"CBDT");
        assert_eq!(Font::parse("x", bytes).unwrap_err(), NoFont::Outlines);
    }
}
