//! A prompt is prepared, runs, and is answered.

use windlass_assembly::prompt_expansion::PromptExpander;
use windlass_assembly::report::session_report::SessionReport;
use windlass_assembly::session_overview::SessionOverview;
use windlass_assembly::slash_command::{self, FrontEnd, SlashCommand};
use windlass_driver::PromptSubmission;
use windlass_driver::rewind::{RewindOptions, RewindScope};
use windlass_host::random::generate_uuid;
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{ContentBlock, Outcome};

use super::prompt_blocks::{PromptText, parse_prompt_blocks};
use super::prompt_ending::end_prompt;
use super::{PromptState, SessionTask, WaitingPrompt};
use crate::rpc::RpcError;
use crate::schema::{AcpContent, PromptStopReason};

/// A prompt whose files are read and whose commands are expanded.
pub(super) struct PreparedPrompt {
    command: SlashCommand,
}

impl SessionTask {
    pub(super) async fn start_next_prompt(&mut self) {
        if !matches!(self.prompt, PromptState::None) {
            return;
        }
        let Some(WaitingPrompt { id, blocks }) = self.waiting.pop_front() else { return };
        self.reload_settings().await;
        let expander = self.resources.expander.clone();
        let work = tokio::spawn(prepare_prompt(blocks, expander));
        self.prompt = PromptState::Preparing { id, work };
    }

    pub(super) async fn on_prepared(&mut self, prepared: Result<PreparedPrompt, String>) {
        let PromptState::Preparing { id, .. } =
            std::mem::replace(&mut self.prompt, PromptState::None)
        else {
            return;
        };
        let command = match prepared {
            Ok(PreparedPrompt { command }) => command,
            Err(why) => {
                return self.questions.client.respond(&id, Err(RpcError::invalid_params(why)));
            }
        };
        let mut is_side_question = false;
        let mut message = None;
        let sent = match command {
            SlashCommand::SubmitPrompt(mut submission) => {
                message = Some(submission.name.get_or_insert_with(generate_uuid).clone());
                self.session.submit(submission)
            }
            SlashCommand::Compact(focus) => {
                let asked = self.session.compact(focus);
                if let (Ok(()), Some(update)) = (&asked, self.updates.compaction.begin()) {
                    self.send_update(&update);
                }
                asked
            }
            SlashCommand::SideQuestion(question) => {
                is_side_question = true;
                self.session.ask_side_question(question)
            }
            SlashCommand::Clear | SlashCommand::Resume(_) => {
                let text = "Begin or choose a session in your editor.";
                self.send_update(&self.updates.message(text));
                return self.answer_prompt(&id, Ok(PromptStopReason::EndTurn));
            }
            command @ (SlashCommand::Context
            | SlashCommand::Cost
            | SlashCommand::Diff(_)
            | SlashCommand::Why
            | SlashCommand::Show { .. }
            | SlashCommand::Rewind(_)
            | SlashCommand::TerminalAction(_)
            | SlashCommand::ContinueRun
            | SlashCommand::ResumeDeferredCall) => {
                let outcome = self.run_report(command).await.map(|()| PromptStopReason::EndTurn);
                return self.answer_prompt(&id, outcome);
            }
        };
        match sent {
            Ok(()) => {
                let is_cancelled = false;
                self.prompt = PromptState::Running { id, message, is_side_question, is_cancelled };
            }
            Err(error) => {
                let why = format!("the prompt was not accepted: {error}");
                self.questions.client.respond(&id, Err(RpcError::internal(why)));
            }
        }
    }

    /// Runs a command that only looks at the session, without a model.
    async fn run_report(&mut self, mut command: SlashCommand) -> Result<(), RpcError> {
        if let SlashCommand::Show { section, text } = &mut command {
            let resources = &self.resources;
            *text = SessionOverview {
                settings: &resources.settings,
                agents: &resources.agents,
                custom_commands: &resources.expander.custom_commands,
                layers: &resources.layers,
                mcp_servers: &resources.mcp_servers,
            }
            .render(*section);
        }
        let journal = self.resources.journal.as_deref();
        let id = &self.questions.session_id;
        let report = SessionReport::build(&command, &self.session, id, journal).await;
        let report = report.map_err(RpcError::invalid_params)?;
        // A report is a table of its own: the editor must not reflow it.
        let text = format!("```\n{}\n```", report.text.trim_end());
        self.send_update(&self.updates.message(text));
        Ok(())
    }

    pub(super) fn end_side_question(&mut self, answer: &Result<String, String>) {
        let PromptState::Running { is_side_question: true, .. } = &self.prompt else { return };
        let PromptState::Running { id, .. } =
            std::mem::replace(&mut self.prompt, PromptState::None)
        else {
            return;
        };
        match answer {
            Ok(text) => {
                self.send_update(&self.updates.message(text.as_str()));
                self.answer_prompt(&id, Ok(PromptStopReason::EndTurn));
            }
            Err(why) => {
                let why = format!("not answered: {why}");
                self.questions.client.respond(&id, Err(RpcError::internal(why)));
            }
        }
    }

    pub(super) async fn end_run(&mut self, ending: &RunEnding) {
        let PromptState::Running { is_side_question: false, .. } = &self.prompt else { return };
        let PromptState::Running { id, message, is_cancelled, .. } =
            std::mem::replace(&mut self.prompt, PromptState::None)
        else {
            return;
        };
        if is_cancelled {
            return self.answer_prompt(&id, Ok(PromptStopReason::Cancelled));
        }
        if let (Some(Outcome::Refusal), Some(message)) = (ending.outcome, message) {
            self.drop_refused(message).await;
        }
        let ending = ending.clone();
        let endpoints = self.resources.endpoints.clone();
        let model = self.last_model.clone();
        let outcome =
            tokio::task::spawn_blocking(move || end_prompt(&ending, &endpoints, model.as_ref()));
        let outcome = outcome.await.unwrap_or_else(|broken| {
            Err(RpcError::internal(format!("the end of the run could not be told: {broken}")))
        });
        self.answer_prompt(&id, outcome);
    }

    /// Drops a refused prompt and what came after it from the conversation: the protocol says that
    /// the next request is without them. Files stay as they are.
    async fn drop_refused(&self, message: String) {
        let scope = RewindScope { conversation: true, files: false };
        if let Err(error) = self.session.rewind(message, scope, RewindOptions::default()).await {
            self.warn(format!("the refused prompt stays in the conversation: {error}"));
        }
    }
}

async fn prepare_prompt(
    blocks: Vec<AcpContent>,
    expander: PromptExpander,
) -> Result<PreparedPrompt, String> {
    let PromptText { text, attachments } = parse_prompt_blocks(blocks)?;
    let mut command = match text.is_empty() {
        true => SlashCommand::SubmitPrompt(PromptSubmission::from(Vec::new())),
        false => slash_command::parse_prompt(text, FrontEnd::Headless)
            .map_err(|error| error.message().to_owned())?,
    };
    // The others take nothing but words.
    if let SlashCommand::SubmitPrompt(submission) = command {
        let mut submission = expand(submission, &expander).await?;
        submission.content.extend(attachments);
        command = SlashCommand::SubmitPrompt(submission);
    } else if let SlashCommand::SideQuestion(question) = &mut command {
        for attachment in &attachments {
            if let ContentBlock::Text(text) = attachment {
                question.push_str(text);
            }
        }
    }
    Ok(PreparedPrompt { command })
}

async fn expand(
    submission: PromptSubmission,
    expander: &PromptExpander,
) -> Result<PromptSubmission, String> {
    if submission.pinned || submission.content.is_empty() {
        return Ok(submission);
    }
    expander.expand(submission).await.map_err(|error| error.message().to_owned())
}
