//! Pages of a project that do more than talk to the model: commands, skills and agents that run shell
//! snippets, bring hooks or servers, or let tools run unasked. Which of them are used, and how, is known
//! elsewhere; here it only counts that they changed.

use std::path::{Path, PathBuf};

use serde_json::json;
use windlass_permission::permission_layer::SettingsSource;

use super::TrustItem;
use crate::bounded_file;
use crate::sha256;

/// The key under which pages are told.
pub(crate) const PROMPT_FILES_KEY: &str = "pages that run or allow something";

/// Those between where we are and the root of the project.
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

/// A style is a part of what the model is told with authority, whatever it says.
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
                    value: json!({ "sha256": sha256::sha256_hex(text.as_bytes()) }),
                });
            }
        }
    }
}

fn needs_trust(text: &str) -> bool {
    if text.contains("!`") || text.contains("```!") {
        return true;
    }
    // Read as the loader of the page reads it: up to a line that is the mark and nothing else.
    let Some(rest) = text.trim_start_matches('\u{feff}').strip_prefix("---") else { return false };
    rest.lines().skip(1).take_while(|line| line.trim_end() != "---").any(|line| {
        let key = line.split(':').next().unwrap_or_default();
        GRANTING.contains(&key.trim_matches(|c: char| c == '"' || c == '\'' || c.is_whitespace()))
    })
}

/// Keys at the head of a page that run or allow something.
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
