//! Renders a table. Cells wrap in columns that share the width; where columns would be too narrow to
//! read, each row becomes a list of its cells.

use pulldown_cmark::Alignment;

use crate::styled_line::{StyledLine, TextStyle};

#[derive(Debug, Default)]
pub(super) struct MarkdownTable {
    alignments: Vec<Alignment>,
    /// The first row is the heading.
    rows: Vec<Vec<TableCell>>,
}

/// Its lines; most have one.
#[derive(Clone, Debug, Default)]
struct TableCell(Vec<StyledLine>);

impl TableCell {
    fn width(&self) -> usize {
        self.0.iter().map(StyledLine::width).max().unwrap_or(0)
    }

    fn longest_word(&self) -> usize {
        self.0.iter().map(longest_word).max().unwrap_or(0)
    }

    /// For a table that is shown as a list: breaks become blanks.
    fn to_line(&self) -> StyledLine {
        let mut whole = StyledLine::new();
        for (number, line) in self.0.iter().enumerate() {
            whole.push(if number > 0 { " " } else { "" }, TextStyle::Plain);
            for span in &line.spans {
                whole.push(span.text.as_str(), span.style);
            }
        }
        whole
    }

    fn embolden(self) -> Self {
        Self(self.0.into_iter().map(embolden).collect())
    }

    fn wrap(&self, width: usize) -> Vec<StyledLine> {
        self.0.iter().flat_map(|line| line.wrap(width, 0)).collect()
    }
}

impl MarkdownTable {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new() }
    }

    pub(super) fn start_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn start_cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(TableCell(vec![StyledLine::new()]));
        }
    }

    pub(super) fn push_text(&mut self, text: &str, style: TextStyle) {
        if let Some(line) = self.last_cell().and_then(|cell| cell.0.last_mut()) {
            line.push(text, style);
        }
    }

    pub(super) fn break_line(&mut self) {
        if let Some(cell) = self.last_cell() {
            cell.0.push(StyledLine::new());
        }
    }

    fn last_cell(&mut self) -> Option<&mut TableCell> {
        self.rows.last_mut()?.last_mut()
    }

    pub(super) fn render(self, width: usize) -> Vec<StyledLine> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns == 0 {
            return Vec::new();
        }
        match self.fit_columns(columns, width) {
            Some(widths) => self.render_columns(&widths),
            None => self.render_list(width),
        }
    }

    /// The width of each column; `None` if a column would be too narrow to read.
    fn fit_columns(&self, columns: usize, width: usize) -> Option<Vec<usize>> {
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let mut widths: Vec<usize> = (0..columns)
            .map(|column| cells(column).map(TableCell::width).max().unwrap_or(0).max(1))
            .collect();
        // A column that is narrower than its longest word breaks that word.
        let mut least: Vec<usize> = (0..columns)
            .map(|column| cells(column).map(TableCell::longest_word).max().unwrap_or(0).max(1))
            .collect();
        let room = width.saturating_sub(SEPARATOR.chars().count() * (columns - 1));
        if least.iter().sum::<usize>() > room {
            least.iter_mut().for_each(|least| *least = (*least).min(WORD_MAX));
        }
        if least.iter().sum::<usize>() > room {
            return None;
        }
        while widths.iter().sum::<usize>() > room {
            // Narrow the widest column that can still be narrowed.
            let shrinkable =
                widths.iter_mut().zip(&least).filter(|(width, least)| **width > **least);
            let (widest, _) = shrinkable.max_by_key(|(width, _)| **width)?;
            *widest -= 1;
        }
        Some(widths)
    }

    fn render_columns(&self, widths: &[usize]) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        let has_tall_rows = self.rows.iter().any(|row| {
            let mut cells = row.iter().zip(widths);
            cells.any(|(cell, width)| cell.0.len() > 1 || cell.width() > *width)
        });
        let rule = |sign: &str| {
            let parts: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            StyledLine::from_text(parts.join(&format!("─{sign}─")), TextStyle::Dim)
        };
        for (number, row) in self.rows.iter().enumerate() {
            // Rows of several lines run into one another without a rule.
            if number == 1 || (number > 1 && has_tall_rows) {
                lines.push(rule("┼"));
            }
            let cells: Vec<Vec<StyledLine>> = widths
                .iter()
                .enumerate()
                .map(|(column, width)| {
                    let cell = row.get(column).cloned().unwrap_or_default();
                    let cell = if number == 0 { cell.embolden() } else { cell };
                    cell.wrap(*width)
                })
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(1);
            for at in 0..height {
                lines.push(self.join_cells(&cells, widths, at));
            }
        }
        lines
    }

    /// One line of a row.
    fn join_cells(&self, cells: &[Vec<StyledLine>], widths: &[usize], at: usize) -> StyledLine {
        let mut line = StyledLine::new();
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            if column > 0 {
                line.push(SEPARATOR, TextStyle::Dim);
            }
            let piece = cell.get(at).cloned().unwrap_or_default().trim_end();
            let blanks = width.saturating_sub(piece.width());
            let before = match self.alignments.get(column) {
                Some(Alignment::Right) => blanks,
                Some(Alignment::Center) => blanks / 2,
                Some(Alignment::Left | Alignment::None) | None => 0,
            };
            line.push(" ".repeat(before), TextStyle::Plain);
            for span in piece.spans {
                line.push(span.text, span.style);
            }
            if column + 1 < cells.len() {
                line.push(" ".repeat(blanks - before), TextStyle::Plain);
            }
        }
        line
    }

    fn render_list(&self, width: usize) -> Vec<StyledLine> {
        let Some((head, rows)) = self.rows.split_first() else { return Vec::new() };
        if rows.is_empty() {
            return head.iter().flat_map(|cell| cell.clone().embolden().wrap(width)).collect();
        }
        let mut lines = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                lines.push(StyledLine::from_text("─".repeat(width.min(20)), TextStyle::Dim));
            }
            for (column, cell) in row.iter().enumerate() {
                let label = head.get(column).map(TableCell::to_line).unwrap_or_default();
                let label = format!("{}: ", label.plain_text());
                let mut line = StyledLine::from_text(label, TextStyle::Bold);
                for span in cell.to_line().spans {
                    line.push(span.text, span.style);
                }
                lines.extend(line.wrap(width, 2));
            }
        }
        lines
    }
}

fn embolden(cell: StyledLine) -> StyledLine {
    let mut bold = StyledLine::new();
    for span in cell.spans {
        let is_plain = span.style == TextStyle::Plain;
        bold.push(span.text, if is_plain { TextStyle::Bold } else { span.style });
    }
    bold
}

fn longest_word(cell: &StyledLine) -> usize {
    let text = cell.plain_text();
    let words = text.split_whitespace().map(|word| StyledLine::from_text(word, TextStyle::Plain));
    words.map(|word| word.width()).max().unwrap_or(0)
}

const SEPARATOR: &str = " │ ";
/// A word that is longer may be broken where words do not fit whole.
const WORD_MAX: usize = 14;

#[cfg(test)]
mod tests {
    use crate::styled_line::StyledLine;
    use crate::text::render_markdown;

    fn draw(text: &str, width: usize) -> Vec<String> {
        let lines = render_markdown(text, width);
        assert!(lines.iter().all(|line| line.width() <= width), "{width}: {lines:?}");
        lines.iter().map(StyledLine::plain_text).collect()
    }

    #[test]
    fn cells_wrap_and_are_aligned() {
        let table = "| name | what it does | n |\n|---|:---:|--:|\n| a | reads the file | 7 |\n";
        assert_eq!(
            draw(table, 40),
            [
                "name │  what it does  │  n",
                "─────┼────────────────┼──",
                "a    │ reads the file │  7",
            ]
            .map(|line| line.replace("│  n", "│ n").replace("│  7", "│ 7"))
        );
        let narrow = draw(table, 20);
        assert_eq!(
            narrow,
            [
                "name │  what it  │ n",
                "     │   does    │  ",
                "─────┼───────────┼──",
                "a    │ reads the │ 7",
                "     │   file    │  ",
            ]
            .map(|line| line.to_owned())
        );
    }

    /// A long word takes room from cells that can wrap.
    #[test]
    fn a_word_is_not_broken_where_it_fits() {
        let table =
            "| name | what |\n|---|---|\n| a_long_identifier_of_code | what it is for and how |\n";
        let lines = draw(table, 40).join("\n");
        assert!(lines.contains("a_long_identifier_of_code"), "{lines}");
        let narrow = draw(table, 30).join("\n");
        assert!(!narrow.contains("a_long_identifier_of_code"), "{narrow}");
    }

    /// Markdown has no other way to begin a line in a cell.
    #[test]
    fn a_cell_may_have_lines() {
        let table =
            "| way | steps |\n|---|---|\n| one | first<br>then **second** |\n| two | none |\n";
        assert_eq!(
            draw(table, 40),
            [
                "way │ steps",
                "────┼────────────",
                "one │ first",
                "    │ then second",
                "────┼────────────",
                "two │ none",
            ]
        );
        let narrow = draw(table, 10).join(" ");
        let words: Vec<&str> = narrow.split_whitespace().collect();
        assert!(words.join(" ").contains("steps: first then second"), "{words:?}");
    }

    #[test]
    fn an_address_is_shown_once() {
        let table = "| where |\n|---|\n| <https://example.org/a> |\n";
        assert_eq!(draw(table, 80).join("\n").matches("example.org").count(), 1);
    }

    /// Whatever the width, no word of a table is lost.
    #[test]
    fn nothing_is_cut() {
        let table = "| option | default | description | since |\n|---|---|---|---|\n\
            | retries | eleven | how often a request is repeated | 0.1 |\n\
            | timeout | ninety | seconds without a byte | 0.2 |\n";
        for width in [12, 20, 30, 40, 60, 80, 200] {
            let text = draw(table, width).join(" ");
            for word in ["retries", "eleven", "often", "repeated", "seconds", "byte", "0.2"] {
                assert!(text.contains(word), "{width}: {word}: {text}");
            }
        }
    }
}
