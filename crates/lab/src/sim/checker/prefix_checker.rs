//! A request starts with the messages of the previous one, unless a notice explains the change of
//! the prefix: a context level shortened something, or something was left out at the provider's
//! demand. A retry must not shorten anything.

use windlass_engine::{Effect, Event};
use windlass_vocabulary::{Messages, Notice, Terminal};

use super::StepView;

#[derive(Debug, Default)]
pub(super) struct PrefixChecker {
    sent: Messages,
    is_broken: bool,
}

impl PrefixChecker {
    pub(super) fn check(&mut self, view: &StepView<'_>) -> Result<(), String> {
        // New figures may show that the request no longer fits; then a retry has to make room.
        let has_room = !view.state.control.attempt.compacted;
        let mut is_retry = matches!(view.event, Event::TimerFired { .. }) && has_room;
        for effect in view.effects {
            match effect {
                Effect::Tell(Notice::RunStarted) => is_retry = false,
                Effect::Tell(Notice::ContextShrunk { level, .. }) if *level > 1 => {
                    if is_retry && *level < 5 {
                        return Err(format!("level {level} acts on a retry"));
                    }
                    self.is_broken = true;
                }
                Effect::Tell(Notice::Repaired { .. }) => self.is_broken = true,
                Effect::Finish(ending) if ending.terminal == Terminal::ImageError => {
                    self.is_broken = true;
                }
                Effect::CallModel(request) => {
                    let is_prefix =
                        self.sent.shared_prefix_len(&request.messages) == self.sent.len();
                    if !is_prefix && !self.is_broken {
                        let attempt = request.attempt;
                        return Err(format!("{attempt} breaks the prefix without a reason"));
                    }
                    self.is_broken = false;
                    self.sent.clone_from(&request.messages);
                }
                Effect::CancelModel { .. }
                | Effect::StartTool { .. }
                | Effect::CancelTool { .. }
                | Effect::AskPermission { .. }
                | Effect::RunHook { .. }
                | Effect::Summarize { .. }
                | Effect::Spill { .. }
                | Effect::Keep { .. }
                | Effect::Prefetch { .. }
                | Effect::SetTimer { .. }
                | Effect::Tell(_)
                | Effect::Finish(_) => {}
            }
        }
        Ok(())
    }
}
