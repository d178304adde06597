//! A pause before the next try. Told with its cause, so that nothing waits in silence.

use windlass_vocabulary::{Millis, Notice};

use crate::effect::Effect;
use crate::retry;
use crate::state::Errand;
use crate::step::Loop;

impl Loop<'_> {
    pub(crate) fn back_off(&mut self) {
        let Some(failure) = self.state.recovery.withheld.clone() else {
            return;
        };
        let retries = self.state.control.attempt.retries;
        let wait = retry::wait(&self.state, self.settings.retry.jitter_seed, &failure, retries);
        self.state.recovery.waited = Millis(self.state.recovery.waited.0.saturating_add(wait.0));
        let ticket = self.state.next.ticket();
        self.state.errand = Some(Errand { ticket, attempt: None, tries: 0 });
        self.tell(Notice::RetryScheduled {
            failure,
            attempt: retries,
            attempts_max: self.limits.retries_max,
            wait,
        });
        self.effects.push(Effect::SetTimer { ticket, after: wait });
    }
}
