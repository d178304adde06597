//! Questions the model puts to a person: one after the other, each with answers to choose from and
//! room for another.

use serde_json::{Map, Value};

/// The questions, and what was answered so far.
#[derive(Clone, Debug)]
pub(super) struct QuestionForm {
    questions: Vec<FormQuestion>,
    answers: Map<String, Value>,
    /// Which one is open.
    current: usize,
    marked: Vec<usize>,
}

/// One question.
#[derive(Clone, Debug)]
pub(super) struct FormQuestion {
    pub(super) question: String,
    pub(super) header: String,
    /// What may be answered, and what that means.
    pub(super) options: Vec<(String, String)>,
    pub(super) is_multi_select: bool,
}

impl QuestionForm {
    /// Reads them off a call's input.
    pub(super) fn from_input(input: &Value) -> Option<Self> {
        let text = |value: &Value, key: &str| {
            value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let asked = |one: &Value| {
            let options = one.get("options")?.as_array()?;
            Some(FormQuestion {
                question: text(one, "question"),
                header: text(one, "header"),
                options: options
                    .iter()
                    .map(|option| (text(option, "label"), text(option, "description")))
                    .collect(),
                is_multi_select: one.get("multiSelect").and_then(Value::as_bool).unwrap_or(false),
            })
        };
        let questions: Option<Vec<FormQuestion>> =
            input.get("questions")?.as_array()?.iter().map(asked).collect();
        let questions = questions.filter(|questions| !questions.is_empty())?;
        Some(Self { questions, answers: Map::new(), current: 0, marked: Vec::new() })
    }

    /// The question that is open, and which of how many it is.
    pub(super) fn current_question(&self) -> Option<(&FormQuestion, usize, usize)> {
        Some((self.questions.get(self.current)?, self.current + 1, self.questions.len()))
    }

    /// Answers there are: those to choose from, and one's own.
    pub(super) fn choice_count(&self) -> usize {
        self.current_question().map_or(0, |(asked, ..)| asked.options.len() + 1)
    }

    /// Is this the place for an answer of one's own?
    pub(super) fn is_custom_answer(&self, chosen: usize) -> bool {
        chosen + 1 == self.choice_count()
    }

    pub(super) fn is_marked(&self, chosen: usize) -> bool {
        self.marked.contains(&chosen)
    }

    /// Marks one of several, or takes the mark away.
    pub(super) fn toggle_mark(&mut self, chosen: usize) {
        if self
            .current_question()
            .is_some_and(|(asked, ..)| asked.is_multi_select && chosen < asked.options.len())
        {
            match self.marked.iter().position(|marked| *marked == chosen) {
                Some(at) => drop(self.marked.remove(at)),
                None => self.marked.push(chosen),
            }
        }
    }

    /// Takes what is chosen; says whether that was the last question.
    pub(super) fn answer_with_choice(&mut self, chosen: usize) -> bool {
        let Some((asked, ..)) = self.current_question() else { return true };
        let mut labels: Vec<&str> = asked
            .options
            .iter()
            .enumerate()
            .filter(|(at, _)| self.marked.contains(at))
            .map(|(_, (label, _))| label.as_str())
            .collect();
        if labels.is_empty() {
            labels.extend(asked.options.get(chosen).map(|(label, _)| label.as_str()));
        }
        let words = labels.join(", ");
        self.answer_with_text(&words)
    }

    /// Takes an answer of one's own, or none; says whether that was the last question.
    pub(super) fn answer_with_text(&mut self, words: &str) -> bool {
        let Some((asked, ..)) = self.current_question() else { return true };
        let question = asked.question.clone();
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
