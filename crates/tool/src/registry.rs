//! Name to tool, in an order that stays.
//!
//! Tools are offered in the order they were put in, because a provider's prompt cache is lost when
//! an earlier one moves: built-in tools first, later ones behind.

use std::sync::Arc;

use windlass_vocabulary::{Inspection, Json, ToolSpec};

use crate::action::tool;
use crate::background::{Monitor, TaskStop};
use crate::bash::Bash;
use crate::edit::Edit;
use crate::glob::Glob;
use crate::grep::Grep;
use crate::notebook::NotebookEdit;
use crate::read::Read;
use crate::tool::Tool;
use crate::write::Write;

/// The tools of a session.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Arc<dyn Tool>>,
}

impl Registry {
    /// No tools.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// The built-in tools.
    #[must_use]
    pub fn builtin() -> Self {
        Self {
            tools: vec![
                tool(Bash::new()),
                tool(Read),
                tool(Edit),
                tool(Write),
                tool(Glob),
                tool(Grep),
                tool(NotebookEdit),
                tool(Monitor),
                tool(TaskStop),
            ],
        }
    }

    /// Adds a tool behind the others. One of the same name is replaced where it stands, and
    /// returned.
    pub fn insert(&mut self, tool: Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        let name = &tool.spec().name;
        match self.tools.iter_mut().find(|known| known.spec().name == *name) {
            Some(known) => Some(std::mem::replace(known, tool)),
            None => {
                self.tools.push(tool);
                None
            }
        }
    }

    /// Takes tools out, for a session that may not even know of them.
    pub fn retain(&mut self, keep: impl Fn(&ToolSpec) -> bool) {
        self.tools.retain(|tool| keep(tool.spec()));
    }

    /// What the model is told, in the order that stays.
    #[must_use]
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec().clone()).collect()
    }

    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name.as_str() == name)
    }

    /// What can be said of a call without running it.
    #[must_use]
    pub fn inspect(&self, name: &str, input: &Json) -> Inspection {
        match self.get(name) {
            Some(tool) => tool.inspect(input),
            None => Inspection::refused(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let names = || self.tools.iter().map(|tool| tool.spec().name.as_str());
        let nearest = names()
            .map(|known| (distance(&known.to_lowercase(), &name.to_lowercase()), known))
            .filter(|(far, known)| *far <= known.len().div_ceil(3))
            .min_by_key(|(far, _)| *far);
        match nearest {
            Some((_, known)) => format!("There is no tool `{name}`. Did you mean `{known}`?"),
            None => {
                let all: Vec<_> = names().collect();
                format!("There is no tool `{name}`. There are: {}.", all.join(", "))
            }
        }
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|tool| &tool.spec().name)).finish()
    }
}

/// Letters to change, add or drop to make one name of the other. Names are short; a name of any
/// length from outside is cut first.
fn distance(known: &str, asked: &str) -> usize {
    const LETTERS_MAX: usize = 128;
    let asked: Vec<char> = asked.chars().take(LETTERS_MAX).collect();
    let mut row: Vec<usize> = (0..=asked.len()).collect();
    for (i, a) in known.chars().take(LETTERS_MAX).enumerate() {
        let mut next = vec![i + 1];
        for ((b, above), diagonal) in asked.iter().zip(row.iter().skip(1)).zip(row.iter()) {
            let left = next.last().copied().unwrap_or(0);
            let change = diagonal + usize::from(a != *b);
            next.push(change.min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}
