//! What fills the window of a session, drawn as text: each component with a bar, then what each
//! level did to make room, then what was left out.

use serde_json::{Value, json};
use windlass_vocabulary::Tokens;
use windlass_vocabulary::inventory::{Component, Inventory};

use super::table::{Side, table};
use super::words::count;

/// The drawing.
pub(crate) fn drawn(inventory: &Inventory) -> String {
    let Inventory { model, window, total, threshold, .. } = inventory;
    let mut text = format!(
        "{model}: {} of {} tokens ({}); a summary is asked for over {}.\n\n",
        count(total.0),
        count(window.0),
        percent(*total, *window),
        count(threshold.0)
    );
    let mut rows = vec![["part", "tokens", "share", "", "pieces"].map(str::to_owned)];
    for part in &inventory.parts {
        let pieces = if part.count > 1 { count(wide(part.count)) } else { String::new() };
        rows.push(row(&name(&part.component), part.tokens, *window, pieces));
    }
    rows.push(row("kept for the answer", inventory.reserved, *window, String::new()));
    rows.push(row("free", inventory.free(), *window, String::new()));
    text.push_str(&table([Side::Left, Side::Right, Side::Right, Side::Left, Side::Right], &rows));
    text.push_str(&levels(inventory));
    text.push_str(&losses(inventory));
    text
}

/// The same for a program.
pub(crate) fn object(session: &str, inventory: &Inventory) -> Value {
    let mut object = json!({"session_id": session, "free": inventory.free().0});
    if let (Some(object), Ok(Value::Object(inventory))) =
        (object.as_object_mut(), serde_json::to_value(inventory))
    {
        object.extend(inventory);
    }
    object
}

fn row(name: &str, tokens: Tokens, window: Tokens, pieces: String) -> [String; 5] {
    // Half a sign is rounded up, so that something is never drawn as nothing.
    let signs = match window.0 {
        0 => 0,
        window => tokens.0.saturating_mul(2 * BAR_SIGNS).div_ceil(2 * window).min(BAR_SIGNS),
    };
    let bar = "█".repeat(usize::try_from(signs).unwrap_or(0));
    [name.to_owned(), count(tokens.0), percent(tokens, window), bar, pieces]
}

fn name(component: &Component) -> String {
    match component {
        Component::System => "system prompt".to_owned(),
        Component::Tools => "tools".to_owned(),
        Component::Memory => "memory".to_owned(),
        Component::Pins => "pins".to_owned(),
        Component::Summaries => "summaries".to_owned(),
        Component::Requests => "requests".to_owned(),
        Component::Answers => "answers".to_owned(),
        Component::Reasoning => "reasoning".to_owned(),
        Component::Results(tool) => format!("results of {tool}"),
    }
}

/// Percent with one decimal, in integers.
pub(crate) fn percent(part: Tokens, whole: Tokens) -> String {
    let tenths = part.0.saturating_mul(1_000).checked_div(whole.0).unwrap_or(0);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn levels(inventory: &Inventory) -> String {
    let mut rows = Vec::new();
    for ((number, freed), what) in (1..).zip(&inventory.levels).zip(LEVELS) {
        if freed.times > 0 {
            let times = format!("{} times", count(freed.times));
            let tokens = format!("{} tokens freed", count(freed.tokens.0));
            rows.push([format!("  level {number}"), what.to_owned(), times, tokens]);
        }
    }
    match rows.is_empty() {
        true => "\nNothing had to be left out so far.\n".to_owned(),
        false => {
            let sides = [Side::Left, Side::Left, Side::Right, Side::Right];
            format!("\nWhat was done to make room:\n{}", table(sides, &rows))
        }
    }
}

fn losses(inventory: &Inventory) -> String {
    if inventory.losses.is_empty() {
        return String::new();
    }
    let mut text = "\nWhat was left out, the oldest first:\n".to_owned();
    for loss in &inventory.losses {
        let freed = count(loss.freed.0);
        text.push_str(&format!("  level {} after {}, {freed} tokens", loss.level, loss.at));
        for what in &loss.what {
            text.push_str(&format!("\n    {}", crate::refusal::one_line(what)));
        }
        text.push('\n');
    }
    text
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

const BAR_SIGNS: u64 = 40;
const LEVELS: [&str; 5] = [
    "long results kept on disk",
    "old turns left out",
    "old results shortened",
    "old steps collapsed",
    "history summarised",
];
