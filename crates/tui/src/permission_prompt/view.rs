//! How a permission prompt looks.

use windlass_permission::sanitize;

use super::question_form::{FormOption, QuestionForm};
use super::{PermissionPrompt, PermissionPromptChoice, PromptSubject, PromptTextKind};
use crate::styled_line::{StyledLine, TextStyle};
use crate::{diff, text, tool_call_view};

impl PermissionPrompt {
    /// Fits into `rows`, as far as possible; `is_armed` says whether keys answer the prompt.
    pub fn render(&self, width: usize, rows: usize, is_armed: bool) -> Vec<StyledLine> {
        let mut below = match (&self.text_entry, self.form()) {
            (Some((kind, composer)), _) => {
                let lead = match kind {
                    PromptTextKind::Reason => "No, because: ",
                    PromptTextKind::Command => "Run this instead: ",
                    PromptTextKind::CustomAnswer => "Your answer: ",
                };
                let words = sanitize::escape_invisible(&format!("  {lead}{}▏", composer.text()));
                let mut lines = text::render_plain(&words, TextStyle::Plain, width);
                let hint = "  Enter sends it · Esc goes back";
                lines.push(StyledLine::from_text(hint, TextStyle::Dim).truncate_to_width(width));
                lines
            }
            (None, Some(form)) => self.render_form_choices(form, width),
            (None, None) => self.render_choices(width),
        };
        if self.text_entry.is_none() {
            below.push(render_key_hint(is_armed, self.form().is_some()).truncate_to_width(width));
        }
        let mut above = self.render_subject(width);
        // The answers must stay visible; what would run is cut in the middle if there is no room.
        let room = rows.saturating_sub(below.len()).max(SUBJECT_LINES_MIN);
        if above.len() > room {
            let over = above.len() - room + 1;
            let tail = above.split_off(above.len() - above.len().min(2));
            above.truncate(room.saturating_sub(3));
            above.push(StyledLine::from_text(
                format!("  … {over} lines not shown"),
                TextStyle::Warning,
            ));
            above.extend(tail);
        }
        above.extend(below);
        above
    }

    /// What would be done, and why it is asked.
    fn render_subject(&self, width: usize) -> Vec<StyledLine> {
        match &self.subject {
            PromptSubject::Questions(form) => self.render_question(form, width),
            PromptSubject::Plan(plan) => {
                let mut lines =
                    vec![StyledLine::from_text("Shall it be done like this?", TextStyle::Warning)];
                lines.extend(text::render_markdown(plan, width));
                lines
            }
            PromptSubject::ToolCall => self.render_call(width),
        }
    }

    fn render_question(&self, form: &QuestionForm, width: usize) -> Vec<StyledLine> {
        let Some(question) = form.current_question() else { return Vec::new() };
        let header = text::to_one_line(&question.header);
        let head = format!("{header} ({} of {})", form.current_number(), form.question_count());
        let mut lines = text::render_plain(&self.question.why, TextStyle::Dim, width);
        lines.push(StyledLine::from_text(head, TextStyle::Warning).truncate_to_width(width));
        lines.extend(text::render_plain(&question.question, TextStyle::Bold, width));
        lines
    }

    fn render_call(&self, width: usize) -> Vec<StyledLine> {
        let who = self.question.agent.as_ref().map(|agent| format!("{agent} asks: "));
        let who = who.unwrap_or_default();
        let head = format!("{who}May {} run this?", self.question.call.name);
        let mut lines =
            vec![StyledLine::from_text(head, TextStyle::Warning).truncate_to_width(width)];
        lines.extend(self.render_requested_action(width));
        // Paths look as they do above: relative to the working directory.
        let why = match self.working_directory.as_str() {
            "" => self.question.why.clone(),
            folder => self.question.why.replace(&format!("{folder}/"), ""),
        };
        lines.extend(text::render_plain(&format!("  {why}"), TextStyle::Dim, width));
        lines
    }

    fn render_requested_action(&self, width: usize) -> Vec<StyledLine> {
        let path = || {
            let path =
                sanitize::escape_invisible(self.input_field("file_path").unwrap_or_default());
            let below =
                path.strip_prefix(&self.working_directory).and_then(|rest| rest.strip_prefix('/'));
            let shown = below.filter(|_| !self.working_directory.is_empty()).unwrap_or(&path);
            StyledLine::from_text(format!("  {}", text::to_one_line(shown)), TextStyle::Code)
                .truncate_to_width(width)
        };
        if let (Some(before), Some(after)) =
            (self.input_field("old_string"), self.input_field("new_string"))
        {
            let mut lines = vec![path()];
            lines.extend(diff::render_diff(before, after, width, DIFF_LINES_MAX));
            return lines;
        }
        if let (Some(before), Some(after)) = (&self.file_before, self.input_field("content")) {
            let mut lines = vec![path()];
            lines.extend(diff::render_diff(before, after, width, DIFF_LINES_MAX));
            return lines;
        }
        let shown = match self.input_field("command") {
            Some(command) => command.to_owned(),
            None => tool_call_view::format_input(&self.question.call),
        };
        let parts = extract_quoted(&self.question.why);
        let lines =
            shown.lines().map(|line| highlight_parts(&sanitize::escape_invisible(line), &parts));
        lines.flat_map(|line| line.wrap(width, 2)).collect()
    }

    fn render_choices(&self, width: usize) -> Vec<StyledLine> {
        let rules = self.question.suggestions.join(", ");
        let lines = self.list_choices().into_iter().enumerate().map(|(number, choice)| {
            let words = match choice {
                PermissionPromptChoice::Deny if self.is_plan() => "No, go on planning".to_owned(),
                PermissionPromptChoice::Deny => "No".to_owned(),
                PermissionPromptChoice::AllowOnce if self.is_plan() => {
                    "Yes, and ask before edits".to_owned()
                }
                PermissionPromptChoice::AllowOnce => "Yes, this once".to_owned(),
                PermissionPromptChoice::AllowAndAcceptEdits => {
                    "Yes, and do not ask before edits".to_owned()
                }
                PermissionPromptChoice::AllowForSession => {
                    format!("Yes, and for this session: {rules}")
                }
                PermissionPromptChoice::AllowAlways => {
                    let file = self.rules_file.as_deref().unwrap_or_default();
                    format!("Yes, always in this project: {rules} (kept in {file})")
                }
                PermissionPromptChoice::EditCommand => "Change the command".to_owned(),
                PermissionPromptChoice::DenyWithReason => "No, and say why".to_owned(),
            };
            let words = text::to_one_line(&sanitize::escape_invisible(&words));
            render_choice(number, number == self.selected, &words).truncate_to_width(width)
        });
        lines.collect()
    }

    fn render_form_choices(&self, form: &QuestionForm, width: usize) -> Vec<StyledLine> {
        let Some(question) = form.current_question() else { return Vec::new() };
        let label = if question.options.is_empty() { "Write an answer" } else { "Something else" };
        let custom = FormOption { label: label.to_owned(), description: String::new() };
        let all = question.options.iter().chain([&custom]).enumerate();
        all.map(|(number, option)| {
            let mark = if form.is_marked(number) { "[x] " } else { "" };
            let words = format!("{mark}{}", text::to_one_line(&option.label));
            let line = render_choice(number, number == self.selected, &words);
            line.with_span(format!("  {}", text::to_one_line(&option.description)), TextStyle::Dim)
                .truncate_to_width(width)
        })
        .collect()
    }
}

fn render_choice(number: usize, is_selected: bool, words: &str) -> StyledLine {
    let (sign, style) =
        if is_selected { ("›", TextStyle::Selected) } else { (" ", TextStyle::Plain) };
    StyledLine::from_text(format!("{sign} {}. {words}", number + 1), style)
}

fn render_key_hint(is_armed: bool, is_form: bool) -> StyledLine {
    let words = match (is_armed, is_form) {
        (false, _) => "  … stop typing to answer",
        (true, true) => "  a number or ↑↓ and Enter · Space marks · Esc says no",
        (true, false) => "  a number or ↑↓ and Enter · Esc says no",
    };
    StyledLine::from_text(words, TextStyle::Dim)
}

/// The parts of a command that the reason names. The question has no typed list of them, only the
/// words for the user, in which they stand between backticks.
fn extract_quoted(why: &str) -> Vec<String> {
    why.split('`')
        .skip(1)
        .step_by(2)
        .map(sanitize::escape_invisible)
        .filter(|part| part.len() > 1)
        .collect()
}

fn highlight_parts(line: &str, parts: &[String]) -> StyledLine {
    let mut shown = StyledLine::from_text("  ", TextStyle::Code);
    let mut rest = line;
    loop {
        // The first match; of two that start at the same place, the longer one.
        let found = parts.iter().filter_map(|part| Some((rest.find(part.as_str())?, part.len())));
        let Some((at, length)) = found.min_by_key(|(at, length)| (*at, usize::MAX - length)) else {
            return shown.with_span(rest, TextStyle::Code);
        };
        let (before, from) = rest.split_at(at);
        let (part, behind) = from.split_at(length);
        shown =
            shown.with_span(before, TextStyle::Code).with_span(part, TextStyle::NeedsPermission);
        rest = behind;
    }
}

/// Lines of the call that are shown even if there is no room.
const SUBJECT_LINES_MIN: usize = 3;
const DIFF_LINES_MAX: usize = 200;
