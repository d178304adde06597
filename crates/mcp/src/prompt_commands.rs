//! Offers prompts of servers as slash commands: lists them, expands one, and reads a mentioned
//! resource.
//!
//! The expansion becomes part of the user's prompt, so its size is limited. A failure is a message
//! for the user, never for the model.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use windlass_tool::{ImageFit, ImageLimits, fit_image};
use windlass_vocabulary::{ContentBlock, MediaContent};

use crate::connection::{McpContent, McpPromptMessage};
use crate::server::{McpServer, McpServerStatus};
use crate::servers::McpServers;
use crate::tool_names;

/// A server's prompt as a slash command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpPromptCommand {
    /// What the user types after the slash: `mcp__<server>__<prompt>`.
    pub name: String,
    pub description: String,
    /// Names of its arguments in order, and whether each is required.
    pub arguments: Vec<(String, bool)>,
    remote_name: String,
}

impl McpPromptCommand {
    /// The arguments as shown to the user: `<required> [optional]`.
    #[must_use]
    pub fn argument_hint(&self) -> String {
        let hint = |(name, is_required): &(String, bool)| match is_required {
            true => format!("<{name}>"),
            false => format!("[{name}]"),
        };
        self.arguments.iter().map(hint).collect::<Vec<_>>().join(" ")
    }

    /// Assigns the words after the command to its arguments in order; the last one takes the rest.
    fn parse_arguments(&self, words: &str) -> Result<Map<String, Value>, String> {
        let mut rest = words.trim();
        let mut arguments = Map::new();
        for (place, (argument, is_required)) in self.arguments.iter().enumerate() {
            let is_last = place + 1 == self.arguments.len();
            let (word, after) = match rest.split_once(char::is_whitespace) {
                Some((word, after)) if !is_last => (word, after.trim_start()),
                _ => (rest, ""),
            };
            match word.is_empty() {
                false => drop(arguments.insert(argument.clone(), Value::from(word))),
                true if *is_required => {
                    return Err(format!(
                        "/{} {}: `{argument}` is missing",
                        self.name,
                        self.argument_hint()
                    ));
                }
                true => {}
            }
            rest = after;
        }
        Ok(arguments)
    }
}

impl McpServers {
    /// The prompts of all connected servers.
    #[must_use]
    pub fn prompt_commands(&self) -> Vec<McpPromptCommand> {
        self.set.servers().iter().flat_map(|server| list_prompt_commands(server)).collect()
    }

    /// Expands a prompt if it is a command of a server. Waits for a server that is still
    /// connecting.
    ///
    /// # Errors
    ///
    /// A message for the user: there is no such prompt, or the server does not return it.
    pub async fn expand_prompt(&self, prompt: &str) -> Option<Result<Vec<ContentBlock>, String>> {
        let text = prompt.trim_start().strip_prefix('/')?;
        let (name, words) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let servers = self.set.servers();
        let server = servers.iter().find(|server| {
            name.starts_with(&tool_names::tool_name_prefix(&server.config().name))
        })?;
        Some(self.fetch_prompt(server, name, words).await)
    }

    async fn fetch_prompt(
        &self,
        server: &McpServer,
        name: &str,
        words: &str,
    ) -> Result<Vec<ContentBlock>, String> {
        let describe =
            |failure| format!("/{name}: the MCP server `{}`: {failure}", server.config().name);
        let mut known = list_prompt_commands(server);
        if !known.iter().any(|command| command.name == name)
            && server.snapshot().status != McpServerStatus::Connected
        {
            server.connect().await.map_err(describe)?;
            known = list_prompt_commands(server);
        }
        let Some(command) = known.iter().find(|command| command.name == name) else {
            let names: Vec<&str> = known.iter().map(|command| command.name.as_str()).collect();
            return Err(match names.is_empty() {
                true => format!("the MCP server `{}` has no prompts", server.config().name),
                false => format!("there is no /{name}; there are: {}", names.join(", ")),
            });
        };
        let arguments = command.parse_arguments(words)?;
        let connection = server.connect().await.map_err(describe)?;
        let prompt =
            connection.get_prompt(&command.remote_name, arguments, server.call_limit()).await;
        to_blocks(prompt.map_err(describe)?, self.set.caps.text_bytes)
            .map_err(|problem| format!("/{name}: {problem}"))
    }

    /// The text of a resource, if the mention has the form `server:uri` of a known server.
    pub async fn read_mentioned_resource(&self, mention: &str) -> Option<Result<String, String>> {
        let (name, uri) = mention.split_once(':')?;
        let server = self.set.find_server(name)?;
        let describe = |failure| format!("the MCP server `{name}`: {failure}");
        let reading = async {
            let connection = server.connect().await.map_err(describe)?;
            let parts =
                connection.read_resource(uri, server.call_limit()).await.map_err(describe)?;
            let texts = parts.into_iter().map(|part| match part {
                McpContent::Text(text) => text,
                McpContent::Link { uri, name } => format!("[{name}: {uri}]"),
                McpContent::Media { media_type, name, .. } => format!("[{name}: {media_type}]"),
            });
            Ok(texts.collect::<Vec<_>>().join("\n"))
        };
        Some(reading.await)
    }
}

fn list_prompt_commands(server: &McpServer) -> Vec<McpPromptCommand> {
    let server_name = &server.config().name;
    let now = server.snapshot();
    if now.status == McpServerStatus::Disabled {
        return Vec::new();
    }
    let real = now.prompts.iter().map(|prompt| prompt.name.as_str());
    let names = tool_names::assign_tool_names(server_name, real, &mut BTreeSet::new());
    let command =
        |(name, prompt): (String, &crate::connection::McpPromptDescription)| McpPromptCommand {
            name,
            description: prompt.description.clone(),
            arguments: prompt.arguments.clone(),
            remote_name: prompt.name.clone(),
        };
    names.into_iter().zip(now.prompts.iter()).map(command).collect()
}

/// The content blocks of the user's message.
fn to_blocks(
    messages: Vec<McpPromptMessage>,
    text_bytes_max: usize,
) -> Result<Vec<ContentBlock>, String> {
    let mut text = String::new();
    let mut pictures = Vec::new();
    for McpPromptMessage { is_answer, part } in messages {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        if is_answer {
            text.push_str("(You are to have answered:)\n");
        }
        match part {
            McpContent::Text(words) => text.push_str(&words.replace('\0', "\u{fffd}")),
            McpContent::Link { uri, name } => text.push_str(&format!("[{name}: {uri}]")),
            McpContent::Media { media_type, data, name } => {
                text.push_str(&format!("[{name}: {media_type}]"));
                pictures.push(MediaContent {
                    media_type: media_type.into(),
                    data: data.into(),
                    name: name.into(),
                });
            }
        }
        if text.len() > text_bytes_max {
            return Err(format!("what it says is over {text_bytes_max} bytes"));
        }
    }
    let fitting = pictures.into_iter().take(PICTURES_MAX).filter_map(|media| {
        match fit_image(&media, &ImageLimits::default()) {
            ImageFit::AsIs => Some(media),
            ImageFit::Changed(media, _) => Some(media),
            ImageFit::Unusable(_) => None,
        }
    });
    let pictures: Vec<ContentBlock> = fitting.map(ContentBlock::Media).collect();
    match text.trim().is_empty() {
        true => Err("it says nothing".to_owned()),
        false => Ok(std::iter::once(ContentBlock::Text(text)).chain(pictures).collect()),
    }
}

/// Limits the images taken from one prompt.
const PICTURES_MAX: usize = 10;
