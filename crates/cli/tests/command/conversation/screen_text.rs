//! A screen as text: its rows, and below them which cells look how. Made to be read in a diff.

use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ScreenText {
    rows: Vec<String>,
    /// Runs of cells that do not look plain.
    styles: Vec<StyleRun>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct StyleRun {
    row: usize,
    /// In characters of the row, which are as many as its cells unless one is wide.
    column: usize,
    length: usize,
    /// For example `fg2 bold`.
    look: String,
}

pub(super) fn screens_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/command/recorded/screens")
}

impl ScreenText {
    pub(super) fn from_screen(screen: &vt100::Screen) -> Self {
        let mut text = Self::default();
        let (rows, columns) = screen.size();
        for row in 0..rows {
            let mut words = String::new();
            let mut at = 0;
            for column in 0..columns {
                let cell = screen.cell(row, column);
                let Some(cell) = cell.filter(|cell| !cell.is_wide_continuation()) else { continue };
                let letters = if cell.has_contents() { cell.contents() } else { " " };
                let look = describe_cell(cell);
                // Of a blank only its ground is seen.
                let is_seen =
                    letters != " " || cell.inverse() || cell.bgcolor() != vt100::Color::Default;
                if !look.is_empty() && is_seen {
                    text.push_style(usize::from(row), at, &look);
                }
                words.push_str(letters);
                at += 1;
            }
            text.rows.push(words.trim_end().to_owned());
        }
        text.settle()
    }

    /// Of lines that came one after the other. The prompt between them comes when it comes.
    pub(super) fn from_lines(lines: &str) -> Self {
        let is_steady = |line: &&str| {
            let line = line.trim();
            !line.is_empty() && line != ">" && line != "?" && !line.contains("pause typing")
        };
        let rows = lines.lines().filter(is_steady).map(|line| line.trim_end().to_owned());
        Self { rows: rows.collect(), styles: Vec::new() }.settle()
    }

    fn push_style(&mut self, row: usize, column: usize, look: &str) {
        if let Some(last) = self.styles.last_mut()
            && last.row == row
            && last.column + last.length == column
            && last.look == look
        {
            last.length += 1;
            return;
        }
        self.styles.push(StyleRun { row, column, length: 1, look: look.to_owned() });
    }

    /// Takes out what differs from run to run: the version, how long something took, how full the window
    /// is.
    fn settle(mut self) -> Self {
        while self.rows.last().is_some_and(String::is_empty) {
            self.rows.pop();
        }
        let last = self.rows.len().saturating_sub(1);
        for (number, row) in self.rows.iter_mut().enumerate() {
            *row = row.replace(env!("CARGO_PKG_VERSION"), "0.0.0");
            if let Some(at) = row.find("http://127.0.0.1:") {
                let end = row.get(at + 17..).unwrap_or_default();
                let digits = end.chars().take_while(char::is_ascii_digit).count();
                row.replace_range(at + 17..at + 17 + digits, &"0".repeat(digits));
            }
            if number == last {
                // The status line: the bar is counted late and the clock runs.
                let cut = [" · turn", " · ▰"].iter().filter_map(|sign| row.find(sign)).min();
                row.truncate(cut.unwrap_or(row.len()));
            }
        }
        let rows: Vec<usize> = self.rows.iter().map(|row| row.chars().count()).collect();
        self.styles.retain(|run| rows.get(run.row).is_some_and(|length| run.column < *length));
        for run in &mut self.styles {
            let length = rows.get(run.row).copied().unwrap_or(0);
            run.length = run.length.min(length - run.column);
        }
        self
    }

    /// Compares with the kept screen of this name, or writes it.
    pub(super) fn compare(&self, name: &str) {
        let path = screens_folder().join(format!("{name}.txt"));
        let text = self.to_text();
        if std::env::var_os("WINDLASS_RECORD").is_some() {
            std::fs::create_dir_all(screens_folder()).expect("a folder");
            std::fs::write(&path, &text).expect("a file");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == text,
            "{name} looks different; set WINDLASS_RECORD=1 and run this again if it should.\n\
             --- kept\n{kept}\n--- now\n{text}"
        );
    }

    fn to_text(&self) -> String {
        let mut text = self.rows.join("\n") + "\n";
        if !self.styles.is_empty() {
            text.push_str(STYLES_HEAD);
            for StyleRun { row, column, length, look } in &self.styles {
                let _ = writeln!(text, "{row}:{column}+{length} {look}");
            }
        }
        text
    }

    pub(super) fn parse(text: &str) -> Self {
        let (rows, styles) = text.split_once(STYLES_HEAD).unwrap_or((text, ""));
        let parse_run = |line: &str| {
            let (place, look) = line.split_once(' ')?;
            let (row, span) = place.split_once(':')?;
            let (column, length) = span.split_once('+')?;
            Some(StyleRun {
                row: row.parse().ok()?,
                column: column.parse().ok()?,
                length: length.parse().ok()?,
                look: look.to_owned(),
            })
        };
        Self {
            rows: rows.lines().map(str::to_owned).collect(),
            styles: styles.lines().filter_map(parse_run).collect(),
        }
    }

    /// A picture of it for a page.
    pub(super) fn to_figure(&self, name: &str) -> String {
        let is_light = name.ends_with("light");
        let ground = if is_light { "light" } else { "dark" };
        let mut body = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            let letters: Vec<char> = row.chars().collect();
            let mut at = 0;
            for run in self.styles.iter().filter(|run| run.row == number) {
                push_escaped(&mut body, &letters, at, run.column);
                let _ = write!(body, "<span style=\"{}\">", to_css(&run.look, is_light));
                push_escaped(&mut body, &letters, run.column, run.column + run.length);
                body.push_str("</span>");
                at = run.column + run.length;
            }
            push_escaped(&mut body, &letters, at, letters.len());
            body.push('\n');
        }
        format!(
            "<figure><figcaption>{name}</figcaption><pre class=\"{ground}\">{body}</pre></figure>\n"
        )
    }
}

fn push_escaped(body: &mut String, letters: &[char], from: usize, to: usize) {
    for letter in letters.iter().take(to).skip(from) {
        match letter {
            '<' => body.push_str("&lt;"),
            '&' => body.push_str("&amp;"),
            letter => body.push(*letter),
        }
    }
}

fn describe_cell(cell: &vt100::Cell) -> String {
    let mut look = Vec::new();
    if let vt100::Color::Idx(number) = cell.fgcolor() {
        look.push(format!("fg{number}"));
    }
    if let vt100::Color::Idx(number) = cell.bgcolor() {
        look.push(format!("bg{number}"));
    }
    let marks = [
        (cell.bold(), "bold"),
        (cell.dim(), "dim"),
        (cell.italic(), "italic"),
        (cell.underline(), "underline"),
        (cell.inverse(), "inverse"),
    ];
    look.extend(marks.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| (*name).to_owned()));
    look.join(" ")
}

fn to_css(look: &str, is_light: bool) -> String {
    let mut css = String::new();
    for word in look.split(' ') {
        match word {
            "bold" => css.push_str("font-weight:bold;"),
            "dim" => css.push_str("opacity:.6;"),
            "italic" => css.push_str("font-style:italic;"),
            "underline" => css.push_str("text-decoration:underline;"),
            "inverse" if is_light => css.push_str("background:#24292f;color:#fff;"),
            "inverse" => css.push_str("background:#e6edf3;color:#161b22;"),
            word => {
                let property = if word.starts_with("bg") { "background" } else { "color" };
                let number = word.get(2..).and_then(|number| number.parse::<u8>().ok());
                if let Some(colour) = number.and_then(|number| find_colour(number, is_light)) {
                    let _ = write!(css, "{property}:{colour};");
                }
            }
        }
    }
    css
}

fn find_colour(number: u8, is_light: bool) -> Option<&'static str> {
    Some(match (number, is_light) {
        (0, _) => "#24292f",
        (1, true) => "#cf222e",
        (1, false) => "#ff7b72",
        (2, true) => "#116329",
        (2, false) => "#7ee787",
        (3, true) => "#9a6700",
        (3, false) => "#d29922",
        (4, true) => "#0550ae",
        (4, false) => "#79c0ff",
        (5, true) => "#8250df",
        (5, false) => "#d2a8ff",
        (6, true) => "#1b7c83",
        (6, false) => "#39c5cf",
        (15, _) => "#ffffff",
        (22, _) => "#005f00",
        (52, _) => "#5f0000",
        (157, _) => "#afffaf",
        (224, _) => "#ffd7d7",
        _ => return None,
    })
}

const STYLES_HEAD: &str = "\n=== styles: row:column+length\n";
