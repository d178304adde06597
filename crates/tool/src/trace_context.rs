//! The position of a call in a distributed trace, for the programs and servers it uses.

use std::ffi::OsString;

/// The position in a trace, as in the W3C recommendation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// `00-<trace>-<span>-<flags>`.
    pub traceparent: String,
    /// Data of other systems, passed on unchanged.
    pub tracestate: Option<String>,
    /// It may be sent to other machines, with requests to MCP servers.
    pub goes_to_servers: bool,
}

impl TraceContext {
    /// Sets it in a child's environment, and replaces what would be inherited.
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
