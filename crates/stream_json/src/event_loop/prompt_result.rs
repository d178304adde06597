//! Prompts end: with a frame, or printed at the end of the process.

use super::EventLoop;
use crate::frame::{ConversationFrame, OutgoingFrame, ResultFrame};
use crate::frame_writer::FrameWriter;
use crate::live_session::LiveSession;
use crate::print::{PrintedResult, Printer};
use crate::progress_log::ProgressLevel;
use crate::prompt_turn;
use crate::prompt_turn::PromptTurn;
use crate::session_state::SessionState;
use crate::usage_totals::UsageTotals;
use windlass_assembly::options::OutputFormat;
use windlass_assembly::report::session_report::SessionReport;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::exit::Exit;
use windlass_host::random;
use windlass_host::signals::{SignalListener, await_unless_signalled};

impl EventLoop {
    pub(crate) fn report_warnings(&mut self, warnings: &[String], notes: &[String]) {
        if let Some(log) = &mut self.output.debug_log {
            notes.iter().for_each(|note| log.log(ProgressLevel::Verbose, note));
        }
        let Some(printer) = &mut self.output.printer else {
            for warning in warnings {
                // If standard error is not read, the protocol continues.
                let line = format!("windlass: {}\n", to_single_line(warning));
                let _ = self.output.error_lines.write(line);
            }
            return;
        };
        warnings.iter().for_each(|warning| printer.progress.log_always(warning));
        notes.iter().for_each(|note| printer.progress.log(ProgressLevel::Verbose, note));
    }

    /// Reports the cleanup of old sessions, in verbose mode.
    pub(super) async fn report_cleanup(&mut self) {
        let cleanup = self.session.live_mut().and_then(|live| live.files.cleanup.take());
        let Some(cleanup) = cleanup.filter(|_| self.args.verbose) else { return };
        let waiting = cleanup.wait(CLEANUP_WAIT_MAX);
        if let Ok(lines) = await_unless_signalled(&mut self.signals.listener, waiting).await {
            self.report_warnings(&[], &lines);
        }
    }

    pub(super) fn on_session_lost(&mut self) {
        let storage_failure = self.session.live().and_then(LiveSession::storage_failure);
        let why = storage_failure.unwrap_or_else(|| NO_RESULT.to_owned());
        self.session.replace_with_lost(why.clone());
        if let Some(turn) = self.turn.take() {
            self.fail_turn(turn, why);
        }
    }

    /// Ends a prompt that never became a run, or lost it.
    pub(super) fn fail_turn(&mut self, turn: PromptTurn, why: String) {
        let frame = turn.into_result_frame(&self.usage_totals);
        self.send_result(prompt_turn::fail_with(frame, why));
    }

    pub(super) fn send_result(&mut self, frame: ResultFrame) {
        let problem = frame.problem().map(str::to_owned);
        self.send_result_with_problem(frame, problem);
    }

    /// Ends a prompt; `problem` is what users read of it.
    pub(super) fn send_result_with_problem(
        &mut self,
        mut frame: ResultFrame,
        problem: Option<String>,
    ) {
        self.send_transcript_lines();
        frame.prompt.result_index = self.output.results_sent;
        frame.prompt.queued_turn_count = self.prompts.waiting.len();
        self.output.results_sent += 1;
        self.output.has_failed = frame.is_error;
        self.start_background_deadline();
        if self.output.printer.is_some() {
            self.queue_printed_result(frame, problem);
        } else {
            self.send_frame(OutgoingFrame::Result(Box::new(frame)));
        }
        self.queue_task_notifications();
        self.send_idle_state();
    }

    /// Reports `idle` if nothing more is to come.
    pub(super) fn send_idle_state(&mut self) {
        if self.turn.is_none() && self.prompts.waiting.is_empty() && !self.has_running_agents() {
            self.send_state(SessionState::Idle);
        }
    }

    /// Leaves the result to the printer, which prints the last one at the end.
    fn queue_printed_result(&mut self, frame: ResultFrame, problem: Option<String>) {
        let text = match (&frame.structured_output, &problem) {
            (Some(object), None) => object.to_string(),
            (_, None) => frame.result.clone().unwrap_or_default(),
            (_, Some(_)) => {
                let answer = self.session.live().map(|live| live.final_answer.text().to_owned());
                answer.unwrap_or_default()
            }
        };
        let has_failed = frame.is_error;
        let frame = OutgoingFrame::Result(Box::new(frame));
        let result = ConversationFrame {
            frame,
            uuid: random::generate_uuid(),
            session_id: self.session.session_id().to_owned(),
        };
        if let Some(printer) = &mut self.output.printer {
            printer.set_result(PrintedResult { result, text, problem, has_failed });
        }
    }
}

/// Reports a session that could not start. Programs look for the reason in a result.
pub(crate) async fn report_start_failure(
    refusal: CommandError,
    format: OutputFormat,
) -> CommandError {
    if refusal.exit == Exit::USAGE || format == OutputFormat::Text {
        return refusal;
    }
    let frame = prompt_turn::fail_with(empty_result(), refusal.to_string());
    send_only_result(frame, random::generate_uuid()).await;
    refusal
}

/// Prints a report that needs no session.
pub(crate) async fn print_session_report(
    view: SessionReport,
    session_id: String,
    format: OutputFormat,
    mut signals: SignalListener,
) -> Exit {
    let text = view.text.clone();
    let frame = prompt_turn::complete_with_report(empty_result(), Ok(view));
    let has_failed = frame.is_error;
    let Some(mut printer) = Printer::new(format, false) else {
        send_only_result(frame, session_id).await;
        return Exit::SUCCESS;
    };
    let result = ConversationFrame {
        frame: OutgoingFrame::Result(Box::new(frame)),
        uuid: random::generate_uuid(),
        session_id,
    };
    printer.set_result(PrintedResult { result, text, problem: None, has_failed });
    printer.print_result(None, &mut signals).await
}

fn empty_result() -> ResultFrame {
    PromptTurn::new(None, None).into_result_frame(&UsageTotals::default())
}

async fn send_only_result(frame: ResultFrame, session_id: String) {
    let mut writer = FrameWriter::spawn();
    let frame = OutgoingFrame::Result(Box::new(frame));
    writer.write_frame(&ConversationFrame { frame, uuid: random::generate_uuid(), session_id });
    writer.finish().await;
}

/// How long the process waits at its end to report the cleanup.
const CLEANUP_WAIT_MAX: std::time::Duration = std::time::Duration::from_secs(1);
const NO_RESULT: &str = "the session ended without a result; run it again with --verbose";
