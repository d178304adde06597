//! The client the official conformance runner drives: the same connection a session uses, doing
//! what any session might do, whatever the scenario.
//!
//! Connect; list; call, read and get everything there is. What a scenario checks is how that is done
//! on the wire.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::connection::{
    Asking, CallTerms, Channel, Connection, Era, Host, Question, Reply, ToolFacts,
};
use crate::failure::Failure;
use crate::login::{Identity, Login, Pass, Vault};
use crate::transport::http::HttpOrder;

const LIMIT: Duration = Duration::from_secs(20);
/// How often a server may want another login.
const LOGINS_MAX: usize = 2;

/// What the runner says besides the address.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Brief {
    tool_calls: Vec<BriefCall>,
    #[serde(rename = "client_id")]
    client_id: Option<String>,
    #[serde(rename = "client_secret")]
    client_secret: Option<String>,
    #[serde(skip)]
    is_handshake: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct BriefCall {
    name: String,
    arguments: Map<String, Value>,
}

impl Brief {
    /// Reads what the runner says: the context as JSON, and the revision to speak.
    #[must_use]
    pub fn new(context: Option<&str>, revision: Option<&str>) -> Self {
        let brief: Self =
            context.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        Self { is_handshake: revision.is_some_and(|revision| revision < "2026-07-28"), ..brief }
    }
}

/// Says yes to every question, with what the form has ready.
struct Agreeable;

impl Host for Agreeable {
    fn can_ask(&self) -> bool {
        true
    }

    fn ask(&self, question: Question) -> Asking {
        let schema = question.schema.unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object).cloned();
        let defaults = properties.unwrap_or_default().into_iter();
        let ready = |(name, one): (String, Value)| Some((name, one.get("default")?.clone()));
        let content: Map<String, Value> = defaults.filter_map(ready).collect();
        Box::pin(std::future::ready(Reply::Accept(Some(Value::Object(content)))))
    }
}

/// Does what a session might do. What needs a login gets one, as if the user had said yes.
///
/// # Errors
///
/// When the server cannot be had, or what must work does not.
pub async fn run(url: &str, brief: &Brief, vault: &Vault) -> Result<(), Failure> {
    let order = HttpOrder { url: url.to_owned(), ..HttpOrder::default() };
    let mut pass = None;
    for _ in 0..=LOGINS_MAX {
        let Err(failure) = once(&order, pass.take(), brief).await else { return Ok(()) };
        let Failure::NeedsLogin { challenge } = failure else { return Err(failure) };
        pass = Some(log_in(url, brief, &challenge, vault).await?);
    }
    // Somebody who is never content is left alone.
    Ok(())
}

async fn once(order: &HttpOrder, pass: Option<Pass>, brief: &Brief) -> Result<(), Failure> {
    let era = if brief.is_handshake { Era::Handshake } else { Era::Unknown };
    let channel = match pass {
        None => Channel::Http(order),
        Some(pass) => Channel::HttpAs(order, pass),
    };
    let connection =
        Connection::open("conformance", channel, era, Arc::new(Agreeable), LIMIT).await?;
    let done = use_all(&connection, brief).await;
    connection.close().await;
    done
}

/// The user's part: goes where it is told and comes back with what it was given.
async fn log_in(url: &str, brief: &Brief, challenge: &str, vault: &Vault) -> Result<Pass, Failure> {
    let identity = Identity {
        redirect: "http://localhost:3000/callback".to_owned(),
        client_id: brief.client_id.clone(),
        client_secret: brief.client_secret.clone(),
        page: Some("https://conformance-test.local/client-metadata.json".to_owned()),
    };
    let login = Login::begin(url, &identity, challenge, vault).await?;
    let lost = |reason: String| Failure::Unreachable { reason };
    let stays = reqwest::Client::builder().redirect(Policy::none()).no_proxy().build();
    let stays = stays.map_err(|error| lost(error.to_string()))?;
    let sent = stays.get(login.address()).send().await.map_err(|error| lost(error.to_string()))?;
    let back = sent.headers().get("location").and_then(|back| back.to_str().ok());
    let back = back.ok_or_else(|| lost("the login leads nowhere".to_owned()))?.to_owned();
    login.finish(&back).await
}

async fn use_all(connection: &Connection, brief: &Brief) -> Result<(), Failure> {
    let tools = connection.tools(LIMIT).await?;
    for (name, arguments) in calls(&tools, brief) {
        // A tool that fails is the scenario's business; that it was called is ours.
        let called = connection.call(&name, arguments, &CallTerms::within(LIMIT)).await;
        if let Err(
            failure
            @ (Failure::Gone { .. } | Failure::TimedOut { .. } | Failure::NeedsLogin { .. }),
        ) = called
        {
            return Err(failure);
        }
    }
    for resource in connection.resources(LIMIT).await.unwrap_or_default() {
        let _ = connection.read(&resource.uri, LIMIT).await;
    }
    for prompt in connection.prompts(LIMIT).await.unwrap_or_default() {
        let arguments = prompt.arguments.iter().map(|(name, _)| (name.clone(), json!("x")));
        let _ = connection.prompt(&prompt.name, arguments.collect(), LIMIT).await;
    }
    Ok(())
}

/// The calls the runner asks for, or one of each tool.
fn calls(tools: &[ToolFacts], brief: &Brief) -> Vec<(String, Map<String, Value>)> {
    let asked: Vec<_> =
        brief.tool_calls.iter().map(|one| (one.name.clone(), one.arguments.clone())).collect();
    if !asked.is_empty() {
        return asked;
    }
    tools.iter().map(|tool| (tool.name.clone(), arguments(&tool.schema))).collect()
}

/// Something of the right kind for each property.
fn arguments(schema: &Value) -> Map<String, Value> {
    let properties: BTreeMap<String, Value> = schema
        .get("properties")
        .and_then(|properties| serde_json::from_value(properties.clone()).ok())
        .unwrap_or_default();
    properties.into_iter().map(|(name, property)| (name, example(&property))).collect()
}

fn example(property: &Value) -> Value {
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
