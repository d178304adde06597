//! Where skills lie: the user's first, then the project's from where we are up to its root, then
//! those of plugins. Folders only; the skills in them are looked for beside the first request.

use std::path::{Path, PathBuf};

use windlass_driver::hooks::HookSource;
use windlass_driver::{HookSet, SkillDefinition};

use crate::environment::EnvLookup;
use crate::settings::SettingsLayers;
use crate::user_directories;

/// The folders that are there; where two hold a skill of one name, the first folder's is meant.
pub(crate) fn find_skill_folders(
    cwd: &Path,
    layers: &SettingsLayers,
    lookup: &impl EnvLookup,
) -> Vec<PathBuf> {
    let sources = layers.sources;
    let project = user_directories::find_project_root(cwd);
    let mut folders: Vec<PathBuf> = user_directories::claude_directory(lookup)
        .map(|folder| folder.join("skills"))
        .into_iter()
        .chain(user_directories::home_directory(lookup).map(|home| home.join(".agents/skills")))
        .filter(|_| sources.user)
        .collect();
    for folder in
        cwd.ancestors().take_while(|folder| sources.project && folder.starts_with(&project))
    {
        folders.push(folder.join(".claude/skills"));
        folders.push(folder.join(".agents/skills"));
    }
    folders.extend(
        layers.plugins.iter().flat_map(|plugin| plugin.component_folders("skills", "skills")),
    );
    let mut seen = Vec::new();
    folders.retain(|folder| {
        let is_new = folder.is_dir() && !seen.contains(folder);
        seen.push(folder.clone());
        is_new
    });
    folders
}

/// What skills bring along when they are loaded. A project's waits for trust, and whoever switched
/// hooks off meant these too. A head that cannot be read is told.
pub(crate) fn load_skill_hooks(
    known: &[SkillDefinition],
    project: &Path,
    layers: &mut SettingsLayers,
) -> Vec<(String, HookSet)> {
    let (trusts, may_hook) = (layers.trusts_project(), layers.allows_extension_hooks());
    let mut found = Vec::new();
    for skill in known {
        let place = skill.folder.join("SKILL.md");
        if let Some(problem) = &skill.problem {
            layers.warn(format!("{}: {problem}", place.display()));
        }
        // What a link leads to is nothing anybody said yes to.
        let is_trusted = !skill.listed_path.starts_with(project) || (trusts && !skill.is_link);
        if let Some(hooks) = skill.hooks.as_ref().filter(|_| may_hook && is_trusted) {
            let (set, wrong) = HookSet::parse(hooks, &HookSource::new(place.display().to_string()));
            wrong.into_iter().for_each(|line| layers.warn(line));
            found.push((skill.name.clone(), set));
        }
    }
    found
}
