//! How calls look that plan instead of act: task lists, plans, and questions to the user.

use serde_json::Value;
use windlass_vocabulary::{ToolCall, ToolOutcome};

use crate::styled_line::{StyledLine, TextStyle};
use crate::{text, words};

/// What a call that plans is about.
#[derive(Debug)]
pub(super) enum PlanningCall {
    Tasks(Value),
    /// In Markdown.
    Plan(String),
    Questions(Value),
}

impl PlanningCall {
    /// `None` for every other tool, and for input that is not as it should be.
    pub(super) fn parse(call: &ToolCall) -> Option<Self> {
        let input: Value = serde_json::from_str(call.input.as_str()).ok()?;
        match call.name.as_str() {
            "TodoWrite" => Some(Self::Tasks(input.get("todos")?.clone())),
            "ExitPlanMode" => Some(Self::Plan(input.get("plan")?.as_str()?.to_owned())),
            "AskUserQuestion" => Some(Self::Questions(input.get("questions")?.clone())),
            _ => None,
        }
    }

    pub(super) fn title(&self) -> String {
        match self {
            Self::Tasks(todos) => {
                let all = todos.as_array().map(Vec::as_slice).unwrap_or_default();
                let is_done = |todo: &&Value| read_text(todo, "status") == "completed";
                words::title_tasks(all.iter().filter(is_done).count(), all.len())
            }
            Self::Plan(_) => words::TITLE_PLAN.to_owned(),
            Self::Questions(questions) => {
                words::title_questions(questions.as_array().map_or(0, Vec::len))
            }
        }
    }

    pub(super) fn render_body(&self, outcome: &ToolOutcome, width: usize) -> Vec<StyledLine> {
        match self {
            Self::Tasks(todos) => todos
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default()
                .iter()
                .flat_map(|todo| render_task(todo, width))
                .collect(),
            Self::Plan(plan) => text::render_markdown(plan, width.saturating_sub(2))
                .into_iter()
                .map(|line| line.indent(2))
                .collect(),
            Self::Questions(questions) => render_answers(questions, outcome, width),
        }
    }
}

fn render_task(todo: &Value, width: usize) -> Vec<StyledLine> {
    let (sign, style) = match read_text(todo, "status").as_str() {
        "completed" => ("✔", TextStyle::Dim),
        "in_progress" => ("▸", TextStyle::Bold),
        _ => ("☐", TextStyle::Plain),
    };
    let words = text::to_one_line(&read_text(todo, "content"));
    StyledLine::from_text(format!("  {sign} {words}"), style).wrap(width, 4)
}

/// In the order in which they were asked.
fn render_answers(questions: &Value, outcome: &ToolOutcome, width: usize) -> Vec<StyledLine> {
    let structured = outcome.structured.as_ref();
    let structured: Option<Value> =
        structured.and_then(|structured| serde_json::from_str(structured.as_str()).ok());
    let answers = structured.as_ref().and_then(|whole| whole.get("answers")?.as_object());
    let Some(answers) = answers else { return Vec::new() };
    let mut lines = Vec::new();
    let asked = questions.as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let asked: Vec<&str> = asked.filter_map(|asked| asked.get("question")?.as_str()).collect();
    let others = answers.keys().map(String::as_str).filter(|other| !asked.contains(other));
    for question in asked.iter().copied().chain(others) {
        let Some(answer) = answers.get(question) else { continue };
        let answer = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
        let line =
            StyledLine::from_text(format!("  {} ", text::to_one_line(question)), TextStyle::Dim)
                .with_span(format!("→ {}", text::to_one_line(&answer)), TextStyle::Plain);
        lines.extend(line.wrap(width, 4));
    }
    lines
}

fn read_text(object: &Value, field: &str) -> String {
    object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}
