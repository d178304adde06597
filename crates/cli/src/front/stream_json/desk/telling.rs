//! A run goes on, and ends.

use windlass_driver::Interrupt;
use windlass_vocabulary::hook::{HookNotice, HookOutcome};
use windlass_vocabulary::notice::Ending;
use windlass_vocabulary::{Notice, Terminal};

use super::Desk;
use crate::chance;
use crate::front::patience::Hopeless;
use crate::front::stream_json::frame::{Frame, Subtype};
use crate::front::stream_json::narrator::system;
use crate::front::stream_json::stage::Stage;
use crate::front::stream_json::structured::{self, Wanted};
use crate::front::stream_json::{failure, verdict};
use crate::front::{advice, words};

impl Desk {
    /// The session tells something.
    pub(super) async fn notice(&mut self, notice: &Notice) {
        self.account.notice(notice);
        if let Some(printer) = &mut self.printer {
            printer.notice(notice);
        }
        if let Some(diary) = &mut self.diary {
            diary.notice(notice);
        }
        let Some(stage) = &mut self.stage else {
            return;
        };
        match notice {
            Notice::RunStarted => stage.has_begun = true,
            // A journal that is continued may first tell the end of a run of an earlier process.
            Notice::RunEnded(_) if !stage.has_begun => return,
            Notice::RunEnded(ending) => return self.ended(ending).await,
            Notice::PermissionAsked { ticket, question } => {
                return self.ask_permission(*ticket, question);
            }
            Notice::PermissionWithdrawn(ticket) => return self.withdraw(*ticket),
            Notice::QuestionAnswered(said) => return self.answered_aside(said),
            Notice::MessageAdded(message) => stage.answer.message(message),
            Notice::RequestStarted { model, .. } => stage.is_asking(model),
            Notice::Warning(words) if words.starts_with(ENDS_BECAUSE) => {
                stage.spoiled.get_or_insert_with(|| words.clone());
            }
            _ => {}
        }
        if let Some(turn) = &mut self.turn {
            turn.notice(notice);
        }
        let mut frames = stage.narrator.tell(notice);
        match notice {
            Notice::ToolStarted(call) => stage.tasks.called(call),
            Notice::ToolEnded { call, .. } => {
                frames.extend(stage.tasks.answered(call.as_str()));
                let all = stage.session.background();
                frames.extend(stage.tasks.commands_began(&all, call.as_str()));
                if stage.wanted.as_ref().is_some_and(Wanted::is_spent) {
                    let _ = stage.session.interrupt(Interrupt::User);
                }
            }
            Notice::Suggested(text) => {
                frames.push(Frame::PromptSuggestion { suggestion: text.clone() });
            }
            Notice::Hook(hook) if self.args.headless.include_hook_events => {
                frames.push(hook_frame(hook));
            }
            Notice::Nested { call, agent, notice } => {
                frames.extend(stage.tasks.tell(call.as_str(), agent, notice));
            }
            _ => {}
        }
        frames.extend(behind(stage));
        let hopeless = stage.patience.is_over(notice);
        let names = names(stage, notice);
        self.put_named(frames, names);
        if let Some(why) = hopeless {
            self.give_up(&why);
        }
    }

    /// Tells of commands in the background that have ended.
    pub(in crate::front::stream_json) fn look_behind(&mut self) {
        let Some(stage) = &mut self.stage else {
            return;
        };
        let frames = behind(stage);
        frames.into_iter().for_each(|frame| self.put(frame));
    }

    /// Sends frames; those of the conversation under the names they have in the transcript.
    fn put_named(&mut self, frames: Vec<Frame>, names: Vec<String>) {
        let mut names = names.into_iter();
        for frame in frames {
            let name = match frame {
                Frame::Assistant(_) | Frame::User(_) => names.next(),
                _ => None,
            };
            let session = self.session_id();
            self.put_as(frame, session, name.unwrap_or_else(chance::uuid));
        }
    }

    /// A question beside the conversation is a prompt of its own; one that was put over the control
    /// channel is not.
    fn answered_aside(&mut self, said: &Result<String, String>) {
        if let Some(asker) = self.aside.take() {
            // Nobody waits for it any more if this fails.
            let _ = asker.send(said.clone());
            return;
        }
        let Some(mut turn) = self.turn.take_if(|turn| turn.is_aside) else { return };
        turn.answered();
        let frame = verdict::aside(turn.frame(&self.account), said);
        self.result(frame);
    }

    /// A server that is not there is not worth minutes of tries.
    fn give_up(&mut self, why: &Hopeless) {
        let Some(stage) = &mut self.stage else {
            return;
        };
        stage.hopeless = Some(advice::of_hopeless(why, &stage.atlas, stage.asked.as_ref()));
        // A session that does not take this is over, which is told next.
        let _ = stage.session.interrupt(Interrupt::Shutdown);
    }

    async fn ended(&mut self, ending: &Ending) {
        let Some(stage) = &mut self.stage else {
            return;
        };
        let hopeless = stage.hopeless.take();
        let problem = hopeless.clone().or_else(|| stage.spoiled.take()).or_else(|| {
            words::verdict(ending, |failure| {
                advice::of_failure(failure, &stage.atlas, stage.asked.as_ref())
            })
        });
        let mut text = stage.answer.text().to_owned();
        let failed = match (&ending.failure, &hopeless) {
            (Some(failure), _) => Some(failure::name(failure.kind)),
            (None, Some(_)) => Some("server_error"),
            (None, None) => None,
        };
        if let (Some(kind), Some(words)) = (failed, &problem) {
            let frame = stage.narrator.failed(words, kind);
            self.put(frame);
        }
        let Some(mut turn) = self.turn.take() else {
            return;
        };
        if let Some(freed) = turn.freed {
            let freed = words::count(freed.0);
            text = format!("History was made shorter, about {freed} tokens were freed.");
        }
        turn.answered();
        turn.usage += ending.usage;
        let wanted = self.stage.as_ref().and_then(|stage| stage.wanted.clone());
        if let Some(wanted) = &wanted {
            turn.structured = wanted.value();
            let is_over = ending.terminal == Terminal::Completed && ending.deferred.is_none();
            let is_missing = turn.structured.is_none() && is_over;
            if is_missing && wanted.missed() && self.remind() {
                self.turn = Some(turn);
                return;
            }
        }
        let mut frame = turn.frame(&self.account);
        frame = verdict::of_run(frame, ending, &text, problem.clone());
        let mut problem = problem;
        if let Some(wanted) = wanted.filter(|wanted| wanted.is_spent()) {
            frame = verdict::unstructured(frame, wanted.retries_max);
            problem = frame.problem().map(str::to_owned);
        }
        if let (Some(words), true) = (hopeless, frame.is_error) {
            frame.subtype = "success";
            frame.terminal_reason = "api_error";
            frame.errors.clear();
            frame.result = Some(words);
        }
        if let Some(outcome) = ending.outcome
            && outcome.name().ends_with("compacted")
        {
            self.compacted(!frame.is_error);
        }
        self.result_with(frame, problem);
    }

    /// Asks for the object that was not handed over. Says whether that was taken.
    fn remind(&self) -> bool {
        let stage = self.stage.as_ref();
        stage.is_some_and(|stage| stage.session.submit(structured::REMINDER).is_ok())
    }

    fn compacted(&mut self, is_done: bool) {
        let compact_result = Some(if is_done { "success" } else { "failed" });
        let status = Subtype::Status { status: None, permission_mode: None, compact_result };
        self.put(system(status));
    }

    /// The permission mode is another one now.
    pub(in crate::front::stream_json) fn tell_mode(&mut self, mode: &str) {
        let permission_mode = Some(mode.to_owned());
        let status = Subtype::Status { status: None, permission_mode, compact_result: None };
        self.put(system(status));
    }
}

/// What the message of a notice is called in the transcript.
fn names(stage: &mut Stage, notice: &Notice) -> Vec<String> {
    match notice {
        Notice::MessageAdded(message) => stage.mirror.names("", message.id),
        Notice::Nested { agent, notice, .. } => match &**notice {
            Notice::MessageAdded(message) => stage.mirror.names(agent.as_str(), message.id),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// What is told of commands in the background that have ended.
fn behind(stage: &mut Stage) -> Vec<Frame> {
    match stage.tasks.has_commands() {
        true => stage.tasks.commands_ended(&stage.session.background()),
        false => Vec::new(),
    }
}

/// How a session says that it cannot be written down any more.
const ENDS_BECAUSE: &str = "the session ends, because";

/// A hook began or ended.
fn hook_frame(notice: &HookNotice) -> Frame {
    system(match notice {
        HookNotice::Started { number, event, name } => Subtype::HookStarted {
            hook_id: format!("hook_{number}"),
            hook_name: name.clone(),
            hook_event: (*event).to_owned(),
        },
        HookNotice::Ended { number, event, name, stdout, stderr, exit_code, outcome, .. } => {
            Subtype::HookResponse {
                hook_id: format!("hook_{number}"),
                hook_name: name.clone(),
                hook_event: (*event).to_owned(),
                output: stdout.clone(),
                stdout: stdout.clone(),
                stderr: stderr.clone(),
                exit_code: *exit_code,
                outcome: match outcome {
                    HookOutcome::Success => "success",
                    HookOutcome::Error => "error",
                    HookOutcome::Cancelled => "cancelled",
                },
            }
        }
    })
}
