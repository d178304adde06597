//! The types a piece of code declares: structs, enums and traits, each with its line and its body.
//!
//! Reads text, not syntax: whatever stands at the start of a line, past its visibility, counts.
//! Types that a macro makes are not seen.

use super::source::{braced_bytes, is_word_char};

/// What kind of type is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypeKind {
    /// With named fields, a tuple, or nothing.
    Struct,
    /// A closed list.
    Enum,
    /// A trait.
    Trait,
}

/// One declared type.
pub(super) struct TypeDeclaration<'a> {
    /// Counted from zero.
    pub line: usize,
    /// The keyword that declares it.
    pub kind: TypeKind,
    /// The name without its generics.
    pub name: &'a str,
    /// What stands between its braces; empty for a tuple struct.
    pub body: &'a str,
}

const TYPE_KEYWORDS: &[(&str, TypeKind)] =
    &[("struct ", TypeKind::Struct), ("enum ", TypeKind::Enum), ("trait ", TypeKind::Trait)];

/// The types declared in code whose comments and literals are blanked.
pub(super) fn find_type_declarations(code: &str) -> Vec<TypeDeclaration<'_>> {
    let mut declarations = Vec::new();
    let mut offset = 0_usize;
    for (line, text) in code.split_inclusive('\n').enumerate() {
        let declared = strip_visibility(text.trim_start());
        let keyword = TYPE_KEYWORDS
            .iter()
            .find_map(|(keyword, kind)| declared.strip_prefix(keyword).map(|after| (after, *kind)));
        if let Some((after, kind)) = keyword {
            let name = after.split(|c: char| !is_word_char(c)).next().unwrap_or("");
            let from = offset + text.len() - after.len();
            let (_, rest) = code.split_at_checked(from).unwrap_or((code, ""));
            if name.starts_with(char::is_uppercase) {
                declarations.push(TypeDeclaration { line, kind, name, body: find_body(rest) });
            }
        }
        offset += text.len();
    }
    declarations
}

fn strip_visibility(line: &str) -> &str {
    let Some(rest) = line.strip_prefix("pub") else {
        return line;
    };
    match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(") ").map_or(line, |(_, after)| after),
        None => rest.strip_prefix(' ').unwrap_or(line),
    }
}

/// The text between the braces of a declaration that begins with its name.
fn find_body(declaration: &str) -> &str {
    let Some(at) = declaration.find(['{', ';', '(']) else {
        return "";
    };
    let (_, body) = declaration.split_at_checked(at).unwrap_or((declaration, ""));
    if !body.starts_with('{') {
        return "";
    }
    let inside = body.get(1..braced_bytes(body).saturating_sub(1));
    inside.unwrap_or("")
}

/// The pieces of a list between the commas that stand outside every bracket.
pub(super) fn split_at_commas(list: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut depth = 0_i32;
    let mut start = 0_usize;
    let mut previous = ' ';
    for (at, character) in list.char_indices() {
        match character {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            // The arrow of a function type closes nothing.
            '>' if previous != '-' && previous != '=' => depth -= 1,
            ',' if depth == 0 => {
                pieces.push(list.get(start..at).unwrap_or(""));
                start = at + 1;
            }
            _ => {}
        }
        previous = character;
    }
    pieces.push(list.get(start..).unwrap_or(""));
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_seen_with_their_bodies() {
        let code = "pub(crate) struct A<T> where T: B {\n    a: fn(u8, u8) -> u8,\n    b: C<D, E>,\n}\n\
                    enum F {\n    G(u8, u8),\n}\nstruct H(u8);\npub trait I {}\nlet structure = 1;\n";
        let seen: Vec<(usize, TypeKind, &str, usize)> = find_type_declarations(code)
            .into_iter()
            .map(|one| (one.line, one.kind, one.name, split_at_commas(one.body).len()))
            .collect();
        let expected = [
            (0, TypeKind::Struct, "A", 2),
            (4, TypeKind::Enum, "F", 1),
            (7, TypeKind::Struct, "H", 0),
            (8, TypeKind::Trait, "I", 0),
        ];
        assert_eq!(seen, expected);
    }
}
