//! Agents that are left in the background: told at once, waited for, ended, paid for.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_driver::{AgentDefinition, Interrupt, SubagentConfig};
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{Json, MicroUsd, Notice, Prices, Terminal, Tokens, ToolOutcome, Usage};

use crate::agent::play;
use crate::fixture::{FixtureOptions, PATIENCE, assert_completed, assert_ended};

fn leave(prompt: &str) -> Value {
    json!({ "description": "count the masts", "prompt": prompt, "run_in_background": true })
}

fn structured(outcome: &ToolOutcome) -> Value {
    let json = outcome.structured.as_ref().map(Json::as_str).unwrap();
    serde_json::from_str(json).unwrap()
}

/// What came of the calls, in the order in which they ended.
fn outcomes(received: &[Notice]) -> Vec<ToolOutcome> {
    let ended = received.iter().filter_map(|notice| match notice {
        Notice::ToolEnded { outcome, .. } => Some(outcome.clone()),
        _ => None,
    });
    ended.collect()
}

#[tokio::test]
async fn an_agent_left_alone_is_waited_for_like_a_command() {
    let answers = vec![
        Says::call("Agent", leave("look up")),
        Says::call("Bash", json!({ "command": "echo aloft > seen; cat seen" })).when("look up"),
        Says::text("three masts").when_result("aloft"),
        Says::call("Monitor", json!({ "task_id": "agent-1", "timeout": 20_000 }))
            .when_result("runs in the background as `agent-1`"),
        Says::text("thank you").when_result("three masts"),
    ];
    let mut fixture = play(FixtureOptions::default(), SubagentConfig::default(), answers).await;
    let (ending, received) = fixture.run("go").await;
    assert_completed(&ending);
    let outcomes = outcomes(&received);
    let launched = structured(&outcomes[0]);
    assert_eq!(launched["status"], "async_launched", "{launched}");
    assert_eq!(launched["agentId"], "agent-1");
    let output = std::fs::read_to_string(launched["outputFile"].as_str().unwrap()).unwrap();
    assert!(output.contains("[Bash") && output.contains("three masts"), "{output}");
    let waited = structured(&outcomes[1]);
    assert_eq!(waited["status"], "ended", "{waited}");
}

/// Nobody waits: the end is slipped in at a later tool boundary, with the answer.
#[tokio::test]
async fn the_end_of_an_agent_is_told_once_with_its_answer() {
    let always = AgentDefinition {
        name: "lookout".to_owned(),
        background: true,
        ..AgentDefinition::default()
    };
    let agents = SubagentConfig { definitions: vec![always], ..SubagentConfig::default() };
    let ask = json!({ "description": "d", "prompt": "look up", "subagent_type": "lookout" });
    let answers = vec![
        Says::call("Agent", ask),
        Says::text("three masts").when("look up"),
        Says::text("I see").when("has ended: It is done."),
        // Until it is told: something else to do each time.
        Says::call("Bash", json!({ "command": "date +%N" })).repeat(0),
    ];
    let options = FixtureOptions::default().with(|settings| settings.switches.prefetch = true);
    let mut fixture = play(options, agents, answers).await;
    let (ending, _) = fixture.run("go").await;
    assert_completed(&ending);
    let last = fixture.rehearsal.requests().pop().unwrap().body;
    assert_eq!(last.matches("has ended: It is done.").count(), 1, "{last}");
    assert!(last.contains("three masts"), "{last}");
}

#[tokio::test]
async fn an_agent_left_alone_can_be_ended() {
    let answers = vec![
        Says::call("Agent", leave("dig")),
        Says::text("never done").when("dig").fault(ScriptedFault::stall_after_event(4)),
        Says::call("TaskStop", json!({ "task_id": "agent-1" })).when_result("background"),
        Says::text("enough").when_result("Ended `agent-1`"),
    ];
    let mut fixture = play(FixtureOptions::default(), SubagentConfig::default(), answers).await;
    assert_completed(&fixture.run("go").await.0);
    assert!(ends(&fixture.session).await);
}

/// Interrupting the parent, or closing it, ends what it left.
#[tokio::test]
async fn stopping_the_parent_stops_what_it_left() {
    for is_closed in [false, true] {
        let answers = vec![
            Says::call("Agent", leave("dig")),
            Says::call("Bash", json!({ "command": "sleep 300" })).when("dig"),
            Says::text("waiting")
                .when_result("background")
                .fault(ScriptedFault::stall_after_event(4)),
            Says::call("Monitor", json!({ "task_id": "agent-1", "timeout": 20_000 })).when("so?"),
            Says::text("I see").when_result("`agent-1` has ended"),
        ];
        let options = FixtureOptions::default();
        let mut fixture = play(options, SubagentConfig::default(), answers).await;
        fixture.session.submit("go").unwrap();
        assert!(fixture.rehearsal.wait_for_requests(3, PATIENCE).await);
        if !is_closed {
            fixture.session.interrupt(Interrupt::User).unwrap();
            assert_ended(&fixture.ending().await.0, Terminal::AbortedStreaming);
            assert_completed(&fixture.run("so?").await.0);
        }
        let output = fixture.directory.path().join("spill");
        assert!(ends(&fixture.session).await);
        let written = std::fs::read_dir(output).unwrap().flatten();
        let mut texts = written.filter_map(|file| std::fs::read_to_string(file.path()).ok());
        assert!(texts.any(|text| text.contains("The agent was stopped.")));
    }
}

async fn ends(session: &windlass_driver::Session) -> bool {
    tokio::time::timeout(Duration::from_secs(240), session.close()).await.is_ok()
}

#[tokio::test]
async fn what_it_spends_comes_out_of_the_same_budget() {
    let price = Prices { input: 1_000_000, output: 1_000_000, ..Prices::default() };
    let options = |limit| {
        FixtureOptions::default().with(|settings| {
            settings.model.prices = price;
            settings.model.window = Tokens(100_000);
            settings.model.output_default = Tokens(1_000);
            settings.budget.budget_max = limit;
        })
    };
    let bill = Usage { input: Tokens(9_000), output: Tokens(500), ..Usage::default() };
    let wait = json!({ "task_id": "agent-1", "timeout": 20_000 });
    // Whether there is a limit or not, the agent's two requests are paid for at the end.
    for limit in [None, Some(MicroUsd(1_000_000))] {
        let answers = vec![
            Says::call("Agent", leave("spend")).usage(bill),
            Says::call("Bash", json!({ "command": "echo spent" })).when("spend").usage(bill),
            Says::text("all gone").when_result("spent").usage(bill),
            Says::call("Monitor", wait.clone()).when_result("background").usage(bill),
            Says::call("Bash", json!({ "command": "true" })).when_result("all gone").usage(bill),
            Says::text("done").usage(bill),
        ];
        let mut fixture = play(options(limit), SubagentConfig::default(), answers).await;
        let (ending, _) = fixture.run("go").await;
        assert_completed(&ending);
        assert_eq!(ending.cost, MicroUsd(6 * 9_500), "{limit:?}: {ending:?}");
    }
}
