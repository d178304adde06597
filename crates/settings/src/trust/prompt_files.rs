//! Prompt files of a project that have effects: commands, skills and agents that run shell
//! snippets, add hooks or servers, or allow tools. This module only detects that they changed; how
//! they are used is decided elsewhere.

use std::path::{Path, PathBuf};

use serde_json::json;
use windlass_permission::permission_layer::SettingsSource;

use super::TrustItem;
use crate::bounded_file;
use crate::sha256;

/// The key of prompt files in a trust request.
pub(crate) const PROMPT_FILES_KEY: &str = "pages that run or allow something";

/// The field with a file's digest in a trust request.
pub(crate) const DIGEST_FIELD: &str = "sha256";

/// The prompt files between the working directory and the project's root.
pub(crate) fn find_prompt_files(root: &Path, cwd: &Path) -> Vec<TrustItem> {
    let mut found = Vec::new();
    let mut left = FILES_MAX;
    for folder in cwd.ancestors().take_while(|folder| folder.starts_with(root)) {
        for name in [".claude/commands", ".claude/agents", ".claude/skills", ".agents/skills"] {
            collect_prompt_files(&folder.join(name), DEPTH_MAX, &mut left, &mut found);
        }
    }
    for folder in cwd.ancestors().take_while(|folder| folder.starts_with(root)) {
        collect_output_styles(&folder.join(".claude/output-styles"), &mut left, &mut found);
    }
    found
}

/// An output style is part of the system prompt, so each one needs trust.
fn collect_output_styles(folder: &Path, left: &mut usize, found: &mut Vec<TrustItem>) {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "md")) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let text = bounded_file::read_bounded(&path).ok().flatten().unwrap_or_default();
        found.push(TrustItem {
            source: SettingsSource::Project,
            name: path.display().to_string(),
            key: "output styles".to_owned(),
            value: json!({ "sha256": sha256::sha256_hex(text.as_bytes()) }),
        });
    }
}

fn collect_prompt_files(folder: &Path, depth: u8, left: &mut usize, found: &mut Vec<TrustItem>) {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        if is_folder && depth > 0 {
            collect_prompt_files(&path, depth - 1, left, found);
        } else if !is_folder && path.extension().is_some_and(|end| end == "md") && *left > 0 {
            *left -= 1;
            let Ok(Some(text)) = bounded_file::read_bounded(&path) else { continue };
            if needs_trust(&text) {
                found.push(TrustItem {
                    source: SettingsSource::Project,
                    name: path.display().to_string(),
                    key: PROMPT_FILES_KEY.to_owned(),
                    value: json!({ DIGEST_FIELD: sha256::sha256_hex(text.as_bytes()) }),
                });
            }
        }
    }
}

fn needs_trust(text: &str) -> bool {
    if text.contains("!`") || text.contains("```!") {
        return true;
    }
    // Must parse like the loader does: up to a line that is exactly `---`.
    let Some(rest) = text.trim_start_matches('\u{feff}').strip_prefix("---") else { return false };
    rest.lines().skip(1).take_while(|line| line.trim_end() != "---").any(|line| {
        let key = line.split(':').next().unwrap_or_default();
        GRANTING.contains(&key.trim_matches(|c: char| c == '"' || c == '\'' || c.is_whitespace()))
    })
}

/// Front matter keys that run or permit something.
const GRANTING: &[&str] = &["hooks", "mcpServers", "allowed-tools", "permissionMode"];
const DEPTH_MAX: u8 = 4;
const FILES_MAX: usize = 2000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_only_talk_need_no_trust() {
        let cases = [
            ("Say hello! `ls` is a command.", false),
            ("---\nname: a\ndescription: hooks: none\ntools: Read\n---\nhooks: in the text", false),
            ("Status: !`git status`", true),
            ("```!\nls\n```", true),
            ("---\nname: a\nhooks:\n  Stop: []\n---\n", true),
            ("---\n\"allowed-tools\": Bash\n---\n", true),
            ("\u{feff}---\nhooks:\n  Stop: []\n---\n", true),
            ("---\nname: a\n---x\nhooks:\n  Stop: []\n---\n", true),
            ("---\r\nname: a\r\npermissionMode: acceptEdits\r\n---\r\n", true),
        ];
        for (text, wanted) in cases {
            assert_eq!(needs_trust(text), wanted, "{text}");
        }
    }
}
