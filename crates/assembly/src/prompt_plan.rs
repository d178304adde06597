//! The stage that reads the first prompt and finds the endpoint of every model.

use std::collections::BTreeMap;

use tokio::runtime::Handle;
use windlass_driver::SessionSettingsView;
use windlass_driver::engine_settings::Settings;
use windlass_driver::{Endpoint, SessionBuilder};
use windlass_vocabulary::{ContentBlock, ModelName, WireFormat};

use crate::options::RunOptions;
use crate::project_files::ProjectFiles;
use crate::prompt_expansion::PromptExpander;
use crate::prompt_input;
use crate::resolved::ResolvedOptions;
use crate::session::SelectedSession;
use crate::session_overview::SessionOverview;
use crate::slash_command;
use crate::slash_command::{FrontEnd, OverviewSection, SlashCommand};
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_provider::config::Config;
use windlass_provider::endpoint;
use windlass_provider::endpoint::{
    CredentialCache, EndpointDescription, EndpointDescriptions, ModelEndpoint,
};
use windlass_provider::model_choice::{ChosenModel, ModelChain};

/// Where the first prompt of a session comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptSource {
    /// From the command line, standard input, or both.
    CommandLine,
    /// From the client or the user, once the session runs.
    Later,
}

pub(crate) struct PromptPlan {
    /// What the first prompt asks for, if there is one already.
    pub(crate) command: Option<SlashCommand>,
    /// Where standard input begins in a prompt of the command line.
    pub(crate) piped_from: Option<usize>,
    /// Of every model in the chain, the primary first.
    pub(crate) endpoints: Vec<(ModelName, ModelEndpoint)>,
}

impl PromptPlan {
    /// Endpoints are resolved before standard input is read: a slow pipe is worth waiting for only
    /// when the rest is right.
    pub(crate) fn resolve(
        options: &RunOptions,
        source: PromptSource,
        has_deferred_call: bool,
        resolved: &ResolvedOptions,
        lookup: &impl EnvLookup,
    ) -> Result<Self, CommandError> {
        let model_chain = &resolved.model_chain;
        let resolve_endpoints = || resolve_endpoints(model_chain, &resolved.config, lookup);
        let has_prompt = source == PromptSource::CommandLine;
        if options.session.continue_run && (has_prompt || options.reads_stream_json()) {
            let command = match has_deferred_call {
                true => SlashCommand::ResumeDeferredCall,
                false => SlashCommand::ContinueRun,
            };
            return Ok(Self::new(Some(command), resolve_endpoints()?));
        }
        let prompt = match prompt_input::read_from_command_line(options)? {
            Some(_) if !has_prompt => {
                return Err(CommandError::usage(
                    "prompts come over standard input with --input-format stream-json; leave the one \
                     on the command line out",
                ));
            }
            None if !has_prompt => {
                return Ok(Self::new(None, resolve_endpoints()?));
            }
            None => {
                let command = match prompt_input::read_from_stdin()? {
                    Some(prompt) => slash_command::parse_prompt(prompt, FrontEnd::Headless)?,
                    // A call that waits for a decision needs no prompt.
                    None if has_deferred_call => SlashCommand::ResumeDeferredCall,
                    None => return Err(prompt_input::empty_prompt_error()),
                };
                return Ok(Self::new(Some(command), resolve_endpoints()?));
            }
            Some(prompt) => prompt,
        };
        if let Ok(command) = slash_command::parse_prompt(prompt.clone(), FrontEnd::Headless)
            && command.needs_no_model()
        {
            // A command that only looks needs no key.
            let endpoints =
                resolve_endpoints().unwrap_or_else(|_| placeholder_endpoints(model_chain));
            return Ok(Self::new(Some(command), endpoints));
        }
        let endpoints = resolve_endpoints()?;
        let typed_bytes = prompt.len();
        let prompt = prompt_input::append_stdin(prompt)?;
        let piped_from = Some(typed_bytes).filter(|typed| *typed < prompt.len());
        let command = slash_command::parse_prompt(prompt, FrontEnd::Headless)?;
        Ok(Self { piped_from, ..Self::new(Some(command), endpoints) })
    }

    const fn new(
        command: Option<SlashCommand>,
        endpoints: Vec<(ModelName, ModelEndpoint)>,
    ) -> Self {
        Self { command, piped_from: None, endpoints }
    }

    /// Refuses a command that does not fit the session. One that only looks at a new session leaves no
    /// journal behind.
    pub(crate) fn check_session(
        &self,
        mut session: SelectedSession,
    ) -> Result<SelectedSession, CommandError> {
        let Some(command) = &self.command else { return Ok(session) };
        if *command == SlashCommand::ContinueRun {
            session.check_unfinished()?;
        }
        if command.needs_history() && !session.is_continued {
            return Err(CommandError::usage(
                "a new session has nothing to report on; add -c, or -r and an id",
            ));
        }
        if command.is_read_only() && !session.is_continued {
            session.journal = None;
        }
        Ok(session)
    }
}

/// Replaces a custom command by its text, and fills in what a command shows. Shell snippets of custom
/// commands run here, on the runtime this was called from.
pub(crate) fn expand_command(
    command: SlashCommand,
    piped_from: Option<usize>,
    resolved: &ResolvedOptions,
    files: &ProjectFiles,
    expander: &PromptExpander,
) -> Result<SlashCommand, CommandError> {
    match command {
        SlashCommand::Show { section, .. } => {
            let mcp_servers = &expander.tools.mcp_servers;
            if section == OverviewSection::McpServers {
                Handle::current().block_on(mcp_servers.wait_until_settled(MCP_CONNECT_WAIT));
            }
            let overview = SessionOverview {
                settings: &SessionSettingsView::from(&resolved.engine_settings),
                agents: &files.agents,
                custom_commands: &files.custom_commands,
                layers: &resolved.layers,
                mcp_servers,
            };
            Ok(SlashCommand::Show { section, text: overview.render(section) })
        }
        SlashCommand::SubmitPrompt(submission) if !submission.pinned => {
            let own_words = piped_from.and_then(|start| match submission.content.as_slice() {
                [ContentBlock::Text(text)] => text.get(..start).map(str::to_owned),
                _ => None,
            });
            let expanded = expander.expand_with_own_words(submission, own_words);
            let expanded = Handle::current().block_on(expanded)?;
            Ok(SlashCommand::SubmitPrompt(expanded))
        }
        unchanged @ (SlashCommand::SubmitPrompt(_)
        | SlashCommand::Compact(_)
        | SlashCommand::Context
        | SlashCommand::Cost
        | SlashCommand::Diff(_)
        | SlashCommand::ContinueRun
        | SlashCommand::ResumeDeferredCall
        | SlashCommand::Clear
        | SlashCommand::Resume(_)
        | SlashCommand::Rewind(_)
        | SlashCommand::SideQuestion(_)
        | SlashCommand::Why
        | SlashCommand::TerminalAction(_)) => Ok(unchanged),
    }
}

/// Endpoints for a run that asks no model.
fn placeholder_endpoints(model_chain: &ModelChain) -> Vec<(ModelName, ModelEndpoint)> {
    let description = EndpointDescription {
        provider: String::new(),
        base_url: UNUSED_BASE_URL.to_owned(),
        key_advice: String::new(),
        address_advice: String::new(),
    };
    let endpoint = || Endpoint::new(WireFormat::AnthropicMessages, UNUSED_BASE_URL);
    let placeholder = |model: &ChosenModel| {
        let server = ModelEndpoint { endpoint: endpoint(), description: description.clone() };
        (ModelName::from(model.name.as_str()), server)
    };
    model_chain.all().map(placeholder).collect()
}

/// Every endpoint is resolved now: a fallback without a key would otherwise fail only when it is
/// needed.
pub(crate) fn resolve_endpoints(
    model_chain: &ModelChain,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<Vec<(ModelName, ModelEndpoint)>, CommandError> {
    let mut credentials = CredentialCache::default();
    let resolve = |model: &ChosenModel| {
        let server = endpoint::resolve_endpoint(model, config, &mut credentials, lookup)?;
        Ok((ModelName::from(model.name.as_str()), server))
    };
    model_chain.all().map(resolve).collect()
}

/// A session in which each model uses its own endpoint.
pub(crate) fn build_with_endpoints(
    settings: Settings,
    endpoints: Vec<(ModelName, ModelEndpoint)>,
    config: Config,
) -> Result<(SessionBuilder, EndpointDescriptions), CommandError> {
    let mut endpoints = endpoints.into_iter();
    let Some((name, primary)) = endpoints.next() else {
        return Err(CommandError::usage("no model is set; give one with --model"));
    };
    let mut by_model = BTreeMap::from([(name, primary.description.clone())]);
    let mut builder = SessionBuilder::new(settings, primary.endpoint);
    for (name, ModelEndpoint { endpoint, description }) in endpoints {
        builder = builder.endpoint_for(name.clone(), endpoint);
        by_model.insert(name, description);
    }
    Ok((builder, EndpointDescriptions { config, primary: primary.description, by_model }))
}

/// How long `/mcp` waits for servers that are being connected.
const MCP_CONNECT_WAIT: std::time::Duration = std::time::Duration::from_secs(10);
const UNUSED_BASE_URL: &str = "http://127.0.0.1:9";
