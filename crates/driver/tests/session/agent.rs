//! Nested sessions: their own context, the parent's rights, money and questions.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_driver::{AgentDefinition, Interrupt, Session, SubagentConfig};
use windlass_rehearsal::{ReceivedRequest, ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{
    MicroUsd, Notice, PermissionAnswer, PermissionMode, Prices, Terminal, Tokens, ToolName, Usage,
    WireFormat,
};

use crate::fixture::{
    FixtureOptions, PATIENCE, SessionFixture, assert_completed, assert_ended, rehearse,
};

pub(crate) async fn play(
    options: FixtureOptions,
    agents: SubagentConfig,
    answers: Vec<Says>,
) -> SessionFixture {
    let rehearsal = rehearse(answers).await;
    let builder = options.builder(&rehearsal.url()).subagents(agents);
    let (session, notices) = builder.start().unwrap();
    let wire = WireFormat::AnthropicMessages;
    SessionFixture { rehearsal, session, notices, directory: options.directory, wire }
}

fn ask(prompt: &str) -> Value {
    json!({ "description": "a task", "prompt": prompt })
}

fn about<'a>(requests: &'a [ReceivedRequest], text: &str) -> Vec<&'a ReceivedRequest> {
    requests.iter().filter(|request| request.body.contains(text)).collect()
}

#[tokio::test]
async fn agents_work_side_by_side_in_contexts_of_their_own() {
    let reviewer = AgentDefinition {
        name: "reviewer".to_owned(),
        description: "Reads and judges.".to_owned(),
        prompt: Some("You judge harshly.".to_owned()),
        tools: Some(vec![ToolName::from("Read")]),
        turns_max: Some(3),
        ..AgentDefinition::default()
    };
    let agents = SubagentConfig { definitions: vec![reviewer], ..SubagentConfig::default() };
    let both = Says::call("Agent", ask("count the masts")).tool(
        "Agent",
        json!({ "description": "b", "prompt": "judge the hull", "subagent_type": "reviewer" }),
    );
    // The script answers by what is asked, so the order in which the two ask does not matter.
    let answers = vec![
        both,
        Says::call("Bash", json!({ "command": "echo 3 > masts; cat masts" }))
            .when("count the masts"),
        Says::text("three masts").when_result("3"),
        Says::text("a sound hull").when("judge the hull"),
        Says::text("all is well").when_result("three masts"),
    ];
    let mut fixture = play(FixtureOptions::default(), agents, answers).await;
    let (ending, received) = fixture.run("secret of the parent").await;
    assert_completed(&ending);
    let requests = fixture.rehearsal.requests();
    for text in ["judge the hull", "count the masts"] {
        let nested: Vec<&ReceivedRequest> = about(&requests, text)
            .into_iter()
            .filter(|request| !request.body.contains("secret of the parent"))
            .collect();
        assert!(!nested.is_empty(), "{text}");
    }
    let judge = about(&requests, "You judge harshly.");
    let tools = judge[0].json().unwrap()["tools"].clone();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Read"], "it has what it was given");
    let last = requests.last().unwrap().body.to_string();
    assert!(last.contains("three masts") && last.contains("a sound hull"), "{last}");
    let results = received.iter().filter(|notice| {
        matches!(notice, Notice::ToolEnded { outcome, .. }
        if outcome.structured.as_ref().is_some_and(|json| json.as_str().contains("\"completed\"")))
    });
    assert_eq!(results.count(), 2);
    // What the parent does not know cannot be asked for.
    let answers = vec![
        Says::call("Agent", json!({ "description": "a", "prompt": "b", "subagent_type": "cook" })),
        Says::text("then not").when_result("reviewer"),
    ];
    let again = SubagentConfig {
        definitions: vec![AgentDefinition {
            name: "reviewer".to_owned(),
            ..AgentDefinition::default()
        }],
        ..SubagentConfig::default()
    };
    assert_completed(&play(FixtureOptions::default(), again, answers).await.run("go").await.0);
}

#[tokio::test]
async fn a_nested_question_goes_to_whoever_answers_the_parent() {
    let options = FixtureOptions::default().with(|settings| {
        settings.policy.mode = PermissionMode::Default;
        settings.policy.can_ask = true;
        settings.policy.rules.allow = vec![windlass_driver::Rule::parse("Agent").unwrap()];
    });
    let answers = vec![
        Says::call("Agent", ask("touch the bell")),
        Says::call("Bash", json!({ "command": "touch bell" })).when("touch the bell"),
        Says::text("it rang"),
        Says::text("heard").when_result("it rang"),
    ];
    let mut fixture = play(options, SubagentConfig::default(), answers).await;
    fixture.session.submit("go").unwrap();
    let received = fixture.until(|notice| matches!(notice, Notice::PermissionAsked { .. })).await;
    let Some(Notice::PermissionAsked { ticket, question }) = received.last() else {
        panic!("{received:#?}")
    };
    assert!(question.call.input.as_str().contains("touch bell"));
    assert!(!fixture.directory.path().join("bell").exists());
    let yes = PermissionAnswer::Allow { updated_input: None, remember: Vec::new() };
    fixture.session.answer(*ticket, yes).unwrap();
    assert_completed(&fixture.ending().await.0);
    assert!(fixture.directory.path().join("bell").exists());
}

#[tokio::test]
async fn an_agent_may_do_no_more_than_its_parent() {
    let options = FixtureOptions::default().with(|settings| {
        settings.policy.rules.deny = vec![windlass_driver::Rule::parse("Bash(touch:*)").unwrap()];
    });
    let answers = vec![
        Says::call("Agent", ask("touch the bell")),
        Says::call("Bash", json!({ "command": "touch bell" })).when("touch the bell"),
        Says::text("it would not"),
        Says::text("good"),
    ];
    let mut fixture = play(options, SubagentConfig::default(), answers).await;
    assert_completed(&fixture.run("go").await.0);
    assert!(!fixture.directory.path().join("bell").exists());
}

#[tokio::test]
async fn a_tree_shares_one_budget() {
    let price = Prices { input: 1_000_000, output: 1_000_000, ..Prices::default() };
    let options = FixtureOptions::default().with(|settings| {
        settings.model.prices = price;
        settings.model.window = Tokens(100_000);
        settings.model.output_default = Tokens(1_000);
        settings.budget.budget_max = Some(MicroUsd(200_000));
    });
    let bill = Usage { input: Tokens(9_000), output: Tokens(500), ..Usage::default() };
    let mut answers = vec![Says::call("Agent", ask("spend it")).usage(bill)];
    // The child would spend for ever; its part of the budget ends that.
    let call = Says::call("Bash", json!({ "command": "echo x" })).usage(bill).repeat(200);
    answers.push(call);
    let mut fixture = play(options, SubagentConfig::default(), answers).await;
    let (ending, _) = fixture.run("go").await;
    assert!(ending.cost <= MicroUsd(200_000), "{ending:?}");
    assert!(ending.cost > MicroUsd(100_000), "the child had its part: {ending:?}");
}

#[tokio::test]
async fn stopping_the_parent_stops_the_tree() {
    let answers = vec![
        Says::call("Agent", ask("dig deeper")),
        Says::call("Agent", ask("dig deepest")).when("dig deeper"),
        Says::text("never finished").when("dig deepest").fault(ScriptedFault::stall_after_event(4)),
    ];
    let mut fixture = play(FixtureOptions::default(), SubagentConfig::default(), answers).await;
    fixture.session.submit("go").unwrap();
    assert!(fixture.rehearsal.wait_for_requests(3, PATIENCE).await);
    fixture.session.interrupt(Interrupt::User).unwrap();
    let (ending, _) = fixture.ending().await;
    assert_ended(&ending, Terminal::AbortedTools);
    assert!(closes_in_time(&fixture.session).await);
}

async fn closes_in_time(session: &Session) -> bool {
    tokio::time::timeout(Duration::from_secs(240), session.close()).await.is_ok()
}

#[tokio::test]
async fn nesting_and_numbers_have_an_end() {
    let answers = vec![
        Says::call("Agent", ask("depth one")),
        Says::call("Agent", ask("depth two")).when("depth one"),
        Says::call("Agent", ask("depth three")).when("depth two"),
        Says::call("Agent", ask("depth four")).when("depth three"),
        Says::text("up"),
        Says::text("up"),
        Says::text("up"),
        Says::text("up"),
    ];
    let mut fixture =
        play(FixtureOptions::default(), SubagentConfig::default(), answers.clone()).await;
    assert_completed(&fixture.run("go").await.0);
    let requests = fixture.rehearsal.requests();
    let deepest = about(&requests, "depth three")
        .into_iter()
        .find(|request| !request.body.contains("depth two") && !request.body.contains("depth one"));
    assert!(
        !deepest.unwrap().body.contains("\"name\":\"Agent\",\"description\""),
        "no fourth floor"
    );
    let none = SubagentConfig { running_max: 0, ..SubagentConfig::default() };
    let mut fixture = play(FixtureOptions::default(), none, answers[..1].to_vec()).await;
    fixture.session.submit("go").unwrap();
    let received = fixture.until(|notice| matches!(notice, Notice::ToolEnded { .. })).await;
    let Some(Notice::ToolEnded { outcome, .. }) = received.last() else { panic!("{received:#?}") };
    assert!(outcome.is_error, "{outcome:?}");
}
