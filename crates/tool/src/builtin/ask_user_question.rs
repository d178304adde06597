//! Asks the user questions and returns the answers.
//!
//! The user is asked before the call runs: the permission question carries the input, and the
//! client adds the answers to it. This module checks the questions and reports the answers. The
//! permission check makes sure that the answers come from the user and not from the model.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use windlass_vocabulary::{Json, ToolInspection, ToolOutcome};

use crate::input::{self, InputError};
use crate::tool::ToolCallContext;
use crate::typed_tool::{ToolDescription, TypedTool, TypedToolFuture, TypedToolResult};

#[derive(Debug)]
pub(crate) struct AskUserQuestionTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct AskUserQuestionInput {
    /// One to four questions.
    questions: Vec<AskUserQuestionItem>,
    /// Question to answer, put in by the client that answered.
    #[serde(default)]
    #[schemars(skip)]
    answers: Option<BTreeMap<String, AskUserQuestionAnswer>>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AskUserQuestionItem {
    /// The whole question.
    question: String,
    /// It in a word or two.
    header: String,
    /// Two to four answers to choose from; people can also give another.
    options: Vec<AskUserQuestionOption>,
    /// More than one may be chosen.
    #[serde(default, deserialize_with = "input::flag")]
    multi_select: bool,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct AskUserQuestionOption {
    /// The answer in a few words.
    label: String,
    /// What choosing it means.
    #[serde(default)]
    description: String,
    /// What it would look like, where that helps to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preview: Option<String>,
}

/// An answer: a label or words of the person's own, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum AskUserQuestionAnswer {
    One(String),
    Many(Vec<String>),
}

const DESCRIPTION: &str = "Asks the person you work for up to four questions with answers to \
choose from. Only for what you can neither find out nor decide yourself.";

const RESULT_BYTES_MAX: usize = 20_000;
const QUESTIONS_MAX: usize = 4;
const OPTIONS_MAX: usize = 4;
const OPTIONS_MIN: usize = 2;

impl TypedTool for AskUserQuestionTool {
    type Input = AskUserQuestionInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription {
            name: "AskUserQuestion",
            text: DESCRIPTION,
            result_bytes_max: RESULT_BYTES_MAX,
        }
    }

    fn check_input(&self, input: &AskUserQuestionInput) -> Result<ToolInspection, InputError> {
        if !(1..=QUESTIONS_MAX).contains(&input.questions.len()) {
            return Err(InputError::field("questions", format!("must be 1 to {QUESTIONS_MAX}")));
        }
        let mut asked = BTreeSet::new();
        for question in &input.questions {
            if question.question.trim().is_empty() || question.header.trim().is_empty() {
                return Err(InputError::field("questions", "a question or a header is empty"));
            }
            // Answers are keyed by the question's text.
            if !asked.insert(question.question.as_str()) {
                return Err(InputError::field("questions", "the same question twice"));
            }
            check_options(&question.options)?;
        }
        Ok(ToolInspection::SHARED_READ)
    }

    fn run(&self, input: AskUserQuestionInput, _: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(async move { build_outcome(&input) })
    }
}

fn check_options(options: &[AskUserQuestionOption]) -> Result<(), InputError> {
    if !(OPTIONS_MIN..=OPTIONS_MAX).contains(&options.len()) {
        let why = format!("options must be {OPTIONS_MIN} to {OPTIONS_MAX}");
        return Err(InputError::field("questions", why));
    }
    let labels: BTreeSet<&str> = options.iter().map(|choice| choice.label.trim()).collect();
    match labels.len() == options.len() && !labels.contains("") {
        true => Ok(()),
        false => Err(InputError::field("questions", "option labels must be given and differ")),
    }
}

impl AskUserQuestionAnswer {
    fn to_text(&self) -> String {
        match self {
            Self::One(text) => text.trim().to_owned(),
            Self::Many(texts) => texts.join(", ").trim().to_owned(),
        }
    }
}

/// Reports the answers; answers to questions that were not asked are ignored.
fn build_outcome(input: &AskUserQuestionInput) -> TypedToolResult {
    let mut answers = BTreeMap::new();
    let mut lines = Vec::new();
    for AskUserQuestionItem { question, .. } in &input.questions {
        let answer = input.answers.as_ref().and_then(|answers| answers.get(question));
        match answer.map(AskUserQuestionAnswer::to_text).filter(|text| !text.is_empty()) {
            Some(text) => {
                lines.push(format!("{question}\n→ {text}"));
                answers.insert(question.as_str(), text);
            }
            None => lines.push(format!("{question}\n(not answered)")),
        }
    }
    if answers.is_empty() {
        return Err("Nobody answered. Decide yourself and say what you assumed.".to_owned());
    }
    let structured = json!({"questions": input.questions, "answers": answers});
    Ok(ToolOutcome {
        structured: Some(Json::from_checked(&structured.to_string())),
        ..ToolOutcome::from_text(lines.join("\n\n"))
    })
}
