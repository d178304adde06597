//! The examples do what they show: a stranger begins with one of them.

#[path = "../examples/fork.rs"]
mod fork;
#[path = "../examples/one_shot.rs"]
mod one_shot;
#[path = "../examples/own_answerer.rs"]
mod own_answerer;
#[path = "../examples/own_store.rs"]
mod own_store;
#[path = "../examples/own_tool.rs"]
mod own_tool;
#[path = "../examples/resume.rs"]
mod resume;
#[path = "../examples/session_store.rs"]
mod session_store;
#[path = "../examples/two_providers.rs"]
mod two_providers;

#[test]
fn one_question_is_answered() {
    one_shot::main().expect("an answer");
}

#[test]
fn a_tool_of_ones_own_is_called() {
    own_tool::main().expect("an answer");
}

#[test]
fn a_front_end_of_ones_own_is_asked() {
    own_answerer::main().expect("an answer");
}

#[test]
fn another_provider_stands_in() {
    two_providers::main().expect("two answers");
}

#[test]
fn a_conversation_is_continued() {
    resume::main().expect("the first exchange in the second request");
}

#[test]
fn a_conversation_goes_two_ways() {
    fork::main().expect("a branch without what the trunk said later");
}

#[test]
fn a_folder_of_sessions_is_kept() {
    session_store::main().expect("one session of four messages");
}

#[test]
fn sessions_are_kept_in_a_store_of_ones_own() {
    own_store::main().expect("the first exchange in the second request, and no file");
}
