//! One nested session, from its start to the result its parent sees.

use serde_json::json;
use windlass_engine::Interrupt;
use windlass_tool::Job;
use windlass_vocabulary::notice::Ending;
use windlass_vocabulary::{
    AgentId, Json, Message, MicroUsd, ModelName, Notice, Role, ToolCallId, ToolOutcome,
};

use super::definition::AgentDefinition;
use super::input::Input;
use super::nest::Nest;
use crate::clock;
use crate::notices::Notices;
use crate::session::Session;

/// Runs it. Whatever happens, its money is accounted for and nothing of it is left running.
pub(super) async fn run(
    nest: &Nest,
    input: Input,
    mut definition: AgentDefinition,
    call: &ToolCallId,
    job: Job,
) -> ToolOutcome {
    let Some(_seat) = nest.seat() else {
        let most = nest.subagents.running_max;
        return ToolOutcome::failure(format!(
            "There are {most} agents at work, and no more may run at once. Wait for one, or do it \
             yourself."
        ));
    };
    if let Some(model) = &input.model {
        definition.model = Some(ModelName::from(model.as_str()));
    }
    let id = nest.name();
    let terms = (job.terms.policy.clone(), job.terms.allowance);
    let started = nest.builder(&id, &definition, call, terms).start();
    let (session, notices) = match started {
        Ok(started) => started,
        Err(error) => return ToolOutcome::failure(format!("The agent could not start: {error}.")),
    };
    let begun = clock::now();
    let mut nested = Nested { nest, session, notices, job, answer: String::new(), calls: 0 };
    let ending = nested.until_ended(&input.prompt).await;
    nested.session.close().await;
    nest.tree.questions.withdraw_all(&nest.teller, &nested.session);
    let took = clock::since(begun).0;
    outcome(&id, &input, &nested, ending, took)
}

/// A nested session under way.
struct Nested<'a> {
    nest: &'a Nest,
    session: Session,
    notices: Notices,
    job: Job,
    /// What it said last.
    answer: String,
    /// Tools it has started.
    calls: u64,
}

/// Why there is no ordinary end.
enum Cut {
    Cancelled,
    TooLong,
    Gone,
}

impl Nested<'_> {
    async fn until_ended(&mut self, prompt: &str) -> Result<Ending, (Cut, MicroUsd)> {
        let mut spent = MicroUsd(0);
        if self.session.submit(prompt).is_err() {
            return Err((Cut::Gone, spent));
        }
        let deadline = clock::later(clock::now(), self.nest.subagents.time_max);
        let cancel = self.job.cancel.clone();
        let mut cut = None;
        loop {
            // What was spent up to a forced end is told by the end itself, so it is waited for.
            let notice = tokio::select! {
                biased;
                () = cancel.cancelled(), if cut.is_none() => {
                    cut = Some(Cut::Cancelled);
                    let _ = self.session.interrupt(Interrupt::User);
                    continue;
                }
                () = tokio::time::sleep_until(deadline), if cut.is_none() => {
                    cut = Some(Cut::TooLong);
                    let _ = self.session.interrupt(Interrupt::User);
                    continue;
                }
                notice = self.notices.next() => notice,
            };
            match notice {
                None => return Err((cut.unwrap_or(Cut::Gone), spent)),
                Some(Notice::RunEnded(ending)) => {
                    return match cut {
                        None => Ok(ending),
                        Some(cut) => Err((cut, ending.cost)),
                    };
                }
                Some(Notice::Billed { total, .. }) => spent = total,
                Some(notice) => self.heard(notice),
            }
        }
    }

    /// Questions go to whoever answers the parent's; the rest is how far it is.
    fn heard(&mut self, notice: Notice) {
        let (teller, questions) = (&self.nest.teller, &self.nest.tree.questions);
        match notice {
            Notice::PermissionAsked { ticket, question } => {
                questions.ask(teller, &self.session, ticket, question);
            }
            Notice::PermissionWithdrawn(ticket) => {
                questions.withdraw(teller, &self.session, ticket);
            }
            Notice::ToolStarted(call) => {
                self.calls += 1;
                let number = self.calls;
                self.job.progress.say(|| format!("{} (call {number})", call.name));
            }
            Notice::MessageAdded(message) if message.role == Role::Assistant => {
                self.remember(&message);
            }
            _ => {}
        }
    }

    fn remember(&mut self, message: &Message) {
        let text = message.text();
        if !text.trim().is_empty() {
            self.answer = text;
        }
    }
}

fn outcome(
    id: &AgentId,
    input: &Input,
    nested: &Nested<'_>,
    ending: Result<Ending, (Cut, MicroUsd)>,
    took: u64,
) -> ToolOutcome {
    let answer = nested.answer.trim();
    let ending = match ending {
        Ok(ending) => ending,
        Err((cut, spent)) => {
            let why = match cut {
                Cut::Cancelled => "was stopped",
                Cut::TooLong => "took too long and was stopped",
                Cut::Gone => "broke down",
            };
            let failure = ToolOutcome::failure(said(&format!("The agent {why}."), answer));
            return ToolOutcome { spent, ..failure };
        }
    };
    if ending.terminal.is_error() {
        let words = format!("The agent ended without an answer: {}.", ending.why);
        return ToolOutcome { spent: ending.cost, ..ToolOutcome::failure(said(&words, answer)) };
    }
    let usage = ending.usage;
    let structured = json!({
        "status": "completed",
        "agentId": id.as_str(),
        "description": input.description,
        "content": [{ "type": "text", "text": answer }],
        "prompt": input.prompt,
        "totalToolUseCount": nested.calls,
        "totalDurationMs": took,
        "totalTokens": usage.input_total().0 + usage.output.0,
        "usage": {
            "input_tokens": usage.input.0,
            "output_tokens": usage.output.0,
            "cache_creation_input_tokens": usage.cache_write.0,
            "cache_read_input_tokens": usage.cache_read.0,
        },
    });
    let words = if answer.is_empty() { "The agent ended without a word." } else { answer };
    ToolOutcome {
        structured: Some(Json::from_checked(&structured.to_string())),
        spent: ending.cost,
        // What it did to the workspace is not known here; to assume that it did is the safe side.
        changed_workspace: nested.calls > 0,
        ..ToolOutcome::text(words)
    }
}

fn said(words: &str, answer: &str) -> String {
    match answer.is_empty() {
        true => words.to_owned(),
        false => format!("{words} The last it said:\n{answer}"),
    }
}
