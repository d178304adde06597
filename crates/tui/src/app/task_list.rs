//! The model's task list. The notice carries it only as the text that the model reads, so the marks
//! are parsed out of it once, here.

#[derive(Debug, Default)]
pub struct TaskList {
    pub rows: Vec<TaskListRow>,
    pub is_hidden: bool,
    /// The number of lines in the scrollback when the list was its last block.
    shown_at: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskListRow {
    pub mark: TaskMark,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskMark {
    Pending,
    InProgress,
    Completed,
}

impl TaskList {
    pub(super) fn update(&mut self, text: &str) {
        self.rows = text.lines().filter_map(parse_row).collect();
    }

    /// The call that made the list shows it, as the last block of the scrollback.
    pub(super) fn set_shown(&mut self, pushed_lines: usize) {
        self.shown_at = Some(pushed_lines);
    }

    /// Is the list directly above already?
    pub(super) fn is_last_block(&self, pushed_lines: usize) -> bool {
        self.shown_at == Some(pushed_lines)
    }
}

impl TaskMark {
    pub fn is_open(self) -> bool {
        match self {
            Self::Pending | Self::InProgress => true,
            Self::Completed => false,
        }
    }
}

/// A row as the task tools write it. Lines without a mark are headings.
fn parse_row(line: &str) -> Option<TaskListRow> {
    let marks =
        [("[ ]", TaskMark::Pending), ("[~]", TaskMark::InProgress), ("[x]", TaskMark::Completed)];
    marks.into_iter().find_map(|(sign, mark)| {
        let text = crate::text::to_one_line(line.trim_start().strip_prefix(sign)?);
        Some(TaskListRow { mark, text })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_mark_at_the_start_of_a_line_counts() {
        let mut list = TaskList::default();
        list.update("Todo list:\n[x] read it\n[ ] draw a [x] box\nTasks:\n[~] #1 mend it\n");
        let rows: Vec<(TaskMark, &str)> =
            list.rows.iter().map(|row| (row.mark, row.text.as_str())).collect();
        assert_eq!(
            rows,
            [
                (TaskMark::Completed, "read it"),
                (TaskMark::Pending, "draw a [x] box"),
                (TaskMark::InProgress, "#1 mend it"),
            ]
        );
    }
}
