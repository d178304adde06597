//! From TOML to a script, with the place of every mistake.
//!
//! Walks the parsed document by hand instead of deriving a reader, because a derived one knows
//! neither the nearest key nor what would be right.

use std::time::Duration;

use serde_json::Value;
use toml::de::{DeTable, DeValue};
use windlass_vocabulary::{RequestSource, Tokens, Usage};

use super::answer::{AnswerContent, ScriptedAnswer, ScriptedToolCall, StopReason};
use super::entry::{ScriptEntry, ScriptTable};
use super::script_error::{ScriptError, ScriptMistake};
use super::{Script, fault_parser};

pub(super) fn parse_script(text: &str) -> Result<Script, ScriptError> {
    parse_document(text).map_err(|mistake| mistake.locate_in(text))
}

fn parse_document(text: &str) -> Result<Script, ScriptMistake> {
    if text.len() > SCRIPT_MAX {
        return Err(ScriptMistake::new(0, "the script is longer than 4 MiB", "make it shorter"));
    }
    let parsed = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        ScriptMistake::new(
            at,
            format!("not TOML: {}", error.message()),
            "mend the line as TOML demands",
        )
    })?;
    let table = ScriptTable::new("the script", parsed.get_ref(), 0);
    table.reject_unknown_keys(&["model", "lenient", "answer"])?;
    let mut script = Script {
        model: table.text("model")?,
        lenient: table.flag("lenient")?.unwrap_or(false),
        answers: Vec::new(),
    };
    let Some(answers) = table.find("answer") else {
        let remedy = "write at least one [[answer]] with a text or a tool";
        return Err(ScriptMistake::new(0, "the script has no answer", remedy));
    };
    let DeValue::Array(list) = answers.value else {
        let remedy = "write [[answer]], with two brackets on each side";
        return Err(ScriptMistake::new(answers.at, "`answer` must be a list of tables", remedy));
    };
    for item in list.iter() {
        let item = ScriptEntry::new("answer", item);
        script.answers.push(parse_answer(&item.table("an answer")?)?);
    }
    Ok(script)
}

fn parse_answer(table: &ScriptTable<'_>) -> Result<ScriptedAnswer, ScriptMistake> {
    table.reject_unknown_keys(ANSWER_KEYS)?;
    let mut answer = match table.find("raw") {
        Some(raw) => ScriptedAnswer::raw(raw.text()?),
        None => parse_content(table)?,
    };
    answer.when = table.text("when")?;
    answer.when_result = table.text("when_result")?;
    answer.when_model = table.text("when_model")?;
    answer.when_tool = table.text("when_tool")?;
    answer.when_source =
        table.find("when_source").map(|entry| entry.parse_word(&source_names())).transpose()?;
    answer.stop = table.find("stop").map(|entry| entry.parse_word(&stop_names())).transpose()?;
    answer.usage = table.find("usage").map(|entry| parse_usage(&entry)).transpose()?;
    if let Some(characters) = table.number("chunk", 1..=1_000_000)? {
        answer.chunk = usize::try_from(characters).unwrap_or(usize::MAX);
    }
    if let Some(millis) = table.number("pace_ms", 0..=60_000)? {
        answer.pace = Duration::from_millis(millis);
    }
    if let Some(times) = table.number("repeat", 0..=1_000_000)? {
        answer.repeat = u32::try_from(times).unwrap_or(u32::MAX);
    }
    answer.fault =
        table.find("fault").map(|entry| fault_parser::parse_fault(&entry)).transpose()?;
    check_consistency(table, &answer)?;
    Ok(answer)
}

fn parse_content(table: &ScriptTable<'_>) -> Result<ScriptedAnswer, ScriptMistake> {
    let mut answer = ScriptedAnswer::text(table.text("text")?.unwrap_or_default())
        .thinking(table.text("thinking")?.unwrap_or_default())
        .text_after(table.text("text_after")?.unwrap_or_default());
    if let Some(tools) = table.find("tool") {
        let DeValue::Array(list) = tools.value else {
            let remedy = "write tool = [{ name = \"Bash\", input = { command = \"ls\" } }]";
            return Err(ScriptMistake::new(tools.at, "`tool` must be a list of tables", remedy));
        };
        for item in list.iter() {
            let call = ScriptEntry::new("tool", item);
            answer = answer.add_tool_call(parse_tool_call(&call.table("a tool call")?)?);
        }
    }
    Ok(answer)
}

fn parse_tool_call(table: &ScriptTable<'_>) -> Result<ScriptedToolCall, ScriptMistake> {
    table.reject_unknown_keys(&["name", "input", "input_text", "id"])?;
    let Some(name) = table.text("name")? else {
        return Err(ScriptMistake::new(table.at(), "a tool call has no name", "add name = \"…\""));
    };
    let input = match (table.find("input"), table.find("input_text")) {
        (Some(_), Some(text)) => {
            let problem = "a tool call has both `input` and `input_text`";
            return Err(ScriptMistake::new(text.at, problem, "keep one of them"));
        }
        (Some(input), None) => match to_json(&input)? {
            object @ Value::Object(_) => object.to_string(),
            _ => {
                let remedy = "write a table, or `input_text` for arguments that are nonsense";
                return Err(ScriptMistake::new(input.at, "`input` must be a table", remedy));
            }
        },
        (None, Some(text)) => text.text()?,
        (None, None) => "{}".to_owned(),
    };
    Ok(ScriptedToolCall { id: table.text("id")?, name, input })
}

fn parse_usage(entry: &ScriptEntry<'_>) -> Result<Usage, ScriptMistake> {
    let table = entry.table("`usage`")?;
    table.reject_unknown_keys(&["input", "output", "cache_read", "cache_write"])?;
    let tokens = |key| table.number(key, 0..=1_000_000_000).map(|n| Tokens(n.unwrap_or(0)));
    Ok(Usage {
        input: tokens("input")?,
        output: tokens("output")?,
        cache_write: tokens("cache_write")?,
        cache_read: tokens("cache_read")?,
    })
}

/// What each key says may be right and the whole still make no sense.
fn check_consistency(
    table: &ScriptTable<'_>,
    answer: &ScriptedAnswer,
) -> Result<(), ScriptMistake> {
    let content_entry = table.find_first(&["text", "thinking", "tool", "text_after", "stop"]);
    if let (AnswerContent::Raw(_), Some(content_entry)) = (&answer.content, &content_entry) {
        let problem = format!("`{}` beside `raw` would never be sent", content_entry.key);
        return Err(ScriptMistake::new(
            content_entry.at,
            problem,
            "put it into `raw`, or leave `raw` out",
        ));
    }
    if answer.fault.as_ref().is_some_and(crate::fault::ScriptedFault::replaces_answer) {
        if let Some(content_entry) = content_entry.or(table.find("raw")) {
            let problem =
                format!("`{}` beside this `fault` would never be sent", content_entry.key);
            let remedy = "give the fault an [[answer]] of its own, before this one";
            return Err(ScriptMistake::new(content_entry.at, problem, remedy));
        }
    } else if content_entry.is_none() && table.find("raw").is_none() {
        let remedy = "give it a text, a tool or a fault (text = \"\" for an empty answer)";
        return Err(ScriptMistake::new(table.at(), "this answer says nothing", remedy));
    }
    Ok(())
}

fn to_json(entry: &ScriptEntry<'_>) -> Result<Value, ScriptMistake> {
    let item = |value| ScriptEntry::new(entry.key, value);
    Ok(match entry.value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Datetime(moment) => Value::from(moment.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(Value::from)
            .map_err(|_| entry.must_be("be a number of at most 64 bits"))?,
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map(Value::from)
            .ok_or_else(|| entry.must_be("be a finite number, which JSON can hold"))?,
        DeValue::Array(list) => {
            list.iter().map(|value| to_json(&item(value))).collect::<Result<_, _>>()?
        }
        DeValue::Table(table) => {
            let fields = table.iter().map(|(key, value)| {
                to_json(&item(value)).map(|value| (key.get_ref().to_string(), value))
            });
            Value::Object(fields.collect::<Result<_, _>>()?)
        }
    })
}

fn source_names() -> Vec<(&'static str, RequestSource)> {
    RequestSource::all().map(|source| (source.name(), source)).collect()
}

fn stop_names() -> Vec<(&'static str, StopReason)> {
    StopReason::ALL.iter().map(|stop| (stop.name(), *stop)).collect()
}

const ANSWER_KEYS: &[&str] = &[
    "when",
    "when_result",
    "when_model",
    "when_tool",
    "when_source",
    "text",
    "thinking",
    "tool",
    "text_after",
    "raw",
    "stop",
    "usage",
    "chunk",
    "pace_ms",
    "repeat",
    "fault",
];
const SCRIPT_MAX: usize = 4 * 1024 * 1024;
