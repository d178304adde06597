//! The lines between the first two `---` of a Markdown file: keys with texts or lists. The part of
//! YAML that people write there; what is not understood is left out. Also where such files lie.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A file with such lines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page<'a> {
    fields: BTreeMap<String, Vec<String>>,
    /// What stands behind them.
    pub(crate) body: &'a str,
}

impl<'a> Page<'a> {
    /// Reads it; nothing, if it does not begin with `---` or they do not end.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}');
        let (first, rest) = text.split_once('\n')?;
        if first.trim_end() != "---" {
            return None;
        }
        let (mut fields, mut key) = (BTreeMap::<String, Vec<String>>::new(), None::<String>);
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            at += line.len();
            let line = line.trim_end();
            if line == "---" {
                return Some(Self { fields, body: rest.get(at..).unwrap_or_default() });
            }
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            let is_below = line.starts_with([' ', '\t']) || line.starts_with("- ");
            match (is_below, line.split_once(':'), &key) {
                (true, _, Some(key)) => {
                    let item = line.trim().trim_start_matches("- ");
                    fields.entry(key.clone()).or_default().push(plain(item));
                }
                (false, Some((name, value)), _) => {
                    let name = name.trim().to_owned();
                    let value = value.trim();
                    // A sign for a text that follows on lines of its own.
                    let follows = matches!(value, "" | "|" | ">" | "|-" | ">-");
                    let values = if follows { Vec::new() } else { listed(value) };
                    fields.insert(name.clone(), values);
                    key = Some(name);
                }
                _ => {}
            }
        }
        None
    }

    /// A text; one on several lines is joined.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        let text = self.fields.get(key)?.join(" ");
        (!text.trim().is_empty()).then_some(text)
    }

    /// A list, whether it stands on lines, in brackets or between commas.
    pub(crate) fn list(&self, key: &str) -> Option<Vec<String>> {
        let values = self.fields.get(key)?.iter().flat_map(|value| apart(value));
        Some(values.map(plain).filter(|value| !value.is_empty()).collect())
    }
}

fn listed(value: &str) -> Vec<String> {
    match value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(items) => apart(items).map(plain).collect(),
        None => vec![plain(value)],
    }
}

/// What stands between commas, but not those inside braces or brackets.
fn apart(value: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    value.split(move |sign: char| {
        match sign {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        sign == ',' && depth == 0
    })
}

fn plain(value: &str) -> String {
    let value = value.trim();
    let quoted = |sign: char| value.strip_prefix(sign).and_then(|rest| rest.strip_suffix(sign));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value).to_owned()
}

/// Markdown files of a folder and the folders in it, by name.
pub(crate) fn pages(folder: &Path) -> Vec<PathBuf> {
    pages_below(folder, FOLDERS_DEEP)
}

fn pages_below(folder: &Path, depth: u8) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut entries: Vec<_> = entries.flatten().take(FILES_MAX).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if let Some(depth) = depth.checked_sub(1) {
                found.extend(pages_below(&path, depth));
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

const FILES_MAX: usize = 256;
const FOLDERS_DEEP: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_people_write_are_read() {
        let text = "---\nname: \"reviewer\"\n# a comment\ndescription: >\n  Looks at\n  changes: all\n\
                    tools: Read, Grep\nglobs: a.{b,c}, 'Bash(x, y)'\nmore:\n  - one\n  - 'two'\nflow: [a, b]\n---\nThe body.\n---\n";
        let page = Page::parse(text).unwrap();
        assert_eq!(page.text("name").as_deref(), Some("reviewer"));
        assert_eq!(page.text("description").as_deref(), Some("Looks at changes: all"));
        for (key, list) in [
            ("tools", ["Read", "Grep"]),
            ("globs", ["a.{b,c}", "Bash(x, y)"]),
            ("more", ["one", "two"]),
            ("flow", ["a", "b"]),
        ] {
            assert_eq!(page.list(key).unwrap(), list, "{key}");
        }
        assert_eq!(page.body, "The body.\n---\n");
        assert_eq!(page.text("none"), None);
        for wrong in ["", "name: x\n", "---\nname: x\n"] {
            assert_eq!(Page::parse(wrong), None, "{wrong}");
        }
    }
}
