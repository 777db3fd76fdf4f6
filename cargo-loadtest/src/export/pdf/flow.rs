//! Fills pages from top to bottom: a heading stays with what follows it, and nothing is cut.

use super::block::{At, Drawing, PdfItem};
use super::fonts::Fonts;
use super::text::{ALARM, GRID, MUTED, Span, Style, break_lines, plain_spans, prose_spans};

/// The width and height of a page: A4.
pub(super) const PAGE: At = (595.28, 841.89);
/// The margin at the left and at the right.
const SIDE: f64 = 42.0;
const TOP: f64 = 44.0;
/// Below this there is the foot only.
const BOTTOM: f64 = 786.0;
/// Two rows that are higher need not stand together: they would leave too much of a page blank.
const TOGETHER: f64 = 110.0;
/// The width of what stands on a page.
pub(super) const WIDTH: f64 = PAGE.0 - 2.0 * SIDE;

/// A place that the outline of the document names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mark {
    pub(super) title: String,
    /// 0 for a scenario, 1 for a section of it.
    pub(super) level: usize,
    /// The page, counted from 0.
    pub(super) page: usize,
    pub(super) y: f64,
}

/// A heading that waits for the block below it.
#[derive(Debug, Default)]
struct Heading {
    /// Space above it; none at the top of a page.
    above: f64,
    block: Drawing,
    /// Title and level in the outline.
    mark: Option<(String, usize)>,
}

/// Pages being filled.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    pub(super) fonts: &'a Fonts,
    pages: Vec<Vec<PdfItem>>,
    y: f64,
    marks: Vec<Mark>,
    heading: Option<Heading>,
}

impl<'a> Flow<'a> {
    pub(super) fn new(fonts: &'a Fonts) -> Self {
        Self {
            fonts,
            pages: vec![Vec::new()],
            y: TOP,
            marks: Vec::new(),
            heading: None,
        }
    }

    /// Goes to the top of a page.
    pub(super) fn page(&mut self) {
        if self.y > TOP {
            self.pages.push(Vec::new());
            self.y = TOP;
        }
    }

    /// Space below what is there; none at the top of a page.
    pub(super) fn gap(&mut self, height: f64) {
        if self.y > TOP {
            self.y += height;
        }
    }

    /// A title of a section, which stays with what follows.
    pub(super) fn heading(&mut self, title: &str) {
        let mut block = Drawing::label(title, Style::new(11.5).bold(), WIDTH, self.fonts);
        block.height += 5.0;
        self.heading = Some(Heading {
            above: 20.0,
            block,
            mark: Some((title.to_owned(), 1)),
        });
    }

    /// Something that stays with what follows it, below a heading or not.
    pub(super) fn before_next(&mut self, block: Drawing) {
        let heading = self.heading.get_or_insert_default();
        heading.block.below(block);
    }

    /// A sentence below a heading, which stays with what follows.
    pub(super) fn caption(&mut self, words: &str) {
        let style = Style::new(8.0).colour(MUTED);
        let mut block = Drawing::words(&prose_spans(words, style), WIDTH, 6, self.fonts);
        block.height += 5.0;
        self.before_next(block);
    }

    /// Names the place of what comes next in the outline.
    pub(super) fn mark(&mut self, title: &str, level: usize) {
        self.heading = Some(Heading {
            mark: Some((title.to_owned(), level)),
            ..Heading::default()
        });
    }

    /// Makes room for what is so high, on the next page if it has to be, and puts the heading there that waits;
    /// whether that is another page.
    fn room(&mut self, height: f64) -> bool {
        let heading = self.heading.take().unwrap_or_default();
        let pages = self.pages.len();
        if self.y + heading.above + heading.block.height + height > BOTTOM {
            self.page();
        }
        self.gap(heading.above);
        if let Some((title, level)) = heading.mark {
            self.marks.push(Mark {
                title,
                level,
                page: self.pages.len() - 1,
                y: self.y,
            });
        }
        self.put(heading.block);
        self.pages.len() > pages
    }

    fn put(&mut self, block: Drawing) {
        let at = (SIDE, self.y);
        self.y += block.height;
        let page = self.pages.last_mut().expect("never empty");
        page.extend(block.items.into_iter().map(|item| item.moved(at)));
    }

    /// Places a block as a whole.
    pub(super) fn place(&mut self, block: Drawing) {
        self.room(block.height);
        self.put(block);
    }

    /// Places blocks one below another, the first two on one page unless they are high; `top` comes again above
    /// those that begin a page.
    pub(super) fn rows(&mut self, top: &Drawing, rows: Vec<Drawing>) {
        let mut first: f64 = rows.iter().take(2).map(|row| row.height).sum();
        if first > TOGETHER {
            first = rows[0].height;
        }
        self.room(top.height + first);
        self.put(top.clone());
        for row in rows {
            if self.room(row.height) {
                self.put(top.clone());
            }
            self.put(row);
        }
    }

    /// A paragraph in lines, of which a page may hold some.
    pub(super) fn paragraph(&mut self, spans: &[Span]) {
        let size = spans.iter().map(|span| span.style.size).fold(0.0, f64::max);
        let lines = break_lines(spans, WIDTH, usize::MAX, self.fonts).into_iter();
        let rows = lines.map(|line| Drawing::lines(vec![line], size));
        self.rows(&Drawing::default(), rows.collect());
    }

    /// The pages with their feet, and the outline.
    pub(super) fn finish(mut self, foot: &str) -> (Vec<Vec<PdfItem>>, Vec<Mark>) {
        let many = self.pages.len();
        let style = Style::new(7.5).colour(MUTED);
        for (number, page) in self.pages.iter_mut().enumerate() {
            let mut block = Drawing::default();
            block.rule((0.0, 0.0), WIDTH, GRID);
            let place = format!("page {} / {many}", number + 1);
            let place = break_lines(&plain_spans(place, style), WIDTH, 1, self.fonts);
            let right = place.iter().map(|line| line.width).fold(0.0, f64::max);
            block.add(
                Drawing::label(foot, style, WIDTH - right - 12.0, self.fonts),
                (0.0, 7.0),
            );
            block.add(Drawing::lines(place, style.size), (WIDTH - right, 7.0));
            let is_escape = |item: &PdfItem| matches!(item, PdfItem::Text { escaped: true, .. });
            if page.iter().any(is_escape) {
                let note = "\\u{..} is a character that no font of this document has: add a font with `--pdf-font FILE`.";
                let style = style.colour(ALARM);
                block.add(Drawing::label(note, style, WIDTH, self.fonts), (0.0, -13.0));
            }
            let at = (SIDE, BOTTOM + 16.0);
            page.extend(block.items.into_iter().map(|item| item.moved(at)));
        }
        (self.pages, self.marks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(page: &[PdfItem]) -> Vec<(&str, f64)> {
        page.iter()
            .filter_map(|item| match item {
                PdfItem::Text { text, at, .. } => Some((&**text, at.1)),
                _ => None,
            })
            .collect()
    }

    fn row(text: &str, height: f64, fonts: &Fonts) -> Drawing {
        let mut block = Drawing::label(text, Style::new(9.0), WIDTH, fonts);
        block.height = height;
        block
    }

    #[test]
    fn a_heading_goes_where_the_block_below_it_goes() {
        let fonts = Fonts::new(&[]);
        let mut flow = Flow::new(&fonts);
        flow.place(Drawing::gap(BOTTOM - TOP - 60.0));
        flow.heading("Errors");
        flow.place(row("first", 40.0, &fonts));
        let (pages, marks) = flow.finish("foot");
        assert_eq!(pages.len(), 2);
        assert!(!texts(&pages[0]).iter().any(|(text, _)| *text == "Errors"));
        assert_eq!(texts(&pages[1])[0].0, "Errors");
        assert_eq!((marks[0].page, &*marks[0].title), (1, "Errors"));
    }

    #[test]
    fn rows_are_whole_and_what_stands_above_them_comes_again() {
        let fonts = Fonts::new(&[]);
        let mut flow = Flow::new(&fonts);
        let top = row("head", 20.0, &fonts);
        let rows = (0..40)
            .map(|i| row(&format!("row {i}"), 37.0, &fonts))
            .collect();
        flow.rows(&top, rows);
        let (pages, _) = flow.finish("foot");
        assert_eq!(pages.len(), 3);
        for (number, page) in pages.iter().enumerate() {
            let texts = texts(page);
            assert_eq!(texts[0].0, "head");
            let last = texts
                .iter()
                .rfind(|(text, _)| text.starts_with("row"))
                .unwrap();
            assert!(last.1 + 27.0 <= BOTTOM, "{last:?}");
            let place = format!("page {} / 3", number + 1);
            assert!(texts.iter().any(|(text, _)| *text == place));
        }
    }

    #[test]
    fn two_rows_at_least_stay_with_their_heading() {
        let fonts = Fonts::new(&[]);
        let mut flow = Flow::new(&fonts);
        flow.place(Drawing::gap(BOTTOM - TOP - 75.0));
        flow.heading("Steps");
        flow.rows(
            &Drawing::gap(10.0),
            vec![row("a", 20.0, &fonts), row("b", 20.0, &fonts)],
        );
        let (pages, _) = flow.finish("");
        assert_eq!(texts(&pages[1])[0].0, "Steps");
    }

    #[test]
    fn of_high_rows_one_stays_with_their_heading() {
        let fonts = Fonts::new(&[]);
        let mut flow = Flow::new(&fonts);
        flow.place(Drawing::gap(BOTTOM - TOP - 250.0));
        flow.heading("Steps");
        let rows = vec![row("a", 150.0, &fonts), row("b", 150.0, &fonts)];
        flow.rows(&Drawing::gap(10.0), rows);
        let (pages, _) = flow.finish("");
        let has =
            |page: usize, word: &str| texts(&pages[page]).iter().any(|(text, _)| *text == word);
        assert!(has(0, "Steps") && has(0, "a") && has(1, "b"));
    }

    #[test]
    fn a_page_says_that_it_escapes() {
        let fonts = Fonts::new(&[]);
        let mut flow = Flow::new(&fonts);
        flow.paragraph(&plain_spans("注", Style::new(9.0)));
        flow.page();
        flow.paragraph(&plain_spans("all is well", Style::new(9.0)));
        let (pages, _) = flow.finish("");
        let says = |page: &[PdfItem]| {
            texts(page)
                .iter()
                .any(|(text, _)| text.contains("--pdf-font"))
        };
        assert!(says(&pages[0]) && !says(&pages[1]));
    }
}
