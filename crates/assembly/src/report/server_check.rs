//! Does the model server answer? One short request, as a session would send it: the same model, address,
//! key and proxy, but no tools, no files, no hooks, no retries and nothing saved.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use windlass_driver::{Interrupt, PromptSubmission};
use windlass_vocabulary::Notice;

use crate::directories::working_directory;
use crate::failure_advice::explain_failure;
use crate::options::{LimitOptions, RunOptions, SettingsOptions};
use crate::prompt_plan::{build_with_endpoints, resolve_endpoints};
use crate::resolved::ResolvedOptions;
use crate::settings::SettingsLayers;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::environment::EnvLookup;

/// A server that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerCheck {
    pub base_url: String,
    /// Until the first word of the answer.
    pub took: Duration,
}

/// Asks the model that a session would ask.
///
/// # Errors
/// One line: what failed, where, and what to do about it.
pub async fn check_model_server(
    options: &SettingsOptions,
    lookup: &impl EnvLookup,
) -> Result<ServerCheck, CommandError> {
    let cwd = working_directory()?;
    let layers = SettingsLayers::load(options, false, &cwd, lookup)?;
    let variables = layers.clone();
    let lookup = &variables.overlay_environment(lookup);
    let options = RunOptions {
        settings: options.clone(),
        system_prompt: Some("Answer with one word.".to_owned()),
        limit: LimitOptions { max_turns: Some(1), max_retries: Some(0), ..LimitOptions::default() },
        ..RunOptions::default()
    };
    let mut resolved = ResolvedOptions::resolve(&options, cwd, layers, lookup)?;
    // Without fallbacks, which would hide that the first model does not respond.
    resolved.model_chain.fallbacks.clear();
    resolved.model_chain.small = None;
    let mut settings = resolved.engine_settings;
    settings.fallbacks.clear();
    settings.small_model = None;
    settings.after = Default::default();
    settings.switches.prefetch = false;
    settings.prompt.system_context.clear();
    let endpoints = resolve_endpoints(&resolved.model_chain, &resolved.config, lookup)?;
    let (builder, endpoints) = build_with_endpoints(settings, endpoints, resolved.config)?;
    let (session, mut notices) = builder
        .timeouts(resolved.timeouts)
        .start()
        .map_err(|error| CommandError::failure(error.to_string()))?;
    let started = Instant::now();
    session
        .submit(PromptSubmission::from("Say ok."))
        .map_err(|error| CommandError::failure(error.to_string()))?;
    let deadline = started + ANSWER_WAIT_MAX;
    let base_url = endpoints.primary.base_url.clone();
    let checked = loop {
        let Ok(notice) = timeout_at(deadline, notices.next()).await else {
            break Err(format!(
                "no answer from {base_url} within {} s; try again later, or {}",
                ANSWER_WAIT_MAX.as_secs(),
                endpoints.primary.address_advice
            ));
        };
        match notice {
            // The first word is enough; the rest need not be paid for.
            Some(Notice::Streamed { .. } | Notice::Billed { .. }) => {
                break Ok(ServerCheck { base_url, took: started.elapsed() });
            }
            Some(Notice::RunEnded(ending)) => match &ending.failure {
                Some(failure) => break Err(explain_failure(failure, &endpoints, None)),
                None if ending.terminal.is_error() => break Err(ending.why.clone()),
                None => break Ok(ServerCheck { base_url, took: started.elapsed() }),
            },
            Some(_) => {}
            None => break Err("the request could not be sent; try again".to_owned()),
        }
    };
    let _ = session.interrupt(Interrupt::User);
    let _ = timeout_at(Instant::now() + CLOSE_WAIT_MAX, session.close()).await;
    checked.map_err(|line| CommandError::failure(to_single_line(&line)))
}

const ANSWER_WAIT_MAX: Duration = Duration::from_secs(20);
const CLOSE_WAIT_MAX: Duration = Duration::from_secs(2);
