//! A question in lines.

use windlass_permission::sanitize;

use super::{PermissionPrompt, PermissionPromptChoice, PromptTextKind};
use crate::styled_line::{StyledLine, TextStyle};
use crate::{diff, text, tool_call_view};

impl PermissionPrompt {
    /// What is shown, in at most so many rows; `is_armed` says whether keys answer it.
    #[must_use]
    pub fn render(&self, width: usize, rows: usize, is_armed: bool) -> Vec<StyledLine> {
        let mut below = match (&self.text_entry, &self.form) {
            (Some((writing, composer)), _) => {
                let lead = match writing {
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
            (None, Some(_)) => self.render_form_choices(width),
            (None, None) => self.render_choices(width),
        };
        if self.text_entry.is_none() {
            below.push(render_key_hint(is_armed, self.form.is_some()).truncate_to_width(width));
        }
        let mut above = self.render_subject(width);
        // The answers are always in sight; what would run is cut in the middle if it must be.
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
        if let Some(poll) = &self.form {
            let Some((asked, number, count)) = poll.current_question() else { return Vec::new() };
            let head = format!("{} ({number} of {count})", text::to_one_line(&asked.header));
            let mut lines = text::render_plain(&self.question.why, TextStyle::Dim, width);
            lines.push(StyledLine::from_text(head, TextStyle::Warning).truncate_to_width(width));
            lines.extend(text::render_plain(&asked.question, TextStyle::Bold, width));
            return lines;
        }
        if let Some(plan) = self.input_field("plan").filter(|_| self.is_plan()) {
            let mut lines =
                vec![StyledLine::from_text("Shall it be done like this?", TextStyle::Warning)];
            lines.extend(text::render_markdown(plan, width));
            return lines;
        }
        let who = self.question.agent.as_ref().map(|agent| format!("{agent} asks: "));
        let who = who.unwrap_or_default();
        let head = format!("{who}May {} run this?", self.question.call.name);
        let mut lines =
            vec![StyledLine::from_text(head, TextStyle::Warning).truncate_to_width(width)];
        lines.extend(self.render_requested_action(width));
        // Files are called as above.
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

    fn render_form_choices(&self, width: usize) -> Vec<StyledLine> {
        let Some(poll) = &self.form else { return Vec::new() };
        let Some((asked, ..)) = poll.current_question() else { return Vec::new() };
        let own = if asked.options.is_empty() { "Write an answer" } else { "Something else" };
        let own = (own.to_owned(), String::new());
        let all = asked.options.iter().chain([&own]).enumerate();
        all.map(|(number, (label, about))| {
            let mark = if poll.is_marked(number) { "[x] " } else { "" };
            let words = format!("{mark}{}", text::to_one_line(label));
            let line = render_choice(number, number == self.selected, &words);
            line.with_span(format!("  {}", text::to_one_line(about)), TextStyle::Dim)
                .truncate_to_width(width)
        })
        .collect()
    }
}

fn render_choice(number: usize, is_chosen: bool, words: &str) -> StyledLine {
    let (sign, role) =
        if is_chosen { ("›", TextStyle::Selected) } else { (" ", TextStyle::Plain) };
    StyledLine::from_text(format!("{sign} {}. {words}", number + 1), role)
}

fn render_key_hint(is_armed: bool, is_poll: bool) -> StyledLine {
    let words = match (is_armed, is_poll) {
        (false, _) => "  … stop typing to answer",
        (true, true) => "  a number or ↑↓ and Enter · Space marks · Esc says no",
        (true, false) => "  a number or ↑↓ and Enter · Esc says no",
    };
    StyledLine::from_text(words, TextStyle::Dim)
}

/// The parts of a command that the reason names.
fn extract_quoted(why: &str) -> Vec<String> {
    why.split('`')
        .skip(1)
        .step_by(2)
        .map(sanitize::escape_invisible)
        .filter(|part| part.len() > 1)
        .collect()
}

/// A line of a command, with the parts that need asking marked.
fn highlight_parts(line: &str, parts: &[String]) -> StyledLine {
    let mut shown = StyledLine::from_text("  ", TextStyle::Code);
    let mut rest = line;
    loop {
        // The first of them; of two that begin there, the longer one.
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

/// Lines of what would run that are shown in any case.
const SUBJECT_LINES_MIN: usize = 3;
const DIFF_LINES_MAX: usize = 200;
