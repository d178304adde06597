//! A question in lines.

use windlass_permission::display;

use super::{Approval, Choice, Writing};
use crate::line::{Line, Role};
use crate::{diff, text, tool};

impl Approval {
    /// What is shown, in at most so many rows; `is_armed` says whether keys answer it.
    #[must_use]
    pub fn lines(&self, width: usize, rows: usize, is_armed: bool) -> Vec<Line> {
        let mut below = match (&self.writing, &self.poll) {
            (Some((writing, composer)), _) => {
                let lead = match writing {
                    Writing::Reason => "No, because: ",
                    Writing::Command => "Run this instead: ",
                    Writing::Own => "Your answer: ",
                };
                let words = display::visible(&format!("  {lead}{}▏", composer.text()));
                let mut lines = text::plain(&words, Role::Plain, width);
                let hint = "  Enter sends it · Esc goes back";
                lines.push(Line::of(hint, Role::Quiet).cut(width));
                lines
            }
            (None, Some(_)) => self.poll_choices(width),
            (None, None) => self.choice_lines(width),
        };
        if self.writing.is_none() {
            below.push(hint(is_armed, self.poll.is_some()).cut(width));
        }
        let mut above = self.matter(width);
        // The answers are always in sight; what would run is cut in the middle if it must be.
        let room = rows.saturating_sub(below.len()).max(MATTER_MIN);
        if above.len() > room {
            let over = above.len() - room + 1;
            let tail = above.split_off(above.len() - above.len().min(2));
            above.truncate(room.saturating_sub(3));
            above.push(Line::of(format!("  … {over} lines not shown"), Role::Warning));
            above.extend(tail);
        }
        above.extend(below);
        above
    }

    /// What would be done, and why it is asked.
    fn matter(&self, width: usize) -> Vec<Line> {
        if let Some(poll) = &self.poll {
            let Some((asked, number, count)) = poll.open() else { return Vec::new() };
            let head = format!("{} ({number} of {count})", text::one_line(&asked.header));
            let mut lines = text::plain(&self.question.why, Role::Quiet, width);
            lines.push(Line::of(head, Role::Warning).cut(width));
            lines.extend(text::plain(&asked.question, Role::Strong, width));
            return lines;
        }
        if let Some(plan) = self.field("plan").filter(|_| self.is_plan()) {
            let mut lines = vec![Line::of("Shall it be done like this?", Role::Warning)];
            lines.extend(text::markdown(plan, width));
            return lines;
        }
        let who = self.question.agent.as_ref().map(|agent| format!("{agent} asks: "));
        let who = who.unwrap_or_default();
        let head = format!("{who}May {} run this?", self.question.call.name);
        let mut lines = vec![Line::of(head, Role::Warning).cut(width)];
        lines.extend(self.wanted(width));
        // Files are called as above.
        let why = match self.folder.as_str() {
            "" => self.question.why.clone(),
            folder => self.question.why.replace(&format!("{folder}/"), ""),
        };
        lines.extend(text::plain(&format!("  {why}"), Role::Quiet, width));
        lines
    }

    fn wanted(&self, width: usize) -> Vec<Line> {
        let path = || {
            let path = display::visible(self.field("file_path").unwrap_or_default());
            let below = path.strip_prefix(&self.folder).and_then(|rest| rest.strip_prefix('/'));
            let shown = below.filter(|_| !self.folder.is_empty()).unwrap_or(&path);
            Line::of(format!("  {}", text::one_line(shown)), Role::Code).cut(width)
        };
        if let (Some(before), Some(after)) = (self.field("old_string"), self.field("new_string")) {
            let mut lines = vec![path()];
            lines.extend(diff::between(before, after, width, DIFF_MAX));
            return lines;
        }
        if let (Some(before), Some(after)) = (&self.before, self.field("content")) {
            let mut lines = vec![path()];
            lines.extend(diff::between(before, after, width, DIFF_MAX));
            return lines;
        }
        let shown = match self.field("command") {
            Some(command) => command.to_owned(),
            None => tool::whole(&self.question.call),
        };
        let parts = quoted(&self.question.why);
        let lines = shown.lines().map(|line| marked(&display::visible(line), &parts));
        lines.flat_map(|line| line.wrapped(width, 2)).collect()
    }

    fn choice_lines(&self, width: usize) -> Vec<Line> {
        let rules = self.question.suggestions.join(", ");
        let lines = self.choices().into_iter().enumerate().map(|(number, choice)| {
            let words = match choice {
                Choice::No if self.is_plan() => "No, go on planning".to_owned(),
                Choice::No => "No".to_owned(),
                Choice::Once if self.is_plan() => "Yes, and ask before edits".to_owned(),
                Choice::Once => "Yes, this once".to_owned(),
                Choice::AndEdits => "Yes, and do not ask before edits".to_owned(),
                Choice::Session => format!("Yes, and for this session: {rules}"),
                Choice::Always => {
                    let file = self.kept_in.as_deref().unwrap_or_default();
                    format!("Yes, always in this project: {rules} (kept in {file})")
                }
                Choice::EditCommand => "Change the command".to_owned(),
                Choice::NoBecause => "No, and say why".to_owned(),
            };
            let words = text::one_line(&display::visible(&words));
            choice_line(number, number == self.chosen, &words).cut(width)
        });
        lines.collect()
    }

    fn poll_choices(&self, width: usize) -> Vec<Line> {
        let Some(poll) = &self.poll else { return Vec::new() };
        let Some((asked, ..)) = poll.open() else { return Vec::new() };
        let own = if asked.options.is_empty() { "Write an answer" } else { "Something else" };
        let own = (own.to_owned(), String::new());
        let all = asked.options.iter().chain([&own]).enumerate();
        all.map(|(number, (label, about))| {
            let mark = if poll.is_marked(number) { "[x] " } else { "" };
            let words = format!("{mark}{}", text::one_line(label));
            let line = choice_line(number, number == self.chosen, &words);
            line.and(format!("  {}", text::one_line(about)), Role::Quiet).cut(width)
        })
        .collect()
    }
}

fn choice_line(number: usize, is_chosen: bool, words: &str) -> Line {
    let (sign, role) = if is_chosen { ("›", Role::Chosen) } else { (" ", Role::Plain) };
    Line::of(format!("{sign} {}. {words}", number + 1), role)
}

fn hint(is_armed: bool, is_poll: bool) -> Line {
    let words = match (is_armed, is_poll) {
        (false, _) => "  … stop typing to answer",
        (true, true) => "  a number or ↑↓ and Enter · Space marks · Esc says no",
        (true, false) => "  a number or ↑↓ and Enter · Esc says no",
    };
    Line::of(words, Role::Quiet)
}

/// The parts of a command that the reason names.
fn quoted(why: &str) -> Vec<String> {
    why.split('`').skip(1).step_by(2).map(display::visible).filter(|part| part.len() > 1).collect()
}

/// A line of a command, with the parts that need asking marked.
fn marked(line: &str, parts: &[String]) -> Line {
    let mut shown = Line::of("  ", Role::Code);
    let mut rest = line;
    loop {
        // The first of them; of two that begin there, the longer one.
        let found = parts.iter().filter_map(|part| Some((rest.find(part.as_str())?, part.len())));
        let Some((at, length)) = found.min_by_key(|(at, length)| (*at, usize::MAX - length)) else {
            return shown.and(rest, Role::Code);
        };
        let (before, from) = rest.split_at(at);
        let (part, behind) = from.split_at(length);
        shown = shown.and(before, Role::Code).and(part, Role::Asked);
        rest = behind;
    }
}

/// Lines of what would run that are shown in any case.
const MATTER_MIN: usize = 3;
const DIFF_MAX: usize = 200;
