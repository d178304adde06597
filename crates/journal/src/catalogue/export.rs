//! A session as text for people, or as lines for programs.

use std::io::Write;
use std::path::Path;

use crate::clock::moment;
use crate::error::JournalError;
use crate::reader::{Entry, Reader};
use crate::record::Head;
use crate::spoken::{Speech, Spoken, Who};

/// How a session is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Markdown,
    /// For programs: one JSON object for each thing that was said.
    Jsonl,
}

/// Writes a session out, from its first record to its last.
///
/// # Errors
///
/// When the journal cannot be read, or what is written to says no.
pub fn export(journal: &Path, format: Format, out: &mut dyn Write) -> Result<(), JournalError> {
    let mut reader = Reader::open(journal)?;
    let mut speech = Speech::default();
    let mut said = Vec::new();
    let mut is_headed = false;
    let failed = |error| JournalError::disk(journal, "exported")(error);
    while let Some(entry) = reader.next_entry()? {
        match entry {
            Ok(Entry::Head(head)) if !is_headed && format == Format::Markdown => {
                is_headed = true;
                write_head(&head, out).map_err(failed)?;
            }
            Ok(Entry::Record(record)) => {
                speech.take(&record, &mut said);
                for spoken in said.drain(..) {
                    write(&spoken, format, out).map_err(failed)?;
                }
            }
            _ => {}
        }
    }
    speech.finish(&mut said);
    for spoken in said {
        write(&spoken, format, out).map_err(failed)?;
    }
    Ok(())
}

fn write_head(head: &Head, out: &mut dyn Write) -> std::io::Result<()> {
    let name = head.session.as_ref().map_or("session", |session| session.as_str());
    writeln!(out, "# Session {name}\n")?;
    if let Some(project) = &head.project {
        writeln!(out, "Project `{project}`, begun {}.\n", moment(head.created))?;
    }
    Ok(())
}

fn write(spoken: &Spoken, format: Format, out: &mut dyn Write) -> std::io::Result<()> {
    if format == Format::Jsonl {
        let mut line = serde_json::to_vec(spoken).map_err(std::io::Error::other)?;
        line.push(b'\n');
        return out.write_all(&line);
    }
    let Spoken { at, who, text, .. } = spoken;
    let at = moment(*at);
    match who {
        Who::User => writeln!(out, "## User · {at}\n\n{text}\n"),
        Who::Model => writeln!(out, "## Model · {at}\n\n{text}\n"),
        Who::Call { tool, .. } => writeln!(out, "### {tool}\n\n{}\n", fenced(text)),
        Who::Tool { is_error: false, .. } => writeln!(out, "Result:\n\n{}\n", fenced(text)),
        Who::Tool { is_error: true, .. } => writeln!(out, "Failed:\n\n{}\n", fenced(text)),
        Who::Summary => writeln!(out, "## Summary · {at}\n\n{text}\n"),
        Who::End { terminal } => writeln!(out, "*Ended: {terminal} · {at}*\n"),
    }
}

/// A fence longer than any run of backticks inside, so that the text cannot end it.
fn fenced(text: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}
