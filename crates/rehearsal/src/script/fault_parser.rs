//! Parses a `fault` table. Exactly one key names the kind; the others are its parameters.

use std::time::Duration;

use windlass_config_text::{TomlEntry, TomlMistake, TomlTable};

use crate::fault::ScriptedFault;

/// Every kind with its parameters.
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

pub(super) fn parse_fault(entry: &TomlEntry<'_>) -> Result<ScriptedFault, TomlMistake> {
    let table = entry.parse_table("`fault`")?;
    let mut known: Vec<&str> = FAULT_KINDS.iter().map(|(kind, _)| *kind).collect();
    known.extend(FAULT_KINDS.iter().flat_map(|(_, companions)| companions.iter()));
    table.check_keys(&known)?;
    let Some((kind, companions)) = FAULT_KINDS.iter().find(|(kind, _)| table.find(kind).is_some())
    else {
        let kinds: Vec<_> = FAULT_KINDS.iter().map(|(kind, _)| *kind).collect();
        let remedy = format!("name one of {}", kinds.join(", "));
        return Err(TomlMistake::new(table.offset(), "this fault has no kind", remedy));
    };
    if let Some(other) = table
        .entries()
        .into_iter()
        .find(|entry| entry.key != *kind && !companions.contains(&entry.key))
    {
        let problem = format!("`{}` does not go with `{kind}` in one fault", other.key);
        let remedy = "give each fault an [[answer]] of its own";
        return Err(TomlMistake::new(other.offset, problem, remedy));
    }
    parse_fault_kind(&table, kind)
}

fn parse_fault_kind(table: &TomlTable<'_>, kind: &str) -> Result<ScriptedFault, TomlMistake> {
    let reset = table.parse_flag("reset")?.unwrap_or(false);
    Ok(match kind {
        "html" => {
            check_switched_on(table, "html")?;
            ScriptedFault::Html { status: parse_status(table)?.unwrap_or(200) }
        }
        "status" => ScriptedFault::Refuse {
            status: parse_status(table)?.unwrap_or(500),
            headers: table.read_key("headers", |entry| parse_headers(&entry))?.unwrap_or_default(),
            body: table.parse_text("body")?,
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
            ping: table.parse_number("ping_ms", 1..=600_000)?.map(Duration::from_millis),
        },
        "malformed_at_event" => {
            ScriptedFault::MalformedAtEvent { event: parse_count(table, "malformed_at_event", 1)? }
        }
        "error_event" => {
            let kind = table.parse_text("error_event")?.unwrap_or_default();
            let message =
                table.parse_text("message")?.unwrap_or_else(|| format!("rehearsed {kind}"));
            ScriptedFault::ErrorEvent {
                kind,
                message,
                after_event: parse_count(table, "after_event", 0)?,
                hold_open: table.parse_flag("hold_open")?.unwrap_or(false),
            }
        }
        "drop_connection" => {
            check_switched_on(table, "drop_connection")?;
            ScriptedFault::DropConnection { reset }
        }
        "slow_ms_per_byte" => {
            let millis = table.parse_number("slow_ms_per_byte", 1..=60_000)?.unwrap_or(1);
            ScriptedFault::Slow { per_byte: Duration::from_millis(millis) }
        }
        _ => {
            check_switched_on(table, "gzip_broken")?;
            ScriptedFault::BrokenGzip
        }
    })
}

fn parse_count(table: &TomlTable<'_>, key: &'static str, least: u64) -> Result<usize, TomlMistake> {
    let number = table.parse_number(key, least..=1_000_000_000)?.unwrap_or(least);
    Ok(usize::try_from(number).unwrap_or(usize::MAX))
}

fn parse_status(table: &TomlTable<'_>) -> Result<Option<u16>, TomlMistake> {
    let status = table.parse_number("status", 200..=599)?;
    Ok(status.and_then(|status| u16::try_from(status).ok()))
}

/// `drop_connection = false` would mean no fault, so it is probably a mistake.
fn check_switched_on(table: &TomlTable<'_>, key: &'static str) -> Result<(), TomlMistake> {
    match table.find(key) {
        Some(entry) if !entry.parse_flag()? => Err(TomlMistake::new(
            entry.offset,
            format!("`{key}` is false"),
            "write true, or no fault",
        )),
        _ => Ok(()),
    }
}

fn parse_headers(entry: &TomlEntry<'_>) -> Result<Vec<(String, String)>, TomlMistake> {
    let mut headers = Vec::new();
    let mut entries = entry.parse_table("`headers`")?.entries();
    // Recordings contain them in this order.
    entries.sort_by_key(|header| header.key);
    for header in entries {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&byte);
        if header.key.is_empty() || !header.key.bytes().all(is_name) {
            let problem = format!("\"{}\" is not a header's name", header.key.escape_debug());
            let remedy = "use letters, digits and -";
            return Err(TomlMistake::new(header.offset, problem, remedy));
        }
        let own = ["content-length", "transfer-encoding", "connection"];
        if own.iter().any(|name| header.key.eq_ignore_ascii_case(name)) {
            let problem = format!("the header {} belongs to the server", header.key);
            return Err(TomlMistake::new(header.offset, problem, "leave it out"));
        }
        let value = header.parse_text()?;
        if value.chars().any(char::is_control) {
            return Err(header.invalid_value("one line of text"));
        }
        headers.push((header.key.to_owned(), value));
    }
    Ok(headers)
}
