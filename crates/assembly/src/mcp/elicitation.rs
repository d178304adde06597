//! Shows elicitations of MCP servers like other questions of a session: as calls of
//! `AskUserQuestion`, whose answers are in its input. A front end that shows those questions shows
//! these too.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_driver::Session;
use windlass_driver::mcp::elicitation_form::{
    ElicitationField, ElicitationFieldKind, ElicitationForm,
};
use windlass_driver::mcp::{
    ElicitationFuture, ElicitationPrompter, ElicitationReply, ElicitationRequest,
};
use windlass_vocabulary::{
    Json, PermissionAnswer, PermissionQuestion, ToolCall, ToolCallId, ToolName,
};

use super::browser;

pub struct SessionElicitor {
    session: Session,
}

impl SessionElicitor {
    pub fn new(session: Session) -> Arc<Self> {
        Arc::new(Self { session })
    }
}

impl ElicitationPrompter for SessionElicitor {
    fn prompt(&self, question: ElicitationRequest) -> ElicitationFuture {
        let session = self.session.clone();
        Box::pin(async move {
            match (&question.url, &question.schema) {
                (Some(url), _) => ask_to_open_url(&session, &question, url).await,
                (None, schema) => {
                    let form =
                        ElicitationForm::from_schema(schema.as_ref().unwrap_or(&Value::Null));
                    ask_form(&session, &question, &form).await
                }
            }
        })
    }
}

/// A page the user has to open. The server learns by itself what the user does there.
async fn ask_to_open_url(
    session: &Session,
    question: &ElicitationRequest,
    url: &str,
) -> ElicitationReply {
    let text = format!("{}\n{url}", question.message);
    match ask_for_consent(session, question, &text, "Page", "Open the page").await {
        Err(reply) => reply,
        Ok(true) => {
            browser::open_in_browser(url);
            ElicitationReply::Accept(None)
        }
        Ok(false) => ElicitationReply::Decline,
    }
}

/// A form the user has to fill in, a few fields at a time.
async fn ask_form(
    session: &Session,
    question: &ElicitationRequest,
    form: &ElicitationForm,
) -> ElicitationReply {
    if form.fields.is_empty() {
        return match ask_for_consent(session, question, &question.message, "Question", "Yes").await
        {
            Err(reply) => reply,
            Ok(true) => ElicitationReply::Accept(Some(json!({}))),
            Ok(false) => ElicitationReply::Decline,
        };
    }
    let mut problem = None;
    for _ in 0..ATTEMPTS_MAX {
        let mut words = BTreeMap::new();
        for fields in form.fields.chunks(FIELDS_PER_PROMPT) {
            let questions: Vec<Value> = fields.iter().map(field_to_question).collect();
            let answers = match ask_questions(session, question, &questions, problem.take()).await {
                Ok(answers) => answers,
                Err(reply) => return reply,
            };
            for field in fields {
                if let Some(answer) = answers.get(&format_question(field)) {
                    words.insert(field.name.clone(), answer.clone());
                }
            }
        }
        match form.fill(&words) {
            Ok(content) => return ElicitationReply::Accept(Some(content)),
            Err(wrong) => problem = Some(wrong),
        }
    }
    ElicitationReply::Cancel
}

/// Asks the questions, and returns the answer to each.
/// Asks a question with two answers. Returns whether the user chose `yes`.
async fn ask_for_consent(
    session: &Session,
    question: &ElicitationRequest,
    text: &str,
    header: &str,
    yes: &str,
) -> Result<bool, ElicitationReply> {
    let options = [yes, "No"].map(|answer| json!({ "label": answer, "description": "" }));
    let asked =
        json!({ "question": text, "header": header, "options": options, "multiSelect": false });
    let answers = ask_questions(session, question, &[asked], None).await?;
    Ok(answers.get(text).is_some_and(|answer| answer == yes))
}

async fn ask_questions(
    session: &Session,
    question: &ElicitationRequest,
    questions: &[Value],
    problem: Option<String>,
) -> Result<BTreeMap<String, String>, ElicitationReply> {
    let why = format!("The MCP server `{}` asks: {}", question.server, question.message);
    let why = problem.map_or(why.clone(), |problem| format!("{problem}. {why}"));
    let input = json!({ "questions": questions, "server": question.server });
    let call = ToolCall {
        id: ToolCallId::from("elicitation"),
        name: ToolName::from("AskUserQuestion"),
        input: Json::from_checked(&input.to_string()),
        signature: None,
    };
    let put = PermissionQuestion { call, why, suggestions: Vec::new(), agent: None };
    match session.ask_client(put).await {
        Some(PermissionAnswer::Allow { updated_input: Some(input), .. }) => {
            Ok(parse_answers(&input))
        }
        // Nothing was said to any of it.
        Some(PermissionAnswer::Allow { updated_input: None, .. }) => Ok(BTreeMap::new()),
        Some(PermissionAnswer::Deny { interrupt: false, .. }) => Err(ElicitationReply::Decline),
        Some(PermissionAnswer::Deny { interrupt: true, .. }) | None => {
            Err(ElicitationReply::Cancel)
        }
    }
}

fn parse_answers(input: &Json) -> BTreeMap<String, String> {
    let input: Value = serde_json::from_str(input.as_str()).unwrap_or_default();
    let answers = input.get("answers").and_then(Value::as_object).cloned().unwrap_or_default();
    let to_text = |value: Value| match value {
        Value::String(text) => text,
        Value::Array(many) => {
            let words: Vec<&str> = many.iter().filter_map(Value::as_str).collect();
            words.join(", ")
        }
        other => other.to_string(),
    };
    answers.into_iter().map(|(question, answer)| (question, to_text(answer))).collect()
}

fn field_to_question(field: &ElicitationField) -> Value {
    let listed = |choices: &[(String, String)]| -> Vec<Value> {
        choices.iter().map(|(_, title)| json!({ "label": title, "description": "" })).collect()
    };
    let options = match &field.kind {
        ElicitationFieldKind::Bool => {
            ["Yes", "No"].map(|answer| json!({"label": answer, "description": ""})).to_vec()
        }
        ElicitationFieldKind::OneOf(choices) | ElicitationFieldKind::AnyOf(choices) => {
            listed(choices)
        }
        ElicitationFieldKind::Text | ElicitationFieldKind::Number { .. } => Vec::new(),
    };
    json!({
        "question": format_question(field),
        "header": field.title,
        "options": options,
        "multiSelect": matches!(field.kind, ElicitationFieldKind::AnyOf(_)),
    })
}

/// The text of the question; must be different for each field.
fn format_question(field: &ElicitationField) -> String {
    let mut words = match field.title == field.name {
        true => field.name.clone(),
        false => format!("{} ({})", field.title, field.name),
    };
    if !field.description.is_empty() {
        words = format!("{words}: {}", field.description);
    }
    match &field.default {
        Some(Value::String(text)) => format!("{words} [{text}]"),
        Some(value) => format!("{words} [{value}]"),
        None => words,
    }
}

/// Questions are shown a few at a time.
const FIELDS_PER_PROMPT: usize = 4;
/// How often the user may give an answer that does not fit.
const ATTEMPTS_MAX: usize = 3;
