//! The recording in the documents, made from the demo: the real binary at a terminal, its screens as
//! an SVG, light and dark. The test holds that the files are what a recording gives today; with
//! `WINDLASS_RECORD=1` it writes them.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use windlass_rehearsal::demo;

use super::talk::{ASKED, READY, Talk};
use crate::fixture::{PATIENCE, TestDirs, play};

const ROWS: u16 = 24;
const COLUMNS: u16 = 84;

/// One row of a screen: pieces of the same look.
type Row = Vec<(String, CellStyle)>;

#[derive(Clone, Copy, PartialEq, Eq)]
struct CellStyle {
    colour: vt100::Color,
    is_strong: bool,
    is_quiet: bool,
    is_turned: bool,
}

/// What the demo looks like at its best moments.
fn recorded(theme: &str) -> Vec<Vec<Row>> {
    let dirs = TestDirs::new();
    demo::write_project(&dirs.work()).expect("the project");
    let script = demo::build_script(&dirs.work()).pace(Duration::ZERO);
    let server = play(script);
    let flags = ["--session-id", "0c0ffee0-0000-4000-8000-000000000000"];
    let mut command = dirs.asking(&server.url(), &flags);
    // So that no name of this machine is in the picture.
    command.env("HOME", dirs.work().parent().expect("a folder")).env("WINDLASS_THEME", theme);
    let mut talk = Talk::sized(command, ROWS, COLUMNS);
    talk.until(READY);
    talk.key(demo::prompt());
    talk.until("fix it.");
    let mut frames = vec![still(&talk)];
    talk.key("\r");
    loop {
        let shown = talk.when("a question or the end", |screen| {
            let shown = screen.contents();
            shown.contains(ASKED) || (shown.contains("All six months") && shown.contains(READY))
        });
        frames.push(still(&talk));
        if shown.contains("All six months") {
            break;
        }
        talk.key("2");
        talk.until_gone(ASKED);
    }
    assert_eq!(talk.end(), Some(0));
    frames
}

/// The screen once nothing changes on it: what is counted or read beside the conversation comes a
/// moment later.
fn still(talk: &Talk) -> Vec<Row> {
    let limit = Instant::now() + PATIENCE;
    let mut last = rows(talk);
    let mut since = Instant::now();
    while since.elapsed() < STILL && Instant::now() < limit {
        std::thread::park_timeout(Duration::from_millis(20));
        let now = rows(talk);
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    last
}

const STILL: Duration = Duration::from_millis(800);

fn rows(talk: &Talk) -> Vec<Row> {
    talk.look(|screen| {
        let row = |row: u16| {
            let mut pieces: Row = Vec::new();
            for column in 0..COLUMNS {
                let Some(cell) =
                    screen.cell(row, column).filter(|cell| !cell.is_wide_continuation())
                else {
                    continue;
                };
                let look = CellStyle {
                    colour: cell.fgcolor(),
                    is_strong: cell.bold(),
                    is_quiet: cell.dim(),
                    is_turned: cell.inverse(),
                };
                let text = if cell.has_contents() { cell.contents() } else { " " };
                match pieces.last_mut() {
                    Some((words, last)) if *last == look => words.push_str(text),
                    _ => pieces.push((text.to_owned(), look)),
                }
            }
            pieces
        };
        settled((0..ROWS).map(row).collect())
    })
}

/// How long things took and how full the window is differ from machine to machine.
fn steady(words: &str) -> String {
    let mut steady = String::new();
    let mut rest = words;
    while let Some(at) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, digits) = rest.split_at(at);
        let length = digits.chars().take_while(char::is_ascii_digit).count();
        let (digits, behind) = digits.split_at(length);
        let is_unsteady =
            behind.starts_with('%') || behind.starts_with(" s ") || behind.starts_with(" s,");
        steady.push_str(before);
        steady.push_str(if is_unsteady { "2" } else { digits });
        rest = behind;
    }
    steady + rest
}

/// Two files read side by side are done in any order, and how long a call took is left out.
fn settled(mut frame: Vec<Row>) -> Vec<Row> {
    let is_read = |row: &Row| words(row).starts_with("● Read(");
    for at in 1..frame.len() {
        if is_read(&frame[at - 1])
            && is_read(&frame[at])
            && words(&frame[at - 1]) > words(&frame[at])
        {
            frame.swap(at - 1, at);
        }
    }
    for row in frame.iter_mut().filter(|row| words(row).starts_with("● ")) {
        row.retain(|(piece, look)| !(look.is_quiet && piece.trim().ends_with(" s")));
    }
    frame
}

fn words(row: &Row) -> String {
    let words: String = row.iter().map(|(words, _)| words.as_str()).collect();
    words.trim_end().to_owned()
}

fn drawn(frames: &[Vec<Row>], is_light: bool) -> String {
    let (ground, plain, quiet) = if is_light {
        ("#ffffff", "#24292f", "#6e7781")
    } else {
        ("#161b22", "#e6edf3", "#8b949e")
    };
    let width = f32::from(COLUMNS) * 8.4 + 24.0;
    let height = f32::from(ROWS) * 18.0 + 24.0;
    let count = frames.len();
    let seconds = count * 3;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"A session of Windlass\">\n<style>\n\
         text {{ font: 14px ui-monospace, Menlo, Consolas, monospace; white-space: pre; fill: {plain} }}\n\
         .q {{ fill: {quiet} }} .b {{ font-weight: bold }}\n\
         g {{ visibility: hidden; animation: {seconds}s step-end infinite }}\n"
    );
    let share = 100.0 / f64::from(u32::try_from(count).expect("few"));
    for number in 0..count {
        let from = share * f64::from(u32::try_from(number).expect("few"));
        let to = from + share;
        let lead =
            if number == 0 { String::new() } else { "0% { visibility: hidden } ".to_owned() };
        let _ = writeln!(
            svg,
            "@keyframes f{number} {{ {lead}{from:.2}% {{ visibility: visible }} {to:.2}% {{ visibility: hidden }} }}"
        );
        let _ = writeln!(svg, "#f{number} {{ animation-name: f{number} }}");
    }
    let _ = write!(
        svg,
        "</style>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{ground}\"/>\n"
    );
    for (number, frame) in frames.iter().enumerate() {
        let _ = writeln!(svg, "<g id=\"f{number}\">");
        for (row, pieces) in frame.iter().enumerate() {
            if words(pieces).is_empty() {
                continue;
            }
            let y = row * 18 + 26;
            let _ = write!(svg, "<text x=\"12\" y=\"{y}\">");
            for (words, look) in pieces {
                svg.push_str(&piece(&steady(words), *look, is_light));
            }
            svg.push_str("</text>\n");
        }
        svg.push_str("</g>\n");
    }
    svg + "</svg>\n"
}

fn piece(words: &str, look: CellStyle, is_light: bool) -> String {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let mut class = String::new();
    if look.is_quiet {
        class.push_str(" q");
    }
    if look.is_strong || look.is_turned {
        class.push_str(" b");
    }
    let mut marks = String::new();
    if !class.is_empty() {
        let _ = write!(marks, " class=\"{}\"", class.trim());
    }
    if let Some(colour) = colour(look.colour, is_light) {
        let _ = write!(marks, " fill=\"{colour}\"");
    }
    if look.is_turned {
        marks.push_str(" text-decoration=\"underline\"");
    }
    if marks.is_empty() { words } else { format!("<tspan{marks}>{words}</tspan>") }
}

fn colour(colour: vt100::Color, is_light: bool) -> Option<&'static str> {
    let vt100::Color::Idx(number) = colour else { return None };
    Some(match (number, is_light) {
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
        _ => return None,
    })
}

#[test]
fn the_recording_is_what_it_looks_like_today() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/recording");
    for (theme, is_light) in [("dark", false), ("light", true)] {
        let svg = drawn(&recorded(theme), is_light);
        let path = folder.join(format!("{theme}.svg"));
        if std::env::var_os("WINDLASS_RECORD").is_some() {
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(&path, &svg).expect("a file");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        let differs = kept.lines().zip(svg.lines()).find(|(one, other)| one != other);
        assert!(
            kept == svg,
            "the {theme} recording is old; set WINDLASS_RECORD=1 and run this test again: {differs:?}"
        );
    }
}
