//! `/agents`: the agents that can be started, those that run, and a new one written in an editor.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{InputFeedback, InputValidator, Picker, PickerItem, PromptAction, ValidatedInput};
use windlass_driver::AgentDefinition;
use windlass_host::environment::process_environment;
use windlass_vocabulary::ToolName;

use super::super::prompt_handler::PromptHandler;
use super::super::words;
use super::build_item;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_project::agents;

impl PromptHandler {
    /// Running agents first, then those that can be started.
    pub(super) fn build_agent_picker(&self) -> Picker {
        let mut items = vec![build_item("/agents new", words::AGENT_NEW, words::IN_EDITOR)];
        let running = self.session.background_tasks().into_iter();
        items.extend(running.filter(|task| task.is_agent && task.end_summary.is_none()).map(
            |task| {
                let label = words::label_running_agent(&task.id);
                build_item("", label, to_single_line(&task.command))
            },
        ));
        let files = self.list_agent_files();
        items.extend(self.agents.iter().map(|agent| self.build_agent_item(agent, &files)));
        items.push(build_item("", words::AGENT_GENERAL, words::AGENT_GENERAL_NOTE));
        Picker::new(words::TITLE_AGENTS, items)
    }

    fn build_agent_item(&self, agent: &AgentDefinition, files: &[(String, PathBuf)]) -> PickerItem {
        let file = files.iter().find(|(name, _)| *name == agent.name).map(|(_, path)| path);
        let source = file.map_or(words::AGENT_FROM_FLAG.to_owned(), |path| {
            self.shorten_path(&path.to_string_lossy())
        });
        let tools = agent.tools.as_ref().map_or(words::ALL_TOOLS.to_owned(), |tools| {
            tools.iter().map(ToolName::as_str).collect::<Vec<_>>().join(", ")
        });
        let model = agent.model.as_ref().map_or(words::SAME_MODEL, |model| model.as_str());
        let value = file.map(|_| format!("/agents edit {}", agent.name)).unwrap_or_default();
        let description = to_single_line(&agent.description);
        build_item(value, &agent.name, format!("{source} · {tools} · {model} · {description}"))
    }

    fn list_agent_files(&self) -> Vec<(String, PathBuf)> {
        agents::find_agent_files(
            &self.cwd,
            &self.config,
            self.settings_state.startup_layers.extension_sources(),
            &process_environment,
        )
    }

    pub(super) fn ask_agent_name(&self) -> PromptAction {
        let taken: Vec<String> =
            self.list_agent_files().into_iter().map(|(name, _)| name).collect();
        let check: InputValidator =
            Arc::new(move |name: &str| match find_agent_name_problem(name, &taken) {
                Some(words) => InputFeedback { message: words, is_valid: false },
                None => InputFeedback { message: words::describe_new_agent(name), is_valid: true },
            });
        PromptAction::OpenInput(ValidatedInput::new(words::TITLE_NEW_AGENT, "/agents new ", check))
    }

    /// Writes a template and opens it.
    pub(super) fn create_agent(&self, name: &str) -> Result<PromptAction, CommandError> {
        if let Some(words) = find_agent_name_problem(name, &[]) {
            return Err(CommandError::usage(words));
        }
        let folder = self.cwd.join(".claude/agents");
        let path = folder.join(format!("{name}.md"));
        let failed = |error: std::io::Error| {
            CommandError::failure(match error.kind() {
                ErrorKind::AlreadyExists => words::describe_taken_file(&path),
                _ => words::describe_unwritten_file(&path, &error),
            })
        };
        DirBuilder::new().recursive(true).mode(0o755).create(&folder).map_err(failed)?;
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let written =
            file.and_then(|mut file| file.write_all(words::build_agent_template(name).as_bytes()));
        written.map_err(failed)?;
        Ok(PromptAction::EditFile(path))
    }

    pub(super) fn edit_agent(&self, name: &str) -> Result<PromptAction, CommandError> {
        let file = self.list_agent_files().into_iter().find(|(known, _)| known == name);
        match file {
            Some((_, path)) => Ok(PromptAction::EditFile(path)),
            None => Err(CommandError::usage(words::describe_unknown_agent(name))),
        }
    }
}

/// Why the name cannot be used for a new agent.
fn find_agent_name_problem(name: &str, taken: &[String]) -> Option<String> {
    let is_allowed =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    if name.is_empty() {
        return Some(words::AGENT_NAME_RULE.to_owned());
    }
    if !name.chars().all(is_allowed) || name.starts_with('-') {
        return Some(words::describe_bad_agent_name(name));
    }
    if name.len() > NAME_MAX {
        return Some(words::NAME_TOO_LONG.to_owned());
    }
    let is_taken = taken.iter().any(|known| known == name);
    is_taken.then(|| words::describe_taken_agent(name))
}

const NAME_MAX: usize = 64;
