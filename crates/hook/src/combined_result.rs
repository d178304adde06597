//! Combines the results of several hooks. The strongest verdict wins: stop, block, defer, ask,
//! allow.

use serde_json::Value;
use windlass_vocabulary::{HookVerdict, MicroUsd};

use crate::hook_output::{ElicitationAnswer, PermissionRequestAnswer};
use crate::hook_run_result::HookRunResult;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CombinedHookResult {
    pub verdict: HookVerdict,
    pub decided_by: String,
    /// For the model, in configuration order.
    pub context: Vec<String>,
    pub messages: Vec<String>,
    pub warnings: Vec<String>,
    /// The changed input of the call; the last one wins.
    pub updated_input: Option<Value>,
    /// Replaces the tool's result for the model; the last one wins.
    pub updated_output: Option<Value>,
    pub permission_answer: Option<PermissionRequestAnswer>,
    pub title: Option<String>,
    pub first_message: Option<String>,
    pub spent: MicroUsd,
    /// The answer to a server's question; the last one wins.
    pub elicitation_answer: Option<ElicitationAnswer>,
    /// The result of each hook, in configuration order.
    pub results: Vec<HookRunResult>,
}

impl CombinedHookResult {
    /// Combines results, which must be in configuration order.
    #[must_use]
    pub(crate) fn from_results(results: Vec<HookRunResult>) -> Self {
        let mut combined = Self::default();
        for one in &results {
            combined.add(one);
        }
        combined.results = results;
        combined
    }

    fn add(&mut self, result: &HookRunResult) {
        let answer = &result.answer;
        if keep_stronger(&mut self.verdict, answer.verdict.clone()) {
            self.decided_by.clone_from(&result.name);
        }
        self.spent = self.spent + result.spent;
        self.context.extend(answer.context.iter().cloned());
        self.messages.extend(answer.message.clone());
        if let Some(failure) = result.failure.as_ref().filter(|_| !result.is_cancelled) {
            self.warnings
                .push(format!("the {} hook `{}` {failure}", result.event_label, result.name));
        }
        replace_if_some(&mut self.updated_input, &answer.updated_input);
        replace_if_some(&mut self.updated_output, &answer.updated_output);
        replace_if_some(&mut self.title, &answer.title);
        replace_if_some(&mut self.elicitation_answer, &answer.elicitation_answer);
        replace_if_some(&mut self.first_message, &answer.first_message);
        if !matches!(self.permission_answer, Some(PermissionRequestAnswer::Deny { .. })) {
            replace_if_some(&mut self.permission_answer, &answer.permission_answer);
        }
    }
}

fn replace_if_some<T: Clone>(held: &mut Option<T>, new: &Option<T>) {
    if new.is_some() {
        held.clone_from(new);
    }
}

/// Keeps the stronger verdict; reasons of blocks are concatenated. Returns whether the new one won.
pub(crate) fn keep_stronger(held: &mut HookVerdict, new: HookVerdict) -> bool {
    if let (HookVerdict::Block(old), HookVerdict::Block(more)) = (&mut *held, &new) {
        if old != more {
            old.push('\n');
            old.push_str(more);
        }
        return false;
    }
    let decides = verdict_rank(&new) > verdict_rank(held);
    if decides {
        *held = new;
    }
    decides
}

fn verdict_rank(verdict: &HookVerdict) -> u8 {
    match verdict {
        HookVerdict::Pass => 0,
        HookVerdict::Allow => 1,
        HookVerdict::Ask(_) => 2,
        HookVerdict::Defer(_) => 3,
        HookVerdict::Block(_) => 4,
        HookVerdict::Halt(_) => 5,
    }
}
