//! Expands prompts: `/name arguments` becomes the text of a custom command, with its arguments
//! inserted, shell snippets replaced by their output, and the file of every `@file` appended.
//!
//! Nothing here may do more than a tool may: a command and a file go through the same rules and the
//! same tools as the model's own calls. A project's custom command runs nothing and grants nothing
//! before the project is trusted.

mod file_mention;
mod prompt_tools;

use std::sync::Arc;

use windlass_driver::{PromptSubmission, SlashCommandCall};
use windlass_permission::Rule;
use windlass_vocabulary::{ContentBlock, ModelName};

pub use prompt_tools::PromptTools;
use windlass_host::command_error::CommandError;
use windlass_project::argument_substitution::{ArgumentSubstitution, ExpansionVariables};
use windlass_project::custom_command::{CommandAuthor, CustomCommand, CustomCommands};
use windlass_project::shell_snippet::{self, PromptSegment};
use windlass_settings::TrustedPages;
use windlass_telemetry::TelemetryObserver;

use crate::telemetry::report_command;

/// A custom command in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomCommandEntry {
    /// Without the slash.
    pub name: String,
    pub description: String,
    pub argument_hint: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ExpandedPrompt {
    text: String,
    /// The files it mentions, each with its name before it.
    files: Vec<String>,
    /// Rules that the command allows, for this prompt only.
    allow: Vec<Rule>,
    /// The model for this prompt only.
    model: Option<ModelName>,
    custom_command: Option<SlashCommandCall>,
}

#[derive(Clone, Debug)]
pub struct PromptExpander {
    pub custom_commands: CustomCommands,
    pub variables: ExpansionVariables,
    pub tools: PromptTools,
    /// Is told which prompts were commands.
    pub telemetry: Option<Arc<TelemetryObserver>>,
}

impl PromptExpander {
    /// Custom commands, then prompts of MCP servers.
    pub fn list_commands(&self) -> Vec<CustomCommandEntry> {
        let custom_commands = self.custom_commands.iter().map(|page| CustomCommandEntry {
            name: page.name.clone(),
            description: page.description.clone(),
            argument_hint: page.argument_hint.clone().unwrap_or_default(),
        });
        let prompts =
            self.tools.mcp_servers.prompt_commands().into_iter().map(|prompt| CustomCommandEntry {
                argument_hint: prompt.argument_hint(),
                name: prompt.name,
                description: prompt.description,
            });
        custom_commands.chain(prompts).collect()
    }

    /// Expands a message into what the model gets, with the rules it grants for itself alone.
    pub async fn expand(
        &self,
        submission: PromptSubmission,
    ) -> Result<PromptSubmission, CommandError> {
        self.expand_with_own_words(submission, None).await
    }

    /// The same for a prompt of which only these words are the user's own. What was piped in or pasted,
    /// others may have written: a file that is named there is read only if the model may read it
    /// without asking.
    pub async fn expand_with_own_words(
        &self,
        submission: PromptSubmission,
        own_words: Option<String>,
    ) -> Result<PromptSubmission, CommandError> {
        let typed = match submission.content.as_slice() {
            [ContentBlock::Text(text)] => Some(text.clone()).filter(|text| text.starts_with('/')),
            _ => None,
        };
        let tools = self.tools.clone();
        let commands = &self.custom_commands;
        let expanded =
            expand_submission(submission, own_words, commands, &self.variables, tools).await?;
        if let Some((telemetry, typed)) = self.telemetry.as_ref().zip(typed) {
            report_command(telemetry, &typed, &expanded);
        }
        Ok(expanded)
    }
}

/// Expands a message, with the rules that it permits for itself. Only text is expanded; a message
/// with images is left unchanged.
async fn expand_submission(
    mut submission: PromptSubmission,
    own_words: Option<String>,
    custom_commands: &CustomCommands,
    names: &ExpansionVariables,
    prompt_tools: PromptTools,
) -> Result<PromptSubmission, CommandError> {
    if let [ContentBlock::Text(text)] = submission.content.as_slice()
        && may_call_commands(own_words.as_deref())
        && let Some(content) = prompt_tools.mcp_servers.expand_prompt(text).await
    {
        submission.content = content.map_err(CommandError::failure)?;
        return Ok(submission);
    }
    if let [ContentBlock::Text(text)] = submission.content.as_mut_slice() {
        let text_given = std::mem::take(text);
        let expanded =
            expand_prompt(text_given, own_words, custom_commands, names, prompt_tools).await?;
        *text = expanded.text;
        submission.content.extend(expanded.files.into_iter().map(ContentBlock::Text));
        submission.allow.extend(expanded.allow);
        submission.model = expanded.model;
        submission.slash_command = expanded.custom_command;
    }
    Ok(submission)
}

/// Only the user calls commands: a page that is pasted may begin with a slash.
fn may_call_commands(own_words: Option<&str>) -> bool {
    own_words.is_none_or(|words| words.trim_start().starts_with('/'))
}

/// Expands a prompt into what the model gets. One that names no custom command stays as it is; the files
/// it mentions are put behind them.
async fn expand_prompt(
    prompt: String,
    own_words: Option<String>,
    custom_commands: &CustomCommands,
    names: &ExpansionVariables,
    mut prompt_tools: PromptTools,
) -> Result<ExpandedPrompt, CommandError> {
    let found = custom_commands.find_invoked(&prompt);
    let found = found.filter(|_| may_call_commands(own_words.as_deref()));
    let Some((custom, words)) = found else {
        let own_words = own_words.as_deref().unwrap_or(&prompt);
        let files = file_mention::read_mentioned_files(&prompt, own_words, &prompt_tools).await;
        return Ok(ExpandedPrompt { text: prompt, files, ..ExpandedPrompt::default() });
    };
    let permitted = match custom.is_link {
        true => prompt_tools.may_read(&custom.path.to_string_lossy()),
        false => Ok(()),
    };
    let page = permitted.and_then(|()| custom.read_content()).map_err(|problem| {
        CommandError::failure(format!("/{}: {}: {problem}", custom.name, custom.path.display()))
    })?;
    let may_run = custom.author == CommandAuthor::User
        || prompt_tools.trusted_pages.covers(&custom.path, &page.text);
    let allow = if may_run { page.allow.clone() } else { Vec::new() };
    prompt_tools.policy.rules.allow.extend(allow.iter().cloned());
    let folder = custom.folder();
    let filling = ArgumentSubstitution::new(words, &page.arguments, names, &folder);
    let mut text = String::new();
    let mut used = false;
    for piece in shell_snippet::split_segments(&page.body) {
        match piece {
            PromptSegment::Text(part) => {
                let (part, has_used) = filling.substitute(part);
                text.push_str(&part);
                used |= has_used;
            }
            PromptSegment::Command(_) if !prompt_tools.may_run_snippets => {
                text.push_str(SNIPPETS_DISABLED);
            }
            PromptSegment::Command(_) if !may_run => {
                return Err(report_untrusted(custom, &prompt_tools.trusted_pages));
            }
            PromptSegment::Command(command) => {
                let (command, has_used) = filling.substitute(command);
                used |= has_used;
                let submission = prompt_tools.run_command(&command).await.map_err(|why| {
                    CommandError::failure(format!(
                        "/{}: `{command}` was not run: {why}",
                        custom.name
                    ))
                })?;
                text.push_str(&submission);
            }
        }
    }
    if !used && !words.is_empty() {
        text = format!("{}\n\nARGUMENTS: {words}", text.trim_end());
    }
    let model = page.model.as_deref().map(|model| names.resolve_model(model));
    let source = if custom.author == CommandAuthor::User { "user" } else { "project" };
    let page =
        Some(SlashCommandCall { name: custom.name.clone(), arguments: words.to_owned(), source });
    let files = file_mention::read_mentioned_files(&text, "", &prompt_tools).await;
    Ok(ExpandedPrompt { text, files, allow, model, custom_command: page })
}

fn report_untrusted(custom: &CustomCommand, trusted_pages: &TrustedPages) -> CommandError {
    let (name, path) = (&custom.name, custom.path.display());
    CommandError::failure(match trusted_pages.trusts_project {
        true => format!(
            "/{name} of this project runs commands, and {path} has changed since the session began; look \
             at it, run `windlass trust`, and resume the session"
        ),
        false => format!(
            "/{name} of this project runs commands, and the project is not trusted; look at {path}, \
             then trust the project"
        ),
    })
}

/// Replaces a shell snippet that settings disable.
const SNIPPETS_DISABLED: &str = "[a command is not run here: disableSkillShellExecution]";
