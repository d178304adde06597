//! Questions of the model, as a form of the client's; its answers go back into the call's input.

use serde_json::{Map, Value, json};
use windlass_vocabulary::{Json, ToolCall};

pub(super) const QUESTION_TOOL: &str = "AskUserQuestion";

/// A form with a field for each question, in order.
pub(super) struct QuestionElicitation {
    input: Value,
    questions: Vec<String>,
    pub schema: Value,
}

impl QuestionElicitation {
    pub(super) fn from_call(call: &ToolCall) -> Option<Self> {
        let input: Value = serde_json::from_str(call.input.as_str()).ok()?;
        let items = input.get("questions")?.as_array()?.clone();
        let mut properties = Map::new();
        let mut questions = Vec::new();
        for (item, number) in items.iter().zip(1..) {
            let question = item.get("question")?.as_str()?;
            properties.insert(format!("answer_{number}"), build_field(item, question));
            questions.push(question.to_owned());
        }
        let schema = json!({ "type": "object", "properties": properties });
        Some(Self { input, questions, schema })
    }

    /// The call's input with the answers in it.
    pub(super) fn fill(mut self, content: &Value) -> Json {
        let mut answers = Map::new();
        for (question, number) in self.questions.iter().zip(1..) {
            if let Some(answer) = content.get(format!("answer_{number}")) {
                answers.insert(question.clone(), answer.clone());
            }
        }
        if let Value::Object(fields) = &mut self.input {
            fields.insert("answers".to_owned(), Value::Object(answers));
        }
        Json::from_checked(&self.input.to_string())
    }
}

fn build_field(item: &Value, question: &str) -> Value {
    let text = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let options = item.get("options").and_then(Value::as_array).cloned().unwrap_or_default();
    let to_choice = |option: &Value| {
        let label = text(option, "label");
        let about = text(option, "description");
        let title = if about.is_empty() { label.clone() } else { format!("{label}: {about}") };
        json!({ "const": label, "title": title })
    };
    let choices: Vec<Value> = options.iter().map(to_choice).collect();
    let title = text(item, "header");
    let is_many = item.get("multiSelect").and_then(Value::as_bool).unwrap_or_default();
    match (choices.is_empty(), is_many) {
        (true, _) => json!({ "type": "string", "title": title, "description": question }),
        (false, false) => json!({
            "type": "string", "title": title, "description": question, "oneOf": choices,
        }),
        (false, true) => json!({
            "type": "array", "title": title, "description": question,
            "items": { "anyOf": choices },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_go_back_under_their_questions() {
        let input = json!({"questions": [
            {"question": "Which?", "header": "Pick", "multiSelect": false,
             "options": [{"label": "A", "description": "first"}, {"label": "B"}]},
            {"question": "Why?", "header": "Reason", "options": []},
        ]});
        let call = ToolCall {
            id: "c".into(),
            name: QUESTION_TOOL.into(),
            input: Json::from_checked(&input.to_string()),
            signature: None,
        };
        let form = QuestionElicitation::from_call(&call).unwrap();
        assert_eq!(form.schema.pointer("/properties/answer_1/oneOf/0/const"), Some(&json!("A")));
        let filled = form.fill(&json!({"answer_1": "B", "answer_2": "because", "answer_9": "x"}));
        let filled: Value = serde_json::from_str(filled.as_str()).unwrap();
        assert_eq!(filled["answers"], json!({"Which?": "B", "Why?": "because"}));
    }
}
