//! Skills: folders with a `SKILL.md`. Name and description are shown when they fit the prompt; the
//! model reads the file itself when it wants to use the skill.

use std::path::PathBuf;

use windlass_tool::{SkillDefinition, load_skills};

use super::AttachmentFinder;
use super::memory_folder::extract_keywords;

/// Folders that contain skills.
#[derive(Clone, Debug)]
pub struct SkillFolders {
    folders: Vec<PathBuf>,
}

/// Limit on the skills shown.
const SHOWN_MAX: usize = 5;
/// Limit on the characters shown of a description.
const DESCRIPTION_CHARS_MAX: usize = 500;

impl SkillFolders {
    /// Uses the skills in these folders. Of several with the same name, the first folder's is used.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders }
    }
}

impl AttachmentFinder for SkillFolders {
    fn find(&self, prompt: &str) -> Option<String> {
        let wanted = extract_keywords(prompt);
        let mut fitting: Vec<(usize, SkillDefinition)> = Vec::new();
        let known = load_skills(&self.folders, |_| false);
        for skill in known.into_iter().filter(|skill| !skill.is_user_only) {
            let about = extract_keywords(&format!(
                "{} {}",
                skill.name.replace('-', " "),
                skill.description
            ));
            let shared = about.intersection(&wanted).count();
            if shared > 0 {
                fitting.push((shared, skill));
            }
        }
        fitting.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
        let lines: Vec<String> = fitting
            .iter()
            .take(SHOWN_MAX)
            .map(|(_, SkillDefinition { name, description: about, folder, .. })| {
                let about: String = about.chars().take(DESCRIPTION_CHARS_MAX).collect();
                format!("- {name} ({}): {about}", folder.join("SKILL.md").display())
            })
            .collect();
        (!lines.is_empty()).then(|| {
            let words =
                "Skills that may help. Load one with Skill, or read its file, before you use it.";
            format!("{words}\n{}", lines.join("\n"))
        })
    }
}
