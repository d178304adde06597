//! Reads skills, which are folders with a `SKILL.md`, for all callers.
//!
//! The file must not be a symlink: a project could make one that leads to the user's secrets.
//! Invalid front matter is reported, and its valid part is used. Skills of a plugin have the
//! plugin's name as a prefix.

use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use serde_json::Value;

use crate::file;
use crate::front_matter::FrontMatter;

#[derive(Clone, Debug, PartialEq)]
pub struct SkillDefinition {
    pub name: String,
    /// Its description, on one line.
    pub description: String,
    pub argument_hint: Option<String>,
    pub body: String,
    /// The canonical path of its folder.
    pub folder: PathBuf,
    pub listed_path: PathBuf,
    /// The file is a symlink.
    pub is_link: bool,
    pub is_user_only: bool,
    pub is_model_only: bool,
    /// Hooks that are active in the session once it is loaded.
    pub hooks: Option<Value>,
    pub problem: Option<String>,
}

/// All skills of these folders. Of several with the same name, the first folder's is used. Hidden
/// files are not read. May block on the file system.
pub fn load_skills(folders: &[PathBuf], is_hidden: impl Fn(&Path) -> bool) -> Vec<SkillDefinition> {
    let mut known: Vec<SkillDefinition> = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).take(SKILLS_MAX).collect();
        paths.sort();
        let plugin = read_plugin_name(folder);
        for path in paths {
            let Some(mut found) = read_skill(&path, &is_hidden) else { continue };
            if let Some(plugin) = &plugin {
                found.name = format!("{plugin}:{}", found.name);
            }
            if known.iter().all(|one| one.name != found.name) {
                known.push(found);
            }
        }
    }
    known
}

/// The name of the plugin that contains a folder of skills, from its manifest.
fn read_plugin_name(folder: &Path) -> Option<String> {
    let manifest = folder.parent()?.join(".claude-plugin/plugin.json");
    // Reading a pipe at this path would block.
    let text = manifest.is_file().then(|| std::fs::read_to_string(manifest).ok())??;
    let manifest: Value = serde_json::from_str(&text).ok()?;
    manifest.get("name").and_then(Value::as_str).map(str::to_owned)
}

fn read_skill(listed: &Path, is_hidden: impl Fn(&Path) -> bool) -> Option<SkillDefinition> {
    let folder = listed.canonicalize().ok()?;
    let path = folder.join("SKILL.md");
    if is_hidden(&path) {
        return None;
    }
    let flags = file::PATH_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(&folder, flags, Mode::empty()).ok()?;
    let file = file::open_beneath(&directory, Path::new("SKILL.md"), &path).ok()?;
    let bytes = file::read_bounded(&file, SKILL_BYTES_MAX as u64).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let page = FrontMatter::parse(&text);
    let problem = match &page {
        Some(page) => page.problem().map(str::to_owned),
        // It has no front matter, which is fine, or its front matter does not end.
        None => text.starts_with("---\n").then(|| "the lines after `---` never end".to_owned()),
    };
    let body = page.as_ref().map_or(text.as_str(), |page| page.body.trim_start());
    let field = |key: &str| page.as_ref().and_then(|page| page.text(key));
    let flag = |key: &str| page.as_ref().and_then(|page| page.flag(key));
    let about = field("description").unwrap_or_else(|| find_first_line(body));
    let about = match field("when_to_use") {
        Some(when) => format!("{about} {when}"),
        None => about,
    };
    Some(SkillDefinition {
        name: match field("name").filter(|name| is_valid_skill_name(name)) {
            Some(name) => name,
            None => folder.file_name()?.to_str()?.to_owned(),
        },
        description: about,
        argument_hint: field("argument-hint"),
        body: body.to_owned(),
        is_user_only: flag("disable-model-invocation") == Some(true),
        is_model_only: flag("user-invocable") == Some(false),
        hooks: page.as_ref().and_then(|page| page.value("hooks")).cloned(),
        listed_path: listed.to_owned(),
        is_link: listed.is_symlink(),
        folder,
        problem,
    })
}

/// Is this a valid skill name? Front matter may contain anything.
fn is_valid_skill_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.:".contains(c))
}

fn find_first_line(text: &str) -> String {
    let line = text.lines().map(|line| line.trim_start_matches('#').trim());
    line.into_iter().find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

const SKILLS_MAX: usize = 256;
/// Limit on the size of a skill.
pub(crate) const SKILL_BYTES_MAX: usize = 100_000;
