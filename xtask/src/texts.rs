//! `cargo xtask texts CRATE…`: every sentence of these crates that a person or a model may read, file by file, so that
//! they can be read top to bottom. Front ends keep theirs in `words.rs`; libraries say theirs where an error is
//! made, and this is where they are seen together.

use std::io::Write;
use std::path::Path;

use crate::tidy::RepositoryTree;
use crate::tidy::source::find_strings;

/// What can follow `cargo xtask`.
pub const USAGE: &str = "cargo xtask texts CRATE...";

/// Prints the texts.
///
/// # Errors
///
/// When the repository cannot be read, or a name is that of no crate.
pub fn run(root: &Path, crates: &[&str]) -> Result<(), String> {
    let tree = RepositoryTree::read(root)?;
    if crates.is_empty() {
        return Err(format!("usage: {USAGE}"));
    }
    let mut page = String::new();
    for name in crates {
        let folder = format!("crates/{name}/src/");
        let mut files = tree.rust_files().filter(|file| file.path.starts_with(&folder)).peekable();
        if files.peek().is_none() {
            return Err(format!("there is no crate {name} below crates/"));
        }
        for file in files.filter(|file| !file.path.contains("/tests")) {
            let sentences = list_sentences(&file.text);
            if !sentences.is_empty() {
                page.push_str(&format!("\n{}\n", file.path));
            }
            for sentence in sentences {
                page.push_str(&format!("{:>5}  {}\n", sentence.line + 1, sentence.text));
            }
        }
    }
    // A pager that is left early is no failure.
    let _ = std::io::stdout().write_all(page.as_bytes());
    Ok(())
}

/// A text, and the line it begins on, counted from zero.
pub struct Sentence {
    /// Counted from zero.
    pub line: usize,
    /// On one line.
    pub text: String,
}

/// The string literals that say something, in order; those of tests are left out.
#[must_use]
pub fn list_sentences(source: &str) -> Vec<Sentence> {
    let tests =
        source.split("#[cfg(test)]\nmod ").next().map_or(0, |code| code.matches('\n').count());
    let strings = find_strings(source).into_iter().take_while(|(line, _)| *line <= tests);
    let sentences = strings.map(|(line, text)| {
        let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "\\").collect();
        Sentence { line, text: words.join(" ") }
    });
    sentences.filter(|sentence| is_sentence(&sentence.text)).collect()
}

/// Three words in a row: less than that is a name, a flag or a format.
fn is_sentence(text: &str) -> bool {
    let is_word = |word: &str| {
        let bare = word.trim_matches(|letter: char| ",.;:!?()`\"'".contains(letter));
        bare.len() > 1 && bare.chars().all(char::is_alphabetic)
    };
    let words: Vec<&str> = text.split(' ').collect();
    words.windows(3).any(|three| three.iter().all(|word| is_word(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_found_and_formats_are_not() {
        let source = "// \"not this one, it is a comment\"\nconst A: &str = \"the file \\\n    is not \
                      there\";\nlet b = format!(\"{a} · {b}\");\nlet c = r\"a raw text, too\";\n\
                      #[cfg(test)]\nmod tests {\n    const T: &str = \"this is a test\";\n}\n";
        let found = list_sentences(source);
        let texts: Vec<(usize, &str)> =
            found.iter().map(|sentence| (sentence.line, sentence.text.as_str())).collect();
        assert_eq!(texts, [(1, "the file is not there"), (4, "a raw text, too")]);
    }
}
