//! Hooks that live in the client: each is a question to it.

use std::time::Duration;

use serde_json::Value;
use windlass_driver::hooks::{Callback, Calling};

use super::asks::Port;
use super::frame::Request;

/// Asks the client.
#[derive(Debug)]
pub(crate) struct ClientHooks {
    port: Port,
}

impl ClientHooks {
    /// Over this port.
    pub(crate) fn new(port: Port) -> Self {
        Self { port }
    }
}

impl Callback for ClientHooks {
    fn call<'a>(
        &'a self,
        callback_id: &'a str,
        input: &'a Value,
        tool_use_id: Option<&'a str>,
    ) -> Calling<'a> {
        let request = Request::HookCallback {
            callback_id: callback_id.to_owned(),
            input: input.clone(),
            tool_use_id: tool_use_id.map(str::to_owned),
        };
        // Each hook has a deadline of its own, which is shorter; a call that is dropped is withdrawn.
        Box::pin(self.port.ask(request, LIMIT))
    }
}

const LIMIT: Duration = Duration::from_secs(60 * 60);
