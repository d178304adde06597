//! Sends a notice for every hook that begins and ends.

use windlass_hook::{HookEvent, HookRunResult, HookWatcher};
use windlass_tool::Secrets;
use windlass_vocabulary::{HookNotice, HookOutcome, Millis, Notice};

use crate::notices::NoticeSender;

#[derive(Debug)]
pub(crate) struct HookNoticeWatcher {
    pub(crate) notice_sender: NoticeSender,
    pub(crate) secrets: Secrets,
}

impl HookWatcher for HookNoticeWatcher {
    fn hook_started(&self, number: u64, name: &str, event: HookEvent) {
        let event = event.name();
        let name = name.to_owned();
        self.notice_sender.send(Notice::Hook(HookNotice::Started { number, event, name }));
    }

    fn hook_ended(&self, result: &HookRunResult) {
        let outcome = match &result.failure {
            _ if result.is_cancelled => HookOutcome::Cancelled,
            Some(_) => HookOutcome::Error,
            None => HookOutcome::Success,
        };
        let clean = |text: &str| self.secrets.redact(text).into_owned();
        self.notice_sender.send(Notice::Hook(HookNotice::Ended {
            number: result.number,
            event: result.event.name(),
            name: result.event_label.clone(),
            hook: clean(&result.name),
            stdout: clean(&result.stdout),
            stderr: clean(&result.stderr),
            exit_code: result.exit_code,
            outcome,
            took: Millis(u64::try_from(result.duration.as_millis()).unwrap_or(u64::MAX)),
        }));
    }
}
