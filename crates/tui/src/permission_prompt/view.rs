//! How a permission prompt looks.

use serde_json::Value;
use windlass_permission::sanitize;

use super::question_form::{FormOption, QuestionForm};
use super::{PermissionPrompt, PermissionPromptChoice, PromptSubject, PromptTextKind};
use crate::diff::DiffView;
use crate::styled_line::{StyledLine, TextStyle};
use crate::{diff, text, tool_call_view, words};

/// The lines above the choices.
#[derive(Default)]
struct PromptSubjectLines {
    /// What would be done.
    action: Vec<StyledLine>,
    /// Why it is asked.
    reason: Vec<StyledLine>,
}

impl PermissionPrompt {
    /// Fits into `rows`, as far as possible; `is_armed` says whether keys answer the prompt.
    pub fn render(&self, width: usize, rows: usize, is_armed: bool) -> Vec<StyledLine> {
        let mut below = match (&self.text_entry, self.form()) {
            (Some((kind, composer)), _) => {
                let lead = match kind {
                    PromptTextKind::Reason => words::LEAD_REASON,
                    PromptTextKind::Comment => words::LEAD_COMMENT,
                    PromptTextKind::Command => words::LEAD_COMMAND,
                    PromptTextKind::CustomAnswer => words::LEAD_ANSWER,
                };
                let words = sanitize::escape_invisible(&format!("  {lead} {}▏", composer.text()));
                let mut lines = text::render_plain(&words, TextStyle::Plain, width);
                let hint = format!("  {}", words::TEXT_ENTRY_HINT);
                lines.extend(StyledLine::from_text(hint, TextStyle::Dim).wrap(width, 2));
                lines
            }
            (None, Some(form)) => self.render_form_choices(form, width),
            (None, None) => self.render_choices(width, rows),
        };
        if self.text_entry.is_none() {
            let may_mark = self
                .form()
                .and_then(QuestionForm::current_question)
                .is_some_and(|question| question.is_multi_select);
            below.extend(render_key_hint(is_armed, may_mark).wrap(width, 2));
        }
        // The answers must stay visible.
        let room = rows.saturating_sub(below.len()).max(SUBJECT_LINES_MIN);
        let mut lines = self.render_subject(width).fit(room);
        if self.is_plan() && lines.len() < room {
            lines.push(StyledLine::new());
        }
        lines.extend(below);
        lines
    }

    fn render_subject(&self, width: usize) -> PromptSubjectLines {
        let action = match &self.subject {
            PromptSubject::Questions(form) => self.render_question(form, width),
            PromptSubject::Plan(plan) => {
                let mut lines =
                    vec![StyledLine::from_text(words::APPROVE_PLAN, TextStyle::Warning)];
                lines.extend(text::render_markdown(plan, width));
                lines
            }
            PromptSubject::ToolCall => return self.render_call(width),
            PromptSubject::Trial(report) => report.render(width),
        };
        PromptSubjectLines { action, ..PromptSubjectLines::default() }
    }

    fn render_question(&self, form: &QuestionForm, width: usize) -> Vec<StyledLine> {
        let Some(question) = form.current_question() else { return Vec::new() };
        let header = text::to_one_line(&question.header);
        let head = match form.question_count() {
            1 => header,
            count => format!("{header} ({} of {count})", form.current_number()),
        };
        // For a tool that asks questions, the reason is obvious.
        let why = if form.is_of_server() { self.question.why.as_str() } else { "" };
        let mut lines = text::render_plain(why, TextStyle::Dim, width);
        lines.extend(StyledLine::from_text(head, TextStyle::Warning).wrap(width, 0));
        lines.extend(text::render_plain(&question.question, TextStyle::Bold, width));
        lines
    }

    fn render_call(&self, width: usize) -> PromptSubjectLines {
        let tool = self.question.call.name.as_str();
        let head = match &self.question.agent {
            Some(agent) => format!("{agent}: {}", words::ask_permission(tool)),
            None => words::ask_permission(tool),
        };
        let mut action = StyledLine::from_text(head, TextStyle::Warning).wrap(width, 0);
        action.extend(self.render_requested_action(width));
        let mut reason = Vec::new();
        if self.input_field("command").is_some()
            && let Some(description) = self.input_field("description")
        {
            // The model's own description is no reason to allow the call, but shows its intent.
            let description = words::describe_purpose(&text::to_one_line(description));
            reason.extend(
                StyledLine::from_text(format!("  {description}"), TextStyle::Plain).wrap(width, 2),
            );
        }
        // Paths look as they do above: relative to the working directory.
        let why = self.shorten_reason();
        let why = match self.working_directory.as_str() {
            "" => why,
            folder => why.replace(&format!("{folder}/"), ""),
        };
        let why = text::to_one_line(&why);
        reason.extend(StyledLine::from_text(format!("  {why}"), TextStyle::Dim).wrap(width, 2));
        PromptSubjectLines { action, reason }
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
        let file = self.input_field("file_path").unwrap_or_default();
        let view = DiffView::new(file, width);
        if let (Some(old), Some(new)) =
            (self.input_field("old_string"), self.input_field("new_string"))
        {
            let mut lines = vec![path()];
            lines.extend(match self.apply_edit(old, new) {
                Some((before, after)) => diff::render_diff(before, &after, &view, DIFF_LINES_MAX),
                None => diff::render_diff(old, new, &view.without_numbers(), DIFF_LINES_MAX),
            });
            return lines;
        }
        if let (Some(before), Some(after)) = (&self.file_before, self.input_field("content")) {
            let mut lines = vec![path()];
            lines.extend(diff::render_diff(before, after, &view, DIFF_LINES_MAX));
            return lines;
        }
        let shown = match self.input_field("command") {
            Some(command) => command.to_owned(),
            None => tool_call_view::format_whole_input(&self.question.call),
        };
        let parts = extract_quoted(&self.question.why);
        let lines =
            shown.lines().map(|line| highlight_parts(&sanitize::escape_invisible(line), &parts));
        lines.flat_map(|line| line.wrap(width, 2)).collect()
    }

    /// The reason without the command, which is shown above it.
    fn shorten_reason(&self) -> String {
        let why = self.question.why.as_str();
        let command = self.input_field("command").unwrap_or_default();
        let is_command = |part: &str| match part.strip_suffix('…') {
            Some(start) => command.starts_with(start),
            None => part == command,
        };
        let parts = why.split_once(": `").and_then(|(lead, rest)| {
            let (part, rest) = rest.rsplit_once("` (")?;
            let (reason, end) = rest.rsplit_once(')')?;
            is_command(part).then(|| format!("{lead}: {reason}{end}"))
        });
        parts.unwrap_or_else(|| why.to_owned())
    }

    /// What the file will hold after the call; `None` if it changes none, or the edit does not fit.
    pub(crate) fn file_after(&self) -> Option<String> {
        if let Some(content) = self.input_field("content") {
            return Some(content.to_owned());
        }
        let edit = (self.input_field("old_string")?, self.input_field("new_string")?);
        self.apply_edit(edit.0, edit.1).map(|(_, after)| after)
    }

    /// The file before and after an edit; `None` if the file is not known or the edit does not fit it.
    fn apply_edit(&self, old: &str, new: &str) -> Option<(&str, String)> {
        let before = self.file_before.as_deref().filter(|_| !old.is_empty())?;
        if !before.contains(old) {
            return None;
        }
        let replaces_all = self.input.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
        Some(match replaces_all {
            true => (before, before.replace(old, new)),
            false => (before, before.replacen(old, new, 1)),
        })
    }

    /// Where there is little room, rules that are choices of their own are counted in the others.
    fn render_choices(&self, width: usize, rows: usize) -> Vec<StyledLine> {
        let rules = &self.question.suggestions;
        let render = |rules: &str| -> Vec<StyledLine> {
            let lines = self.list_choices().into_iter().enumerate().flat_map(|(number, choice)| {
                let words = self.describe_choice(choice, rules);
                let words = text::to_one_line(&sanitize::escape_invisible(&words));
                render_choice(number, number == self.selected, &words).wrap(width, CHOICE_INDENT)
            });
            lines.collect()
        };
        let lines = render(&rules.join(", "));
        let has_parts = rules.len() > 1 && self.rules_file.is_some();
        match has_parts && lines.len() + SUBJECT_LINES_WANTED > rows {
            true => render(&words::count_rules(rules.len())),
            false => lines,
        }
    }

    fn describe_choice(&self, choice: PermissionPromptChoice, rules: &str) -> String {
        let file = || self.rules_file.as_deref().unwrap_or_default();
        match choice {
            PermissionPromptChoice::Deny if self.is_plan() => words::PLAN_NO.to_owned(),
            PermissionPromptChoice::Deny if self.is_trial() => words::TRIAL_NO.to_owned(),
            PermissionPromptChoice::AllowOnce if self.is_trial() => words::TRIAL_YES.to_owned(),
            PermissionPromptChoice::Deny => words::CHOICE_NO.to_owned(),
            PermissionPromptChoice::AllowOnce if self.is_plan() => words::PLAN_YES.to_owned(),
            PermissionPromptChoice::AllowOnce => words::CHOICE_YES.to_owned(),
            PermissionPromptChoice::AllowAndAcceptEdits => words::PLAN_YES_EDITS.to_owned(),
            PermissionPromptChoice::AllowForSession => words::choice_for_session(rules),
            PermissionPromptChoice::AllowAlways => words::choice_always(rules, file()),
            PermissionPromptChoice::AllowPartAlways(at) => {
                let rule = self.question.suggestions.get(at).map(String::as_str);
                words::choice_part_always(rule.unwrap_or_default())
            }
            PermissionPromptChoice::EditCommand => words::CHOICE_EDIT_COMMAND.to_owned(),
            PermissionPromptChoice::TryFirst => words::CHOICE_TRY_FIRST.to_owned(),
            PermissionPromptChoice::DenyWithReason => words::CHOICE_NO_REASON.to_owned(),
            PermissionPromptChoice::AllowWithComment => words::CHOICE_YES_COMMENT.to_owned(),
        }
    }

    fn render_form_choices(&self, form: &QuestionForm, width: usize) -> Vec<StyledLine> {
        let Some(question) = form.current_question() else { return Vec::new() };
        let label = if question.options.is_empty() {
            words::CHOICE_WRITE_ANSWER
        } else {
            words::CHOICE_OTHER_ANSWER
        };
        let custom = FormOption { label: label.to_owned(), description: String::new() };
        let all = question.options.iter().chain([&custom]).enumerate();
        all.flat_map(|(number, option)| {
            let mark = match (form.is_marked(number), question.is_multi_select) {
                (true, _) => "[x] ",
                (false, true) if number < question.options.len() => "[ ] ",
                (false, _) => "",
            };
            let words = format!("{mark}{}", text::to_one_line(&option.label));
            let line = render_choice(number, number == self.selected, &words);
            let description = text::to_one_line(&option.description);
            match description.is_empty() {
                true => line.wrap(width, CHOICE_INDENT),
                false => line
                    .with_span(format!("  {description}"), TextStyle::Dim)
                    .wrap(width, CHOICE_INDENT),
            }
        })
        .collect()
    }
}

impl PromptSubjectLines {
    /// Cuts the reason first, and then what would be done in its middle.
    fn fit(self, room: usize) -> Vec<StyledLine> {
        let Self { action: mut lines, mut reason } = self;
        let all = lines.len() + reason.len();
        if all <= room {
            lines.extend(reason);
            return lines;
        }
        let hidden = words::describe_hidden_lines(all - room + 1);
        let hidden = StyledLine::from_text(format!("  {hidden}"), TextStyle::Warning);
        let kept = room - 1;
        if lines.len() <= kept {
            reason.truncate(kept - lines.len());
            lines.extend(reason);
            lines.push(hidden);
            return lines;
        }
        let tail = lines.split_off(lines.len() - kept.min(SUBJECT_TAIL_LINES));
        lines.truncate(kept - tail.len());
        lines.push(hidden);
        lines.extend(tail);
        lines
    }
}

fn render_choice(number: usize, is_selected: bool, words: &str) -> StyledLine {
    let (sign, style) =
        if is_selected { ("›", TextStyle::Selected) } else { (" ", TextStyle::Plain) };
    // The key that selects it: the first ten choices are numbered 1 to 9 and 0, further ones have
    // none.
    let key = match number {
        0..10 => format!("{}.", (number + 1) % 10),
        _ => "  ".to_owned(),
    };
    StyledLine::from_text(format!("{sign} {key} {words}"), style)
}

fn render_key_hint(is_armed: bool, may_mark: bool) -> StyledLine {
    let words = match (is_armed, may_mark) {
        (false, _) => words::KEYS_TYPING,
        (true, true) => words::KEYS_FORM,
        (true, false) => words::KEYS_CHOICE,
    };
    StyledLine::from_text(format!("  {words}"), TextStyle::Dim)
}

/// The parts of a command that the reason names. The question has no typed list of them, only a
/// text in which they are in backticks.
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

/// Lines of the call that are always shown, even without enough room.
const SUBJECT_LINES_MIN: usize = 4;
/// Lines of the call for which choices are worded shorter.
const SUBJECT_LINES_WANTED: usize = 8;
/// The end of what would be done, where its middle is cut.
const SUBJECT_TAIL_LINES: usize = 1;
const DIFF_LINES_MAX: usize = 200;
/// Behind the number of a choice.
const CHOICE_INDENT: usize = 5;
