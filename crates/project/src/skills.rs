//! Finds skill folders: the user's first, then the project's from the working directory up to its
//! root, then those of plugins. The skills themselves are read during the first request.

use std::path::{Path, PathBuf};

use windlass_driver::hooks::HookSource;
use windlass_driver::{HookSet, SkillDefinition};

use crate::extension_sources::ExtensionSources;
use windlass_host::environment::EnvLookup;
use windlass_host::user_directories;

/// The existing folders. Of several skills with the same name, the first folder's is used.
pub fn find_skill_folders(
    cwd: &Path,
    extensions: ExtensionSources<'_>,
    lookup: &impl EnvLookup,
) -> Vec<PathBuf> {
    let sources = extensions.enabled;
    let project = windlass_settings::find_project_root(cwd);
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
        extensions.plugins.iter().flat_map(|plugin| plugin.component_folders("skills", "skills")),
    );
    let mut seen = Vec::new();
    folders.retain(|folder| {
        let is_new = folder.is_dir() && !seen.contains(folder);
        seen.push(folder.clone());
        is_new
    });
    folders
}

/// The hooks of each skill by its name, and problems of others.
#[derive(Debug, Default)]
pub struct SkillHooks {
    pub by_skill: Vec<(String, HookSet)>,
    pub warnings: Vec<String>,
}

/// The hooks that become active when skills are loaded. Those of a project need trust, and settings
/// that disable hooks apply. Invalid front matter is a warning.
pub fn load_skill_hooks(
    known: &[SkillDefinition],
    project: &Path,
    extensions: ExtensionSources<'_>,
) -> SkillHooks {
    let mut found = SkillHooks::default();
    for skill in known {
        let place = skill.folder.join("SKILL.md");
        if let Some(problem) = &skill.problem {
            found.warnings.push(format!("{}: {problem}", place.display()));
        }
        // The target of a symlink was not covered by the user's trust.
        let is_trusted = !skill.listed_path.starts_with(project)
            || (extensions.trusts_project && !skill.is_link);
        if let Some(hooks) = skill.hooks.as_ref().filter(|_| extensions.allows_hooks && is_trusted)
        {
            let (set, wrong) = HookSet::parse(hooks, &HookSource::new(place.display().to_string()));
            found.warnings.extend(wrong);
            found.by_skill.push((skill.name.clone(), set));
        }
    }
    found
}
