//! A failed model call in one line: what failed, where, what the server said, what to do about it.
//!
//! Advice names the variable or the line of a file that the failing value came from. When a model is
//! not there, the table and, if the server is on this machine, the server's own list are searched
//! for a name that is near.

use std::time::Duration;

use windlass_vocabulary::{FailureKind, ModelFailure, ModelName};

use windlass_config_text::find_similar_name;
use windlass_host::display::human_format;
use windlass_host::environment::parse_local_address;
use windlass_provider::endpoint::EndpointDescription;
use windlass_provider::endpoint::EndpointDescriptions;
use windlass_provider::model_list::fetch_model_list;

pub fn explain_failure(
    failed: &ModelFailure,
    endpoints: &EndpointDescriptions,
    model: Option<&ModelName>,
) -> String {
    let endpoint = endpoints.for_model(model);
    // The message of a rejected key or an unknown model adds nothing to the kind.
    let may_hide_cause = !matches!(failed.kind, FailureKind::Unauthorised | FailureKind::ModelGone);
    let advice = if may_hide_cause && is_proxy_login_required(failed) {
        PROXY_LOGIN_ADVICE.to_owned()
    } else if may_hide_cause && is_tools_unsupported(failed) {
        NO_TOOLS_ADVICE.to_owned()
    } else {
        advise_by_kind(failed, endpoints, model)
    };
    let (what, message) = human_format::describe_failure(failed);
    let is_no_model_server = failed.kind == FailureKind::Misconfigured && failed.status.is_some()
        || failed.kind == FailureKind::ServerFault && is_html_page(failed);
    let what = if is_proxy_login_required(failed) {
        "a proxy requires a login"
    } else if is_tools_unsupported(failed) {
        "the model cannot call tools"
    } else if is_no_model_server {
        "this is not a model server"
    } else {
        what
    };
    let status = failed.status.map_or_else(String::new, |status| format!(" (status {status})"));
    let message = message.trim_end_matches('.');
    format!("{what}{status} at {}: {message}; {advice}", endpoint.base_url)
}

fn advise_by_kind(
    failed: &ModelFailure,
    endpoints: &EndpointDescriptions,
    model: Option<&ModelName>,
) -> String {
    let endpoint = endpoints.for_model(model);
    match failed.kind {
        FailureKind::Unauthorised => endpoint.key_advice.clone(),
        FailureKind::ModelGone => suggest_other_model(endpoints, endpoint, model),
        FailureKind::Transport | FailureKind::Misconfigured => endpoint.address_advice.clone(),
        FailureKind::ServerFault if is_html_page(failed) => endpoint.address_advice.clone(),
        FailureKind::Quota => "check your account at the provider, or use another key".to_owned(),
        FailureKind::Overloaded | FailureKind::RateLimited | FailureKind::ServerFault => {
            "try again later, or add --fallback-model".to_owned()
        }
        FailureKind::PromptTooLong | FailureKind::MediaTooLarge | FailureKind::BadImage => {
            "give it less to read".to_owned()
        }
        FailureKind::InvalidRequest | FailureKind::ForeignSignature => {
            "run it again with --verbose, and report it if it happens again".to_owned()
        }
        FailureKind::Refused => "rephrase the task, or use another --model".to_owned(),
        FailureKind::OutputLimit => "ask for less at a time".to_owned(),
    }
}

/// A web page with a status of success: another address is needed, not another try.
pub(crate) fn is_html_page(failed: &ModelFailure) -> bool {
    let start = failed.message.to_ascii_lowercase();
    let is_html = start.contains("<!doctype") || start.contains("<html");
    is_html && failed.status.is_some_and(|status| (200..300).contains(&status))
}

/// A connection that cannot be made however often it is tried: the other side speaks no TLS.
pub(crate) fn is_plain_http_server(failed: &ModelFailure) -> bool {
    failed.kind == FailureKind::Transport && failed.message.contains("InvalidContentType")
}

/// A proxy asks for a login: known by the status or, for a tunnel, by the HTTP client's message.
pub(crate) fn is_proxy_login_required(failed: &ModelFailure) -> bool {
    failed.status == Some(407)
        || failed.kind == FailureKind::Transport
            && failed.message.contains("proxy authorization required")
}

/// The model, or the server as it was started, takes no tools.
fn is_tools_unsupported(failed: &ModelFailure) -> bool {
    let words = failed.message.to_ascii_lowercase();
    let refuses = ["not support", "unsupported", "cannot", "requires --", "that support tool use"];
    matches!(failed.kind, FailureKind::InvalidRequest | FailureKind::Misconfigured)
        && (words.contains("tool") || words.contains("function call"))
        && refuses.iter().any(|part| words.contains(part))
}

fn suggest_other_model(
    endpoints: &EndpointDescriptions,
    endpoint: &EndpointDescription,
    model: Option<&ModelName>,
) -> String {
    let provider = &endpoint.provider;
    let server = parse_local_address(&endpoint.base_url)
        .and_then(|(host, port)| fetch_model_list(&host, port, MODEL_LIST_TIMEOUT))
        .unwrap_or_default();
    let known =
        || server.iter().map(String::as_str).chain(endpoints.config.listed_models(provider));
    let wanted = model.map(ModelName::as_str).unwrap_or_default();
    let others = |name: &&str| *name != wanted;
    if let Some(near) = find_similar_name(wanted, known().filter(others)) {
        return format!("did you mean --model {provider}/{near}?");
    }
    if !server.is_empty() {
        let some: Vec<&str> = server.iter().map(String::as_str).take(MODELS_SHOWN_MAX).collect();
        return format!("it has {}; choose one with --model {provider}/NAME", some.join(", "));
    }
    "choose another with --model (`windlass models` lists them), or add --fallback-model".to_owned()
}

const PROXY_LOGIN_ADVICE: &str = "put its name and password into HTTPS_PROXY as http://name:password@proxy:port, \
                     or leave the model's host out with NO_PROXY";
const NO_TOOLS_ADVICE: &str = "choose another --model, start the server as it says if it is yours, or ask \
                        without tools: --tools \"\"";
const MODEL_LIST_TIMEOUT: Duration = Duration::from_secs(1);
const MODELS_SHOWN_MAX: usize = 8;
