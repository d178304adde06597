//! Files of a project that its own configuration runs. A hook that stays the same while the script it
//! names changes is another hook.
//!
//! Only what is named is looked at, not what a script in turn runs.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Withheld;
use crate::digest;
use crate::file;

/// The key under which scripts are told.
pub(crate) const KEY: &str = "script";

/// The scripts named by these, each as one more thing that needs trust.
pub(crate) fn scripts(items: &[Withheld], root: &Path, cwd: &Path) -> Vec<Withheld> {
    let mut found: Vec<Withheld> = Vec::new();
    for item in items.iter().filter(|item| RUNNING.contains(&item.key.as_str())) {
        let mut texts = Vec::new();
        collect(&item.value, &mut texts);
        for path in texts.iter().flat_map(|text| named(text, root, cwd)) {
            let name = path.display().to_string();
            if found.len() >= SCRIPTS_MAX || found.iter().any(|known| known.name == name) {
                continue;
            }
            // One that is too long or no text cannot be told apart from a changed one.
            let value = match file::read(&path) {
                Ok(Some(text)) => json!({ "sha256": digest::of(text.as_bytes()) }),
                Ok(None) => continue,
                Err(why) => {
                    json!({ "unread": why, "size": path.metadata().map(|found| found.len()).ok() })
                }
            };
            found.push(Withheld { source: item.source, name, key: KEY.to_owned(), value });
        }
    }
    found
}

fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(entries) => entries.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

/// The words of a command that name a file of the project.
fn named(text: &str, root: &Path, cwd: &Path) -> Vec<PathBuf> {
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
