//! What a server wants to know of the user, put as every question of a session is: with the tool that
//! asks people, whose answers come back in its input. So whoever shows those questions shows these.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_driver::Session;
use windlass_driver::mcp::form::{Field, Form, Kind};
use windlass_driver::mcp::{Asking, Person, Question, Reply};
use windlass_vocabulary::{Answer, Json, PermissionQuestion, ToolCall, ToolCallId, ToolName};

use crate::browser;

/// Whoever answers the questions of a session.
pub(crate) struct InFront {
    session: Session,
}

impl InFront {
    pub(crate) fn new(session: Session) -> Arc<Self> {
        Arc::new(Self { session })
    }
}

impl Person for InFront {
    fn ask(&self, question: Question) -> Asking {
        let session = self.session.clone();
        Box::pin(async move {
            match (&question.url, &question.schema) {
                (Some(url), _) => visit(&session, &question, url).await,
                (None, schema) => {
                    let form = Form::of(schema.as_ref().unwrap_or(&Value::Null));
                    fill(&session, &question, &form).await
                }
            }
        })
    }
}

/// A page the user has to go to. What is said there, the server learns by itself.
async fn visit(session: &Session, question: &Question, url: &str) -> Reply {
    let text = format!("{}\n{url}", question.message);
    let asked = yes_or_no(&text, "Page", ("Open the page", "No"));
    match put(session, question, &[asked], None).await {
        Err(reply) => reply,
        Ok(said) if said.get(&text).is_some_and(|word| word == "Open the page") => {
            browser::open(url);
            Reply::Accept(None)
        }
        Ok(_) => Reply::Decline,
    }
}

/// A form the user has to fill in, a few fields at a time.
async fn fill(session: &Session, question: &Question, form: &Form) -> Reply {
    if form.fields.is_empty() {
        let asked = yes_or_no(&question.message, "Question", ("Yes", "No"));
        return match put(session, question, &[asked], None).await {
            Err(reply) => reply,
            Ok(said) if said.get(&question.message).is_some_and(|word| word == "Yes") => {
                Reply::Accept(Some(json!({})))
            }
            Ok(_) => Reply::Decline,
        };
    }
    let mut problem = None;
    for _ in 0..TRIES_MAX {
        let mut words = BTreeMap::new();
        for fields in form.fields.chunks(FIELDS_AT_ONCE) {
            let asked: Vec<Value> = fields.iter().map(shown).collect();
            let said = match put(session, question, &asked, problem.take()).await {
                Ok(said) => said,
                Err(reply) => return reply,
            };
            for field in fields {
                if let Some(word) = said.get(&worded(field)) {
                    words.insert(field.name.clone(), word.clone());
                }
            }
        }
        match form.filled(&words) {
            Ok(content) => return Reply::Accept(Some(content)),
            Err(wrong) => problem = Some(wrong),
        }
    }
    Reply::Cancel
}

/// Puts questions, and gives what was said to each.
async fn put(
    session: &Session,
    question: &Question,
    asked: &[Value],
    problem: Option<String>,
) -> Result<BTreeMap<String, String>, Reply> {
    let why = format!("The MCP server `{}` asks: {}", question.server, question.message);
    let why = problem.map_or(why.clone(), |problem| format!("{problem}. {why}"));
    let input = json!({ "questions": asked, "server": question.server });
    let call = ToolCall {
        id: ToolCallId::from("elicitation"),
        name: ToolName::from("AskUserQuestion"),
        input: Json::from_checked(&input.to_string()),
        signature: None,
    };
    let put = PermissionQuestion { call, why, suggestions: Vec::new(), agent: None };
    match session.ask(put).await {
        Some(Answer::Allow { updated_input: Some(input), .. }) => Ok(answers(&input)),
        // Nothing was said to any of it.
        Some(Answer::Allow { updated_input: None, .. }) => Ok(BTreeMap::new()),
        Some(Answer::Deny { interrupt: false, .. }) => Err(Reply::Decline),
        Some(Answer::Deny { interrupt: true, .. }) | None => Err(Reply::Cancel),
    }
}

fn answers(input: &Json) -> BTreeMap<String, String> {
    let input: Value = serde_json::from_str(input.as_str()).unwrap_or_default();
    let answers = input.get("answers").and_then(Value::as_object).cloned().unwrap_or_default();
    let word = |value: Value| match value {
        Value::String(text) => text,
        Value::Array(many) => {
            let words: Vec<&str> = many.iter().filter_map(Value::as_str).collect();
            words.join(", ")
        }
        other => other.to_string(),
    };
    answers.into_iter().map(|(question, answer)| (question, word(answer))).collect()
}

/// A field as a question.
fn shown(field: &Field) -> Value {
    let listed = |choices: &[(String, String)]| -> Vec<Value> {
        choices.iter().map(|(_, title)| json!({ "label": title, "description": "" })).collect()
    };
    let options = match &field.kind {
        Kind::Bool => ["Yes", "No"].map(|word| json!({"label": word, "description": ""})).to_vec(),
        Kind::One(choices) | Kind::Many(choices) => listed(choices),
        Kind::Text | Kind::Number { .. } => Vec::new(),
    };
    json!({
        "question": worded(field),
        "header": field.title,
        "options": options,
        "multiSelect": matches!(field.kind, Kind::Many(_)),
    })
}

/// The question's words; no two fields have the same.
fn worded(field: &Field) -> String {
    let mut words = match field.title == field.name {
        true => field.name.clone(),
        false => format!("{} ({})", field.title, field.name),
    };
    if !field.about.is_empty() {
        words = format!("{words}: {}", field.about);
    }
    match &field.default {
        Some(Value::String(text)) => format!("{words} [{text}]"),
        Some(value) => format!("{words} [{value}]"),
        None => words,
    }
}

fn yes_or_no(text: &str, header: &str, (yes, no): (&str, &str)) -> Value {
    let options = [yes, no].map(|word| json!({ "label": word, "description": "" }));
    json!({ "question": text, "header": header, "options": options, "multiSelect": false })
}

/// Questions are shown a few at a time.
const FIELDS_AT_ONCE: usize = 4;
/// How often somebody may answer what does not fit.
const TRIES_MAX: usize = 3;
