//! Row 36: a server that miscounts.

use crate::fixture::{FixtureOptions, WIRES, assert_completed, assert_ended, shown};
use serde_json::{Value, json};
use windlass_driver::ToolRegistry;
use windlass_rehearsal::ScriptedAnswer as Says;
use windlass_vocabulary::{MicroUsd, Notice, Prices, Terminal, WireFormat};

/// An answer whose events say this of its usage, or nothing.
fn counted(wire: WireFormat, usage: Option<&Value>) -> Says {
    let events = Says::text("word ".repeat(400)).chunk(9_999).encode_events(wire, 1);
    let changed = events.iter().map(|event| {
        let text = std::str::from_utf8(event).unwrap();
        let lines = text.split_inclusive('\n').map(|line| {
            let payload =
                line.strip_prefix("data: ").and_then(|data| serde_json::from_str(data).ok());
            match payload {
                Some(payload) => format!("data: {}\n", recounted(payload, usage)),
                None => line.to_owned(),
            }
        });
        lines.collect::<String>()
    });
    Says::raw(changed.collect::<String>())
}

/// Replaces every count, wherever it is.
fn recounted(value: Value, usage: Option<&Value>) -> Value {
    let Value::Object(fields) = value else { return value };
    let fields = fields.into_iter().filter_map(|(key, value)| match (key.as_str(), usage) {
        ("usage" | "usageMetadata", None) => None,
        ("usage" | "usageMetadata", Some(usage)) => Some((key, usage.clone())),
        _ => Some((key, recounted(value, usage))),
    });
    Value::Object(fields.collect())
}

/// The counts of a wire, all of them this.
fn all(wire: WireFormat, count: &Value) -> Value {
    match wire {
        WireFormat::AnthropicMessages | WireFormat::OpenaiResponses => {
            json!({"input_tokens": count, "output_tokens": count})
        }
        WireFormat::OpenaiChat => json!({"prompt_tokens": count, "completion_tokens": count}),
        WireFormat::Gemini => json!({"promptTokenCount": count, "candidatesTokenCount": count}),
    }
}

/// What the last request cost.
fn billed(received: &[Notice]) -> MicroUsd {
    let mut bills = received.iter().filter_map(|notice| match notice {
        Notice::Billed { cost, .. } => Some(*cost),
        _ => None,
    });
    bills.next_back().unwrap()
}

fn priced(wire: WireFormat, budget: Option<u64>) -> FixtureOptions {
    FixtureOptions::on(wire).tools(ToolRegistry::empty()).with(|settings| {
        settings.model.prices = Prices { input: 1_000_000, output: 1_000_000, ..Prices::default() };
        settings.budget.budget_max = budget.map(MicroUsd);
    })
}

#[tokio::test]
async fn m36_missing_or_senseless_counts_are_estimated() {
    for wire in WIRES {
        for (name, usage) in [
            ("missing", None),
            ("null", Some(Value::Null)),
            ("empty", Some(json!({}))),
            ("words", Some(all(wire, &json!("many")))),
            ("beyond numbers", Some(all(wire, &json!(1e300)))),
            ("beyond reason", Some(all(wire, &json!(u64::MAX)))),
            ("negative", Some(all(wire, &json!(-7)))),
            ("zero", Some(all(wire, &json!(0)))),
        ] {
            let says = [counted(wire, usage.as_ref()), Says::text("on")];
            let mut fixture = priced(wire, None).play(says).await;
            let (ending, received) = fixture.run(&"many words ".repeat(400)).await;
            assert_completed(&ending);
            assert_eq!(shown(&received).len(), 2_000, "{wire:?}, {name}");
            // About a token for four letters, give or take: both sides are paid for.
            let cost = billed(&received);
            assert!((1_400..10_000).contains(&cost.0), "{wire:?}, {name}: {cost}");
            assert_completed(&fixture.run("more").await.0);
        }
    }
}

#[tokio::test]
async fn m36_counts_that_are_far_too_small_do_not_stretch_the_budget() {
    for wire in WIRES {
        let small = all(wire, &json!(1));
        let mut fixture = priced(wire, None).play([counted(wire, Some(&small))]).await;
        let (ending, received) = fixture.run(&"many words ".repeat(400)).await;
        assert_completed(&ending);
        let cost = billed(&received);
        assert!(cost.0 > 500, "{wire:?}: {cost}");
    }
}

#[tokio::test]
async fn m36_counts_that_are_larger_than_ours_are_believed() {
    for wire in WIRES {
        let usage = all(wire, &json!(9_000_000));
        let says = || [counted(wire, Some(&usage)), Says::text("on")];
        // Without a limit the session goes on.
        let mut fixture = priced(wire, None).play(says()).await;
        assert_completed(&fixture.run("hi").await.0);
        assert_completed(&fixture.run("more").await.0);
        // With one, the larger figure counts.
        let mut fixture = priced(wire, Some(10_000_000)).play(says()).await;
        assert_completed(&fixture.run("hi").await.0);
        let (ending, _) = fixture.run("more").await;
        assert_ended(&ending, Terminal::MaxBudgetUsd);
        assert_eq!(fixture.rehearsal.request_count(), 1, "{wire:?}");
    }
}
