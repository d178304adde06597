//! The names of remote tools for the model: `mcp__<server>__<tool>`, in characters every provider
//! accepts, at most 64 of them, and unique.

use std::collections::BTreeSet;

use windlass_vocabulary::to_hex;

/// The longest name every provider takes.
const NAME_MAX: usize = 64;

/// The prefix of all tool names of a server. Permission rules refer to it.
#[must_use]
pub fn tool_name_prefix(server: &str) -> String {
    format!("mcp__{}__", to_legal_name(server))
}

/// Assigns names to a server's tools in order, different from each other and from those taken.
pub(crate) fn assign_tool_names<'a>(
    server: &str,
    tools: impl Iterator<Item = &'a str>,
    taken: &mut BTreeSet<String>,
) -> Vec<String> {
    tools
        .map(|tool| {
            let plain = format!("{}{}", tool_name_prefix(server), to_legal_name(tool));
            let is_fit = plain.len() <= NAME_MAX && !taken.contains(&plain);
            let name = if is_fit { plain } else { shorten_with_fingerprint(&plain, server, tool) };
            taken.insert(name.clone());
            name
        })
        .collect()
}

/// Truncates a long name and appends a fingerprint of the full one, to keep it unique.
fn shorten_with_fingerprint(plain: &str, server: &str, tool: &str) -> String {
    let mark = fingerprint(&format!("{server}\0{tool}"));
    let mark = mark.get(..8).unwrap_or(&mark);
    let kept = plain.get(..plain.len().min(NAME_MAX - 9)).unwrap_or(plain);
    format!("{kept}_{mark}")
}

fn to_legal_name(name: &str) -> String {
    let letter = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => letter,
        _ => '_',
    };
    name.chars().map(letter).collect()
}

/// Sixteen bytes in hex. Must stay the same in all versions, because the names are stored.
pub(crate) fn fingerprint(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    to_hex(digest.as_ref().first_chunk::<16>().unwrap_or(&[0; 16]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_legal_short_and_unique() {
        let long = "x".repeat(200);
        let mut taken = BTreeSet::new();
        let tools = ["read file", "read.file", "schreibe_ü", long.as_str(), &long[1..]];
        let names = assign_tool_names("my server", tools.into_iter(), &mut taken);
        assert_eq!(names[0], "mcp__my_server__read_file");
        assert!(names[1].starts_with("mcp__my_server__read_file_"));
        assert_eq!(names[2], "mcp__my_server__schreibe__");
        assert_eq!(taken.len(), 5);
        assert!(names.iter().all(|name| name.len() <= NAME_MAX && to_legal_name(name) == *name));
    }
}
