//! Name to tool, in an order that stays.
//!
//! Tools are offered in the order they were put in, because a provider's prompt cache is lost when
//! an earlier one moves: built-in tools first, later ones behind. A deferred tool is not offered
//! until it was searched for; called by its name, it runs all the same. So are the tools of a source,
//! which may come and go.

use std::sync::Arc;

use windlass_vocabulary::{Inspection, Json, ToolName, ToolSpec};

use crate::action::tool;
use crate::background::{Monitor, TaskStop};
use crate::bash::Bash;
use crate::edit::Edit;
use crate::glob::Glob;
use crate::grep::Grep;
use crate::lists::{TaskCreate, TaskGet, TaskList, TaskUpdate, TodoWrite};
use crate::notebook::NotebookEdit;
use crate::plan::{EnterPlanMode, ExitPlanMode};
use crate::question::AskUserQuestion;
use crate::read::Read;
use crate::search::ToolSearch;
use crate::skill::Skill;
use crate::source::{Outlet, Source};
use crate::surroundings::Surroundings;
use crate::tool::Tool;
use crate::web::{WebFetch, WebSearch};
use crate::write::Write;

/// The tools of a session.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Entry>,
    /// Finds what is not offered from the start; there while there is something to find.
    search: Option<Arc<dyn Tool>>,
    source: Option<Outlet>,
}

#[derive(Clone)]
struct Entry {
    tool: Arc<dyn Tool>,
    is_deferred: bool,
}

impl Registry {
    /// No tools.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// The built-in tools. The rarely used ones are deferred.
    #[must_use]
    pub fn builtin() -> Self {
        let mut registry = Self::default();
        let offered = [
            tool(Bash::new()),
            tool(Read),
            tool(Edit),
            tool(Write),
            tool(Glob),
            tool(Grep),
            tool(WebFetch),
            tool(TodoWrite),
            tool(Monitor),
            tool(TaskStop),
        ];
        let deferred = [
            tool(NotebookEdit),
            tool(TaskCreate),
            tool(TaskGet),
            tool(TaskList),
            tool(TaskUpdate),
            tool(EnterPlanMode),
            tool(ExitPlanMode),
            tool(AskUserQuestion),
        ];
        registry.tools.extend(offered.map(|tool| Entry { tool, is_deferred: false }));
        registry.tools.extend(deferred.map(|tool| Entry { tool, is_deferred: true }));
        registry.settle();
        registry
    }

    /// Adds the tool that loads skills, behind the others, where there are folders with skills.
    pub fn insert_skills(&mut self, surroundings: &Surroundings) {
        if !surroundings.skills.is_empty() {
            self.insert(tool(Skill::new(surroundings)));
        }
    }

    /// Adds the tool that searches the web, for a session whose provider does that. Searched for
    /// before it is offered: most sessions need it never.
    pub fn insert_web_search(&mut self) {
        self.insert_deferred(tool(WebSearch));
    }

    /// Adds a tool behind the others. One of the same name is replaced where it stands, and
    /// returned.
    pub fn insert(&mut self, tool: Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        self.put(tool, false)
    }

    /// Adds a tool that is only offered once it was searched for.
    pub fn insert_deferred(&mut self, tool: Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        self.put(tool, true)
    }

    fn put(&mut self, tool: Arc<dyn Tool>, is_deferred: bool) -> Option<Arc<dyn Tool>> {
        let name = &tool.spec().name;
        let known = self.tools.iter_mut().find(|entry| entry.tool.spec().name == *name);
        let replaced = match known {
            Some(known) => {
                known.is_deferred = is_deferred;
                Some(std::mem::replace(&mut known.tool, tool))
            }
            None => {
                self.tools.push(Entry { tool, is_deferred });
                None
            }
        };
        self.settle();
        replaced
    }

    /// Decides anew which tools are deferred.
    pub fn defer(&mut self, is_deferred: impl Fn(&ToolSpec) -> bool) {
        for entry in &mut self.tools {
            entry.is_deferred = is_deferred(entry.tool.spec());
        }
        self.settle();
    }

    /// Takes tools out, for a session that may not even know of them.
    pub fn retain(&mut self, keep: impl Fn(&ToolSpec) -> bool) {
        self.tools.retain(|entry| keep(entry.tool.spec()));
        self.settle();
    }

    /// Leaves only these tools, and of a source only these and those of the servers named.
    pub fn narrow(&mut self, names: &[ToolName]) {
        if let Some(source) = &mut self.source {
            source.narrow(names);
        }
        self.retain(|spec| names.contains(&spec.name));
    }

    /// Lets more tools be found and called that are not known yet.
    pub fn attach(&mut self, source: Arc<dyn Source>) {
        self.source = Some(Outlet::new(source));
        self.settle();
    }

    /// What the model is told from the start, in the order that stays.
    #[must_use]
    pub fn specs(&self) -> Vec<ToolSpec> {
        let offered = self.tools.iter().filter(|entry| !entry.is_deferred).map(|entry| &entry.tool);
        offered.chain(&self.search).map(|tool| tool.spec().clone()).collect()
    }

    /// What the model can find by searching.
    #[must_use]
    pub fn deferred(&self) -> Vec<ToolSpec> {
        let deferred = self.tools.iter().filter(|entry| entry.is_deferred);
        deferred.map(|entry| entry.tool.spec().clone()).collect()
    }

    /// Every tool's name, offered or not.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let all = self.tools.iter().map(|entry| &entry.tool).chain(&self.search);
        all.map(|tool| tool.spec().name.as_str())
    }

    /// Searching is offered while there is something to find.
    fn settle(&mut self) {
        let deferred = self.deferred();
        let is_needed = !deferred.is_empty() || self.source.is_some();
        self.search = is_needed.then(|| tool(ToolSearch::new(deferred, self.source.clone())));
    }

    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let mut all = self.tools.iter().map(|entry| &entry.tool).chain(&self.search);
        let known = all.find(|tool| tool.spec().name.as_str() == name).cloned();
        known.or_else(|| self.source.as_ref()?.tool(name))
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
        let names = || self.names();
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
        f.debug_list().entries(self.names()).finish()
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
