//! Parses a script from TOML, and reports the position of a mistake.
//!
//! Walks the document by hand instead of using a derived parser, which could suggest neither
//! similar keys nor corrections.

use std::time::Duration;

use serde_json::Value;
use toml::de::{DeTable, DeValue};
use windlass_config_text::{TomlEntry, TomlMistake, TomlTable};
use windlass_vocabulary::{RequestSource, Tokens, Usage};

use super::answer::{AnswerContent, ScriptedAnswer, ScriptedToolCall, StopReason};
use super::script_error::{ScriptError, locate_mistake};
use super::{Script, fault_parser};

pub(super) fn parse_script(text: &str) -> Result<Script, ScriptError> {
    parse_document(text).map_err(|mistake| locate_mistake(&mistake, text))
}

fn parse_document(text: &str) -> Result<Script, TomlMistake> {
    if text.len() > SCRIPT_MAX {
        return Err(TomlMistake::new(0, "the script is longer than 4 MiB", "make it shorter"));
    }
    let parsed = DeTable::parse(text).map_err(|error| TomlMistake::from_syntax_error(&error))?;
    let table = TomlTable::from_root("the script", parsed.get_ref());
    table.check_keys(&["model", "lenient", "answer"])?;
    let mut script = Script {
        model: table.parse_text("model")?,
        lenient: table.parse_flag("lenient")?.unwrap_or(false),
        answers: Vec::new(),
    };
    let Some(answers) = table.find("answer") else {
        let remedy = "write at least one [[answer]] with a text or a tool";
        return Err(TomlMistake::new(0, "the script has no answer", remedy));
    };
    let Ok(list) = answers.parse_list() else {
        let remedy = "write [[answer]], with two brackets on each side";
        return Err(TomlMistake::new(answers.offset, "`answer` must be a list of tables", remedy));
    };
    for item in list {
        script.answers.push(parse_answer(&item.parse_table("an answer")?)?);
    }
    Ok(script)
}

fn parse_answer(table: &TomlTable<'_>) -> Result<ScriptedAnswer, TomlMistake> {
    table.check_keys(ANSWER_KEYS)?;
    let mut answer = match table.find("raw") {
        Some(raw) => ScriptedAnswer::raw(raw.parse_text()?),
        None => parse_content(table)?,
    };
    answer.when = table.parse_text("when")?;
    answer.when_result = table.parse_text("when_result")?;
    answer.when_model = table.parse_text("when_model")?;
    answer.when_tool = table.parse_text("when_tool")?;
    answer.when_source =
        table.read_key("when_source", |entry| entry.parse_keyword(&source_names()))?;
    answer.stop = table.read_key("stop", |entry| entry.parse_keyword(&stop_names()))?;
    answer.usage = table.read_key("usage", |entry| parse_usage(&entry))?;
    if let Some(characters) = table.parse_number("chunk", 1..=1_000_000)? {
        answer.chunk = usize::try_from(characters).unwrap_or(usize::MAX);
    }
    if let Some(millis) = table.parse_number("pace_ms", 0..=60_000)? {
        answer.pace = Duration::from_millis(millis);
    }
    if let Some(times) = table.parse_number("repeat", 0..=1_000_000)? {
        answer.repeat = u32::try_from(times).unwrap_or(u32::MAX);
    }
    answer.fault = table.read_key("fault", |entry| fault_parser::parse_fault(&entry))?;
    check_consistency(table, &answer)?;
    Ok(answer)
}

fn parse_content(table: &TomlTable<'_>) -> Result<ScriptedAnswer, TomlMistake> {
    let mut answer = ScriptedAnswer::text(table.parse_text("text")?.unwrap_or_default())
        .thinking(table.parse_text("thinking")?.unwrap_or_default())
        .text_after(table.parse_text("text_after")?.unwrap_or_default());
    if let Some(tools) = table.find("tool") {
        let Ok(list) = tools.parse_list() else {
            let remedy = "write tool = [{ name = \"Bash\", input = { command = \"ls\" } }]";
            return Err(TomlMistake::new(tools.offset, "`tool` must be a list of tables", remedy));
        };
        for call in list {
            answer = answer.add_tool_call(parse_tool_call(&call.parse_table("a tool call")?)?);
        }
    }
    Ok(answer)
}

fn parse_tool_call(table: &TomlTable<'_>) -> Result<ScriptedToolCall, TomlMistake> {
    table.check_keys(&["name", "input", "input_text", "id"])?;
    let Some(name) = table.parse_text("name")? else {
        return Err(TomlMistake::new(
            table.offset(),
            "a tool call has no name",
            "add name = \"…\"",
        ));
    };
    let input = match (table.find("input"), table.find("input_text")) {
        (Some(_), Some(text)) => {
            let problem = "a tool call has both `input` and `input_text`";
            return Err(TomlMistake::new(text.offset, problem, "keep one of them"));
        }
        (Some(input), None) => match to_json(&input)? {
            object @ Value::Object(_) => object.to_string(),
            _ => {
                let remedy = "write a table, or `input_text` for invalid arguments";
                return Err(TomlMistake::new(input.offset, "`input` must be a table", remedy));
            }
        },
        (None, Some(text)) => text.parse_text()?,
        (None, None) => "{}".to_owned(),
    };
    Ok(ScriptedToolCall { id: table.parse_text("id")?, name, input })
}

fn parse_usage(entry: &TomlEntry<'_>) -> Result<Usage, TomlMistake> {
    let table = entry.parse_table("`usage`")?;
    table.check_keys(&["input", "output", "cache_read", "cache_write"])?;
    let tokens = |key| table.parse_number(key, 0..=1_000_000_000).map(|n| Tokens(n.unwrap_or(0)));
    Ok(Usage {
        input: tokens("input")?,
        output: tokens("output")?,
        cache_write: tokens("cache_write")?,
        cache_read: tokens("cache_read")?,
    })
}

/// Checks keys that are valid one by one but not together.
fn check_consistency(table: &TomlTable<'_>, answer: &ScriptedAnswer) -> Result<(), TomlMistake> {
    let content_entry = table.find_first(&["text", "thinking", "tool", "text_after", "stop"]);
    if let (AnswerContent::Raw(_), Some(content_entry)) = (&answer.content, &content_entry) {
        let problem = format!("`{}` beside `raw` would never be sent", content_entry.key);
        return Err(TomlMistake::new(
            content_entry.offset,
            problem,
            "put it into `raw`, or leave `raw` out",
        ));
    }
    if answer.fault.as_ref().is_some_and(crate::fault::ScriptedFault::replaces_answer) {
        if let Some(content_entry) = content_entry.or(table.find("raw")) {
            let problem =
                format!("`{}` beside this `fault` would never be sent", content_entry.key);
            let remedy = "give the fault an [[answer]] of its own, before this one";
            return Err(TomlMistake::new(content_entry.offset, problem, remedy));
        }
    } else if content_entry.is_none() && table.find("raw").is_none() {
        let remedy = "give it a text, a tool or a fault (text = \"\" for an empty answer)";
        return Err(TomlMistake::new(table.offset(), "this answer is empty", remedy));
    }
    Ok(())
}

fn to_json(entry: &TomlEntry<'_>) -> Result<Value, TomlMistake> {
    Ok(match entry.value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Datetime(moment) => Value::from(moment.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(Value::from)
            .map_err(|_| entry.invalid_value("a number of at most 64 bits"))?,
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map(Value::from)
            .ok_or_else(|| entry.invalid_value("a finite number, which JSON can hold"))?,
        DeValue::Array(_) => entry.parse_list()?.iter().map(to_json).collect::<Result<_, _>>()?,
        DeValue::Table(_) => {
            let fields = entry.parse_table("the input")?.entries();
            let fields = fields.iter().map(|field| Ok((field.key.to_owned(), to_json(field)?)));
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
