//! A provider: where its server is, which language it speaks, and where the proof comes from.
//!
//! A secret never stands here, only the place where it is found.

use windlass_vocabulary::Wire;

use super::entry::{Entry, Table};
use super::mistake::Mistake;

/// A provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Provider {
    /// The language.
    pub(crate) wire: Option<Wire>,
    /// The address.
    pub(crate) base_url: Option<String>,
    /// Did the user's file give the address?
    pub(crate) is_base_url_users: bool,
    /// Variables that give another address, the first that is set.
    pub(crate) base_url_env: Vec<String>,
    /// Variables with the provider's own kind of key.
    pub(crate) key_env: Vec<String>,
    /// Variables with a bearer token, which goes before a key.
    pub(crate) token_env: Vec<String>,
    /// A file with the key.
    pub(crate) key_file: Option<String>,
    /// A program that prints the key.
    pub(crate) key_command: Vec<String>,
    /// Must the key be in the key ring, or must that not be looked at?
    pub(crate) keyring: Option<bool>,
    /// Sent with every request.
    pub(crate) headers: Vec<(String, String)>,
    /// A variable with more headers.
    pub(crate) headers_env: Option<String>,
    /// What the limit on output is called.
    pub(crate) output_name: Option<OutputName>,
    /// What people call it.
    pub(crate) title: Option<String>,
    /// A model to begin with.
    pub(crate) first_model: Option<String>,
    /// How the names of its models begin.
    pub(crate) families: Vec<String>,
}

/// What servers of one wire call the limit on output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputName {
    /// The older name, which every imitation knows.
    MaxTokens,
    /// The newer one, which the newest models insist on.
    MaxCompletionTokens,
}

impl Provider {
    /// May it be asked without proof?
    pub(crate) fn is_open(&self) -> bool {
        self.key_env.is_empty()
            && self.token_env.is_empty()
            && self.key_file.is_none()
            && self.key_command.is_empty()
            && self.keyring != Some(true)
    }
}

/// Reads one provider over what is known of it already.
pub(super) fn read(
    entry: &Entry<'_>,
    base: Option<&Provider>,
    is_built_in: bool,
) -> Result<Provider, Mistake> {
    let name = entry.key;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.is_empty() || !name.bytes().all(is_plain) {
        let problem = format!("\"{}\" cannot be a provider's name", name.escape_debug());
        return Err(Mistake::new(entry.key_at, problem, "use letters, digits, - and _"));
    }
    let table = entry.table("a provider")?;
    if let Some(secret) = ["key", "api_key", "token"].iter().find_map(|key| table.find(key)) {
        let problem = format!("`{}` would put a secret into this file", secret.key);
        let remedy = format!(
            "name where it is instead: key_env = \"VARIABLE\", key_file = \"path\" or key_command = \
             [\"program\", \"argument\"]; or put it into the key ring: windlass key set {name}"
        );
        return Err(Mistake::new(secret.key_at, problem, remedy));
    }
    table.only(KEYS)?;
    let mut provider = match base {
        Some(base) => base.clone(),
        None => Provider { base_url_env: vec![variable(name, "BASE_URL")], ..Provider::default() },
    };
    provider.wire = table.read("wire", |entry| entry.word(WIRES))?.or(provider.wire);
    if let Some(base_url) = table.read("base_url", |entry| address(&entry))? {
        provider.base_url = Some(base_url);
        provider.is_base_url_users = !is_built_in;
    }
    let names = |key: &str| table.read(key, |entry| entry.texts());
    provider.base_url_env = names("base_url_env")?.unwrap_or(provider.base_url_env);
    provider.key_env = names("key_env")?.unwrap_or(provider.key_env);
    provider.token_env = names("token_env")?.unwrap_or(provider.token_env);
    provider.headers_env =
        table.read("headers_env", |entry| entry.text())?.or(provider.headers_env);
    provider.key_file = table.read("key_file", |entry| entry.text())?.or(provider.key_file);
    if let Some(command) = table.read("key_command", |entry| command(&entry))? {
        provider.key_command = command;
    }
    provider.keyring = table.read("keyring", |entry| entry.flag())?.or(provider.keyring);
    refuse_two_places(&provider, &table)?;
    if let Some(headers) = table.read("headers", |entry| headers(&entry))? {
        provider.headers = headers;
    }
    provider.output_name =
        table.read("output_name", |entry| entry.word(OUTPUT_NAMES))?.or(provider.output_name);
    provider.families = names("families")?.unwrap_or(provider.families);
    provider.title = table.read("title", |entry| entry.text())?.or(provider.title);
    provider.first_model =
        table.read("first_model", |entry| entry.text())?.or(provider.first_model);
    if provider.wire.is_none() {
        let words: Vec<&str> = WIRES.iter().map(|(word, _)| *word).collect();
        let remedy = format!("add wire = \"…\": one of {}", words.join(", "));
        return Err(Mistake::new(table.at(), format!("{name} has no wire"), remedy));
    }
    if provider.base_url.is_none() {
        let remedy = "add base_url = \"https://…\"";
        return Err(Mistake::new(table.at(), format!("{name} has no address"), remedy));
    }
    Ok(provider)
}

/// One place is enough: with two, nobody could say which key is used.
fn refuse_two_places(provider: &Provider, table: &Table<'_>) -> Result<(), Mistake> {
    let places = [
        ("key_file", provider.key_file.is_some()),
        ("key_command", !provider.key_command.is_empty()),
        ("keyring", provider.keyring == Some(true)),
    ];
    let mut named = places.iter().filter(|(_, is_named)| *is_named).map(|(key, _)| *key);
    match (named.next(), named.next()) {
        (Some(first), Some(second)) => {
            let at = table.find(second).map_or(table.at(), |entry| entry.key_at);
            let problem = format!("there are both `{first}` and `{second}`");
            Err(Mistake::new(at, problem, "keep one of them"))
        }
        _ => Ok(()),
    }
}

/// The variable a provider's address is looked for in when nothing else is said.
fn variable(name: &str, what: &str) -> String {
    format!("{}_{what}", name.to_ascii_uppercase().replace('-', "_"))
}

fn address(entry: &Entry<'_>) -> Result<String, Mistake> {
    let text = entry.text()?;
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if !matches!(scheme, "http" | "https") || host.is_empty() {
        return Err(entry.must("an address such as \"https://models.example.org\""));
    }
    if host.contains('@') {
        return Err(entry.must("an address without a name and a password in it"));
    }
    Ok(text)
}

fn command(entry: &Entry<'_>) -> Result<Vec<String>, Mistake> {
    let words = entry
        .list()
        .map_err(|_| entry.must("a list of the program and its arguments, one text each"))?;
    let words = words.iter().map(Entry::text).collect::<Result<Vec<_>, _>>()?;
    match words.is_empty() {
        true => Err(entry.must("a list with at least the program")),
        false => Ok(words),
    }
}

fn headers(entry: &Entry<'_>) -> Result<Vec<(String, String)>, Mistake> {
    let mut headers = Vec::new();
    for header in entry.table("`headers`")?.entries() {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&byte);
        if header.key.is_empty() || !header.key.bytes().all(is_name) {
            let problem = format!("\"{}\" is not a header's name", header.key.escape_debug());
            return Err(Mistake::new(header.key_at, problem, "use letters, digits and -"));
        }
        let value = header.text()?;
        if value.chars().any(char::is_control) {
            return Err(header.must("one line of text"));
        }
        headers.push((header.key.to_owned(), value));
    }
    Ok(headers)
}

const WIRES: &[(&str, Wire)] = &[
    ("anthropic_messages", Wire::AnthropicMessages),
    ("openai_responses", Wire::OpenaiResponses),
    ("openai_chat", Wire::OpenaiChat),
    ("gemini", Wire::Gemini),
];
const OUTPUT_NAMES: &[(&str, OutputName)] = &[
    ("max_tokens", OutputName::MaxTokens),
    ("max_completion_tokens", OutputName::MaxCompletionTokens),
];
const KEYS: &[&str] = &[
    "wire",
    "base_url",
    "base_url_env",
    "key_env",
    "token_env",
    "key_file",
    "key_command",
    "keyring",
    "headers",
    "headers_env",
    "output_name",
    "title",
    "families",
    "first_model",
];
