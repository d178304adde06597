//! Tells people of every hook that begins and ends.

use windlass_hook::{HookEvent, Said, Watcher};
use windlass_vocabulary::{HookNotice, HookOutcome, Millis, Notice};

use crate::notices::Teller;

/// Tells into the session's notices.
#[derive(Debug)]
pub(crate) struct Told(pub(crate) Teller);

impl Watcher for Told {
    fn started(&self, number: u64, name: &str, event: HookEvent) {
        let (event, name) = (event.name(), name.to_owned());
        self.0.tell(Notice::Hook(HookNotice::Started { number, event, name }));
    }

    fn ended(&self, said: &Said) {
        let outcome = match &said.failure {
            _ if said.is_cancelled => HookOutcome::Cancelled,
            Some(_) => HookOutcome::Error,
            None => HookOutcome::Success,
        };
        self.0.tell(Notice::Hook(HookNotice::Ended {
            number: said.number,
            event: said.event.name(),
            name: said.moment.clone(),
            hook: said.name.clone(),
            stdout: said.stdout.clone(),
            stderr: said.stderr.clone(),
            exit_code: said.exit_code,
            outcome,
            took: Millis(u64::try_from(said.took.as_millis()).unwrap_or(u64::MAX)),
        }));
    }
}
