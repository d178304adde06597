//! From TOML to a script, with the place of every mistake.
//!
//! Walks the parsed document by hand instead of deriving a reader, because a derived one knows
//! neither the nearest key nor what would be right.

use std::time::Duration;

use serde_json::Value;
use toml::de::{DeTable, DeValue};
use windlass_vocabulary::{Source, Tokens, Usage};

use super::answer::{Answer, Speech, StopReason, ToolRequest};
use super::entry::{Entry, Table};
use super::mistake::{Mistake, ScriptError};
use super::{Script, read_fault};

/// Reads a whole script.
pub(super) fn script(text: &str) -> Result<Script, ScriptError> {
    document(text).map_err(|mistake| mistake.in_text(text))
}

fn document(text: &str) -> Result<Script, Mistake> {
    if text.len() > SCRIPT_MAX {
        return Err(Mistake::new(0, "the script is longer than 4 MiB", "make it shorter"));
    }
    let parsed = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Mistake::new(at, format!("not TOML: {}", error.message()), "mend the line as TOML demands")
    })?;
    let table = Table::new("the script", parsed.get_ref(), 0);
    table.only(&["model", "lenient", "answer"])?;
    let mut script = Script {
        model: table.text("model")?,
        lenient: table.flag("lenient")?.unwrap_or(false),
        answers: Vec::new(),
    };
    let Some(answers) = table.find("answer") else {
        let remedy = "write at least one [[answer]] with a text or a tool";
        return Err(Mistake::new(0, "the script has no answer", remedy));
    };
    let DeValue::Array(list) = answers.value else {
        let remedy = "write [[answer]], with two brackets on each side";
        return Err(Mistake::new(answers.at, "`answer` must be a list of tables", remedy));
    };
    for item in list.iter() {
        let item = Entry::new("answer", item);
        script.answers.push(answer(&item.table("an answer")?)?);
    }
    Ok(script)
}

fn answer(table: &Table<'_>) -> Result<Answer, Mistake> {
    table.only(ANSWER_KEYS)?;
    let mut answer = match table.find("raw") {
        Some(raw) => Answer::raw(raw.text()?),
        None => spoken(table)?,
    };
    answer.when = table.text("when")?;
    answer.when_result = table.text("when_result")?;
    answer.when_model = table.text("when_model")?;
    answer.when_tool = table.text("when_tool")?;
    answer.when_source =
        table.find("when_source").map(|entry| entry.word(&sources())).transpose()?;
    answer.stop = table.find("stop").map(|entry| entry.word(&stops())).transpose()?;
    answer.usage = table.find("usage").map(|entry| usage(&entry)).transpose()?;
    if let Some(characters) = table.number("chunk", 1..=1_000_000)? {
        answer.chunk = usize::try_from(characters).unwrap_or(usize::MAX);
    }
    if let Some(millis) = table.number("pace_ms", 0..=60_000)? {
        answer.pace = Duration::from_millis(millis);
    }
    if let Some(times) = table.number("repeat", 0..=1_000_000)? {
        answer.repeat = u32::try_from(times).unwrap_or(u32::MAX);
    }
    answer.fault = table.find("fault").map(|entry| read_fault::fault(&entry)).transpose()?;
    consistent(table, &answer)?;
    Ok(answer)
}

fn spoken(table: &Table<'_>) -> Result<Answer, Mistake> {
    let mut answer = Answer::text(table.text("text")?.unwrap_or_default())
        .thinking(table.text("thinking")?.unwrap_or_default())
        .text_after(table.text("text_after")?.unwrap_or_default());
    if let Some(tools) = table.find("tool") {
        let DeValue::Array(list) = tools.value else {
            let remedy = "write tool = [{ name = \"Bash\", input = { command = \"ls\" } }]";
            return Err(Mistake::new(tools.at, "`tool` must be a list of tables", remedy));
        };
        for item in list.iter() {
            let call = Entry::new("tool", item);
            answer = answer.tool_request(tool(&call.table("a tool call")?)?);
        }
    }
    Ok(answer)
}

fn tool(table: &Table<'_>) -> Result<ToolRequest, Mistake> {
    table.only(&["name", "input", "input_text", "id"])?;
    let Some(name) = table.text("name")? else {
        return Err(Mistake::new(table.at(), "a tool call has no name", "add name = \"…\""));
    };
    let input = match (table.find("input"), table.find("input_text")) {
        (Some(_), Some(text)) => {
            let problem = "a tool call has both `input` and `input_text`";
            return Err(Mistake::new(text.at, problem, "keep one of them"));
        }
        (Some(input), None) => match json(&input)? {
            object @ Value::Object(_) => object.to_string(),
            _ => {
                let remedy = "write a table, or `input_text` for arguments that are nonsense";
                return Err(Mistake::new(input.at, "`input` must be a table", remedy));
            }
        },
        (None, Some(text)) => text.text()?,
        (None, None) => "{}".to_owned(),
    };
    Ok(ToolRequest { id: table.text("id")?, name, input })
}

fn usage(entry: &Entry<'_>) -> Result<Usage, Mistake> {
    let table = entry.table("`usage`")?;
    table.only(&["input", "output", "cache_read", "cache_write"])?;
    let tokens = |key| table.number(key, 0..=1_000_000_000).map(|n| Tokens(n.unwrap_or(0)));
    Ok(Usage {
        input: tokens("input")?,
        output: tokens("output")?,
        cache_write: tokens("cache_write")?,
        cache_read: tokens("cache_read")?,
    })
}

/// What each key says may be right and the whole still make no sense.
fn consistent(table: &Table<'_>, answer: &Answer) -> Result<(), Mistake> {
    let said = table.first(&["text", "thinking", "tool", "text_after", "stop"]);
    if let (Speech::Raw(_), Some(said)) = (&answer.speech, &said) {
        let problem = format!("`{}` beside `raw` would never be sent", said.key);
        return Err(Mistake::new(said.at, problem, "put it into `raw`, or leave `raw` out"));
    }
    if answer.fault.as_ref().is_some_and(crate::fault::Fault::silences) {
        if let Some(said) = said.or(table.find("raw")) {
            let problem = format!("`{}` beside this `fault` would never be sent", said.key);
            let remedy = "give the fault an [[answer]] of its own, before this one";
            return Err(Mistake::new(said.at, problem, remedy));
        }
    } else if said.is_none() && table.find("raw").is_none() {
        let remedy = "give it a text, a tool or a fault (text = \"\" for an empty answer)";
        return Err(Mistake::new(table.at(), "this answer says nothing", remedy));
    }
    Ok(())
}

fn json(entry: &Entry<'_>) -> Result<Value, Mistake> {
    let item = |value| Entry::new(entry.key, value);
    Ok(match entry.value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Datetime(moment) => Value::from(moment.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(Value::from)
            .map_err(|_| entry.must("be a number of at most 64 bits"))?,
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map(Value::from)
            .ok_or_else(|| entry.must("be a finite number, which JSON can hold"))?,
        DeValue::Array(list) => {
            list.iter().map(|value| json(&item(value))).collect::<Result<_, _>>()?
        }
        DeValue::Table(table) => {
            let fields = table.iter().map(|(key, value)| {
                json(&item(value)).map(|value| (key.get_ref().to_string(), value))
            });
            Value::Object(fields.collect::<Result<_, _>>()?)
        }
    })
}

fn sources() -> Vec<(&'static str, Source)> {
    Source::all().map(|source| (source.name(), source)).collect()
}

fn stops() -> Vec<(&'static str, StopReason)> {
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
