//! Exports a session as Markdown or as JSON lines.

use std::io::Write;
use std::path::Path;

use windlass_vocabulary::format_timestamp;

use crate::conversation::{ConversationExtractor, ConversationItem, ConversationRole};
use crate::error::JournalError;
use crate::journal_reader::{JournalEntry, JournalReader};
use crate::record::JournalHead;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalExportFormat {
    /// For reading.
    Markdown,
    /// For programs: one JSON object per message.
    Jsonl,
}

/// Exports a session from its first record to its last.
pub fn export_session(
    journal: &Path,
    format: JournalExportFormat,
    out: &mut dyn Write,
) -> Result<(), JournalError> {
    let mut reader = JournalReader::open(journal)?;
    let mut extractor = ConversationExtractor::default();
    let mut items = Vec::new();
    let mut is_headed = false;
    let failed = |error| JournalError::disk_error(journal, "exported")(error);
    while let Some(entry) = reader.next_entry()? {
        match entry {
            Ok(JournalEntry::Head(head))
                if !is_headed && format == JournalExportFormat::Markdown =>
            {
                is_headed = true;
                write_markdown_title(&head, out).map_err(failed)?;
            }
            Ok(JournalEntry::Record(record)) => {
                extractor.push_record(&record, &mut items);
                for item in items.drain(..) {
                    write_item(&item, format, out).map_err(failed)?;
                }
            }
            Ok(JournalEntry::Head(_) | JournalEntry::Claim(_)) | Err(_) => {}
        }
    }
    extractor.finish(&mut items);
    for item in items {
        write_item(&item, format, out).map_err(failed)?;
    }
    Ok(())
}

fn write_markdown_title(head: &JournalHead, out: &mut dyn Write) -> std::io::Result<()> {
    let name = head.session.as_ref().map_or("session", |session| session.as_str());
    writeln!(out, "# Session {name}\n")?;
    if let Some(project) = &head.project {
        writeln!(out, "Project `{project}`, begun {}.\n", format_timestamp(head.created))?;
    }
    Ok(())
}

fn write_item(
    item: &ConversationItem,
    format: JournalExportFormat,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    if format == JournalExportFormat::Jsonl {
        let mut line = serde_json::to_vec(item).map_err(std::io::Error::other)?;
        line.push(b'\n');
        return out.write_all(&line);
    }
    let ConversationItem { at, who, text, .. } = item;
    let at = format_timestamp(*at);
    match who {
        ConversationRole::User => writeln!(out, "## User · {at}\n\n{text}\n"),
        ConversationRole::Model => writeln!(out, "## Model · {at}\n\n{text}\n"),
        ConversationRole::Call { tool, .. } => {
            writeln!(out, "### {tool}\n\n{}\n", fence_text(text))
        }
        ConversationRole::Tool { is_error: false, .. } => {
            writeln!(out, "Result:\n\n{}\n", fence_text(text))
        }
        ConversationRole::Tool { is_error: true, .. } => {
            writeln!(out, "Failed:\n\n{}\n", fence_text(text))
        }
        ConversationRole::Summary => writeln!(out, "## Summary · {at}\n\n{text}\n"),
        ConversationRole::End { terminal } => writeln!(out, "*Ended: {terminal} · {at}*\n"),
    }
}

/// A fence longer than any run of backticks in the text, so that the text cannot end it.
fn fence_text(text: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}
