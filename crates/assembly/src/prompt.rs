//! What is asked for, in the words it stands for, and the servers of everybody who may be asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::Handle;
use windlass_driver::engine_settings::Settings;
use windlass_driver::{Endpoint, SessionBuilder, SessionSettingsView, ToolSessionContext};
use windlass_vocabulary::{ModelName, WireFormat};

use super::project_files::ProjectFiles;
use crate::options::RunOptions;
use crate::prompt_expansion;
use crate::prompt_expansion::PromptTools;
use crate::prompt_input;
use crate::session::SelectedSession;
use crate::session_overview::SessionOverview;
use crate::settings::SettingsLayers;
use crate::slash_command;
use crate::slash_command::{FrontEnd, OverviewSection, SlashCommand};
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_project::argument_substitution::ExpansionVariables;
use windlass_provider::config::Config;
use windlass_provider::endpoint;
use windlass_provider::endpoint::{CredentialCache, EndpointDescription, ModelEndpoint};
use windlass_provider::model_choice::{ChosenModel, ModelChain};

/// Where each model of a session lives.
#[derive(Clone, Debug)]
pub struct EndpointDescriptions {
    /// The table, for names that are near.
    pub config: Config,
    /// Whose a model without a place of its own is.
    pub primary: EndpointDescription,
    /// By the model's name.
    pub by_model: BTreeMap<ModelName, EndpointDescription>,
}

impl EndpointDescriptions {
    /// Where this model lives.
    pub fn for_model(&self, model: Option<&ModelName>) -> &EndpointDescription {
        model.and_then(|model| self.by_model.get(model)).unwrap_or(&self.primary)
    }
}

/// What is asked for, if that is known already, and the servers of everybody who may be asked.
type PromptAndEndpoints = (Option<SlashCommand>, Vec<(ModelName, ModelEndpoint)>);

/// The prompt and whom to ask. A slow pipe is worth waiting for only when the rest is right.
pub(super) fn resolve_prompt_and_endpoints(
    args: &RunOptions,
    (has_prompt, is_put_off): (bool, bool),
    cast: &ModelChain,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<PromptAndEndpoints, CommandError> {
    if args.session.continue_run && has_prompt {
        let order =
            if is_put_off { SlashCommand::ResumeDeferredCall } else { SlashCommand::ContinueRun };
        return Ok((Some(order), resolve_endpoints(cast, config, lookup)?));
    }
    let asked = match prompt_input::read_from_command_line(args)? {
        Some(_) if !has_prompt => {
            return Err(CommandError::usage(
                "prompts come over standard input with --input-format stream-json; leave the one \
                 on the command line out",
            ));
        }
        None if !has_prompt => return Ok((None, resolve_endpoints(cast, config, lookup)?)),
        None => {
            let order = match prompt_input::read_from_stdin()? {
                Some(words) => slash_command::parse_prompt(words, FrontEnd::Headless)?,
                // Nothing has to be said to a call that waits for a decision.
                None if is_put_off => SlashCommand::ResumeDeferredCall,
                None => return Err(prompt_input::empty_prompt_error()),
            };
            return Ok((Some(order), resolve_endpoints(cast, config, lookup)?));
        }
        Some(asked) => asked,
    };
    if let Ok(order) = slash_command::parse_prompt(asked.clone(), FrontEnd::Headless)
        && order.needs_no_model()
    {
        // Whoever only looks needs no key.
        let servers = resolve_endpoints(cast, config, lookup);
        return Ok((Some(order), servers.unwrap_or_else(|_| placeholder_endpoints(cast))));
    }
    let servers = resolve_endpoints(cast, config, lookup)?;
    Ok((
        Some(slash_command::parse_prompt(prompt_input::append_stdin(asked)?, FrontEnd::Headless)?),
        servers,
    ))
}

/// Servers that are never asked.
fn placeholder_endpoints(cast: &ModelChain) -> Vec<(ModelName, ModelEndpoint)> {
    let place = EndpointDescription {
        provider: String::new(),
        base_url: UNUSED_BASE_URL.to_owned(),
        key_advice: String::new(),
        address_advice: String::new(),
    };
    let endpoint = || Endpoint::new(WireFormat::AnthropicMessages, UNUSED_BASE_URL);
    let server = |chosen: &ChosenModel| {
        let server = ModelEndpoint { endpoint: endpoint(), description: place.clone() };
        (ModelName::from(chosen.name.as_str()), server)
    };
    cast.all().map(server).collect()
}

/// What the prompt asks for. One that only looks at a session that is new leaves none behind.
pub(super) fn check_session_for_command(
    order: SlashCommand,
    kept: &mut SelectedSession,
) -> Result<SlashCommand, CommandError> {
    if order == SlashCommand::ContinueRun {
        kept.check_unfinished()?;
    }
    if order.needs_history() && !kept.is_continued {
        return Err(CommandError::usage(
            "nothing was said in a new session; go on with one: add -c, or -r and its id",
        ));
    }
    if order.is_read_only() && !kept.is_continued {
        kept.journal = None;
    }
    Ok(order)
}

/// The order in the words it stands for: what a page says in the place of its name, and what is in
/// force for whoever asks. Commands of a page run now, on the runtime this was started from.
pub(super) fn expand_command(
    order: Option<SlashCommand>,
    hands: PromptTools,
    (found, layers): (&ProjectFiles, &SettingsLayers),
    names: &ExpansionVariables,
    settings: &Settings,
) -> Result<(Option<SlashCommand>, ToolSessionContext), CommandError> {
    let surroundings = Arc::clone(&hands.tool_context);
    let order = match order {
        Some(SlashCommand::Show { section: topic, .. }) => {
            let remote = hands.mcp_servers.clone();
            drop(hands);
            if topic == OverviewSection::McpServers {
                Handle::current().block_on(remote.wait_until_settled(MCP_CONNECT_WAIT));
            }
            let (agents, pages, remote) = (&found.agents, &found.custom_commands, &remote);
            let in_force = SessionOverview {
                settings: &SessionSettingsView::from(settings),
                agents,
                custom_commands: pages,
                layers,
                mcp_servers: remote,
            };
            Some(SlashCommand::Show { section: topic, text: in_force.render(topic) })
        }
        Some(SlashCommand::SubmitPrompt(submission)) if !submission.pinned => {
            let expanding = prompt_expansion::expand_submission(
                submission,
                &found.custom_commands,
                names,
                hands,
            );
            Some(SlashCommand::SubmitPrompt(Handle::current().block_on(expanding)?))
        }
        other => {
            drop(hands);
            other
        }
    };
    let surroundings = Arc::try_unwrap(surroundings).unwrap_or_else(|shared| shared.for_subagent());
    Ok((order, surroundings))
}

/// The server of everybody who may be asked. Each is looked for now: a fallback without a key would
/// only be found out when it is needed.
fn resolve_endpoints(
    cast: &ModelChain,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<Vec<(ModelName, ModelEndpoint)>, CommandError> {
    let mut proofs = CredentialCache::default();
    let found = |chosen: &ChosenModel| {
        let server = endpoint::resolve_endpoint(chosen, config, &mut proofs, lookup)?;
        Ok((ModelName::from(chosen.name.as_str()), server))
    };
    cast.all().map(found).collect()
}

/// A session in which each model is asked at its own server.
pub(super) fn build_with_endpoints(
    settings: Settings,
    servers: Vec<(ModelName, ModelEndpoint)>,
    config: Config,
) -> Result<(SessionBuilder, EndpointDescriptions), CommandError> {
    let mut servers = servers.into_iter();
    let Some((name, first)) = servers.next() else {
        return Err(CommandError::usage("there is no model to ask; give one with --model"));
    };
    let mut atlas = EndpointDescriptions {
        config,
        primary: first.description.clone(),
        by_model: BTreeMap::new(),
    };
    atlas.by_model.insert(name, first.description);
    let mut builder = SessionBuilder::new(settings, first.endpoint);
    for (name, ModelEndpoint { endpoint, description: place }) in servers {
        builder = builder.endpoint_for(name.clone(), endpoint);
        atlas.by_model.insert(name, place);
    }
    Ok((builder, atlas))
}

/// How long servers that are being connected are waited for, by whoever asks how they stand.
const MCP_CONNECT_WAIT: std::time::Duration = std::time::Duration::from_secs(10);
/// An address at which nobody is ever asked.
const UNUSED_BASE_URL: &str = "http://127.0.0.1:9";
