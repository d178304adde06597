//! The stage that reads what users keep in files for all their sessions: memory, agents, skills,
//! commands, output styles. A few small files, because the first request waits for them.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_driver::{AgentDefinition, HookSet, MemoryFolder, SessionBuilder, SkillFolders};
use windlass_vocabulary::ModelFacts;

use crate::directories::build_read_rule;
use crate::options::RunOptions;
use crate::resolved::ResolvedOptions;
use windlass_host::environment::{self, EnvLookup};
use windlass_host::user_directories;
use windlass_project::custom_command::CustomCommands;
use windlass_project::memory::PathInstructionFiles;
use windlass_project::{agents, memory, output_style, skills};
use windlass_provider::model_choice::ModelChain;

#[derive(Default)]
pub(crate) struct ProjectFiles {
    pub(crate) agents: Vec<AgentDefinition>,
    pub(crate) custom_commands: CustomCommands,
    pub(crate) skill_folders: Vec<PathBuf>,
    pub(crate) output_styles: Vec<String>,
    /// What the memory files say.
    instructions: Option<Arc<str>>,
    path_instructions: Option<Arc<PathInstructionFiles>>,
    /// The system prompt in the output style of the settings.
    styled_prompt: Option<Arc<str>>,
    memory_folder: Option<MemoryFolder>,
    /// Where notes for later sessions go.
    auto_memory_file: Option<PathBuf>,
    skills: Option<SkillFolders>,
    /// Hooks that skills bring along when they are loaded.
    skill_hooks: Vec<(String, HookSet)>,
    /// What was left out, and why.
    notes: Vec<String>,
    /// Warnings that are always shown.
    warnings: Vec<String>,
}

impl ProjectFiles {
    pub(crate) fn load(
        options: &RunOptions,
        resolved: &ResolvedOptions,
        lookup: &impl EnvLookup,
    ) -> Self {
        if !options.loads_project_files() {
            return Self::default();
        }
        let root = options.settings.resolve_project_root(&resolved.cwd);
        let project = windlass_settings::find_project_root(&root);
        let layers = &resolved.layers;
        let extensions = layers.extension_sources();
        // A byte for each token of the window: instructions fill about a quarter of it at most.
        let window = usize::try_from(resolved.engine_settings.model.window.0).unwrap_or(usize::MAX);
        let auto_memory_file = layers.auto_memory_file(&project, lookup);
        let memory_options = memory::MemoryOptions {
            user: layers.sources.user,
            project: layers.sources.project,
            local: layers.sources.local,
            excludes: layers.loaded.settings.memory.claude_md_excludes.clone().unwrap_or_default(),
            auto_memory_file: auto_memory_file.clone(),
            more_folders: match environment::is_switched_on(lookup, MORE_MEMORY_VARIABLE) {
                true => resolved.directories.clone(),
                false => Vec::new(),
            },
            bytes_max: window.min(INSTRUCTIONS_MAX),
            policy: resolved.engine_settings.policy.clone(),
        };
        let instructions = memory::load_memory_files(&root, &memory_options, lookup);
        let (agents, agent_notes) =
            agents::load_agent_definitions(&root, &resolved.config, extensions, lookup);
        let memory = user_directories::config_directory(lookup).map(|folder| folder.join("memory"));
        let has_commands = !options.settings.disable_slash_commands;
        let skill_folders = match has_commands {
            true => skills::find_skill_folders(&root, extensions, lookup),
            false => Vec::new(),
        };
        let known_skills = windlass_driver::load_skills(&skill_folders, |_| false);
        let skill_hooks = skills::load_skill_hooks(&known_skills, &project, extensions);
        let styles = output_style::load_output_styles(&root, extensions, lookup);
        let mut styled_prompt = Arc::clone(&resolved.engine_settings.prompt.system_prompt);
        let style_note =
            output_style::apply_output_style(&styles, &layers.output_style(), &mut styled_prompt);
        let mut notes = instructions.notes;
        notes.extend(agent_notes);
        notes.extend(style_note);
        notes.extend(styles.iter().filter_map(|style| style.problem.clone()));
        Self {
            agents,
            custom_commands: match has_commands {
                true => CustomCommands::load(&root, extensions, &known_skills, lookup),
                false => CustomCommands::default(),
            },
            output_styles: styles.into_iter().map(|style| style.name).collect(),
            instructions: instructions.text.map(Arc::from),
            path_instructions: instructions.path_instructions,
            styled_prompt: Some(styled_prompt),
            memory_folder: memory.filter(|folder| folder.is_dir()).map(MemoryFolder::new),
            auto_memory_file,
            skills: (!skill_folders.is_empty()).then(|| SkillFolders::new(skill_folders.clone())),
            skill_folders,
            skill_hooks: skill_hooks.by_skill,
            notes,
            warnings: skill_hooks.warnings,
        }
    }

    /// The options, with what the files say to the model and let it read.
    pub(crate) fn apply_to(&mut self, mut resolved: ResolvedOptions) -> ResolvedOptions {
        let settings = &mut resolved.engine_settings;
        settings.prompt.user_context = self.instructions.take();
        // The model gets the path of a skill and reads it itself.
        let skill_rules = self.skill_folders.iter().map(|folder| build_read_rule(folder));
        settings.policy.rules.allow.extend(skill_rules);
        if let Some(prompt) = self.styled_prompt.take() {
            settings.prompt.system_prompt = prompt;
        }
        self.warnings.drain(..).for_each(|warning| resolved.layers.warn(warning));
        resolved.notes.append(&mut self.notes);
        resolved
    }

    /// Passes on what is read during the session.
    pub(crate) fn apply_to_builder(self, mut builder: SessionBuilder) -> SessionBuilder {
        if let Some(folder) = self.memory_folder {
            builder = builder.memory(folder);
        }
        if let Some(file) = self.auto_memory_file {
            builder = builder.memory_file(file);
        }
        if let Some(files) = self.path_instructions {
            builder = builder.path_instructions(files);
        }
        if let Some(skills) = self.skills {
            builder = builder.skills(skills);
        }
        builder.skill_hooks(self.skill_hooks)
    }

    pub(crate) fn agent_models(&self) -> impl Iterator<Item = &str> {
        self.agents.iter().filter_map(|agent| Some(agent.model.as_ref()?.as_str()))
    }

    /// A line for each agent that asks for a model which this session cannot ask.
    pub(crate) fn describe_missing_models(
        &self,
        model_chain: &ModelChain,
        named_models: &[(String, ModelFacts)],
    ) -> Vec<String> {
        let is_known = |wanted: &str| {
            model_chain.all().any(|one| one.name == wanted)
                || named_models.iter().any(|(name, _)| name == wanted)
        };
        let missing = self.agents.iter().filter_map(|agent| {
            let wanted = agent.model.as_ref().filter(|wanted| !is_known(wanted.as_str()))?;
            let name = &agent.name;
            Some(format!(
                "the agent {name} wants {wanted}, which is not available here; it uses \
                          the model of the session"
            ))
        });
        missing.collect()
    }
}

/// Enables memory files of additional directories.
const MORE_MEMORY_VARIABLE: &str = "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD";
const INSTRUCTIONS_MAX: usize = 256 * 1024;
