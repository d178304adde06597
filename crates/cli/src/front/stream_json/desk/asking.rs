//! What the client is asked, and what it answers.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use windlass_settings::{Source, keep_setting};
use windlass_vocabulary::{Answer, Mode, PermissionQuestion, Ticket};

use super::Desk;
use crate::front::stream_json::asks::{Asker, GONE, Question};
use crate::front::stream_json::control::settings;
use crate::front::stream_json::frame::{Frame, Request, input};
use crate::front::stream_json::narrator::warning;
use crate::front::stream_json::permission::{self, Update};
use crate::front::stream_json::{fit, pipe};

impl Desk {
    /// The engine wants to know whether a call may run.
    pub(super) fn ask_permission(&mut self, ticket: Ticket, question: &PermissionQuestion) {
        if self.args.headless.can_ask() && self.ask_tool(ticket, question) {
            return;
        }
        let is_asked = self.args.headless.can_ask();
        if !is_asked || self.is_input_over {
            let why = if is_asked { GONE } else { "nobody can be asked here" };
            return self.reply(ticket, Answer::Deny { message: why.to_owned(), interrupt: false });
        }
        let directories = self.stage.as_ref().map(|stage| stage.directories().to_vec());
        let request = permission::request(question, &directories.unwrap_or_default());
        if is_too_long(&request) {
            let message = "The call is too long to be shown to the client.".to_owned();
            return self.reply(ticket, Answer::Deny { message, interrupt: false });
        }
        let Request::CanUseTool { input, .. } = &request else {
            return;
        };
        let asker = Asker::Permission(ticket, input.clone());
        let request_id = self.asks.open(asker, Some(Instant::now() + patience()));
        self.pipe.put(&Frame::ControlRequest { request_id, request });
        self.state("requires_action");
    }

    /// A tool of a server is asked, if one was named. What it does not clearly allow is not allowed.
    fn ask_tool(&self, ticket: Ticket, question: &PermissionQuestion) -> bool {
        let (Some((server, tool)), Some(stage)) = (self.args.headless.asked_tool(), &self.stage)
        else {
            return false;
        };
        let (servers, port) = (stage.remote.clone(), self.port.clone());
        let (server, tool) = (server.to_owned(), tool.to_owned());
        let asked = input(&question.call);
        let arguments = permission::arguments(question, &asked);
        tokio::spawn(async move {
            let reply = servers.call(&server, &tool, arguments, patience()).await;
            port.decided(ticket, asked, permission::decision(reply)).await;
        });
        true
    }

    /// Somebody beside the desk wants to know something.
    pub(super) fn question(&mut self, question: Question) {
        for request_id in self.asks.dropped() {
            self.pipe.put(&Frame::ControlCancelRequest { request_id });
        }
        let (request, answer) = match question {
            Question::Ask(request, answer) => (request, answer),
            Question::Withdrawn => return,
            Question::Decided(ticket, asked, said) => {
                return self.resolve(Asker::Permission(ticket, asked), said);
            }
            Question::Done(request_id, finish) => {
                self.serving -= 1;
                let outcome = (finish.0)(self);
                return self.respond(request_id, outcome);
            }
        };
        if self.is_input_over || is_too_long(&*request) {
            let why = if self.is_input_over { GONE } else { "it is too long for one line" };
            let _ = answer.send(Err(why.to_owned()));
            return;
        }
        let request_id = self.asks.open(Asker::Port(answer), None);
        self.pipe.put(&Frame::ControlRequest { request_id, request: *request });
    }

    /// The client answered.
    pub(super) fn answered(&mut self, response: &Value) {
        let text = |key: &str| response.get(key).and_then(Value::as_str);
        // Answers to what was withdrawn come too late and mean nothing.
        let Some(asker) = text("request_id").and_then(|name| self.asks.close(name)) else {
            return;
        };
        let said = match text("subtype") {
            Some("success") => Ok(response.get("response").cloned().unwrap_or_default()),
            _ => Err(text("error").unwrap_or("it did not say why").to_owned()),
        };
        self.resolve(asker, said);
    }

    /// The engine no longer wants to know.
    pub(super) fn withdraw(&mut self, ticket: Ticket) {
        if let Some(request_id) = self.asks.withdraw(ticket) {
            self.pipe.put(&Frame::ControlCancelRequest { request_id });
        }
        self.state_of_run();
    }

    /// Somebody took too long.
    pub(super) fn overdue(&mut self) {
        for (request_id, asker) in self.asks.overdue(Instant::now()) {
            self.pipe.put(&Frame::ControlCancelRequest { request_id });
            self.resolve(asker, Err("nobody answered in time".to_owned()));
        }
    }

    /// There will be no answers any more.
    pub(super) fn nobody_answers(&mut self) {
        for (_, asker) in self.asks.all() {
            self.resolve(asker, Err(GONE.to_owned()));
        }
    }

    fn resolve(&mut self, asker: Asker, said: Result<Value, String>) {
        match asker {
            Asker::Port(answer) => {
                // Nobody waits for it any more if this fails.
                let _ = answer.send(said);
            }
            Asker::Permission(ticket, asked) => {
                let (answer, updates) = permission::answer(said, &asked);
                self.update(updates);
                self.reply(ticket, answer);
                self.state_of_run();
            }
        }
    }

    fn reply(&self, ticket: Ticket, answer: Answer) {
        if let Some(stage) = &self.stage {
            // A session that does not take this is over, which is told next.
            let _ = stage.session.answer(ticket, answer);
        }
    }

    /// Changes what is allowed from now on.
    fn update(&mut self, updates: Vec<Update>) {
        if updates.is_empty() {
            return;
        }
        for update in &updates {
            if let Err(why) = self.keep(update) {
                self.put(warning(format!("not written down: {why}")));
            }
        }
        let stage = self.stage.as_ref();
        let forbids = stage.is_some_and(|stage| stage.layers.loaded.forbids_bypass);
        let mode = updates.iter().filter_map(Update::mode).next_back();
        let mode = mode.filter(|mode| !forbids || *mode != Mode::BypassPermissions);
        if let Some(stage) = &mut self.stage {
            let layers = stage.layers.clone();
            let _ = stage.session.configure(move |settings| {
                let before = settings.policy.mode;
                updates.into_iter().for_each(|update| update.apply(&mut settings.policy));
                layers.hold(&mut settings.policy, before);
            });
            stage.mode = mode.unwrap_or(stage.mode);
        }
        if let Some(mode) = mode {
            self.tell_mode(mode.name());
        }
    }

    /// Writes it down, if it is to be kept. What a yes adds to this machine's own settings of a project
    /// is trusted like the rest of them; what is written elsewhere has to be trusted like anything
    /// that stands there.
    fn keep(&self, update: &Update) -> Result<(), String> {
        let Some(layer) = update.layer() else {
            return Ok(());
        };
        let path = settings::file(self, layer)?;
        let allowed = update.allowed();
        if layer == Source::Local && !allowed.is_empty() && !update.replaces() {
            let request = settings::request(self)?;
            let kept = windlass_settings::remember(&request, &allowed);
            return kept.map(drop).map_err(|error| error.to_string());
        }
        let kept = keep_setting(&path, &update.keys(), |old| update.written(old));
        kept.map_err(|error| error.to_string())
    }

    fn state_of_run(&mut self) {
        if self.asks.are_permissions_open() {
            self.state("requires_action");
        } else if self.turn.is_some() {
            self.state("running");
        }
    }
}

/// A question that is shown in part would be answered for the whole.
fn is_too_long(request: &impl serde::Serialize) -> bool {
    fit::length(request) > pipe::LINE_MAX - 1_000
}

/// How long a person may take to answer. Nobody is waited for for ever.
fn patience() -> Duration {
    let given = std::env::var("WINDLASS_ANSWER_MAX_MS").ok().and_then(|text| text.parse().ok());
    given.map_or(ANSWER_MAX, Duration::from_millis)
}

const ANSWER_MAX: Duration = Duration::from_secs(24 * 60 * 60);
