//! Permission prompts and other requests to the client, and its answers.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use windlass_driver::SettingsChange;
use windlass_settings::{SettingsSource, write_setting};
use windlass_vocabulary::{PermissionAnswer, PermissionMode, PermissionQuestion, Ticket};

use super::EventLoop;
use crate::client_requests::{CLIENT_GONE, ClientChannelEvent, RequestWaiter};
use crate::control::settings;
use crate::frame::{ClientControlRequest, OutgoingFrame, tool_input_to_json};
use crate::notice_to_frame::build_warning_frame;
use crate::permission_protocol;
use crate::permission_protocol::PermissionUpdate;
use crate::session_state::SessionState;
use crate::{frame_writer, line_limit};

impl EventLoop {
    pub(super) fn ask_permission(&mut self, ticket: Ticket, question: &PermissionQuestion) {
        if self.args.headless.can_prompt_for_permission()
            && self.ask_permission_tool(ticket, question)
        {
            return;
        }
        let is_asked = self.args.headless.can_prompt_for_permission();
        if !is_asked || self.input.is_over {
            let why = if is_asked { CLIENT_GONE } else { "nobody can be asked here" };
            return self.answer_permission(
                ticket,
                PermissionAnswer::Deny { message: why.to_owned(), interrupt: false },
            );
        }
        let directories = self.session.live().map(|live| live.directories().to_vec());
        let request = permission_protocol::build_permission_request(
            question,
            &directories.unwrap_or_default(),
        );
        if is_too_long(&request) {
            let message = "The call is too long to be shown to the client.".to_owned();
            return self
                .answer_permission(ticket, PermissionAnswer::Deny { message, interrupt: false });
        }
        let ClientControlRequest::CanUseTool { input, .. } = &request else {
            return;
        };
        let waiter = RequestWaiter::Permission { ticket, input: input.clone() };
        let request_id = self.client.pending.add(waiter, Some(Instant::now() + answer_timeout()));
        self.output
            .frame_writer
            .write_frame(&OutgoingFrame::ControlRequest { request_id, request });
        self.send_state(SessionState::RequiresAction);
    }

    /// Asks the tool of `--permission-prompt-tool`, if one is named. Only a clear allow allows.
    fn ask_permission_tool(&self, ticket: Ticket, question: &PermissionQuestion) -> bool {
        let (Some((server, tool)), Some(live)) =
            (self.args.headless.permission_prompt_mcp_tool(), self.session.live())
        else {
            return false;
        };
        let servers = live.mcp_servers.clone();
        let channel = self.client.channel.clone();
        let server = server.to_owned();
        let tool = tool.to_owned();
        let input = tool_input_to_json(&question.call);
        let arguments = permission_protocol::build_prompt_tool_arguments(question, &input);
        tokio::spawn(async move {
            let reply = servers.call_tool(&server, &tool, arguments, answer_timeout()).await;
            let decision = permission_protocol::parse_prompt_tool_reply(reply);
            channel.send_decision(ticket, input, decision).await;
        });
        true
    }

    pub(super) fn on_channel_event(&mut self, event: ClientChannelEvent) {
        for request_id in self.client.pending.take_dropped() {
            self.output
                .frame_writer
                .write_frame(&OutgoingFrame::ControlCancelRequest { request_id });
        }
        let (request, answer) = match event {
            ClientChannelEvent::NewRequest { request, answer } => (request, answer),
            ClientChannelEvent::RequestDropped => return,
            ClientChannelEvent::PermissionDecided { ticket, input, decision } => {
                return self.resolve_request(RequestWaiter::Permission { ticket, input }, decision);
            }
        };
        if self.input.is_over || is_too_long(&*request) {
            let why = if self.input.is_over { CLIENT_GONE } else { "it is too long for one line" };
            let _ = answer.send(Err(why.to_owned()));
            return;
        }
        let request_id = self.client.pending.add(RequestWaiter::Channel(answer), None);
        self.output
            .frame_writer
            .write_frame(&OutgoingFrame::ControlRequest { request_id, request: *request });
    }

    pub(super) fn on_client_response(&mut self, response: &Value) {
        let text = |key: &str| response.get(key).and_then(Value::as_str);
        // An answer to a withdrawn request comes too late.
        let Some(waiter) =
            text("request_id").and_then(|name| self.client.pending.take_answered(name))
        else {
            return;
        };
        let outcome = match text("subtype") {
            Some("success") => Ok(response.get("response").cloned().unwrap_or_default()),
            _ => Err(text("error").unwrap_or("it did not say why").to_owned()),
        };
        self.resolve_request(waiter, outcome);
    }

    pub(super) fn withdraw_permission(&mut self, ticket: Ticket) {
        if let Some(request_id) = self.client.pending.withdraw_permission(ticket) {
            self.output
                .frame_writer
                .write_frame(&OutgoingFrame::ControlCancelRequest { request_id });
        }
        self.send_run_state();
    }

    pub(super) fn expire_requests(&mut self) {
        for (request_id, waiter) in self.client.pending.take_overdue(Instant::now()) {
            self.output
                .frame_writer
                .write_frame(&OutgoingFrame::ControlCancelRequest { request_id });
            self.resolve_request(waiter, Err("no answer came in time".to_owned()));
        }
    }

    pub(super) fn fail_pending_requests(&mut self) {
        for (_, waiter) in self.client.pending.take_all() {
            self.resolve_request(waiter, Err(CLIENT_GONE.to_owned()));
        }
    }

    fn resolve_request(&mut self, waiter: RequestWaiter, response: Result<Value, String>) {
        match waiter {
            RequestWaiter::Channel(answer) => {
                // The caller may have stopped waiting.
                let _ = answer.send(response);
            }
            RequestWaiter::Permission { ticket, input } => {
                let (answer, updates) =
                    permission_protocol::parse_permission_answer(response, &input);
                self.apply_permission_updates(updates);
                self.answer_permission(ticket, answer);
                self.send_run_state();
            }
        }
    }

    fn answer_permission(&self, ticket: Ticket, answer: PermissionAnswer) {
        if let Some(live) = self.session.live() {
            // A session that does not take this is over, which its notices say next.
            let _ = live.session.answer(ticket, answer);
        }
    }

    fn apply_permission_updates(&mut self, updates: Vec<PermissionUpdate>) {
        if updates.is_empty() {
            return;
        }
        for update in &updates {
            if let Err(why) = self.save_permission_update(update) {
                self.send_frame(build_warning_frame(format!("not saved: {why}")));
            }
        }
        let live = self.session.live();
        let forbids = live.is_some_and(|live| live.settings.layers.loaded.forbids_bypass);
        let mode = updates.iter().filter_map(PermissionUpdate::mode).next_back();
        let mode = mode.filter(|mode| !forbids || *mode != PermissionMode::BypassPermissions);
        if let Some(live) = self.session.live_mut() {
            let layers = live.settings.layers.clone();
            let _ = live.session.configure([SettingsChange::policy(move |policy| {
                let before = policy.mode;
                updates.into_iter().for_each(|update| update.apply_to_policy(policy));
                layers.enforce_managed_rules(policy, before);
            })]);
            live.mode = mode.unwrap_or(live.mode);
        }
        if let Some(mode) = mode {
            self.send_permission_mode(mode.name());
        }
    }

    /// Writes the update to its settings file, if it has one. Allow rules added to a project's
    /// local settings remain trusted like the rest of that file; other files must be trusted again.
    fn save_permission_update(&self, update: &PermissionUpdate) -> Result<(), String> {
        let Some(layer) = update.settings_source() else {
            return Ok(());
        };
        let path = settings::settings_file_path(self, layer)?;
        let allowed = update.allowed_rules();
        if layer == SettingsSource::Local && !allowed.is_empty() && !update.is_replacement() {
            let request = settings::build_settings_request(self)?;
            let written = windlass_settings::add_local_allow_rules(&request, &allowed);
            return written.map(drop).map_err(|error| error.to_string());
        }
        let written =
            write_setting(&path, &update.setting_keys(), |old| update.apply_to_setting(old));
        written.map_err(|error| error.to_string())
    }

    fn send_run_state(&mut self) {
        if self.client.pending.has_open_permission() {
            self.send_state(SessionState::RequiresAction);
        } else if self.turn.is_some() {
            self.send_state(SessionState::Running);
        }
    }
}

/// A request that is shown in part would be answered for the whole.
fn is_too_long(request: &impl serde::Serialize) -> bool {
    line_limit::json_length(request) > frame_writer::LINE_BYTES_MAX - 1_000
}

/// How long a user may take to answer.
fn answer_timeout() -> Duration {
    let given = std::env::var("WINDLASS_ANSWER_MAX_MS").ok().and_then(|text| text.parse().ok());
    given.map_or(ANSWER_TIMEOUT_MAX, Duration::from_millis)
}

const ANSWER_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
