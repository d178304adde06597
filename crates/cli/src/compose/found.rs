//! What people keep in files for all their sessions, looked for once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_driver::{AgentDefinition, Builder, HookSet, NoteFolder, Settings, SkillFolders};

use windlass_vocabulary::ModelFacts;

use super::place::reading_below;
use crate::choice::Cast;
use crate::config::Config;
use crate::environment::Lookup;
use crate::expansion::Pages;
use crate::layers::Layers;
use crate::memory::NearbyFiles;
use crate::{agents, folder, memory, skills, style};

/// What people keep in files for all their sessions.
#[derive(Default)]
pub(super) struct Found {
    pub(super) agents: Vec<AgentDefinition>,
    memory: Option<NoteFolder>,
    /// Where notes for later sessions go.
    notebook: Option<PathBuf>,
    skills: Option<SkillFolders>,
    /// What skills bring along when they are loaded.
    skill_hooks: Vec<(String, HookSet)>,
    nearby: Option<Arc<NearbyFiles>>,
    pub(super) pages: Pages,
    pub(super) skill_folders: Vec<PathBuf>,
    /// Styles of answers, by name.
    pub(super) styles: Vec<String>,
    /// What was left out, and why.
    pub(super) notes: Vec<String>,
}

impl Found {
    /// Gives it to a session.
    pub(super) fn equip(self, mut builder: Builder) -> Builder {
        if let Some(memory) = self.memory {
            builder = builder.memory(memory);
        }
        if let Some(notebook) = self.notebook {
            builder = builder.notebook(notebook);
        }
        if let Some(nearby) = self.nearby {
            builder = builder.nearby(nearby);
        }
        if let Some(skills) = self.skills {
            builder = builder.skills(skills);
        }
        builder.skill_hooks(self.skill_hooks)
    }

    /// Models that agents ask for.
    pub(super) fn models(&self) -> impl Iterator<Item = &str> {
        self.agents.iter().filter_map(|agent| Some(agent.model.as_ref()?.as_str()))
    }

    /// Agents that ask for a model which this session cannot ask.
    pub(super) fn missing(&self, cast: &Cast, models: &[(String, ModelFacts)]) -> Vec<String> {
        let is_known = |wanted: &str| {
            cast.all().any(|one| one.name == wanted)
                || models.iter().any(|(name, _)| name == wanted)
        };
        let missing = self.agents.iter().filter_map(|agent| {
            let wanted = agent.model.as_ref().filter(|wanted| !is_known(wanted.as_str()))?;
            let name = &agent.name;
            Some(format!("the agent {name} wants {wanted}, which cannot be asked here; it asks what the session asks"))
        });
        missing.collect()
    }

    /// Looks for it. A few small files: a first request must not wait for more.
    pub(super) fn look(
        cwd: &Path,
        config: &Config,
        layers: &mut Layers,
        settings: &mut Settings,
        lookup: &impl Lookup,
    ) -> Self {
        // A byte for each token of the window: instructions fill about a quarter of it at most.
        let window = usize::try_from(settings.model.window.0).unwrap_or(usize::MAX);
        let notebook = layers.notebook(&folder::project(cwd), lookup);
        let wanted = memory::Wanted {
            user: layers.sources.user,
            project: layers.sources.project,
            local: layers.sources.local,
            excludes: layers.loaded.settings.claude_md_excludes.clone().unwrap_or_default(),
            notebook: notebook.clone(),
            bytes_max: window.min(INSTRUCTIONS_MAX),
        };
        settings.after = layers.after();
        let instructions = memory::load(cwd, &wanted, lookup);
        settings.user_context = instructions.text.map(Arc::from);
        let (agents, mut notes) = agents::definitions(cwd, config, layers, lookup);
        notes.splice(0..0, instructions.notes);
        let memory = folder::config(lookup).map(|folder| folder.join("memory"));
        let memory = memory.filter(|folder| folder.is_dir()).map(NoteFolder::new);
        let folders = skills::folders(cwd, layers, lookup);
        // The model is shown where a skill lies and reads it itself.
        settings.policy.rules.allow.extend(folders.iter().map(|folder| reading_below(folder)));
        let known = windlass_driver::skills(&folders, |_| false);
        let skill_hooks = skills::hooks(&known, &folder::project(cwd), layers);
        let skill_folders = folders.clone();
        let skills = (!folders.is_empty()).then(|| SkillFolders::new(folders));
        let pages = Pages::find(cwd, layers, &known, lookup);
        let nearby = instructions.nearby;
        let styles = style::all(cwd, layers, lookup);
        notes.extend(style::apply(&styles, &layers.output_style(), &mut settings.system_prompt));
        notes.extend(styles.iter().filter_map(|style| style.problem.clone()));
        let styles = styles.into_iter().map(|style| style.name).collect();
        Self {
            agents,
            memory,
            notebook,
            skills,
            skill_hooks,
            nearby,
            pages,
            skill_folders,
            styles,
            notes,
        }
    }
}

/// Bytes of instructions.
const INSTRUCTIONS_MAX: usize = 256 * 1024;
