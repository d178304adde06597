//! What is said of each part of a call.

use super::{Decision, PartReport};
use crate::command::{Part, Touch, Word, certain_words, removes_critical};
use crate::decide::Verdict;
use crate::demand::protected_part;
use crate::display::visible;
use crate::ground::Ground;
use crate::judge::{Cover, Judge, names};
use crate::policy::Policy;
use crate::rule::Rule;
use crate::scope::Does;
use crate::subject::{Access, Matter, Subject};

/// The parts, each with what would come of it alone.
pub(super) fn judged(
    policy: &Policy,
    ground: &Ground<'_>,
    subject: &Subject,
    said: &Verdict,
) -> Vec<PartReport> {
    let Matter::Command(command) = &subject.matter else {
        return vec![whole(subject, said)];
    };
    if command.script.parts.len() > PARTS_MAX {
        let effects = vec![format!("{} commands", command.script.parts.len())];
        return vec![PartReport { effects, ..whole(subject, said) }];
    }
    let names = names(command);
    let judge = Judge::new(policy, ground, command);
    let is_whole = matches!(said, Verdict::Allow { .. });
    let one = |(at, part): (usize, &Part)| {
        let (decision, rule) = spoken(policy, subject, at, &names)
            .or_else(|| demanded(policy, ground, part))
            .unwrap_or_else(|| match judge.part(part) {
                Ok(Cover::Rule(rule)) => (Decision::Allow, Some(rule)),
                Ok(_) => (Decision::Allow, None),
                Err(_) if is_whole || part.is_inner => (Decision::Allow, None),
                Err(_) => (Decision::Ask, None),
            });
        PartReport { text: visible(&part.text), effects: effects(ground, part), decision, rule }
    };
    let mut reports: Vec<PartReport> = command.script.parts.iter().enumerate().map(one).collect();
    if let Some(doubt) = command.script.doubts.first() {
        let effects = vec![format!("not understood: {}", doubt.why)];
        let decision = if is_whole { Decision::Allow } else { Decision::Ask };
        let text = visible(&doubt.text);
        reports.push(PartReport { text, effects, decision, rule: None });
    }
    reports
}

/// Parts told of; a longer line is judged whole all the same.
const PARTS_MAX: usize = 200;

/// A call that has no parts is its own.
fn whole(subject: &Subject, said: &Verdict) -> PartReport {
    let (decision, rule) = match said {
        Verdict::Allow { rule, .. } => (Decision::Allow, rule.clone()),
        Verdict::Ask { demand } => (Decision::Ask, demand.rule.clone()),
        Verdict::Deny { rule, .. } => (Decision::Deny, rule.clone()),
    };
    let (text, effect) = match &subject.matter {
        Matter::File { meant, access } => {
            let deed = if *access == Access::Read { "read" } else { "write" };
            let path = meant.spelled.display().to_string();
            let mut effect = format!("{deed} {path}");
            if meant.real != meant.spelled {
                effect.push_str(&format!(" -> {}", meant.real.display()));
            }
            (path, effect)
        }
        Matter::Address(target) => (target.url.clone(), format!("fetch {}", target.url)),
        Matter::Name(name) => (name.clone(), format!("start {name}")),
        _ => (subject.tool.clone(), format!("call {}", subject.tool)),
    };
    PartReport { text: visible(&text), effects: vec![visible(&effect)], decision, rule }
}

/// What deny and ask rules say of a part.
fn spoken(
    policy: &Policy,
    subject: &Subject,
    at: usize,
    names: &[&str],
) -> Option<(Decision, Option<String>)> {
    let find = |rules: &[Rule], does: Does, wanted: Touch| {
        rules.iter().find_map(|rule| {
            let spoken = rule.touches(subject, policy.cwd(), does, names)?;
            let is_here = spoken.part.is_none_or(|part| part == at);
            (is_here && spoken.touch == wanted).then(|| rule.to_string())
        })
    };
    if let Some(rule) = find(&policy.rules.deny, Does::Deny, Touch::Yes) {
        return Some((Decision::Deny, Some(rule)));
    }
    let asks = find(&policy.rules.ask, Does::Ask, Touch::Yes)
        .or_else(|| find(&policy.rules.ask, Does::Ask, Touch::Maybe))
        .or_else(|| find(&policy.rules.deny, Does::Deny, Touch::Maybe));
    asks.map(|rule| (Decision::Ask, Some(rule)))
}

/// Questions that no rule answers.
fn demanded(
    policy: &Policy,
    ground: &Ground<'_>,
    part: &Part,
) -> Option<(Decision, Option<String>)> {
    let alone = crate::command::Script { parts: vec![part.clone()], ..Default::default() };
    let is_critical = removes_critical(&alone, &policy.directories, ground.world).is_some();
    let is_protected = protected_part(part).is_some();
    (is_critical || is_protected).then_some((Decision::Ask, None))
}

/// What a part would do, for people: only what is sure. A word that may be a file and may be text is
/// judged as one, and not told as one.
fn effects(ground: &Ground<'_>, part: &Part) -> Vec<String> {
    let mut effects: Vec<String> =
        part.assigns.iter().map(|assign| format!("set {}", assign.name)).collect();
    if let Some(first) = part.words.first() {
        let deed = if part.is_function { "call" } else { "run" };
        effects.push(format!("{deed} {}", visible(&first.text)));
    }
    let (reads, writes) = certain_words(part);
    let deeds = reads.into_iter().map(|word| ("read", word));
    for (deed, word) in deeds.chain(writes.into_iter().map(|word| ("write", word))) {
        if word.is_pipe() {
            continue;
        }
        let known = word.as_known().and_then(|text| ground.meant(text, &part.places));
        let place = match known.as_deref() {
            Some([meant, ..]) => meant.real.display().to_string(),
            _ => word.text.clone(),
        };
        let effect = format!("{deed} {}", visible(&place));
        if !effects.contains(&effect) {
            effects.push(effect);
        }
    }
    if part.words.first().is_some_and(|word: &Word| word.text == "cd") {
        effects.push("change directory".to_owned());
    }
    effects
}
