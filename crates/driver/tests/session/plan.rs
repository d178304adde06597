//! Plan mode and questions, from the model's call to a person's answer and back.

use serde_json::{Value, json};
use windlass_driver::SubagentConfig;
use windlass_rehearsal::ScriptedAnswer as Says;
use windlass_vocabulary::{Json, Notice, PermissionAnswer, PermissionMode};

use crate::fixture::{
    FixtureOptions, SessionFixture, assert_completed, last_request, rehearse, streamed,
};

fn options(mode: PermissionMode, can_ask: bool) -> FixtureOptions {
    let options = FixtureOptions::default().with(|settings| {
        settings.policy.mode = mode;
        settings.policy.can_ask = can_ask;
        settings.policy.rules.allow = vec![windlass_driver::Rule::parse("Edit").unwrap()];
    });
    std::fs::write(options.directory.path().join("ship.txt"), "no mast\n").unwrap();
    options
}

fn allow(input: Option<&Value>) -> PermissionAnswer {
    let updated_input = input.map(|input| Json::from_checked(&input.to_string()));
    PermissionAnswer::Allow { updated_input, remember: Vec::new() }
}

/// Reads the file, shows a plan, edits.
fn plan_and_edit(options: &FixtureOptions) -> Vec<Says> {
    let path = options.directory.path().join("ship.txt");
    vec![
        Says::call("Read", json!({ "file_path": path })),
        Says::call("ExitPlanMode", json!({"plan": "raise a mast"})),
        Says::call(
            "Edit",
            json!({"file_path": path, "old_string": "no mast", "new_string": "a mast"}),
        ),
        Says::text("done"),
    ]
}

fn ship(fixture: &SessionFixture) -> String {
    std::fs::read_to_string(fixture.directory.path().join("ship.txt")).unwrap()
}

/// Waits for the question and answers it. Returns what was asked, as the model wrote it.
async fn answer(fixture: &mut SessionFixture, answer: PermissionAnswer) -> Value {
    let received = fixture.until(|notice| matches!(notice, Notice::PermissionAsked { .. })).await;
    let Some(Notice::PermissionAsked { ticket, question }) = received.last() else {
        panic!("no question: {received:#?}")
    };
    fixture.session.answer(*ticket, answer).unwrap();
    serde_json::from_str(question.call.input.as_str()).unwrap()
}

#[tokio::test]
async fn an_approved_plan_is_carried_out_and_another_is_not() {
    let plan = json!({"plan": "raise a mast"});
    let no = PermissionAnswer::Deny { message: "not at sea".to_owned(), interrupt: false };
    // Some front ends hand the input back with every yes; they are not asked again for it.
    for (given, expected, words) in [
        (allow(None), "a mast\n", "The plan was approved"),
        (allow(Some(&plan)), "a mast\n", "The plan was approved"),
        (no, "no mast\n", "not at sea"),
    ] {
        let options = options(PermissionMode::Plan, true);
        let answers = plan_and_edit(&options);
        let mut fixture = options.play(answers).await;
        fixture.session.submit("mend the ship").unwrap();
        assert_eq!(answer(&mut fixture, given).await, plan);
        let (ending, received) = fixture.ending().await;
        assert_completed(&ending);
        assert_eq!(streamed(&received), "done");
        let sent = last_request(&fixture.rehearsal).to_string();
        assert!(sent.contains(words), "{sent}");
        assert_eq!(ship(&fixture), expected, "{sent}");
        assert_eq!(sent.contains("Plan mode allows nothing"), expected == "no mast\n", "{sent}");
    }
}

#[tokio::test]
async fn where_nobody_can_approve_a_plan_it_stands() {
    let options = options(PermissionMode::Plan, false);
    let answers = plan_and_edit(&options);
    let mut fixture = options.play(answers).await;
    assert_completed(&fixture.run("mend the ship").await.0);
    let sent = last_request(&fixture.rehearsal).to_string();
    assert!(sent.contains("The plan is ready; nobody can approve it here."), "{sent}");
    assert_eq!(ship(&fixture), "no mast\n");
}

#[tokio::test]
async fn plan_mode_holds_from_the_turn_after_it_was_entered() {
    let options = options(PermissionMode::BypassPermissions, true);
    let mut answers = plan_and_edit(&options);
    answers[1] = Says::call("EnterPlanMode", json!({}));
    let mut fixture = options.play(answers).await;
    assert_completed(&fixture.run("mend the ship").await.0);
    let sent = last_request(&fixture.rehearsal).to_string();
    assert!(
        sent.contains("Plan mode is on") && sent.contains("Plan mode allows nothing"),
        "{sent}"
    );
    assert_eq!(ship(&fixture), "no mast\n");
}

#[tokio::test]
async fn an_agent_does_not_leave_its_parents_plan_mode() {
    let options = options(PermissionMode::BypassPermissions, true);
    let answers = [
        Says::call("Agent", json!({"description": "a task", "prompt": "raise the mast"})),
        Says::call("ExitPlanMode", json!({"plan": "p"})).when("raise the mast"),
        Says::text("it would not").when_result("There is no tool"),
        Says::text("then not").when_result("it would not"),
    ];
    let rehearsal = rehearse(answers).await;
    let builder = options.builder(&rehearsal.url()).subagents(SubagentConfig::default());
    let (session, notices) = builder.start().unwrap();
    let FixtureOptions { directory, wire, .. } = options;
    let mut fixture = SessionFixture { rehearsal, session, notices, directory, wire };
    let (ending, received) = fixture.run("go").await;
    assert_completed(&ending);
    assert_eq!(streamed(&received), "then not");
}

#[tokio::test]
async fn a_persons_answers_reach_the_model_after_one_question() {
    let asked = json!({"questions": [{
        "question": "Which wood?",
        "header": "Wood",
        "options": [{"label": "oak", "description": "hard"}, {"label": "fir", "description": "light"}],
        "multiSelect": false,
    }]});
    let mut answered = asked.clone();
    answered["answers"] = json!({"Which wood?": "oak"});
    for (mode, given, expected) in [
        (PermissionMode::Default, allow(Some(&answered)), "→ oak"),
        (PermissionMode::Plan, allow(Some(&answered)), "→ oak"),
        (PermissionMode::BypassPermissions, allow(Some(&answered)), "→ oak"),
        (PermissionMode::Default, allow(None), "Nobody answered"),
    ] {
        let answers = [
            Says::call("AskUserQuestion", asked.clone()),
            Says::text("heard").when_result(expected),
        ];
        let mut fixture = options(mode, true).play(answers).await;
        fixture.session.submit("build").unwrap();
        assert_eq!(answer(&mut fixture, given).await, asked);
        let (ending, received) = fixture.ending().await;
        assert_completed(&ending);
        let again =
            received.iter().any(|received| matches!(received, Notice::PermissionAsked { .. }));
        assert_eq!((streamed(&received).as_str(), again), ("heard", false), "{mode:?}");
    }
    // Alone, and with answers of its own making.
    for (can_ask, input, expected) in
        [(false, asked, "decide yourself"), (true, answered, "The field `answers`")]
    {
        let answers =
            [Says::call("AskUserQuestion", input), Says::text("so be it").when_result(expected)];
        let mut fixture = options(PermissionMode::BypassPermissions, can_ask).play(answers).await;
        let (ending, received) = fixture.run("build").await;
        assert_completed(&ending);
        assert_eq!(streamed(&received), "so be it");
    }
}
