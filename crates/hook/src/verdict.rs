//! Several hooks, one verdict: an end of the run before a no, a no before a delay, a delay before a
//! question, a question before a yes.

use serde_json::Value;
use windlass_vocabulary::{HookVerdict, MicroUsd};

use crate::answer::Said;
use crate::wire::{Elicited, RequestAnswer};

/// What all hooks at one moment said together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joint {
    /// What they decide.
    pub verdict: HookVerdict,
    /// Who decided.
    pub name: String,
    /// For the model, in the order of the configuration.
    pub context: Vec<String>,
    /// For the user.
    pub messages: Vec<String>,
    /// Failures, for the user.
    pub warnings: Vec<String>,
    /// The call should run with this input; the last of several.
    pub updated_input: Option<Value>,
    /// The model should see this instead of what the tool returned; the last of several.
    pub updated_output: Option<Value>,
    /// The answer to a permission question.
    pub request: Option<RequestAnswer>,
    /// What the session should be called.
    pub title: Option<String>,
    /// What the first prompt should be.
    pub first_message: Option<String>,
    /// What asking models cost.
    pub spent: MicroUsd,
    /// The answer to a server's question; the last of several.
    pub elicited: Option<Elicited>,
    /// What each said, in the order of the configuration.
    pub said: Vec<Said>,
}

impl Joint {
    /// Joins what was said, in the order of the configuration.
    #[must_use]
    pub fn of(said: Vec<Said>) -> Self {
        let mut joint = Self::default();
        for one in &said {
            joint.add(one);
        }
        joint.said = said;
        joint
    }

    fn add(&mut self, said: &Said) {
        let answer = &said.answer;
        if stronger(&mut self.verdict, answer.verdict.clone()) {
            self.name.clone_from(&said.name);
        }
        self.spent = self.spent + said.spent;
        self.context.extend(answer.context.iter().cloned());
        self.messages.extend(answer.message.clone());
        if let Some(failure) = said.failure.as_ref().filter(|_| !said.is_cancelled) {
            self.warnings.push(format!("the {} hook `{}` {failure}", said.moment, said.name));
        }
        replace(&mut self.updated_input, &answer.updated_input);
        replace(&mut self.updated_output, &answer.updated_output);
        replace(&mut self.title, &answer.title);
        replace(&mut self.elicited, &answer.elicited);
        replace(&mut self.first_message, &answer.first_message);
        if !matches!(self.request, Some(RequestAnswer::Deny { .. })) {
            replace(&mut self.request, &answer.request);
        }
    }
}

fn replace<T: Clone>(held: &mut Option<T>, new: &Option<T>) {
    if new.is_some() {
        held.clone_from(new);
    }
}

/// Keeps the stronger verdict; reasons of objections add up. Says whether the new one decides.
pub(crate) fn stronger(held: &mut HookVerdict, new: HookVerdict) -> bool {
    if let (HookVerdict::Block(old), HookVerdict::Block(more)) = (&mut *held, &new) {
        if old != more {
            old.push('\n');
            old.push_str(more);
        }
        return false;
    }
    let decides = rank(&new) > rank(held);
    if decides {
        *held = new;
    }
    decides
}

fn rank(verdict: &HookVerdict) -> u8 {
    match verdict {
        HookVerdict::Pass => 0,
        HookVerdict::Allow => 1,
        HookVerdict::Ask(_) => 2,
        HookVerdict::Defer(_) => 3,
        HookVerdict::Block(_) => 4,
        HookVerdict::Halt(_) => 5,
    }
}
