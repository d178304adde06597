//! Rust text taken apart just far enough: which characters are code, which are comment, and which
//! are inside a literal. Line breaks stay where they are, so a line number holds in every view.
//!
//! This is not a parser. It knows literals, comments and matching braces; that is all a rule about
//! words and lengths needs, and it works on files that do not compile.

/// Two views of one file, each as long as the file in lines.
pub struct SplitSource {
    /// The code, with comments and the insides of literals blanked.
    pub code: String,
    /// The comments, with everything else blanked.
    pub comments: String,
}

/// Takes a file apart.
#[must_use]
pub fn split_source(text: &str) -> SplitSource {
    let mut source = SplitSource { code: String::new(), comments: String::new() };
    let mut rest = text;
    while !rest.is_empty() {
        let (bytes, kind) = scan_piece(rest);
        let (taken, after) = rest.split_at_checked(bytes).unwrap_or((rest, ""));
        for character in taken.chars() {
            let blank = if character == '\n' { '\n' } else { ' ' };
            source.code.push(if kind == SourceTextKind::Code { character } else { blank });
            source.comments.push(if kind == SourceTextKind::Comment { character } else { blank });
        }
        rest = after;
    }
    source
}

/// What stands between the quotes of each string, and the line it begins on, counted from zero. A byte is
/// as it is written: escapes are not resolved.
#[must_use]
pub fn find_strings(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut line = 0_usize;
    let mut rest = text;
    while !rest.is_empty() {
        let (bytes, kind) = scan_piece(rest);
        let (taken, after) = rest.split_at_checked(bytes).unwrap_or((rest, ""));
        if kind == SourceTextKind::Literal
            && let Some((_, inside)) = taken.split_once('"')
            && let Some((inside, _)) = inside.rsplit_once('"')
        {
            found.push((line, inside.to_owned()));
        }
        line += taken.matches('\n').count();
        rest = after;
    }
    found
}

/// The code with every item under `#[cfg(test)]` blanked.
#[must_use]
pub fn blank_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut kept = String::new();
    let mut rest = code;
    while let Some((before, after)) = rest.split_once(MARK) {
        kept.push_str(before);
        let bytes = item_bytes(after);
        let (item, next) = after.split_at_checked(bytes).unwrap_or((after, ""));
        kept.extend(item.chars().filter(|character| *character == '\n'));
        rest = next;
    }
    kept.push_str(rest);
    kept
}

/// The identifiers of a piece of code, each with the line it stands on, counted from zero.
pub fn identifiers(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.lines().enumerate().flat_map(|(index, line)| {
        line.split(|character: char| !is_word_char(character))
            .filter(|word| !word.is_empty())
            .map(move |word| (index, word))
    })
}

/// The words of a name, in lower case: `turnsMax`, `TurnsMax` and `turns_max` are "turns" and "max".
pub fn split_words(name: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::new();
    for character in name.chars() {
        if character.is_uppercase() {
            spaced.push(' ');
        }
        spaced.push(if character == '_' { ' ' } else { character });
    }
    let words: Vec<String> = spaced.split_whitespace().map(str::to_lowercase).collect();
    words.into_iter()
}

/// A function: the line it starts on, its name, and how many lines of code its body has.
pub struct RustFunction<'a> {
    /// Counted from zero.
    pub line: usize,
    /// What it is called.
    pub name: &'a str,
    /// Lines between its braces that hold code.
    pub lines: usize,
}

/// The functions of a piece of code that have a body.
#[must_use]
pub fn find_functions(code: &str) -> Vec<RustFunction<'_>> {
    let mut found = Vec::new();
    for (start, _) in code.match_indices("fn ") {
        let (before, after) = code.split_at_checked(start).unwrap_or((code, ""));
        if before.chars().next_back().is_some_and(is_word_char) {
            continue;
        }
        let signature = after.strip_prefix("fn ").unwrap_or(after);
        let name = signature.split(|c: char| !is_word_char(c)).next().unwrap_or("");
        let Some(end) = signature.find(['{', ';']) else {
            continue;
        };
        let Some((_, body)) = signature.split_at_checked(end) else {
            continue;
        };
        if name.is_empty() || body.starts_with(';') {
            continue;
        }
        let (body, _) = body.split_at_checked(braced_bytes(body)).unwrap_or((body, ""));
        let lines = body.lines().filter(|line| !line.trim().is_empty()).count();
        let line = before.matches('\n').count();
        found.push(RustFunction { line, name, lines: lines.saturating_sub(2) });
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SourceTextKind {
    Code,
    Comment,
    Literal,
}

/// How many bytes the next piece has, and what it is.
fn scan_piece(rest: &str) -> (usize, SourceTextKind) {
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), SourceTextKind::Comment);
    }
    if rest.starts_with("/*") {
        return (block_comment_bytes(rest), SourceTextKind::Comment);
    }
    if let Some(bytes) = raw_string_bytes(rest) {
        return (bytes, SourceTextKind::Literal);
    }
    if let Some(inside) = rest.strip_prefix('"') {
        return (1 + quoted_bytes(inside, '"'), SourceTextKind::Literal);
    }
    if let Some(inside) = rest.strip_prefix('\'') {
        return match character_bytes(inside) {
            Some(bytes) => (1 + bytes, SourceTextKind::Literal),
            None => (1, SourceTextKind::Code),
        };
    }
    let word = rest.find(|character| !is_word_char(character)).unwrap_or(rest.len());
    let first = rest.chars().next().map_or(1, char::len_utf8);
    (word.max(first), SourceTextKind::Code)
}

fn block_comment_bytes(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut bytes = 0_usize;
    while let Some((_, here)) = rest.split_at_checked(bytes) {
        if here.starts_with("/*") {
            depth += 1;
            bytes += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            bytes += 2;
            if depth == 0 {
                return bytes;
            }
        } else {
            let Some(character) = here.chars().next() else {
                break;
            };
            bytes += character.len_utf8();
        }
    }
    rest.len()
}

fn raw_string_bytes(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r"].into_iter().find(|prefix| rest.starts_with(prefix))?;
    let hashed = rest.strip_prefix(prefix)?;
    let inside = hashed.trim_start_matches('#');
    let hashes = hashed.len() - inside.len();
    let inside = inside.strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inside.find(&close).map_or(inside.len(), |at| at + close.len());
    Some(prefix.len() + hashes + 1 + end)
}

/// Bytes up to and with the closing quote, past any escapes.
fn quoted_bytes(inside: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in inside.char_indices() {
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if character == quote {
            return at + quote.len_utf8();
        }
    }
    inside.len()
}

/// Bytes of a character literal after its opening quote, or nothing if this is a lifetime.
fn character_bytes(inside: &str) -> Option<usize> {
    let mut characters = inside.chars();
    let first = characters.next()?;
    if first == '\\' {
        return Some(quoted_bytes(inside, '\''));
    }
    (characters.next()? == '\'').then_some(first.len_utf8() + 1)
}

/// Bytes of the item that follows an attribute: up to its semicolon or its closing brace.
fn item_bytes(after: &str) -> usize {
    let Some(at) = after.find(['{', ';']) else {
        return after.len();
    };
    let Some((_, body)) = after.split_at_checked(at) else {
        return after.len();
    };
    if body.starts_with(';') { at + 1 } else { at + braced_bytes(body) }
}

/// Bytes from an opening brace to the one that closes it.
pub(super) fn braced_bytes(body: &str) -> usize {
    let mut depth = 0_usize;
    for (at, character) in body.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    body.len()
}

pub(super) fn is_word_char(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
