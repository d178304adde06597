//! Parses one instruction file: its text without comments, and its imports. Understands enough
//! Markdown to ignore comments and imports in code.

use std::io::ErrorKind;
use std::path::Path;

use super::import;
use crate::bounded_file::read_bounded;
use crate::markdown_files::FrontMatter;
use windlass_host::regular_file::RegularFileError;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct MemoryFileContent {
    pub(super) text: String,
    /// Its imports, as written.
    pub(super) imports: Vec<String>,
}

/// Reads it, or returns why not. Front matter is not for the model.
pub(super) fn read_memory_file(path: &Path) -> Result<MemoryFileContent, String> {
    let text = read_text(path)?;
    Ok(parse_memory_file(FrontMatter::parse(&text).map_or(text.as_str(), |page| page.body)))
}

/// The files to which it is limited, if it has patterns.
pub(super) fn read_path_patterns(path: &Path) -> Result<Option<Vec<String>>, String> {
    let text = read_text(path)?;
    Ok(FrontMatter::parse(&text)
        .and_then(|page| page.list("paths"))
        .filter(|paths| !paths.is_empty()))
}

fn read_text(path: &Path) -> Result<String, String> {
    read_bounded(path, BYTES_MAX).map_err(|error| match error {
        RegularFileError::Io(error) if error.kind() == ErrorKind::InvalidData => {
            "it is not UTF-8".to_owned()
        }
        RegularFileError::Io(error) => error.to_string(),
        RegularFileError::NotRegular(_) => "it is not a file".to_owned(),
        RegularFileError::TooLong(_) => "it is over 4 MiB".to_owned(),
    })
}

fn parse_memory_file(text: &str) -> MemoryFileContent {
    let mut stripped = String::new();
    let mut imports = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    let mut in_comment = false;
    for line in text.lines() {
        let start = line.trim_start();
        if in_comment {
            in_comment = !line.contains("-->");
            continue;
        }
        match (fence, parse_fence(start)) {
            (None, Some(opened)) => fence = Some(opened),
            (Some((sign, length)), Some((other, long))) if sign == other && long >= length => {
                fence = None;
            }
            (Some(_), _) => {}
            (None, None) if start.starts_with("<!--") => {
                in_comment = !start.contains("-->");
                let rest = start.split_once("-->").map_or("", |(_, rest)| rest);
                if rest.trim().is_empty() {
                    continue;
                }
                stripped.push_str(rest.trim_start());
                stripped.push('\n');
                imports.extend(import::find_mentions(rest));
                continue;
            }
            (None, None) => imports.extend(import::find_mentions(line)),
        }
        stripped.push_str(line);
        stripped.push('\n');
    }
    imports.truncate(IMPORTS_MAX);
    MemoryFileContent { text: stripped, imports }
}

/// The character and length of a code fence, if this line starts or ends one.
fn parse_fence(line: &str) -> Option<(char, usize)> {
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = line.chars().take_while(|one| *one == sign).count();
    // An inline code span may start with as many characters, but then it ends on the same line.
    let is_span = sign == '`' && line.trim_start_matches('`').contains('`');
    (length >= 3 && !is_span).then_some((sign, length))
}

const BYTES_MAX: u64 = 4 << 20;
const IMPORTS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_imports_count_outside_code_alone() {
        let text = "<!-- hidden\n@hidden.md -->\nUse @docs/style.md and `@not.md`.\n```\n@code.md\n\
                    <!-- shown -->\n```\n~~~~\n~~~\n@deep.md\n~~~~\n<!-- a --> rest @b.md\nmail a@b.c\n";
        let MemoryFileContent { text, imports } = parse_memory_file(text);
        assert_eq!(imports, ["docs/style.md", "b.md"]);
        assert!(!text.contains("hidden") && text.contains("<!-- shown -->"), "{text}");
        assert!(text.contains("rest @b.md") && text.contains("@deep.md"), "{text}");
    }
}
