//! Puts the final answer together from the messages of a run.
//!
//! The answer is what the model wrote last. An answer that was cut and resumed, or paused, comes as
//! several messages and is joined again; any other message to the model begins a new one.

use windlass_vocabulary::{Message, MessageOrigin, MetaKind, Role};

#[derive(Debug, Default)]
pub(crate) struct FinalAnswer {
    text: String,
    is_continued: bool,
}

impl FinalAnswer {
    pub(crate) fn add_message(&mut self, message: &Message) {
        match (message.role, message.origin) {
            (Role::Assistant, _) => {
                let text = message.text();
                if text.is_empty() {
                    return;
                }
                if !self.is_continued {
                    self.text.clear();
                }
                self.text.push_str(&text);
                self.is_continued = true;
            }
            (Role::User, MessageOrigin::Meta(MetaKind::Resume)) => {}
            (Role::User, _) => self.is_continued = false,
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_vocabulary::{ContentBlock, MessageId};

    #[test]
    fn a_resumed_answer_is_joined_and_a_new_one_replaces_it() {
        let mut answer = FinalAnswer::default();
        let mut add = |role, origin, text: &str| {
            answer.add_message(&Message {
                id: MessageId(0),
                role,
                origin,
                content: vec![ContentBlock::Text(text.to_owned())],
                model: None,
                pinned: false,
            });
            answer.text().to_owned()
        };
        add(Role::User, MessageOrigin::User, "go");
        assert_eq!(add(Role::Assistant, MessageOrigin::Model, "I look"), "I look");
        assert_eq!(add(Role::User, MessageOrigin::ToolResults, "ok"), "I look");
        assert_eq!(add(Role::Assistant, MessageOrigin::Model, "It is"), "It is");
        add(Role::User, MessageOrigin::Meta(MetaKind::Resume), "go on");
        assert_eq!(add(Role::Assistant, MessageOrigin::Model, " done."), "It is done.");
        add(Role::User, MessageOrigin::Hook, "not yet");
        assert_eq!(add(Role::Assistant, MessageOrigin::Model, "Now it is."), "Now it is.");
    }
}
