//! `windlass sessions show`: what a session is, and what was said in it, as far as fits a screen or
//! two. The whole of it is exported.

use serde_json::{Value, json};
use windlass_journal::conversation::{ConversationExtractor, ConversationItem, ConversationRole};
use windlass_journal::{JournalReader, ListedSession};
use windlass_vocabulary::format_timestamp;

use crate::args::SingleSessionArgs;
use windlass_assembly::report::session_list;
use windlass_assembly::session::journal_error;
use windlass_assembly::session::session_lookup::find_session_here;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::human_format::{format_count, format_money};
use windlass_host::display::strip_control_characters;
use windlass_host::display::tool_call_summary::truncate_with_ellipsis;
use windlass_host::environment::EnvLookup;

/// What to print.
pub(super) fn run(
    args: &SingleSessionArgs,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let listed = find_session_here(args.session.as_deref(), lookup)?;
    let said = read_conversation(&listed)?;
    if args.json {
        let said = serde_json::to_value(&said).unwrap_or(Value::Null);
        return Ok(format!(
            "{}\n",
            json!({"session": session_list::session_to_json(&listed), "said": said})
        ));
    }
    let mut text = render_header(&listed);
    let hidden = said.len().saturating_sub(SHOWN_MAX);
    if hidden > 0 {
        let hidden = format_count(u64::try_from(hidden).unwrap_or(u64::MAX));
        let id = &listed.summary.id;
        text.push_str(&format!("({hidden} earlier lines: windlass sessions export {id})\n"));
    }
    for spoken in said.iter().skip(hidden) {
        text.push_str(&render_entry(spoken));
    }
    Ok(text)
}

fn read_conversation(listed: &ListedSession) -> Result<Vec<ConversationItem>, CommandError> {
    let mut reader = JournalReader::open(&listed.path).map_err(|error| journal_error(&error))?;
    let (mut speech, mut said) = (ConversationExtractor::default(), Vec::new());
    while let Some(record) = reader.next_record().map_err(|error| journal_error(&error))? {
        speech.push_record(&record, &mut said);
    }
    speech.finish(&mut said);
    Ok(said)
}

fn render_header(ListedSession { summary: card, path }: &ListedSession) -> String {
    let mut rows = vec![
        ("session", card.id.clone()),
        ("name", card.title.clone().unwrap_or_default()),
        ("directory", card.project.clone().unwrap_or_default()),
        ("branch", card.branch.clone().unwrap_or_default()),
        ("copy of", card.parent.clone().unwrap_or_default()),
        ("begun", format_timestamp(card.created)),
        ("last", format_timestamp(card.updated)),
        ("messages", format_count(card.messages)),
        ("cost", format_money(card.cost)),
        ("journal", path.display().to_string()),
    ];
    rows.retain(|(_, value)| !value.is_empty());
    let lines = rows.iter().map(|(name, value)| format!("{name:<11}{}\n", to_single_line(value)));
    format!("{}\n", lines.collect::<String>())
}

fn render_entry(spoken: &ConversationItem) -> String {
    let text = strip_control_characters(spoken.text.trim_end());
    let short = || truncate_with_ellipsis(&to_single_line(&text), LINE_MAX);
    match &spoken.who {
        ConversationRole::User => format!("> {text}\n\n"),
        ConversationRole::Model => format!("{text}\n\n"),
        ConversationRole::Call { tool, .. } => format!("● {tool} {}\n", short()),
        ConversationRole::Tool { is_error: false, .. } => format!("  │ {}\n\n", short()),
        ConversationRole::Tool { is_error: true, .. } => format!("  ✗ {}\n\n", short()),
        ConversationRole::Summary => format!("(history was summarised) {}\n\n", short()),
        ConversationRole::End { terminal } => format!("-- {} --\n\n", terminal.name()),
    }
}

/// Things said that are shown, and characters of a call or a result.
const SHOWN_MAX: usize = 200;
const LINE_MAX: usize = 160;
