//! Tells people of every hook that begins and ends.

use windlass_hook::{HookEvent, HookRunResult, HookWatcher};
use windlass_tool::Secrets;
use windlass_vocabulary::{HookNotice, HookOutcome, Millis, Notice};

use crate::notices::NoticeSender;

/// Tells into the session's notices.
#[derive(Debug)]
pub(crate) struct HookNoticeWatcher {
    pub(crate) notice_sender: NoticeSender,
    pub(crate) secrets: Secrets,
}

impl HookWatcher for HookNoticeWatcher {
    fn hook_started(&self, number: u64, name: &str, event: HookEvent) {
        let (event, name) = (event.name(), name.to_owned());
        self.notice_sender.send(Notice::Hook(HookNotice::Started { number, event, name }));
    }

    fn hook_ended(&self, said: &HookRunResult) {
        let outcome = match &said.failure {
            _ if said.is_cancelled => HookOutcome::Cancelled,
            Some(_) => HookOutcome::Error,
            None => HookOutcome::Success,
        };
        let clean = |text: &str| self.secrets.redact(text).into_owned();
        self.notice_sender.send(Notice::Hook(HookNotice::Ended {
            number: said.number,
            event: said.event.name(),
            name: said.event_label.clone(),
            hook: clean(&said.name),
            stdout: clean(&said.stdout),
            stderr: clean(&said.stderr),
            exit_code: said.exit_code,
            outcome,
            took: Millis(u64::try_from(said.duration.as_millis()).unwrap_or(u64::MAX)),
        }));
    }
}
