//! Skills: folders with a `SKILL.md`, of which name and description are shown when they fit the
//! prompt. The model reads the file itself when it wants to use one.

use std::fs;
use std::path::{Path, PathBuf};

use super::Finder;
use super::note::{read_bounded, words};

/// Folders that hold skills.
#[derive(Clone, Debug)]
pub struct SkillFolders {
    folders: Vec<PathBuf>,
}

/// Skills looked at in one folder, and skills shown.
const SKILLS_MAX: usize = 256;
const SHOWN_MAX: usize = 5;
/// Characters of a description that are shown.
const DESCRIPTION_CHARS_MAX: usize = 500;

impl SkillFolders {
    /// Skills in these folders; where two have one name, the first folder's is meant.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders }
    }

    fn skills(&self) -> Vec<Skill> {
        let mut skills: Vec<Skill> = Vec::new();
        for folder in &self.folders {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let mut paths: Vec<PathBuf> =
                entries.map(|entry| entry.path().join("SKILL.md")).take(SKILLS_MAX).collect();
            paths.sort();
            for skill in paths.iter().filter_map(|path| Skill::read(path)) {
                if !skills.iter().any(|known| known.name == skill.name) {
                    skills.push(skill);
                }
            }
        }
        skills
    }
}

impl Finder for SkillFolders {
    fn find(&self, prompt: &str) -> Option<String> {
        let wanted = words(prompt);
        let mut fitting: Vec<(usize, Skill)> = Vec::new();
        for skill in self.skills() {
            let about = words(&format!("{} {}", skill.name.replace('-', " "), skill.description));
            let shared = about.intersection(&wanted).count();
            if shared > 0 {
                fitting.push((shared, skill));
            }
        }
        fitting.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
        let lines: Vec<String> = fitting
            .iter()
            .take(SHOWN_MAX)
            .map(|(_, Skill { name, description, path })| {
                format!("- {name} ({}): {description}", path.display())
            })
            .collect();
        (!lines.is_empty()).then(|| {
            let words =
                "Skills that may help. Load one with Skill, or read its file, before you use it.";
            format!("{words}\n{}", lines.join("\n"))
        })
    }
}

/// What a skill says of itself.
struct Skill {
    name: String,
    description: String,
    path: PathBuf,
}

impl Skill {
    /// Reads the lines between the first two `---`.
    fn read(path: &Path) -> Option<Self> {
        let text = read_bounded(path)?;
        let mut lines = text.lines();
        if lines.next()?.trim_end() != "---" {
            return None;
        }
        let folder = path.parent()?.file_name()?.to_string_lossy().into_owned();
        let (mut name, mut description) = (folder, String::new());
        for line in lines.take_while(|line| line.trim_end() != "---") {
            match line.split_once(':') {
                Some(("name", value)) => name = plain(value),
                Some(("description", value)) => description = plain(value),
                _ => {}
            }
        }
        description = description.chars().take(DESCRIPTION_CHARS_MAX).collect();
        (!description.is_empty()).then(|| Self { name, description, path: path.to_owned() })
    }
}

fn plain(value: &str) -> String {
    value.trim().trim_matches(['"', '\'']).to_owned()
}
