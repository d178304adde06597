//! Files of a project that its own configuration runs. A hook that stays the same while the script it
//! names changes is another hook.
//!
//! Only what is named is looked at, not what a script in turn runs.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::TrustItem;
use crate::bounded_file;
use crate::sha256;

/// The key under which scripts are told.
pub(crate) const SCRIPT_KEY: &str = "script";

/// The scripts named by these, each as one more thing that needs trust.
pub(crate) fn find_scripts(items: &[TrustItem], root: &Path, cwd: &Path) -> Vec<TrustItem> {
    let mut found: Vec<TrustItem> = Vec::new();
    for item in items.iter().filter(|item| RUNNING.contains(&item.key.as_str())) {
        let mut texts = Vec::new();
        collect_texts(&item.value, &mut texts);
        for path in texts.iter().flat_map(|text| find_named_files(text, root, cwd)) {
            let name = path.display().to_string();
            if found.len() >= SCRIPTS_MAX || found.iter().any(|known| known.name == name) {
                continue;
            }
            // One that is too long or no text cannot be told apart from a changed one.
            let value = match bounded_file::read_bounded(&path) {
                Ok(Some(text)) => json!({ "sha256": sha256::sha256_hex(text.as_bytes()) }),
                Ok(None) => continue,
                Err(why) => {
                    json!({ "unread": why, "size": path.metadata().map(|found| found.len()).ok() })
                }
            };
            found.push(TrustItem { source: item.source, name, key: SCRIPT_KEY.to_owned(), value });
        }
    }
    found
}

fn collect_texts<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(entries) => entries.values().for_each(|value| collect_texts(value, texts)),
        _ => {}
    }
}

/// The words of a command that name a file of the project.
fn find_named_files(text: &str, root: &Path, cwd: &Path) -> Vec<PathBuf> {
    let root_text = root.to_string_lossy();
    let text = text
        .replace("${CLAUDE_PROJECT_DIR}", &root_text)
        .replace("$CLAUDE_PROJECT_DIR", &root_text);
    let words = text.split(|c: char| c.is_whitespace() || "\"'`;|&()<>={}".contains(c));
    let mut files = Vec::new();
    for word in words.filter(|word| !word.is_empty()).take(WORDS_MAX) {
        for base in [cwd, root] {
            let path = base.join(word);
            let is_ours = path.canonicalize().is_ok_and(|real| real.starts_with(root));
            if is_ours && path.is_file() && !files.contains(&path) {
                files.push(path);
            }
        }
    }
    files
}

/// Keys whose texts are commands.
const RUNNING: &[&str] = &["hooks", "statusLine", "apiKeyHelper", "mcpServers"];
const SCRIPTS_MAX: usize = 64;
const WORDS_MAX: usize = 200;
