//! Compares a request with the one before it: only an unchanged beginning can be in a provider's
//! cache.

use std::sync::Arc;

use windlass_vocabulary::{
    ContentBlock, Message, Messages, ModelName, ModelRequest, Tokens, ToolResultPart, ToolSpec,
};

use super::RequestShape;

#[derive(Default)]
pub(super) struct LastRequest {
    model: Option<ModelName>,
    system: Vec<Arc<str>>,
    tools: Option<Arc<[ToolSpec]>>,
    messages: Messages,
    /// The total bytes up to and including each message.
    sums: Vec<u64>,
}

impl LastRequest {
    /// Compares, and remembers this request.
    pub(super) fn compare(&mut self, request: &ModelRequest, estimate: Tokens) -> RequestShape {
        let mut changed = Vec::new();
        let is_first = self.model.is_none();
        if !is_first && self.model.as_ref() != Some(&request.model) {
            changed.push("model".to_owned());
        }
        let shared_system =
            self.system.iter().zip(&request.system).take_while(|(a, b)| a == b).count();
        if !is_first && (shared_system, self.system.len()) != (request.system.len(), shared_system)
        {
            changed.push("system".to_owned());
        }
        let same_tools = self
            .tools
            .as_ref()
            .is_some_and(|tools| Arc::ptr_eq(tools, &request.tools) || **tools == *request.tools);
        if !is_first && !same_tools {
            changed.push("tools".to_owned());
        }
        let shared = self.messages.shared_prefix_len(&request.messages);
        if shared < self.messages.len() {
            changed.push(format!("messages[{shared}]"));
        }
        self.sums.truncate(shared);
        let mut sum = self.sums.last().copied().unwrap_or(0);
        let shared_sum = sum;
        for message in request.messages.iter_from(shared) {
            sum += count_message_bytes(message);
            self.sums.push(sum);
        }
        let head = count_head_bytes(request);
        let is_head_same = !changed.iter().any(|part| !part.starts_with("messages"));
        let shared_bytes = match (is_first, is_head_same) {
            (false, true) => head + shared_sum,
            _ => 0,
        };
        self.model = Some(request.model.clone());
        self.system.clone_from(&request.system);
        self.tools = Some(Arc::clone(&request.tools));
        self.messages = request.messages.clone();
        RequestShape {
            messages: request.messages.len(),
            tools: request.tools.len(),
            bytes: head + sum,
            shared_bytes,
            changed,
            estimate,
        }
    }
}

fn count_head_bytes(request: &ModelRequest) -> u64 {
    let system: usize = request.system.iter().map(|part| part.len()).sum();
    let tool = |tool: &ToolSpec| tool.description.len() + tool.input_schema.as_str().len();
    let tools: usize = request.tools.iter().map(tool).sum();
    (system + tools) as u64
}

fn count_message_bytes(message: &Message) -> u64 {
    let block = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.len(),
        ContentBlock::Thinking(thinking) => thinking.text.len(),
        ContentBlock::ToolUse(call) => call.input.as_str().len(),
        ContentBlock::ToolResult(result) => result.content.iter().map(ToolResultPart::bytes).sum(),
        ContentBlock::Media(media) => media.data.len(),
        ContentBlock::Provider(block) => block.json.as_str().len(),
    };
    message.content.iter().map(block).sum::<usize>() as u64
}
