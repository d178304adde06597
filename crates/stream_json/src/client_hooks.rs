//! Hooks inside the client: each call is a request to it.

use std::time::Duration;

use serde_json::Value;
use windlass_driver::hooks::{HookCallback, HookCallbackFuture};

use crate::client_requests::ClientChannel;
use crate::frame::ClientControlRequest;

#[derive(Debug)]
pub(crate) struct ClientHooks {
    client_channel: ClientChannel,
}

impl ClientHooks {
    pub(crate) fn new(client_channel: ClientChannel) -> Self {
        Self { client_channel }
    }
}

impl HookCallback for ClientHooks {
    fn call<'a>(
        &'a self,
        callback_id: &'a str,
        input: &'a Value,
        tool_use_id: Option<&'a str>,
    ) -> HookCallbackFuture<'a> {
        let request = ClientControlRequest::HookCallback {
            callback_id: callback_id.to_owned(),
            input: input.clone(),
            tool_use_id: tool_use_id.map(str::to_owned),
        };
        // Each hook has a deadline of its own, which is shorter; a call that is dropped is withdrawn.
        Box::pin(self.client_channel.ask(request, CLIENT_HOOK_TIMEOUT))
    }
}

const CLIENT_HOOK_TIMEOUT: Duration = Duration::from_secs(60 * 60);
