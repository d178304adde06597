//! Project files that its configuration runs. If the script of a hook changes, that counts as a
//! changed hook.
//!
//! Covers only files that are named, not those that a script runs in turn.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{ProjectTrust, TrustItem};
use crate::sha256;

/// The key of scripts in a trust request.
pub(crate) const SCRIPT_KEY: &str = "script";

/// The scripts that these items name, each as an item that needs trust.
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
            let value = match compute_file_digest(&path) {
                Ok(digest) => json!({ DIGEST_FIELD: digest }),
                // An unreadable script cannot be compared.
                Err(why) => {
                    json!({ "unread": why, "size": path.metadata().map(|found| found.len()).ok() })
                }
            };
            found.push(TrustItem { source: item.source, name, key: SCRIPT_KEY.to_owned(), value });
        }
    }
    found
}

/// Trusted scripts with their digests, to be checked before each run.
#[derive(Clone, Debug, Default)]
pub struct TrustedScripts {
    root: PathBuf,
    cwd: PathBuf,
    digests: BTreeMap<PathBuf, String>,
}

impl TrustedScripts {
    pub(crate) fn from_trust(trust: &ProjectTrust, cwd: &Path) -> Self {
        let scripts = trust.items.iter().filter(|item| item.key == SCRIPT_KEY);
        let digest = |item: &TrustItem| {
            let digest = item.value.get(DIGEST_FIELD)?.as_str()?.to_owned();
            Some((PathBuf::from(&item.name).canonicalize().ok()?, digest))
        };
        let digests = scripts.filter_map(digest).collect();
        Self { root: trust.root.clone(), cwd: cwd.to_owned(), digests }
    }

    /// The first project file that this command line names and that has changed since it was
    /// trusted.
    #[must_use]
    pub fn find_changed(&self, command_line: &str) -> Option<PathBuf> {
        let named = find_named_files(command_line, &self.root, &self.cwd);
        named.into_iter().find(|path| {
            let trusted =
                path.canonicalize().ok().and_then(|real| self.digests.get(&real).cloned());
            trusted.is_none() || compute_file_digest(path).ok() != trusted
        })
    }
}

/// Hashes the raw bytes, in any encoding.
fn compute_file_digest(path: &Path) -> Result<String, String> {
    let problem = |error: std::io::Error| format!("it cannot be read: {error}");
    let file = std::fs::File::open(path).map_err(problem)?;
    let mut bytes = Vec::new();
    file.take(SCRIPT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(problem)?;
    match u64::try_from(bytes.len()).is_ok_and(|length| length <= SCRIPT_BYTES_MAX) {
        true => Ok(sha256::sha256_hex(&bytes)),
        false => Err("it is over 64 MiB".to_owned()),
    }
}

/// A larger program cannot be trusted, so it does not run.
const SCRIPT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The field with a script's digest in a trust request.
const DIGEST_FIELD: &str = "sha256";

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
    let text = remove_written_files(&text);
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

/// A file that a command writes is not run by it, and changes every time.
fn remove_written_files(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut pieces = text.split('>');
    kept.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let target = piece.trim_start_matches(['|', '&', ' ']);
        let end = target.find(|c: char| c.is_whitespace() || ";|&()<>".contains(c));
        kept.push(' ');
        kept.push_str(target.get(end.unwrap_or(target.len())..).unwrap_or_default());
    }
    kept
}

/// Keys whose texts are commands.
const RUNNING: &[&str] =
    &["hooks", "statusLine", "apiKeyHelper", "otelHeadersHelper", "mcpServers"];
const SCRIPTS_MAX: usize = 64;
const WORDS_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_files_are_not_taken_for_scripts() {
        for (text, expected) in [
            ("./a.sh > out.log", "./a.sh  "),
            ("./a.sh >>out.log 2>&1; ./b.sh", "./a.sh   2 ; ./b.sh"),
            ("./a.sh", "./a.sh"),
        ] {
            let words = |text: &str| {
                text.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
            };
            assert_eq!(words(&remove_written_files(text)), words(expected), "{text}");
        }
    }

    #[test]
    fn a_script_is_known_by_its_bytes_whatever_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::write(root.join("tool"), [0, 159, 146, 150]).unwrap();
        let item = TrustItem {
            source: windlass_permission::permission_layer::SettingsSource::Project,
            name: "settings.json".to_owned(),
            key: "hooks".to_owned(),
            value: json!({ "command": "./tool --check > out" }),
        };
        let mut items = vec![item];
        items.extend(find_scripts(&items, &root, &root));
        let trust = ProjectTrust::new(root.clone(), items);
        let scripts = TrustedScripts::from_trust(&trust, &root);
        assert_eq!(scripts.find_changed("./tool --check > out"), None);
        std::fs::write(root.join("out"), "written").unwrap();
        assert_eq!(scripts.find_changed("./tool --check > out"), None);
        assert!(scripts.find_changed("./out").is_some(), "made since");
        std::fs::write(root.join("tool"), [0, 159, 146, 151]).unwrap();
        assert!(scripts.find_changed("./tool --check > out").is_some());
    }
}
