//! A call that an earlier process deferred is resumed without a prompt.
//!
//! A client may send no prompt at all: it ends its input, or it sends `initialize` and then only reads.
//! A prompt that comes in time settles the call by itself, so there is one result and not two. Nothing is
//! resumed before `initialize`: it brings the hooks that decide about the call.

use std::time::Duration;

use tokio::time::Instant;

use super::EventLoop;
use crate::prompt_turn::PromptTurn;
use crate::session_state::SessionState;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeferredCallState {
    /// There is none, or a prompt will handle it.
    Absent,
    AwaitingInitialize,
    /// Resumed at this time, unless a prompt comes.
    AwaitingPrompt(Instant),
}

impl DeferredCallState {
    pub(super) fn new(is_there: bool) -> Self {
        if is_there { Self::AwaitingInitialize } else { Self::Absent }
    }

    pub(crate) fn on_initialize(&mut self) {
        if *self == Self::AwaitingInitialize {
            *self = Self::AwaitingPrompt(Instant::now() + PROMPT_WAIT);
        }
    }

    pub(super) fn on_no_more_prompts(&mut self) {
        if *self != Self::Absent {
            *self = Self::AwaitingPrompt(Instant::now());
        }
    }

    pub(super) fn on_prompt(&mut self) {
        *self = Self::Absent;
    }

    /// When it will be taken up; `None` also when it is time already.
    pub(super) fn next_due(self) -> Option<Instant> {
        match self {
            Self::AwaitingPrompt(due) => Some(due).filter(|_| !self.is_due()),
            Self::Absent | Self::AwaitingInitialize => None,
        }
    }

    pub(super) fn is_due(self) -> bool {
        matches!(self, Self::AwaitingPrompt(due) if due <= Instant::now())
    }
}

impl EventLoop {
    /// Resumes the call, as if an empty prompt had come.
    pub(super) async fn resume_deferred_call(&mut self) {
        self.deferred_call = DeferredCallState::Absent;
        let turn = PromptTurn::new(None, None);
        if let Err(why) = self.open_session() {
            return self.fail_turn(turn, why);
        }
        let Some(live) = self.session.live_mut() else {
            return;
        };
        live.final_answer = Default::default();
        if live.session.resume_deferred().await {
            self.send_state(SessionState::Running);
            self.send_init();
            self.turn = Some(turn);
        }
    }
}

/// How long a prompt is waited for after `initialize`.
const PROMPT_WAIT: Duration = Duration::from_secs(2);
