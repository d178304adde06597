//! Words as they really come up in sessions, made of this repository itself: sources as a reading
//! tool shows them, pages, logs of a test run, differences, JSON wide and narrow, other languages,
//! bytes in base64, and recorded traffic. Cut into pieces, in an order that is always the same.

use std::path::{Path, PathBuf};

/// What kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Matter {
    Source,
    Page,
    Log,
    Difference,
    WideJson,
    NarrowJson,
    German,
    Chinese,
    Base64,
    Traffic,
}

/// All there is, by matter.
pub(crate) struct Corpus {
    pieces: Vec<(Matter, Vec<String>)>,
}

impl Corpus {
    /// Reads the repository.
    pub(crate) fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let sources = texts(&root.join("crates"), "rs");
        let lock = std::fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
        let refusals = root.join("crates/dialect/tests/known_refusals.json");
        let refusals = std::fs::read_to_string(refusals).unwrap_or_default();
        let parsed: serde_json::Value = serde_json::from_str(&refusals).unwrap_or_default();
        let narrow = serde_json::to_string(&parsed).unwrap_or_default();
        let traffic = texts(&root.join("cassettes"), "jsonl");
        let pages = [texts(&root.join("docs"), "md"), texts(&root.join("crates"), "md")].concat();
        let bytes: Vec<String> = sources.iter().step_by(9).map(|text| base64(text)).collect();
        let pieces = vec![
            (Matter::Source, cut(&sources.iter().map(|text| numbered(text)).collect::<Vec<_>>())),
            (Matter::Page, cut(&pages)),
            (Matter::Log, cut(&[log(&sources, &lock)])),
            (Matter::Difference, cut(&sources.iter().map(|t| difference(t)).collect::<Vec<_>>())),
            (Matter::WideJson, cut(&[refusals])),
            (Matter::NarrowJson, cut(&[narrow])),
            (Matter::German, cut(&[include_str!("german.txt").to_owned()])),
            (Matter::Chinese, cut(&[include_str!("chinese.txt").to_owned()])),
            (Matter::Base64, cut(&bytes)),
            (Matter::Traffic, cut(&traffic)),
        ];
        Self { pieces }
    }

    /// The piece with this number; they begin anew when they are used up.
    pub(crate) fn piece(&self, matter: Matter, number: usize) -> &str {
        let found = self.pieces.iter().find(|(kind, _)| *kind == matter);
        let pieces = found.map(|(_, pieces)| pieces.as_slice()).unwrap_or_default();
        assert!(!pieces.is_empty(), "there is no {matter:?}");
        &pieces[number % pieces.len()]
    }
}

/// Every text below a folder with this ending, in the order of their paths.
fn texts(folder: &Path, ending: &str) -> Vec<String> {
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|found| found == ending) => paths.push(path),
                false => {}
            }
        }
    }
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

/// Pieces of 300 bytes to 8 KB, cut at lines where there are some.
fn cut(texts: &[String]) -> Vec<String> {
    let mut pieces = Vec::new();
    for text in texts {
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let wanted = 300 + pieces.len() * 2_411 % 7_700;
            let mut end = wanted.min(rest.len());
            while !rest.is_char_boundary(end) {
                end += 1;
            }
            let end = rest[..end].rfind('\n').filter(|line| *line > 0).map_or(end, |line| line + 1);
            pieces.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
    }
    // Neighbours are alike; a session jumps about.
    (0..pieces.len()).map(|place| pieces[place * 7_919 % pieces.len()].clone()).collect()
}

fn numbered(text: &str) -> String {
    let lines = text.lines().enumerate();
    lines.map(|(number, line)| format!("{:>6}\t{line}\n", number + 1)).collect()
}

fn log(sources: &[String], lock: &str) -> String {
    let mut log = String::new();
    let mut names = lock.lines().filter_map(|line| line.strip_prefix("name = "));
    for (number, source) in sources.iter().enumerate() {
        let name = names.next().unwrap_or("\"windlass\"").trim_matches('"');
        log.push_str(&format!("   Compiling {name} v{}.{}.0\n", number % 3, number % 17));
        let tests = source.lines().filter_map(|line| line.trim().strip_prefix("fn "));
        let tests: Vec<&str> = tests.filter_map(|line| line.split('(').next()).collect();
        log.push_str(&format!("\nrunning {} tests\n", tests.len()));
        for test in &tests {
            log.push_str(&format!("test {name}::tests::{test} ... ok\n"));
        }
        log.push_str(&format!(
            "\ntest result: ok. {} passed; 0 failed; 0 ignored; 0 measured; {number} filtered out; \
             finished in {}.{:02}s\n\n",
            tests.len(),
            number % 4,
            number % 100
        ));
    }
    log
}

/// As if every ninth line had been changed.
fn difference(text: &str) -> String {
    let mut out =
        String::from("diff --git a/src/lib.rs b/src/lib.rs\n--- a/src/lib.rs\n+++ b/src/lib.rs\n");
    for (number, line) in text.lines().enumerate() {
        if number % 9 == 4 {
            out.push_str(&format!("-{line}\n+{}\n", line.replace("self", "this")));
        } else if number % 9 == 0 {
            out.push_str(&format!("@@ -{number},9 +{number},9 @@\n {line}\n"));
        } else {
            out.push_str(&format!(" {line}\n"));
        }
    }
    out
}

fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    // What is encoded in earnest is compressed, so it looks like noise.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for byte in text.bytes().take(6_000) {
        state = (state ^ u64::from(byte)).wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(23);
        out.push(char::from(LETTERS[usize::try_from(state >> 58).unwrap_or(0)]));
    }
    out
}
