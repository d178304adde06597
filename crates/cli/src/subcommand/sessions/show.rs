//! `windlass sessions show`: what a session is, and what was said in it, as far as fits a screen or
//! two. The whole of it is exported.

use serde_json::{Value, json};
use windlass_journal::clock::moment;
use windlass_journal::spoken::{Speech, Spoken, Who};
use windlass_journal::{Listed, Reader};

use super::{list, one};
use crate::args::OneArgs;
use crate::environment::Lookup;
use crate::front::call::shortened;
use crate::front::harmless;
use crate::front::words::{count, money};
use crate::refusal::{Refusal, one_line};
use crate::session::unusable;

/// What to print.
pub(super) fn run(args: &OneArgs, lookup: &impl Lookup) -> Result<String, Refusal> {
    let listed = one(args.session.as_deref(), lookup)?;
    let said = said(&listed)?;
    if args.json {
        let said = serde_json::to_value(&said).unwrap_or(Value::Null);
        return Ok(format!("{}\n", json!({"session": list::object(&listed), "said": said})));
    }
    let mut text = head(&listed);
    let hidden = said.len().saturating_sub(SHOWN_MAX);
    if hidden > 0 {
        let hidden = count(u64::try_from(hidden).unwrap_or(u64::MAX));
        let id = &listed.card.id;
        text.push_str(&format!("({hidden} earlier lines: windlass sessions export {id})\n"));
    }
    for spoken in said.iter().skip(hidden) {
        text.push_str(&line(spoken));
    }
    Ok(text)
}

fn said(listed: &Listed) -> Result<Vec<Spoken>, Refusal> {
    let mut reader = Reader::open(&listed.path).map_err(|error| unusable(&error))?;
    let (mut speech, mut said) = (Speech::default(), Vec::new());
    while let Some(record) = reader.next_record().map_err(|error| unusable(&error))? {
        speech.take(&record, &mut said);
    }
    speech.finish(&mut said);
    Ok(said)
}

fn head(Listed { card, path }: &Listed) -> String {
    let mut rows = vec![
        ("session", card.id.clone()),
        ("name", card.title.clone().unwrap_or_default()),
        ("directory", card.project.clone().unwrap_or_default()),
        ("branch", card.branch.clone().unwrap_or_default()),
        ("copy of", card.parent.clone().unwrap_or_default()),
        ("begun", moment(card.created)),
        ("last", moment(card.updated)),
        ("messages", count(card.messages)),
        ("cost", money(card.cost)),
        ("journal", path.display().to_string()),
    ];
    rows.retain(|(_, value)| !value.is_empty());
    let lines = rows.iter().map(|(name, value)| format!("{name:<11}{}\n", one_line(value)));
    format!("{}\n", lines.collect::<String>())
}

fn line(spoken: &Spoken) -> String {
    let text = harmless(spoken.text.trim_end());
    let short = || shortened(&one_line(&text), LINE_MAX);
    match &spoken.who {
        Who::User => format!("> {text}\n\n"),
        Who::Model => format!("{text}\n\n"),
        Who::Call { tool, .. } => format!("● {tool} {}\n", short()),
        Who::Tool { is_error: false, .. } => format!("  │ {}\n\n", short()),
        Who::Tool { is_error: true, .. } => format!("  ✗ {}\n\n", short()),
        Who::Summary => format!("(history was summarised) {}\n\n", short()),
        Who::End { terminal } => format!("-- {} --\n\n", terminal.name()),
    }
}

/// Things said that are shown, and characters of a call or a result.
const SHOWN_MAX: usize = 200;
const LINE_MAX: usize = 160;
