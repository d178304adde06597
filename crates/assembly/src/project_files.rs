//! What people keep in files for all their sessions, looked for once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_driver::engine_settings::Settings;
use windlass_driver::{AgentDefinition, HookSet, MemoryFolder, SessionBuilder, SkillFolders};

use windlass_vocabulary::ModelFacts;

use super::directories::build_read_rule;
use crate::settings::SettingsLayers;
use windlass_host::environment::EnvLookup;
use windlass_host::user_directories;
use windlass_project::custom_command::CustomCommands;
use windlass_project::memory::PathInstructionFiles;
use windlass_project::{agents, memory, output_style, skills};
use windlass_provider::config::Config;
use windlass_provider::model_choice::ModelChain;

/// What people keep in files for all their sessions.
#[derive(Default)]
pub(super) struct ProjectFiles {
    pub(super) agents: Vec<AgentDefinition>,
    memory_folder: Option<MemoryFolder>,
    /// Where notes for later sessions go.
    auto_memory_file: Option<PathBuf>,
    skills: Option<SkillFolders>,
    /// What skills bring along when they are loaded.
    skill_hooks: Vec<(String, HookSet)>,
    path_instructions: Option<Arc<PathInstructionFiles>>,
    pub(super) custom_commands: CustomCommands,
    pub(super) skill_folders: Vec<PathBuf>,
    /// Styles of answers, by name.
    pub(super) styles: Vec<String>,
    /// What was left out, and why.
    pub(super) notes: Vec<String>,
}

impl ProjectFiles {
    /// Gives it to a session.
    pub(super) fn apply_to_builder(self, mut builder: SessionBuilder) -> SessionBuilder {
        if let Some(memory) = self.memory_folder {
            builder = builder.memory(memory);
        }
        if let Some(notebook) = self.auto_memory_file {
            builder = builder.memory_file(notebook);
        }
        if let Some(nearby) = self.path_instructions {
            builder = builder.path_instructions(nearby);
        }
        if let Some(skills) = self.skills {
            builder = builder.skills(skills);
        }
        builder.skill_hooks(self.skill_hooks)
    }

    /// Models that agents ask for.
    pub(super) fn agent_models(&self) -> impl Iterator<Item = &str> {
        self.agents.iter().filter_map(|agent| Some(agent.model.as_ref()?.as_str()))
    }

    /// Agents that ask for a model which this session cannot ask.
    pub(super) fn describe_missing_models(
        &self,
        cast: &ModelChain,
        models: &[(String, ModelFacts)],
    ) -> Vec<String> {
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
    pub(super) fn load(
        cwd: &Path,
        config: &Config,
        layers: &mut SettingsLayers,
        settings: &mut Settings,
        lookup: &impl EnvLookup,
    ) -> Self {
        // A byte for each token of the window: instructions fill about a quarter of it at most.
        let window = usize::try_from(settings.model.window.0).unwrap_or(usize::MAX);
        let auto_memory_file =
            layers.auto_memory_file(&user_directories::find_project_root(cwd), lookup);
        let wanted = memory::MemoryOptions {
            user: layers.sources.user,
            project: layers.sources.project,
            local: layers.sources.local,
            excludes: layers.loaded.settings.memory.claude_md_excludes.clone().unwrap_or_default(),
            auto_memory_file: auto_memory_file.clone(),
            bytes_max: window.min(INSTRUCTIONS_MAX),
        };
        settings.after = layers.after_run_options();
        let instructions = memory::load_memory_files(cwd, &wanted, lookup);
        settings.user_context = instructions.text.map(Arc::from);
        let (agents, mut notes) =
            agents::load_agent_definitions(cwd, config, layers.extension_sources(), lookup);
        notes.splice(0..0, instructions.notes);
        let memory = user_directories::config_directory(lookup).map(|folder| folder.join("memory"));
        let memory_folder = memory.filter(|folder| folder.is_dir()).map(MemoryFolder::new);
        let folders = skills::find_skill_folders(cwd, layers.extension_sources(), lookup);
        // The model is shown where a skill lies and reads it itself.
        settings.policy.rules.allow.extend(folders.iter().map(|folder| build_read_rule(folder)));
        let known = windlass_driver::load_skills(&folders, |_| false);
        let skill_hooks = skills::load_skill_hooks(
            &known,
            &user_directories::find_project_root(cwd),
            layers.extension_sources(),
        );
        skill_hooks.warnings.into_iter().for_each(|warning| layers.warn(warning));
        let skill_folders = folders.clone();
        let skills = (!folders.is_empty()).then(|| SkillFolders::new(folders));
        let custom_commands = CustomCommands::load(cwd, layers.extension_sources(), &known, lookup);
        let path_instructions = instructions.path_instructions;
        let styles = output_style::load_output_styles(cwd, layers.extension_sources(), lookup);
        notes.extend(output_style::apply_output_style(
            &styles,
            &layers.output_style(),
            &mut settings.system_prompt,
        ));
        notes.extend(styles.iter().filter_map(|style| style.problem.clone()));
        let styles = styles.into_iter().map(|style| style.name).collect();
        Self {
            agents,
            memory_folder,
            auto_memory_file,
            skills,
            skill_hooks: skill_hooks.by_skill,
            path_instructions,
            custom_commands,
            skill_folders,
            styles,
            notes,
        }
    }
}

/// Bytes of instructions.
const INSTRUCTIONS_MAX: usize = 256 * 1024;
