//! The client that the official conformance runner drives. It uses the same connection as a session
//! and makes every kind of request a session makes, whatever the scenario.
//!
//! It connects, lists, calls, reads and gets everything the server offers. A scenario checks how
//! this looks on the wire.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::connection::{
    ElicitationFuture, ElicitationReply, ElicitationRequest, McpCallOptions, McpChannel,
    McpConnection, McpHost, McpToolDescription, ProtocolEra,
};
use crate::failure::McpFailure;
use crate::login::{LoginStore, OauthAccess, OauthClientIdentity, OauthLogin};
use crate::transport::http::HttpServerConfig;

const LIMIT: Duration = Duration::from_secs(20);
/// Limits repeated logins to one server.
const LOGINS_MAX: usize = 2;

/// What the runner passes besides the address.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConformanceContext {
    tool_calls: Vec<ConformanceCall>,
    #[serde(rename = "client_id")]
    client_id: Option<String>,
    #[serde(rename = "client_secret")]
    client_secret: Option<String>,
    #[serde(skip)]
    is_handshake: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ConformanceCall {
    name: String,
    arguments: Map<String, Value>,
}

impl ConformanceContext {
    /// Parses the runner's arguments: the context as JSON, and the protocol revision to use.
    #[must_use]
    pub fn new(context: Option<&str>, revision: Option<&str>) -> Self {
        let context: Self =
            context.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        Self { is_handshake: revision.is_some_and(|revision| revision < "2026-07-28"), ..context }
    }
}

/// Accepts every elicitation with the form's default values.
struct AcceptingHost;

impl McpHost for AcceptingHost {
    fn can_elicit(&self) -> bool {
        true
    }

    fn elicit(&self, question: ElicitationRequest) -> ElicitationFuture {
        let schema = question.schema.unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object).cloned();
        let defaults = properties.unwrap_or_default().into_iter();
        let ready = |(name, one): (String, Value)| Some((name, one.get("default")?.clone()));
        let content: Map<String, Value> = defaults.filter_map(ready).collect();
        Box::pin(std::future::ready(ElicitationReply::Accept(Some(Value::Object(content)))))
    }
}

/// Runs the scenario. If the server requires a login, completes one without asking.
///
/// # Errors
///
/// The server cannot be reached, or a required request fails.
pub async fn run(
    url: &str,
    context: &ConformanceContext,
    store: &LoginStore,
) -> Result<(), McpFailure> {
    let config = HttpServerConfig { url: url.to_owned(), ..HttpServerConfig::default() };
    let mut access = None;
    for _ in 0..=LOGINS_MAX {
        let Err(failure) = run_once(&config, access.take(), context).await else { return Ok(()) };
        let McpFailure::NeedsLogin { challenge } = failure else { return Err(failure) };
        access = Some(log_in(url, context, &challenge, store).await?);
    }
    // Gives up on a server that never accepts a login.
    Ok(())
}

async fn run_once(
    config: &HttpServerConfig,
    access: Option<OauthAccess>,
    context: &ConformanceContext,
) -> Result<(), McpFailure> {
    let era = if context.is_handshake { ProtocolEra::Handshake } else { ProtocolEra::Unknown };
    let channel = match access {
        None => McpChannel::Http(config),
        Some(access) => McpChannel::HttpAuthorized(config, access),
    };
    let connection =
        McpConnection::open("conformance", channel, era, Arc::new(AcceptingHost), LIMIT).await?;
    let done = exercise_server(&connection, context).await;
    connection.close().await;
    done
}

/// Plays the user: follows the authorization URL and returns with the redirect.
async fn log_in(
    url: &str,
    context: &ConformanceContext,
    challenge: &str,
    store: &LoginStore,
) -> Result<OauthAccess, McpFailure> {
    let identity = OauthClientIdentity {
        redirect: "http://localhost:3000/callback".to_owned(),
        client_id: context.client_id.clone(),
        client_secret: context.client_secret.clone(),
        metadata_url: Some("https://conformance-test.local/client-metadata.json".to_owned()),
    };
    let login = OauthLogin::begin(url, &identity, challenge, store).await?;
    let lost = |reason: String| McpFailure::Unreachable { reason };
    let client = reqwest::Client::builder().redirect(Policy::none()).no_proxy().build();
    let client = client.map_err(|error| lost(error.to_string()))?;
    let sent = client
        .get(login.authorization_url())
        .send()
        .await
        .map_err(|error| lost(error.to_string()))?;
    let back = sent.headers().get("location").and_then(|back| back.to_str().ok());
    let back = back.ok_or_else(|| lost("the login leads nowhere".to_owned()))?.to_owned();
    login.finish(&back).await
}

async fn exercise_server(
    connection: &McpConnection,
    context: &ConformanceContext,
) -> Result<(), McpFailure> {
    let tools = connection.list_tools(LIMIT).await?;
    for (name, arguments) in plan_calls(&tools, context) {
        // A failing tool is part of the scenario; only the call itself must succeed.
        let called =
            connection.call_tool(&name, arguments, &McpCallOptions::with_limit(LIMIT)).await;
        if let Err(
            failure @ (McpFailure::Gone { .. }
            | McpFailure::TimedOut { .. }
            | McpFailure::NeedsLogin { .. }),
        ) = called
        {
            return Err(failure);
        }
    }
    for resource in connection.list_resources(LIMIT).await.unwrap_or_default() {
        let _ = connection.read_resource(&resource.uri, LIMIT).await;
    }
    for prompt in connection.list_prompts(LIMIT).await.unwrap_or_default() {
        let arguments = prompt.arguments.iter().map(|(name, _)| (name.clone(), json!("x")));
        let _ = connection.get_prompt(&prompt.name, arguments.collect(), LIMIT).await;
    }
    Ok(())
}

/// The calls the runner asks for, or else one call of each tool.
fn plan_calls(
    tools: &[McpToolDescription],
    context: &ConformanceContext,
) -> Vec<(String, Map<String, Value>)> {
    let planned: Vec<_> =
        context.tool_calls.iter().map(|one| (one.name.clone(), one.arguments.clone())).collect();
    if !planned.is_empty() {
        return planned;
    }
    tools.iter().map(|tool| (tool.name.clone(), example_arguments(&tool.schema))).collect()
}

/// A valid example value for each property.
fn example_arguments(schema: &Value) -> Map<String, Value> {
    let properties: BTreeMap<String, Value> = schema
        .get("properties")
        .and_then(|properties| serde_json::from_value(properties.clone()).ok())
        .unwrap_or_default();
    properties.into_iter().map(|(name, property)| (name, example_value(&property))).collect()
}

fn example_value(property: &Value) -> Value {
    let first = property.get("enum").and_then(|all| all.get(0));
    if let Some(ready) = property.get("default").or(first) {
        return ready.clone();
    }
    match property.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("text"),
    }
}
