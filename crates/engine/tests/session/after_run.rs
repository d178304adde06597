//! What is asked for when a run is over, what is kept of it, and questions beside the conversation.

use windlass_engine::{Effect, Event, Interrupt};
use windlass_vocabulary::{
    Chore, FailureKind, ModelFailure, ModelStopReason, Notice, RequestSource, Ticket, Usage,
};

use crate::engine_session::EngineSession;

/// A session in which everything is asked for.
fn with_everything() -> EngineSession {
    let mut session = EngineSession::new();
    session.settings.after.title = true;
    session.settings.after.suggestion = true;
    session.settings.after.memory = true;
    session.settings.after.consolidation = true;
    session.settings.after.questions = true;
    session.restart();
    session
}

/// A request of a chore, as the driver is asked for it.
#[derive(Debug, PartialEq, Eq)]
struct AskedChore {
    chore: Chore,
    ticket: Ticket,
    words: String,
}

/// One run with one answer, and the chores that are asked for then.
fn run(session: &mut EngineSession, prompt: &str) -> Vec<AskedChore> {
    session.submit(prompt);
    asked_chores(&session.answer("It is done.", ModelStopReason::EndTurn))
}

fn ask(session: &mut EngineSession, chore: Chore, about: &str) -> Vec<Effect> {
    session.take(Event::ChoreAsked { chore, about: about.to_owned() })
}

/// What is told and kept when this came back.
fn come_back(session: &mut EngineSession, ticket: Ticket, said: &str) -> Vec<Effect> {
    let result = Ok(said.to_owned());
    session.take(Event::SummaryEnded { ticket, result, usage: Usage::default() })
}

fn asked_chores(effects: &[Effect]) -> Vec<AskedChore> {
    let asked = effects.iter().filter_map(|effect| match effect {
        Effect::Summarize { ticket, request } => Some((*ticket, request)),
        _ => None,
    });
    let chores = asked.filter_map(|(ticket, request)| {
        let RequestSource::Chore(chore) = request.source else { return None };
        let words = request.messages.iter().map(|message| message.text()).collect();
        Some(AskedChore { chore, ticket, words })
    });
    chores.collect()
}

fn names(asked: &[AskedChore]) -> Vec<Chore> {
    asked.iter().map(|one| one.chore).collect()
}

fn keep(chore: Chore, text: &str) -> Effect {
    Effect::Keep { chore, text: text.to_owned() }
}

#[test]
fn a_name_is_asked_for_once_and_the_rest_after_every_completed_run() {
    let mut session = with_everything();
    let first = run(&mut session, "fix the test");
    assert_eq!(names(&first), [Chore::Title, Chore::Suggestion, Chore::Memory]);
    assert!(first[0].words.contains("Person: fix the test\n\nAgent: It is done."), "{first:?}");
    let second = run(&mut session, "and the other");
    assert_eq!(names(&second), [Chore::Suggestion, Chore::Memory]);
    // A suggestion goes by the last two requests, memory by more.
    assert!(
        second[0].words.contains("Person: fix the test\n\nPerson: and the other"),
        "{second:?}"
    );
}

#[test]
fn nothing_is_asked_for_after_an_interrupt_in_a_nested_session_or_once_a_person_gave_the_name() {
    let mut session = with_everything();
    session.submit("go");
    let effects = session.take(Event::Interrupted(Interrupt::User));
    assert!(matches!(effects.last(), Some(Effect::Finish(_))), "{effects:?}");
    assert_eq!(asked_chores(&effects), []);
    let mut session = with_everything();
    session.settings.agent.is_subagent = true;
    assert_eq!(run(&mut session, "a part of it"), []);
    let mut session = with_everything();
    assert_eq!(ask(&mut session, Chore::Title, "a name of my own"), []);
    let asked = run(&mut session, "go");
    assert_eq!(names(&asked), [Chore::Suggestion, Chore::Memory]);
}

#[test]
fn what_comes_back_is_told_and_kept_as_far_as_it_says_something() {
    let mut session = with_everything();
    let asked = run(&mut session, "go");
    let [title, suggestion, memory] = asked.as_slice() else { panic!("{asked:?}") };
    let told = come_back(&mut session, title.ticket, "\n \"Fixing the test\"\nmore words");
    let name = "Fixing the test".to_owned();
    let expected = [Effect::Tell(Notice::SessionTitled(name.clone())), keep(Chore::Title, &name)];
    assert_eq!(told, expected);
    let told = come_back(&mut session, suggestion.ticket, "run the tests");
    assert_eq!(told, [Effect::Tell(Notice::PromptSuggested("run the tests".to_owned()))]);
    let notes = "chatter\n- one\n- \n-two\n  - three\n- 4\n- 5\n- 6\n- 7";
    let told = come_back(&mut session, memory.ticket, notes);
    assert_eq!(told, [keep(Chore::Memory, "- one\n- three\n- 4\n- 5\n- 6")]);
    // It is not under way any more: what comes twice means nothing.
    assert_eq!(come_back(&mut session, memory.ticket, notes), []);
}

#[test]
fn what_says_nothing_or_failed_leaves_nothing() {
    let mut session = with_everything();
    let asked = run(&mut session, "go");
    let [title, suggestion, memory] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(come_back(&mut session, title.ticket, " \"\" "), []);
    assert_eq!(come_back(&mut session, suggestion.ticket, "None"), []);
    let result = Err(ModelFailure::new(FailureKind::Overloaded, "no"));
    let ticket = memory.ticket;
    assert_eq!(session.take(Event::SummaryEnded { ticket, result, usage: Usage::default() }), []);
}

#[test]
fn notes_are_made_shorter_once_between_prompts_and_never_longer() {
    let notes = "- a rather long note that says little\n- another one";
    for (said, kept) in [("- short", true), (&format!("{notes}\n- more")[..], false)] {
        let mut session = with_everything();
        run(&mut session, "go");
        let asked = asked_chores(&ask(&mut session, Chore::Consolidation, notes));
        assert_eq!(names(&asked), [Chore::Consolidation]);
        assert_eq!(ask(&mut session, Chore::Consolidation, notes), [], "once is enough");
        let expected: Vec<Effect> =
            kept.then(|| keep(Chore::Consolidation, said)).into_iter().collect();
        assert_eq!(come_back(&mut session, asked[0].ticket, said), expected);
        run(&mut session, "more");
        let asked = asked_chores(&ask(&mut session, Chore::Consolidation, notes));
        assert_eq!(names(&asked), [Chore::Consolidation], "once more after another run");
    }
    let mut session = with_everything();
    session.settings.after.consolidation = false;
    assert_eq!(ask(&mut session, Chore::Consolidation, notes), []);
}

#[test]
fn a_question_is_answered_once_or_refused_at_once() {
    let mut session = with_everything();
    run(&mut session, "go");
    let effects = ask(&mut session, Chore::Question, "what was that?");
    let asked = asked_chores(&effects);
    assert_eq!(names(&asked), [Chore::Question]);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Tell(_))), "{effects:?}");
    let told = come_back(&mut session, asked[0].ticket, " The test. \n");
    let answered = Notice::SideQuestionAnswered(Ok("The test.".to_owned()));
    assert_eq!(told, [Effect::Tell(answered)]);
    // One that failed says why.
    let asked = asked_chores(&ask(&mut session, Chore::Question, "and this?"));
    let result = Err(ModelFailure::new(FailureKind::Overloaded, "no room"));
    let ticket = asked[0].ticket;
    let told = session.take(Event::SummaryEnded { ticket, result, usage: Usage::default() });
    let failed = Notice::SideQuestionAnswered(Err("no room".to_owned()));
    assert_eq!(told, [Effect::Tell(failed)]);
    // Nothing was asked; and too much.
    let is_refused = |effects: &[Effect]| {
        matches!(effects, [Effect::Tell(Notice::SideQuestionAnswered(Err(_)))])
    };
    assert!(is_refused(&ask(&mut session, Chore::Question, " ")));
    let mut tries = 0;
    while !is_refused(&ask(&mut session, Chore::Question, "again?")) {
        tries += 1;
        assert!(tries < 20, "there is no limit");
    }
}

#[test]
fn what_is_under_way_is_called_off_when_the_process_ends() {
    let mut session = with_everything();
    let asked = run(&mut session, "go");
    assert_eq!(asked.len(), 3);
    let effects = session.take(Event::Interrupted(Interrupt::Crashed));
    let cancelled =
        effects.iter().filter(|effect| matches!(effect, Effect::CancelModel { .. })).count();
    assert_eq!(cancelled, 3, "{effects:?}");
    assert_eq!(come_back(&mut session, asked[0].ticket, "A name"), []);
}
