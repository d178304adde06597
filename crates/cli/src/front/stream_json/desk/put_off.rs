//! A call that an earlier process put off is taken up without a prompt.
//!
//! A client may say nothing at all: it ends its input, or it greets and then only reads. A prompt that
//! comes in time settles the call by itself, so there is one result and not two. Before the greeting
//! nothing is taken up: it brings the hooks that decide about the call.

use std::time::Duration;

use tokio::time::Instant;

use super::Desk;
use crate::front::stream_json::verdict::{self, Turn};

/// How far it is with a call that was put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::front::stream_json) enum PutOff {
    /// There is none, or it is somebody else's to settle.
    Nothing,
    /// Nobody has greeted us yet.
    Unheard,
    /// A prompt may still come.
    Until(Instant),
}

impl PutOff {
    pub(super) fn new(is_there: bool) -> Self {
        if is_there { Self::Unheard } else { Self::Nothing }
    }

    /// The client has said what it wants of the session.
    pub(in crate::front::stream_json) fn greeted(&mut self) {
        if *self == Self::Unheard {
            *self = Self::Until(Instant::now() + PROMPT_AFTER);
        }
    }

    /// No prompt will come.
    pub(super) fn nobody_speaks(&mut self) {
        if *self != Self::Nothing {
            *self = Self::Until(Instant::now());
        }
    }

    /// A prompt has come.
    pub(super) fn somebody_speaks(&mut self) {
        *self = Self::Nothing;
    }

    /// When it will be taken up; `None` also when it is time already.
    pub(super) fn coming(self) -> Option<Instant> {
        match self {
            Self::Until(due) => Some(due).filter(|_| !self.is_due()),
            Self::Nothing | Self::Unheard => None,
        }
    }

    pub(super) fn is_due(self) -> bool {
        matches!(self, Self::Until(due) if due <= Instant::now())
    }
}

impl Desk {
    /// Looks again at the call, as if a prompt without a word had come.
    pub(super) async fn take_up(&mut self) {
        self.put_off = PutOff::Nothing;
        let turn = Turn::new(None, None);
        if let Err(why) = self.open() {
            let frame = verdict::refused(turn.frame(&self.account), why);
            return self.result(frame);
        }
        let Some(stage) = &mut self.stage else {
            return;
        };
        stage.answer = Default::default();
        if stage.session.take_up().await {
            self.state("running");
            self.introduce();
            self.turn = Some(turn);
        }
    }
}

/// How long after the greeting a prompt is waited for.
const PROMPT_AFTER: Duration = Duration::from_secs(2);
