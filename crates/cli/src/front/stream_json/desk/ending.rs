//! Prompts end: with a frame for clients, or printed for people when all is over.

use std::io::Write;

use super::Desk;
use crate::args::OutputFormat;
use crate::chance;
use crate::exit::Exit;
use crate::front::print::{Ended, Printer};
use crate::front::progress::Level;
use crate::front::stream_json::account::Account;
use crate::front::stream_json::frame::{Frame, ResultFrame, Stamped};
use crate::front::stream_json::pipe::Pipe;
use crate::front::stream_json::verdict::{self, Turn};
use crate::front::view::View;
use crate::refusal::{Refusal, one_line};
use crate::signals::Signals;

impl Desk {
    /// Tells what people should know before it begins.
    pub(crate) fn forewarn(&mut self, warnings: &[String], notes: &[String]) {
        if let Some(diary) = &mut self.diary {
            notes.iter().for_each(|note| diary.say(Level::Everything, note));
        }
        let Some(printer) = &mut self.printer else {
            for warning in warnings {
                // If nobody reads it, the protocol goes on.
                let _ = writeln!(std::io::stderr(), "windlass: {}", one_line(warning));
            }
            return;
        };
        warnings.iter().for_each(|warning| printer.progress.insist(warning));
        notes.iter().for_each(|note| printer.progress.say(Level::Everything, note));
    }

    /// The session is no longer there.
    pub(super) fn session_gone(&mut self) {
        let spoiled = self.stage.take().and_then(|stage| stage.spoiled);
        let why = spoiled.unwrap_or_else(|| WORDLESS.to_owned());
        self.broken = Some(why.clone());
        if let Some(turn) = self.turn.take() {
            let frame = verdict::refused(turn.frame(&self.account), why);
            self.result(frame);
        }
    }

    /// Ends a prompt.
    pub(super) fn result(&mut self, frame: ResultFrame) {
        let problem = frame.problem().map(str::to_owned);
        self.result_with(frame, problem);
    }

    /// Ends a prompt; the problem is what people are told of it.
    pub(super) fn result_with(&mut self, mut frame: ResultFrame, problem: Option<String>) {
        self.tell_lines();
        frame.result_index = self.results;
        frame.queued_turn_count = self.queue.len();
        self.results += 1;
        self.has_failed = frame.is_error;
        self.wait_for_tasks();
        if self.printer.is_some() {
            self.print(frame, problem);
        } else {
            self.put(Frame::Result(Box::new(frame)));
        }
        self.wake_for_ended();
        self.rest();
    }

    /// Tells that nothing more is to come, if that is so.
    pub(super) fn rest(&mut self) {
        if self.turn.is_none() && self.queue.is_empty() && !self.are_agents_left() {
            self.state("idle");
        }
    }

    /// Has the end printed when all is over.
    fn print(&mut self, frame: ResultFrame, problem: Option<String>) {
        let text = match (&frame.structured_output, &problem) {
            (Some(object), None) => object.to_string(),
            (_, None) => frame.result.clone().unwrap_or_default(),
            (_, Some(_)) => {
                let answer = self.stage.as_ref().map(|stage| stage.answer.text().to_owned());
                answer.unwrap_or_default()
            }
        };
        let has_failed = frame.is_error;
        let frame = Frame::Result(Box::new(frame));
        let result = Stamped { frame, uuid: chance::uuid(), session_id: self.session_id() };
        if let Some(printer) = &mut self.printer {
            printer.ended(Ended { result, text, problem, has_failed });
        }
    }
}

/// A session that could not even begin. Programs look for the reason in a result.
pub(crate) async fn refused(refusal: Refusal, format: OutputFormat) -> Refusal {
    if refusal.exit == Exit::USAGE || format == OutputFormat::Text {
        return refusal;
    }
    let frame = verdict::refused(empty(), refusal.to_string());
    alone(frame, chance::uuid()).await;
    refusal
}

/// Something that is seen without a session.
pub(crate) async fn seen(
    view: View,
    session_id: String,
    format: OutputFormat,
    mut signals: Signals,
) -> Exit {
    let (text, frame) = (view.text.clone(), verdict::seen(empty(), Ok(view)));
    let has_failed = frame.is_error;
    let Some(mut printer) = Printer::new(format, false) else {
        alone(frame, session_id).await;
        return Exit::DONE;
    };
    let result =
        Stamped { frame: Frame::Result(Box::new(frame)), uuid: chance::uuid(), session_id };
    printer.ended(Ended { result, text, problem: None, has_failed });
    printer.close(None, &mut signals).await
}

fn empty() -> ResultFrame {
    Turn::new(None, None).frame(&Account::default())
}

/// A result and nothing else.
async fn alone(frame: ResultFrame, session_id: String) {
    let mut pipe = Pipe::start();
    let frame = Frame::Result(Box::new(frame));
    pipe.put(&Stamped { frame, uuid: chance::uuid(), session_id });
    pipe.finish().await;
}

const WORDLESS: &str = "the session ended without a result; run it again with --verbose";
