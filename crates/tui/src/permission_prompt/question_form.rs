//! Questions of the model to the user: one after the other, each with options and a custom answer.

use serde_json::{Map, Value};

#[derive(Clone, Debug)]
pub(super) struct QuestionForm {
    questions: Vec<FormQuestion>,
    /// An MCP server asks, not the model.
    is_of_server: bool,
    /// Keyed by the text of the question.
    answers: Map<String, Value>,
    /// The index of the open question.
    current: usize,
    /// Marked options of the open question.
    marked: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct FormQuestion {
    pub(super) question: String,
    pub(super) header: String,
    pub(super) options: Vec<FormOption>,
    pub(super) is_multi_select: bool,
}

#[derive(Clone, Debug)]
pub(super) struct FormOption {
    pub(super) label: String,
    pub(super) description: String,
}

impl QuestionForm {
    /// Returns `None` if the input does not hold at least one well-formed question.
    pub(super) fn from_input(input: &Value) -> Option<Self> {
        let text = |value: &Value, key: &str| {
            value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let parse_question = |one: &Value| {
            let options = one.get("options")?.as_array()?;
            Some(FormQuestion {
                question: text(one, "question"),
                header: text(one, "header"),
                options: options
                    .iter()
                    .map(|option| FormOption {
                        label: text(option, "label"),
                        description: text(option, "description"),
                    })
                    .collect(),
                is_multi_select: one.get("multiSelect").and_then(Value::as_bool).unwrap_or(false),
            })
        };
        let questions: Option<Vec<FormQuestion>> =
            input.get("questions")?.as_array()?.iter().map(parse_question).collect();
        let questions = questions.filter(|questions| !questions.is_empty())?;
        let is_of_server = input.get("server").is_some();
        Some(Self { questions, is_of_server, answers: Map::new(), current: 0, marked: Vec::new() })
    }

    pub(super) fn is_of_server(&self) -> bool {
        self.is_of_server
    }

    /// `None` once all questions are answered.
    pub(super) fn current_question(&self) -> Option<&FormQuestion> {
        self.questions.get(self.current)
    }

    /// Counted from one.
    pub(super) fn current_number(&self) -> usize {
        self.current + 1
    }

    pub(super) fn question_count(&self) -> usize {
        self.questions.len()
    }

    /// The options and the custom answer.
    pub(super) fn choice_count(&self) -> usize {
        self.current_question().map_or(0, |question| question.options.len() + 1)
    }

    pub(super) fn is_custom_answer(&self, chosen: usize) -> bool {
        chosen + 1 == self.choice_count()
    }

    pub(super) fn is_marked(&self, chosen: usize) -> bool {
        self.marked.contains(&chosen)
    }

    pub(super) fn toggle_mark(&mut self, chosen: usize) {
        let may_mark =
            |question: &FormQuestion| question.is_multi_select && chosen < question.options.len();
        if self.current_question().is_some_and(may_mark) {
            match self.marked.iter().position(|marked| *marked == chosen) {
                Some(at) => drop(self.marked.remove(at)),
                None => self.marked.push(chosen),
            }
        }
    }

    /// Answers with the marked options, or with `chosen` if none is marked. Returns whether that was
    /// the last question.
    pub(super) fn answer_with_choice(&mut self, chosen: usize) -> bool {
        let Some(question) = self.current_question() else { return true };
        let mut labels: Vec<&str> = question
            .options
            .iter()
            .enumerate()
            .filter(|(at, _)| self.marked.contains(at))
            .map(|(_, option)| option.label.as_str())
            .collect();
        if labels.is_empty() {
            labels.extend(question.options.get(chosen).map(|option| option.label.as_str()));
        }
        let words = labels.join(", ");
        self.answer_with_text(&words)
    }

    /// A blank text leaves the question unanswered. Returns whether that was the last question.
    pub(super) fn answer_with_text(&mut self, words: &str) -> bool {
        let Some(question) = self.current_question() else { return true };
        let question = question.question.clone();
        if !words.trim().is_empty() {
            self.answers.insert(question, Value::from(words.trim()));
        }
        self.marked.clear();
        self.current += 1;
        self.current_question().is_none()
    }

    pub(super) fn answers(&self) -> Value {
        Value::Object(self.answers.clone())
    }
}
