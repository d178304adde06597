//! A provider: its address, its wire, and where its key is found.
//!
//! Never contains a secret, only its location.

use windlass_config_text::{TomlEntry, TomlMistake, TomlTable};
use windlass_driver::GuardedCommandLine;
use windlass_vocabulary::WireFormat;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderConfig {
    pub wire: Option<WireFormat>,
    pub base_url: Option<String>,
    /// Is the address from the user's file?
    pub is_base_url_from_user: bool,
    /// Variables that override the address; the first one set is used.
    pub base_url_env: Vec<String>,
    /// Variables with a key in the provider's own scheme.
    pub key_env: Vec<String>,
    /// Variables with a bearer token, which takes precedence over a key.
    pub token_env: Vec<String>,
    pub key_file: Option<String>,
    pub key_command: KeyProgram,
    /// Whether the key must be in the key ring; `Some(false)` means that it is not searched.
    pub keyring: Option<bool>,
    /// Sent with every request.
    pub headers: Vec<(String, String)>,
    pub headers_env: Option<String>,
    pub output_limit_name: Option<OutputLimitName>,
    pub title: Option<String>,
    pub suggested_model: Option<String>,
    /// Prefixes of its model names.
    pub families: Vec<String>,
}

/// The field name for the output limit, which differs between servers of one wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputLimitName {
    /// The older name, which all compatible servers accept.
    MaxTokens,
    /// The newer name, which the newest models require.
    MaxCompletionTokens,
}

/// A program that prints a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyProgram {
    /// The program and its arguments; empty if there is none.
    pub words: Vec<String>,
    /// The command line from settings; checked before each start.
    pub written: GuardedCommandLine,
}

impl KeyProgram {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

impl ProviderConfig {
    /// Can it be used without a key?
    pub fn needs_no_key(&self) -> bool {
        self.key_env.is_empty()
            && self.token_env.is_empty()
            && self.key_file.is_none()
            && self.key_command.is_empty()
            && self.keyring != Some(true)
    }
}

pub(super) fn parse_provider(
    entry: &TomlEntry<'_>,
    base: Option<&ProviderConfig>,
    is_built_in: bool,
) -> Result<ProviderConfig, TomlMistake> {
    let name = entry.key;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.is_empty() || !name.bytes().all(is_plain) {
        let problem = format!("\"{}\" cannot be a provider's name", name.escape_debug());
        return Err(TomlMistake::new(entry.key_offset, problem, "use letters, digits, - and _"));
    }
    let table = entry.parse_table("a provider")?;
    if let Some(secret) = ["key", "api_key", "token"].iter().find_map(|key| table.find(key)) {
        let problem = format!("`{}` would put a secret into this file", secret.key);
        let remedy = format!(
            "name where it is instead: key_env = \"VARIABLE\", key_file = \"path\" or key_command = \
             [\"program\", \"argument\"]; or put it into the key ring: windlass key set {name}"
        );
        return Err(TomlMistake::new(secret.key_offset, problem, remedy));
    }
    table.check_keys(KEYS)?;
    let mut provider = match base {
        Some(base) => base.clone(),
        None => ProviderConfig {
            base_url_env: vec![build_variable_name(name, "BASE_URL")],
            ..ProviderConfig::default()
        },
    };
    provider.wire =
        table.read_key("wire", |entry| entry.parse_keyword(WIRE_KEYWORDS))?.or(provider.wire);
    if let Some(base_url) = table.read_key("base_url", |entry| parse_base_url(&entry))? {
        provider.base_url = Some(base_url);
        provider.is_base_url_from_user = !is_built_in;
    }
    let names = |key: &str| table.read_key(key, |entry| entry.parse_text_list());
    provider.base_url_env = names("base_url_env")?.unwrap_or(provider.base_url_env);
    provider.key_env = names("key_env")?.unwrap_or(provider.key_env);
    provider.token_env = names("token_env")?.unwrap_or(provider.token_env);
    provider.headers_env =
        table.read_key("headers_env", |entry| entry.parse_trimmed_text())?.or(provider.headers_env);
    provider.key_file =
        table.read_key("key_file", |entry| entry.parse_trimmed_text())?.or(provider.key_file);
    if let Some(command) = table.read_key("key_command", |entry| parse_command(&entry))? {
        provider.key_command = KeyProgram { words: command, ..KeyProgram::default() };
    }
    provider.keyring = table.parse_flag("keyring")?.or(provider.keyring);
    refuse_two_key_sources(&provider, &table)?;
    if let Some(headers) = table.read_key("headers", |entry| parse_headers(&entry))? {
        provider.headers = headers;
    }
    provider.output_limit_name = table
        .read_key("output_name", |entry| entry.parse_keyword(OUTPUT_LIMIT_KEYWORDS))?
        .or(provider.output_limit_name);
    provider.families = names("families")?.unwrap_or(provider.families);
    provider.title =
        table.read_key("title", |entry| entry.parse_trimmed_text())?.or(provider.title);
    provider.suggested_model = table
        .read_key("first_model", |entry| entry.parse_trimmed_text())?
        .or(provider.suggested_model);
    if provider.wire.is_none() {
        let words: Vec<&str> = WIRE_KEYWORDS.iter().map(|(word, _)| *word).collect();
        let remedy = format!("add wire = \"…\": one of {}", words.join(", "));
        return Err(TomlMistake::new(table.offset(), format!("{name} has no wire"), remedy));
    }
    if provider.base_url.is_none() {
        let remedy = "add base_url = \"https://…\"";
        return Err(TomlMistake::new(table.offset(), format!("{name} has no address"), remedy));
    }
    Ok(provider)
}

/// Only one source of a key is allowed: with two it would be unclear which is used.
fn refuse_two_key_sources(
    provider: &ProviderConfig,
    table: &TomlTable<'_>,
) -> Result<(), TomlMistake> {
    let places = [
        ("key_file", provider.key_file.is_some()),
        ("key_command", !provider.key_command.is_empty()),
        ("keyring", provider.keyring == Some(true)),
    ];
    let mut named = places.iter().filter(|(_, is_named)| *is_named).map(|(key, _)| *key);
    match (named.next(), named.next()) {
        (Some(first), Some(second)) => {
            let at = table.find(second).map_or(table.offset(), |entry| entry.key_offset);
            let problem = format!("there are both `{first}` and `{second}`");
            Err(TomlMistake::new(at, problem, "keep one of them"))
        }
        _ => Ok(()),
    }
}

/// The default name of the variable with a provider's address.
fn build_variable_name(name: &str, what: &str) -> String {
    format!("{}_{what}", name.to_ascii_uppercase().replace('-', "_"))
}

fn parse_base_url(entry: &TomlEntry<'_>) -> Result<String, TomlMistake> {
    let text = entry.parse_trimmed_text()?;
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if !matches!(scheme, "http" | "https") || host.is_empty() {
        return Err(entry.invalid_value("an address such as \"https://models.example.org\""));
    }
    if host.contains('@') {
        return Err(entry.invalid_value("an address without a name and a password in it"));
    }
    Ok(text)
}

fn parse_command(entry: &TomlEntry<'_>) -> Result<Vec<String>, TomlMistake> {
    let words = entry.parse_list().map_err(|_| {
        entry.invalid_value("a list of the program and its arguments, one text each")
    })?;
    let words = words.iter().map(TomlEntry::parse_trimmed_text).collect::<Result<Vec<_>, _>>()?;
    match words.is_empty() {
        true => Err(entry.invalid_value("a list with at least the program")),
        false => Ok(words),
    }
}

fn parse_headers(entry: &TomlEntry<'_>) -> Result<Vec<(String, String)>, TomlMistake> {
    let mut headers = Vec::new();
    for header in entry.parse_table("`headers`")?.entries() {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&byte);
        if header.key.is_empty() || !header.key.bytes().all(is_name) {
            let problem = format!("\"{}\" is not a header's name", header.key.escape_debug());
            return Err(TomlMistake::new(header.key_offset, problem, "use letters, digits and -"));
        }
        let value = header.parse_trimmed_text()?;
        if value.chars().any(char::is_control) {
            return Err(header.invalid_value("one line of text"));
        }
        headers.push((header.key.to_owned(), value));
    }
    Ok(headers)
}

const WIRE_KEYWORDS: &[(&str, WireFormat)] = &[
    ("anthropic_messages", WireFormat::AnthropicMessages),
    ("openai_responses", WireFormat::OpenaiResponses),
    ("openai_chat", WireFormat::OpenaiChat),
    ("gemini", WireFormat::Gemini),
];
const OUTPUT_LIMIT_KEYWORDS: &[(&str, OutputLimitName)] = &[
    ("max_tokens", OutputLimitName::MaxTokens),
    ("max_completion_tokens", OutputLimitName::MaxCompletionTokens),
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
