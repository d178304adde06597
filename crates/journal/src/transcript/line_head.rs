//! The fields at the start of every line: its id, its parent, its session and its time.

use windlass_vocabulary::{MicroUsd, Usage, format_timestamp};

use super::api_block::to_json_string;
use super::{Transcriber, TranscriptContext};

/// The id of a line, and of its parent.
#[derive(Debug)]
pub(super) struct TranscriptLink {
    pub(super) uuid: String,
    pub(super) parent: Option<String>,
}

impl Transcriber {
    /// A line up to its own fields. The type comes first, because readers look for it there.
    pub(super) fn render_line_head(
        &mut self,
        kind: &str,
        link: &TranscriptLink,
        at: u64,
    ) -> String {
        self.last_at = at.max(self.last_at + 1);
        let TranscriptContext { session, cwd, branch, version, agent } = &self.about;
        let TranscriptLink { uuid: own, parent } = link;
        let parent = parent.as_ref().map_or("null".to_owned(), |parent| to_json_string(parent));
        let branch = branch.as_deref().map(|b| format!(r#","gitBranch":{}"#, to_json_string(b)));
        let branch = branch.unwrap_or_default();
        let side = match agent {
            Some(agent) => format!(r#""isSidechain":true,"agentId":{}"#, to_json_string(agent)),
            None => r#""isSidechain":false"#.to_owned(),
        };
        let session = to_json_string(session);
        let cwd = to_json_string(cwd);
        let version = to_json_string(version);
        let own = to_json_string(own);
        let at = format_timestamp(self.last_at);
        format!(
            r#"{{"type":"{kind}","uuid":{own},"parentUuid":{parent},{side},"sessionId":{session},"timestamp":"{at}","cwd":{cwd}{branch},"userType":"external","version":{version}"#
        )
    }
}

/// The cost of an answer as a further field. Readers prefer it to their own price tables, which do
/// not know every model.
pub(super) fn render_cost(cost: MicroUsd) -> String {
    format!(r#","costUSD":{}.{:06}"#, cost.0 / 1_000_000, cost.0 % 1_000_000)
}

/// The usage as a further field.
pub(super) fn render_usage(usage: Usage) -> String {
    let Usage { input, output, cache_write, cache_read } = usage;
    format!(
        r#","usage":{{"input_tokens":{},"output_tokens":{},"cache_creation_input_tokens":{},"cache_read_input_tokens":{}}}"#,
        input.0, output.0, cache_write.0, cache_read.0
    )
}
