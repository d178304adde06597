//! From a `fault` table to a fault. Exactly one key names the kind; the others belong to it.

use std::time::Duration;

use super::entry::{ScriptEntry, ScriptTable};
use super::script_error::ScriptMistake;
use crate::fault::ScriptedFault;

/// Every kind with the keys that may stand beside it.
const FAULT_KINDS: &[(&str, &[&str])] = &[
    ("html", &["status"]),
    ("status", &["headers", "body"]),
    ("cut_after_event", &["reset"]),
    ("cut_after_byte", &["reset"]),
    ("stall_after_event", &["ping_ms"]),
    ("malformed_at_event", &[]),
    ("error_event", &["after_event", "message", "hold_open"]),
    ("drop_connection", &["reset"]),
    ("slow_ms_per_byte", &[]),
    ("gzip_broken", &[]),
];

pub(super) fn parse_fault(entry: &ScriptEntry<'_>) -> Result<ScriptedFault, ScriptMistake> {
    let table = entry.table("`fault`")?;
    let mut known: Vec<&str> = FAULT_KINDS.iter().map(|(kind, _)| *kind).collect();
    known.extend(FAULT_KINDS.iter().flat_map(|(_, companions)| companions.iter()));
    table.reject_unknown_keys(&known)?;
    let Some((kind, companions)) = FAULT_KINDS.iter().find(|(kind, _)| table.find(kind).is_some())
    else {
        let kinds: Vec<_> = FAULT_KINDS.iter().map(|(kind, _)| *kind).collect();
        let remedy = format!("name one of {}", kinds.join(", "));
        return Err(ScriptMistake::new(table.at(), "this fault has no kind", remedy));
    };
    if let Some(other) =
        table.entries().find(|entry| entry.key != *kind && !companions.contains(&entry.key))
    {
        let problem = format!("`{}` does not go with `{kind}` in one fault", other.key);
        let remedy = "give each fault an [[answer]] of its own";
        return Err(ScriptMistake::new(other.at, problem, remedy));
    }
    parse_fault_kind(&table, kind)
}

fn parse_fault_kind(table: &ScriptTable<'_>, kind: &str) -> Result<ScriptedFault, ScriptMistake> {
    let reset = table.flag("reset")?.unwrap_or(false);
    Ok(match kind {
        "html" => {
            check_switched_on(table, "html")?;
            ScriptedFault::Html { status: parse_status(table)?.unwrap_or(200) }
        }
        "status" => ScriptedFault::Refuse {
            status: parse_status(table)?.unwrap_or(500),
            headers: table
                .find("headers")
                .map(|entry| parse_headers(&entry))
                .transpose()?
                .unwrap_or_default(),
            body: table.text("body")?,
        },
        "cut_after_event" => ScriptedFault::CutAfterEvent {
            events: parse_count(table, "cut_after_event", 0)?,
            reset,
        },
        "cut_after_byte" => {
            ScriptedFault::CutAfterByte { bytes: parse_count(table, "cut_after_byte", 0)?, reset }
        }
        "stall_after_event" => ScriptedFault::StallAfterEvent {
            events: parse_count(table, "stall_after_event", 0)?,
            ping: table.number("ping_ms", 1..=600_000)?.map(Duration::from_millis),
        },
        "malformed_at_event" => {
            ScriptedFault::MalformedAtEvent { event: parse_count(table, "malformed_at_event", 1)? }
        }
        "error_event" => {
            let kind = table.text("error_event")?.unwrap_or_default();
            let message = table.text("message")?.unwrap_or_else(|| format!("rehearsed {kind}"));
            ScriptedFault::ErrorEvent {
                kind,
                message,
                after_event: parse_count(table, "after_event", 0)?,
                hold_open: table.flag("hold_open")?.unwrap_or(false),
            }
        }
        "drop_connection" => {
            check_switched_on(table, "drop_connection")?;
            ScriptedFault::DropConnection { reset }
        }
        "slow_ms_per_byte" => {
            let millis = table.number("slow_ms_per_byte", 1..=60_000)?.unwrap_or(1);
            ScriptedFault::Slow { per_byte: Duration::from_millis(millis) }
        }
        _ => {
            check_switched_on(table, "gzip_broken")?;
            ScriptedFault::BrokenGzip
        }
    })
}

fn parse_count(
    table: &ScriptTable<'_>,
    key: &'static str,
    least: u64,
) -> Result<usize, ScriptMistake> {
    let number = table.number(key, least..=1_000_000_000)?.unwrap_or(least);
    Ok(usize::try_from(number).unwrap_or(usize::MAX))
}

fn parse_status(table: &ScriptTable<'_>) -> Result<Option<u16>, ScriptMistake> {
    let status = table.number("status", 200..=599)?;
    Ok(status.and_then(|status| u16::try_from(status).ok()))
}

/// `drop_connection = false` reads like no fault at all, so it is a mistake.
fn check_switched_on(table: &ScriptTable<'_>, key: &'static str) -> Result<(), ScriptMistake> {
    match table.find(key) {
        Some(entry) if !entry.flag()? => Err(ScriptMistake::new(
            entry.at,
            format!("`{key}` is false"),
            "write true, or no fault",
        )),
        _ => Ok(()),
    }
}

fn parse_headers(entry: &ScriptEntry<'_>) -> Result<Vec<(String, String)>, ScriptMistake> {
    let mut headers = Vec::new();
    for header in entry.table("`headers`")?.entries() {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&byte);
        if header.key.is_empty() || !header.key.bytes().all(is_name) {
            let problem = format!("\"{}\" is not a header's name", header.key.escape_debug());
            let remedy = "use letters, digits and -";
            return Err(ScriptMistake::new(header.at, problem, remedy));
        }
        let own = ["content-length", "transfer-encoding", "connection"];
        if own.iter().any(|name| header.key.eq_ignore_ascii_case(name)) {
            let problem = format!("the header {} belongs to the server", header.key);
            return Err(ScriptMistake::new(header.at, problem, "leave it out"));
        }
        let value = header.text()?;
        if value.chars().any(char::is_control) {
            return Err(header.must_be("be one line of text"));
        }
        headers.push((header.key.to_owned(), value));
    }
    Ok(headers)
}
