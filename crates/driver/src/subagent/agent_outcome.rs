//! The result of an agent for the parent's model: that it started, or how it ended.

use std::path::{Path, PathBuf};

use serde_json::json;
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{AgentId, Json, MicroUsd, ToolOutcome};

use super::agent_input::AgentInput;
use super::nested_session::NestedSession;

pub(super) enum AgentAbort {
    Cancelled,
    TooLong,
    Gone,
}

pub(super) struct AgentEnd {
    pub(super) took: u64,
    /// A worktree that is kept, with a message about it.
    pub(super) remaining_worktree: Option<(String, PathBuf)>,
}

pub(super) fn build_launched_outcome(
    id: &AgentId,
    input: &AgentInput,
    output: &Path,
) -> ToolOutcome {
    let structured = json!({
        "status": "async_launched",
        "agentId": id.as_str(),
        "description": input.description,
        "prompt": input.prompt,
        "outputFile": output.to_string_lossy(),
    });
    let words = format!(
        "The agent runs in the background as `{id}`. You are told when it has ended. Wait for it \
         with Monitor, end it with TaskStop; it is stopped when the session ends, so wait for what \
         you need before you finish. All it does is in {}.",
        output.display()
    );
    ToolOutcome {
        structured: Some(Json::from_checked(&structured.to_string())),
        is_left: true,
        // Unknown, so assume that it will change the workspace: that is the safe side.
        changed_workspace: true,
        ..ToolOutcome::from_text(words)
    }
}

pub(super) fn build_outcome(
    nested: &NestedSession,
    ending: Result<RunEnding, (AgentAbort, MicroUsd)>,
    end: AgentEnd,
) -> ToolOutcome {
    let answer = nested.answer.trim();
    let AgentEnd { took, remaining_worktree: place } = end;
    let kept = place.as_ref().map(|(words, _)| words.as_str());
    let ending = match ending {
        Ok(ending) => ending,
        Err((cut, spent)) => {
            let why = match cut {
                AgentAbort::Cancelled => "was stopped",
                AgentAbort::TooLong => "took too long and was stopped",
                AgentAbort::Gone => "broke down",
            };
            let words = describe_end(&format!("The agent {why}."), answer, kept);
            return ToolOutcome { spent, ..ToolOutcome::failure(words) };
        }
    };
    if ending.terminal.is_error() {
        let words = format!("The agent ended without an answer: {}.", ending.why);
        let failure = ToolOutcome::failure(describe_end(&words, answer, kept));
        return ToolOutcome { spent: ending.cost, ..failure };
    }
    let usage = ending.usage;
    let mut structured = json!({
        "status": "completed",
        "agentId": nested.id.as_str(),
        "description": nested.input.description,
        "content": [{ "type": "text", "text": answer }],
        "prompt": nested.input.prompt,
        "totalToolUseCount": nested.calls,
        "totalDurationMs": took,
        "totalTokens": usage.input_total().0 + usage.output.0,
        "usage": {
            "input_tokens": usage.input.0,
            "output_tokens": usage.output.0,
            "cache_creation_input_tokens": usage.cache_write.0,
            "cache_read_input_tokens": usage.cache_read.0,
        },
    });
    if let (Some((_, path)), Some(object)) = (&place, structured.as_object_mut()) {
        object.insert("worktreePath".to_owned(), path.to_string_lossy().into());
    }
    let words = if answer.is_empty() { "The agent ended without a word." } else { answer };
    let words = match kept {
        Some(kept) => format!("{words}\n\n[{kept}]"),
        None => words.to_owned(),
    };
    ToolOutcome {
        structured: Some(Json::from_checked(&structured.to_string())),
        spent: ending.cost,
        // Unknown, so assume that it changed the workspace if it made any call.
        changed_workspace: nested.calls > 0,
        ..ToolOutcome::from_text(words)
    }
}

fn describe_end(words: &str, answer: &str, kept: Option<&str>) -> String {
    let mut text = words.to_owned();
    if let Some(more) = kept {
        text.push_str(&format!(" {more}."));
    }
    if !answer.is_empty() {
        text.push_str(&format!(" Its last message:\n{answer}"));
    }
    text
}
