//! A one-line input that shows at every key what it would mean. As pure as its validator.

use std::fmt;
use std::sync::Arc;

use windlass_permission::sanitize;

use crate::composer::Composer;
use crate::input::InputKey;
use crate::styled_line::{StyledLine, TextStyle};
use crate::{text, words};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputFeedback {
    /// May have several lines.
    pub message: String,
    pub is_valid: bool,
}

/// Called at every key, so it must be fast.
pub(crate) type InputValidator = Arc<dyn Fn(&str) -> InputFeedback + Send + Sync>;

pub struct ValidatedInput {
    title: String,
    /// Put before the text to make a prompt of it.
    prompt_prefix: String,
    composer: Composer,
    validator: InputValidator,
    feedback: InputFeedback,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValidatedInputOutcome {
    Pending,
    Cancelled,
    /// With the resulting prompt.
    Submitted(String),
}

impl ValidatedInput {
    pub fn new(
        title: impl Into<String>,
        prompt_prefix: impl Into<String>,
        validator: InputValidator,
    ) -> Self {
        let feedback = validator("");
        Self {
            title: title.into(),
            prompt_prefix: prompt_prefix.into(),
            composer: Composer::default(),
            validator,
            feedback,
        }
    }

    pub fn handle_key(&mut self, key: &InputKey) -> ValidatedInputOutcome {
        match key {
            InputKey::Escape | InputKey::Cancel => return ValidatedInputOutcome::Cancelled,
            InputKey::Enter if self.feedback.is_valid => {
                return ValidatedInputOutcome::Submitted(format!(
                    "{}{}",
                    self.prompt_prefix,
                    self.composer.text().trim()
                ));
            }
            InputKey::Enter
            | InputKey::NewLine
            | InputKey::EndOfInput
            | InputKey::Tab
            | InputKey::BackTab
            | InputKey::Char(_)
            | InputKey::Paste(_)
            | InputKey::Delete(_)
            | InputKey::Move(_)
            | InputKey::PageUp
            | InputKey::PageDown
            | InputKey::Shortcut(_) => self.composer.handle_line_key(key),
        }
        self.feedback = (self.validator)(self.composer.text().trim());
        ValidatedInputOutcome::Pending
    }

    /// The feedback is cut to fit into `rows`.
    pub fn render(&self, width: usize, rows: usize) -> Vec<StyledLine> {
        let mut lines = vec![
            StyledLine::from_text(self.title.clone(), TextStyle::Heading).truncate_to_width(width),
        ];
        let (before, after) = self.composer.text().split_at(self.composer.cursor_offset());
        let words = sanitize::escape_invisible(&format!("> {before}▏{after}"));
        lines.extend(text::render_plain(&words, TextStyle::Plain, width));
        let style = match (self.feedback.is_valid, self.composer.is_empty()) {
            (true, _) => TextStyle::Success,
            (false, true) => TextStyle::Dim,
            (false, false) => TextStyle::Warning,
        };
        let mut feedback = text::render_plain(&self.feedback.message, style, width);
        feedback.truncate(rows.saturating_sub(lines.len() + 1).max(1));
        lines.extend(feedback);
        lines.push(
            StyledLine::from_text(words::INPUT_KEYS, TextStyle::Dim).truncate_to_width(width),
        );
        lines
    }
}

impl fmt::Debug for ValidatedInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValidatedInput")
            .field("prompt_prefix", &self.prompt_prefix)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Deletion;

    #[test]
    fn only_what_is_good_is_taken() {
        let check: InputValidator = Arc::new(|text| InputFeedback {
            message: format!("{} letters", text.len()),
            is_valid: text.len() == 3,
        });
        let mut field = ValidatedInput::new("Three letters", "/take ", check);
        let mut typed = |keys: &[InputKey]| keys.iter().map(|key| field.handle_key(key)).last();
        let letter = |letter| InputKey::Char(letter);
        assert_eq!(
            typed(&[letter('a'), letter('b'), InputKey::Enter]),
            Some(ValidatedInputOutcome::Pending)
        );
        let taken = typed(&[letter('c'), InputKey::Enter]);
        assert_eq!(taken, Some(ValidatedInputOutcome::Submitted("/take abc".to_owned())));
        assert_eq!(
            typed(&[InputKey::Delete(Deletion::CharBefore), InputKey::Enter]),
            Some(ValidatedInputOutcome::Pending)
        );
        assert_eq!(typed(&[InputKey::Escape]), Some(ValidatedInputOutcome::Cancelled));
        for width in [8, 40] {
            let lines = field.render(width, 6);
            assert!(lines.iter().all(|line| line.width() <= width));
            assert!(lines.iter().any(|line| line.plain_text().contains('2')));
        }
    }
}
