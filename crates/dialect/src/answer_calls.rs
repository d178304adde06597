//! What every decoder does with a complete call: give it a unique id, and explain why it
//! cannot run if it cannot.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;

use windlass_vocabulary::{Json, ModelStopReason, ToolCall, ToolCallId};

use crate::DecodedEvent;
use crate::lenient_json::check_arguments;

#[derive(Debug, Default)]
pub(crate) struct AnswerCalls {
    ids: BTreeSet<ToolCallId>,
    answer_id: Option<String>,
}

impl AnswerCalls {
    /// Sets the id of this answer: the server's, or one of ours. The server's arrives later and
    /// takes precedence.
    pub(crate) fn set_answer_id(&mut self, name: Option<&str>) {
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.answer_id = Some(String::from(name));
        }
    }

    /// An id for a call its server did not name. The same stream gives the same id.
    pub(crate) fn derive_call_id(&self, index: u64) -> String {
        format!("call_{}_{index}", self.answer_id.as_deref().unwrap_or("unnamed"))
    }

    /// A call with validated arguments. Results of two calls with the same id could not be
    /// distinguished, so the second one gets a derived id and does not run.
    pub(crate) fn complete_call(
        &mut self,
        mut call: ToolCall,
        problem: Option<String>,
    ) -> DecodedEvent {
        if self.ids.insert(call.id.clone()) {
            return DecodedEvent::Call { call, problem };
        }
        let original = call.id.clone();
        let mut number = 2_u64;
        while !self.ids.insert(call.id.clone()) {
            call.id = ToolCallId::from(format!("{original}_{number}").as_str());
            number = number.saturating_add(1);
        }
        DecodedEvent::Call {
            call,
            problem: problem.or_else(|| Some(String::from(DUPLICATE_CALL_ID))),
        }
    }
}

/// Arguments as a server sent them: the form they are kept in, and why they cannot be used.
pub(crate) fn parse_call_arguments(text: &str) -> (Json, Option<String>) {
    match text.trim() {
        "" => (Json::empty_object(), None),
        text => (Json::from_checked(text), check_arguments(text).err()),
    }
}

/// Did this stop cut the answer in the middle?
pub(crate) fn is_truncated(stop: ModelStopReason) -> bool {
    matches!(stop, ModelStopReason::OutputLimit | ModelStopReason::WindowFull)
}

/// Why a call without arguments does not run when the answer was cut.
pub(crate) const TRUNCATED_CALL: &str = "The answer was cut short before the arguments of this call \
                                    arrived, so it was not run. Send the call again.";

const DUPLICATE_CALL_ID: &str = "This call has the same id as an earlier call of the same answer, so it \
                        was not run. Send the call again.";
