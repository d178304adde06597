//! The door through which prompts come in: hooks at the start of a session stand there, and hooks that
//! look at each prompt.
//!
//! Prompts keep their order. The session listens all the while: an interrupt calls off what waits
//! here. A start that takes too long holds up the first prompt only for a while; what its hooks say
//! later goes with the next prompt. A prompt that hooks refuse leaves no trace in the session.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use windlass_engine::Event;
use windlass_hook::{HookEvent, Joint};
use windlass_vocabulary::notice::Ending;
use windlass_vocabulary::{
    AttachmentKind, Block, HookVerdict, MicroUsd, Mode, Notice, Terminal, Usage,
};

use super::{Asking, SessionHooks, export};
use crate::clock;
use crate::session::{Page, Submission};

/// The door of a session.
pub(crate) struct Door {
    hooks: Arc<SessionHooks>,
    starting: JoinSet<Joint>,
    /// Until then the first prompt waits for the start; `None` once it need not.
    starts_until: Option<Instant>,
    variables: Option<PathBuf>,
    asking: JoinSet<Joint>,
    waiting: VecDeque<Submission>,
    /// What hooks at the start want said before the next prompt.
    first: Option<String>,
}

/// What comes through the door.
pub(crate) enum Passage {
    /// Words for the model.
    Words(Event),
    /// A name for the session.
    Title(String),
    /// A prompt.
    Prompt(Submission),
}

/// Where the session stands, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) is_running: bool,
    pub(crate) spent: MicroUsd,
    pub(crate) mode: Mode,
}

impl Door {
    pub(crate) fn new(hooks: Arc<SessionHooks>) -> Self {
        Self {
            hooks,
            starting: JoinSet::new(),
            starts_until: None,
            variables: None,
            asking: JoinSet::new(),
            waiting: VecDeque::new(),
            first: None,
        }
    }

    /// The session starts, for this reason.
    pub(crate) fn open(&mut self, source: &str, mode: Mode) {
        let facts = &self.hooks.facts;
        let asking = match &facts.identity.agent {
            Some(agent) => {
                self.hooks.meant(HookEvent::SubagentStart, Some(&agent.kind), mode, Map::new())
            }
            None => {
                let fields = [("source", source), ("model", &facts.model)];
                let fields = fields.map(|(name, value)| (name.to_owned(), Value::from(value)));
                let fields = Map::from_iter(fields);
                self.hooks.meant(HookEvent::SessionStart, Some(source), mode, fields)
            }
        };
        let Some(mut asking) = asking else { return };
        if !self.hooks.is_nested() {
            self.variables = export::file(&self.hooks.inspector.surroundings);
            asking.occasion.env_file.clone_from(&self.variables);
        }
        self.starting.spawn(asking.run());
        self.starts_until = Some(clock::now() + START_MAX);
    }

    /// A prompt came. Given back when nobody looks at it.
    pub(crate) fn submit(&mut self, submission: Submission) -> Option<Submission> {
        let is_page = submission.page.is_some() && self.hooks.has(HookEvent::UserPromptExpansion);
        let is_watched = is_page || self.hooks.has(HookEvent::UserPromptSubmit);
        let is_watched = is_watched && !self.hooks.is_nested();
        if !is_watched && self.starts_until.is_none() && self.waiting.is_empty() {
            self.hooks.new_prompt();
            return Some(self.preceded(submission));
        }
        self.waiting.push_back(submission);
        None
    }

    /// What comes through next. Waits for ever when nothing can; dropping the future loses nothing.
    pub(crate) async fn next(&mut self, standing: Standing) -> Vec<Passage> {
        loop {
            let is_free = self.starts_until.is_none() && self.asking.is_empty();
            if is_free && let Some(events) = self.look_at_next(standing.mode) {
                return events;
            }
            let until = self.starts_until.filter(|_| !self.waiting.is_empty());
            tokio::select! {
                Some(joint) = self.starting.join_next() => {
                    self.starts_until = None;
                    self.adopt_variables().await;
                    let mut joint = joint.unwrap_or_default();
                    self.first = joint.first_message.take();
                    return words(joint);
                }
                Some(joint) = self.asking.join_next() => {
                    let joint = joint.unwrap_or_else(|error| broken(&error));
                    return self.judged(joint, standing);
                }
                () = async { sleep_until(until.unwrap_or_else(clock::now)).await },
                    if until.is_some() =>
                {
                    self.starts_until = None;
                    let seconds = START_MAX.as_secs();
                    self.hooks.warn(format!(
                        "the hooks at the start took longer than {seconds} s; the session begins \
                         without what they say"
                    ));
                }
                else => std::future::pending::<()>().await,
            }
        }
    }

    /// Nothing that waits here comes in any more. Says whether anything did.
    pub(crate) fn interrupt(&mut self, standing: Standing) -> bool {
        let had_any = !self.waiting.is_empty();
        self.waiting.clear();
        self.asking = JoinSet::new();
        if had_any && !standing.is_running {
            let why = "interrupted before the prompt was sent".to_owned();
            self.over(Terminal::AbortedStreaming, why, standing.spent);
        }
        had_any
    }

    /// Has hooks look at the next prompt, or lets it in.
    fn look_at_next(&mut self, mode: Mode) -> Option<Vec<Passage>> {
        let submission = self.waiting.front()?;
        let prompt = text(submission);
        self.hooks.new_prompt();
        let page = submission.page.as_ref().and_then(|page| self.called(page, &prompt, mode));
        let fields = Map::from_iter([("prompt".to_owned(), Value::from(prompt))]);
        let is_nested = self.hooks.is_nested();
        let asking = self.hooks.meant(HookEvent::UserPromptSubmit, None, mode, fields);
        let all: Vec<Asking> = page.into_iter().chain(asking).filter(|_| !is_nested).collect();
        match all.is_empty() {
            false => {
                self.asking.spawn(in_turn(all));
                None
            }
            true => {
                let submission = self.waiting.pop_front()?;
                Some(vec![Passage::Prompt(self.preceded(submission))])
            }
        }
    }

    /// Those who are asked whether a page may stand for what was typed.
    fn called(&self, page: &Page, prompt: &str, mode: Mode) -> Option<Asking> {
        let fields = json!({
            "expansion_type": "slash_command",
            "command_name": page.name,
            "command_args": page.arguments,
            "command_source": page.source,
            "prompt": prompt,
        });
        let fields = fields.as_object().cloned().unwrap_or_default();
        self.hooks.meant(HookEvent::UserPromptExpansion, Some(&page.name), mode, fields)
    }

    /// Hooks have looked at the first prompt that waits.
    fn judged(&mut self, joint: Joint, standing: Standing) -> Vec<Passage> {
        let Some(submission) = self.waiting.pop_front() else {
            return Vec::new();
        };
        match joint.verdict {
            HookVerdict::Block(why) | HookVerdict::Halt(why) => {
                let why = format!("a hook ({}) refused the prompt: {why}", joint.name);
                self.hooks.warn(why.clone());
                if !standing.is_running {
                    self.over(Terminal::HookStopped, why, standing.spent);
                }
                Vec::new()
            }
            HookVerdict::Pass
            | HookVerdict::Allow
            | HookVerdict::Ask(_)
            | HookVerdict::Defer(_) => {
                let mut events = words(joint);
                events.push(Passage::Prompt(self.preceded(submission)));
                events
            }
        }
    }

    /// What hooks at the start want said goes before the first prompt's own words.
    fn preceded(&mut self, mut submission: Submission) -> Submission {
        if let Some(first) = self.first.take() {
            submission.content.insert(0, Block::Text(format!("{first}\n\n")));
        }
        submission
    }

    /// A prompt that never came in is over all the same: whoever sent it waits for its end.
    fn over(&self, terminal: Terminal, why: String, cost: MicroUsd) {
        let teller = &self.hooks.teller;
        teller.tell(Notice::RunStarted);
        teller.tell(Notice::RunEnded(Ending {
            terminal,
            outcome: None,
            why,
            failure: None,
            turns: 0,
            usage: Usage::default(),
            cost,
            deferred: None,
        }));
    }

    async fn adopt_variables(&mut self) {
        if let Some(file) = self.variables.take()
            && let Err(problem) = export::adopt(&file, &self.hooks.inspector.surroundings).await
        {
            self.hooks.warn(format!("variables of the hooks at the start are lost: {problem}"));
        }
    }
}

/// Asks one after the other, as long as nobody objects.
async fn in_turn(all: Vec<Asking>) -> Joint {
    let mut joint = Joint::default();
    for asking in all {
        let said = asking.run().await;
        let is_over = matches!(said.verdict, HookVerdict::Block(_) | HookVerdict::Halt(_));
        let context = [std::mem::take(&mut joint.context), said.context.clone()].concat();
        let title = said.title.clone().or(joint.title.take());
        joint = Joint { context, title, ..said };
        if is_over {
            break;
        }
    }
    joint
}

/// What hooks want the model to know.
fn words(joint: Joint) -> Vec<Passage> {
    let kind = AttachmentKind::Hook;
    let arrived = |text| Passage::Words(Event::AttachmentArrived { kind, text });
    let title = joint.title.map(Passage::Title);
    title.into_iter().chain(joint.context.into_iter().map(arrived)).collect()
}

fn broken(error: &tokio::task::JoinError) -> Joint {
    let why = format!("its hooks broke down: {error}");
    Joint { verdict: HookVerdict::Block(why), ..Joint::default() }
}

fn text(submission: &Submission) -> String {
    let mut text = String::new();
    for block in &submission.content {
        if let Block::Text(words) = block {
            text.push_str(words);
        }
    }
    text
}

/// How long the first prompt waits for the hooks at the start.
const START_MAX: Duration = Duration::from_secs(60);
