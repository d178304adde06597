//! Where a call stands in a distributed trace, for the programs and servers it speaks to.

use std::ffi::OsString;

/// The position in a trace, in the form of the W3C recommendation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// `00-<trace>-<span>-<flags>`.
    pub traceparent: String,
    /// What other systems on the way added, passed on as it came.
    pub tracestate: Option<String>,
    /// It may also leave this machine, with requests to MCP servers.
    pub goes_to_servers: bool,
}

impl TraceContext {
    /// Tells a child process. What it would have inherited is replaced.
    pub fn apply_to(&self, environment: &mut Vec<(OsString, OsString)>) {
        environment.retain(|(name, _)| name != TRACEPARENT && name != TRACESTATE);
        environment.push((TRACEPARENT.into(), (&self.traceparent).into()));
        if let Some(state) = &self.tracestate {
            environment.push((TRACESTATE.into(), state.into()));
        }
    }
}

const TRACEPARENT: &str = "TRACEPARENT";
const TRACESTATE: &str = "TRACESTATE";
