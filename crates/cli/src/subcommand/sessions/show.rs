//! `windlass sessions show`: the facts about a session and its last messages. `sessions export` writes all
//! of them.

use std::path::Path;

use serde_json::{Value, json};
use windlass_journal::conversation::{ConversationExtractor, ConversationItem, ConversationRole};
use windlass_journal::{JournalReader, ListedSession, transcript};
use windlass_vocabulary::format_timestamp;

use crate::args::SingleSessionArgs;
use crate::words;
use windlass_assembly::report::session_list;
use windlass_assembly::session::session_lookup::{ReadableSession, find_readable_session};
use windlass_assembly::session::{self, journal_error};
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::human_format::{format_count, format_money};
use windlass_host::display::strip_control_characters;
use windlass_host::display::tool_call_summary::truncate_with_ellipsis;
use windlass_host::environment::EnvLookup;

pub(super) fn run(
    args: &SingleSessionArgs,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let (listed, items, transcript) = match find_readable_session(args.session.as_deref(), lookup)?
    {
        ReadableSession::Journal(listed) => {
            let items = read_conversation(&listed)?;
            let transcript = session::find_transcript(&listed, lookup)?;
            (listed, items, transcript.filter(|path| path.exists()))
        }
        ReadableSession::Transcript(listed) => {
            let items = transcript::read_transcript_conversation(&listed.path);
            (listed, items.map_err(|error| journal_error(&error))?, None)
        }
    };
    if args.json {
        let value = serde_json::to_value(&items).unwrap_or(Value::Null);
        let session = session_list::session_to_json(&listed);
        let shown = json!({"session": session, "said": value, "transcript": transcript});
        return Ok(format!("{shown}\n"));
    }
    let mut text = render_header(&listed, transcript.as_deref());
    let hidden = items.len().saturating_sub(SHOWN_MAX);
    if hidden > 0 {
        let hidden = format_count(u64::try_from(hidden).unwrap_or(u64::MAX));
        let id = &listed.summary.id;
        text.push_str(&words::describe_earlier_lines(&hidden, id));
    }
    for item in items.iter().skip(hidden) {
        text.push_str(&render_entry(item));
    }
    Ok(text)
}

fn read_conversation(listed: &ListedSession) -> Result<Vec<ConversationItem>, CommandError> {
    let mut reader = JournalReader::open(&listed.path).map_err(|error| journal_error(&error))?;
    let mut extractor = ConversationExtractor::default();
    let mut items = Vec::new();
    while let Some(record) = reader.next_record().map_err(|error| journal_error(&error))? {
        extractor.push_record(&record, &mut items);
    }
    extractor.finish(&mut items);
    Ok(items)
}

fn render_header(listed: &ListedSession, transcript: Option<&Path>) -> String {
    let summary = &listed.summary;
    let values = [
        summary.id.clone(),
        summary.title.clone().unwrap_or_default(),
        summary.project.clone().unwrap_or_default(),
        summary.branch.clone().unwrap_or_default(),
        summary.parent.clone().unwrap_or_default(),
        format_timestamp(summary.created),
        format_timestamp(summary.updated),
        format_count(summary.messages),
        format_money(summary.cost),
        listed.path.display().to_string(),
        transcript.map(|path| path.display().to_string()).unwrap_or_default(),
    ];
    let rows = words::SESSION_ROWS.iter().zip(values).filter(|(_, value)| !value.is_empty());
    let lines = rows.map(|(name, value)| format!("{name:<11}{}\n", to_single_line(&value)));
    format!("{}\n", lines.collect::<String>())
}

fn render_entry(item: &ConversationItem) -> String {
    let text = strip_control_characters(item.text.trim_end());
    let short = || truncate_with_ellipsis(&to_single_line(&text), LINE_MAX);
    match &item.who {
        ConversationRole::User => format!("> {text}\n\n"),
        ConversationRole::Model => format!("{text}\n\n"),
        ConversationRole::Call { tool, .. } => format!("● {tool} {}\n", short()),
        ConversationRole::Tool { is_error: false, .. } => format!("  │ {}\n\n", short()),
        ConversationRole::Tool { is_error: true, .. } => format!("  ✗ {}\n\n", short()),
        ConversationRole::Summary => words::describe_summary(&short()),
        ConversationRole::End { terminal } => format!("-- {} --\n\n", terminal.name()),
    }
}

const SHOWN_MAX: usize = 200;
/// Characters of a tool call or a result.
const LINE_MAX: usize = 160;
