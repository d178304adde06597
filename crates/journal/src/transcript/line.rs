//! What every line begins with: who it is, what it hangs below, where and when it was said.

use windlass_vocabulary::Usage;

use super::block::quoted;
use super::{About, Transcriber};
use crate::clock::moment;

/// A line's own name, and that of the line it hangs below.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) own: String,
    pub(super) parent: Option<String>,
}

impl Transcriber {
    /// A line up to its own fields. The type goes first: readers look for it there.
    pub(super) fn head(&self, kind: &str, link: &Link, at: u64) -> String {
        let About { session, cwd, branch, version, agent } = &self.about;
        let Link { own, parent } = link;
        let parent = parent.as_ref().map_or("null".to_owned(), |parent| quoted(parent));
        let branch = branch.as_deref().map(|b| format!(r#","gitBranch":{}"#, quoted(b)));
        let branch = branch.unwrap_or_default();
        let side = match agent {
            Some(agent) => format!(r#""isSidechain":true,"agentId":{}"#, quoted(agent)),
            None => r#""isSidechain":false"#.to_owned(),
        };
        let (session, cwd, version) = (quoted(session), quoted(cwd), quoted(version));
        let (own, at) = (quoted(own), moment(at));
        format!(
            r#"{{"type":"{kind}","uuid":{own},"parentUuid":{parent},{side},"sessionId":{session},"timestamp":"{at}","cwd":{cwd}{branch},"userType":"external","version":{version}"#
        )
    }
}

/// A bill, as a field that follows others.
pub(super) fn usage(usage: Usage) -> String {
    let Usage { input, output, cache_write, cache_read } = usage;
    format!(
        r#","usage":{{"input_tokens":{},"output_tokens":{},"cache_creation_input_tokens":{},"cache_read_input_tokens":{}}}"#,
        input.0, output.0, cache_write.0, cache_read.0
    )
}
