//! Tools by name, in a stable order.
//!
//! Tools are offered in the order they were added, because moving an earlier one invalidates the
//! provider's prompt cache: built-in tools first, later ones at the end. A deferred tool is offered
//! only after it was found by a search, but runs if it is called by name. The same applies to tools
//! of a source, which may come and go.

use std::sync::Arc;

use windlass_vocabulary::{Json, ToolInspection, ToolName, ToolSpec};

use crate::builtin::{
    AskUserQuestionTool, BashTool, EditTool, EnterPlanModeTool, ExitPlanModeTool, GlobTool,
    GrepTool, MonitorTool, NotebookEditTool, ReadTool, SkillTool, TaskCreateTool, TaskGetTool,
    TaskListTool, TaskStopTool, TaskUpdateTool, TodoWriteTool, ToolSearchTool, WebFetchTool,
    WebSearchTool, WriteTool,
};
use crate::tool::Tool;
use crate::tool_session_context::ToolSessionContext;
use crate::tool_source::{RestrictedToolSource, ToolSource};
use crate::typed_tool::into_tool;

#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: Vec<RegisteredTool>,
    /// Finds deferred tools; exists while there are any.
    search_tool: Option<Arc<dyn Tool>>,
    source: Option<RestrictedToolSource>,
}

#[derive(Clone)]
struct RegisteredTool {
    tool: Arc<dyn Tool>,
    is_deferred: bool,
}

impl ToolRegistry {
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// The built-in tools. Rarely used ones are deferred.
    #[must_use]
    pub fn with_builtin_tools() -> Self {
        let mut registry = Self::default();
        let offered = [
            into_tool(BashTool::new()),
            into_tool(ReadTool),
            into_tool(EditTool),
            into_tool(WriteTool),
            into_tool(GlobTool),
            into_tool(GrepTool),
            into_tool(WebFetchTool),
            into_tool(TodoWriteTool),
            into_tool(MonitorTool),
            into_tool(TaskStopTool),
        ];
        let deferred = [
            into_tool(NotebookEditTool),
            into_tool(TaskCreateTool),
            into_tool(TaskGetTool),
            into_tool(TaskListTool),
            into_tool(TaskUpdateTool),
            into_tool(EnterPlanModeTool),
            into_tool(ExitPlanModeTool),
            into_tool(AskUserQuestionTool),
        ];
        registry.tools.extend(offered.map(|tool| RegisteredTool { tool, is_deferred: false }));
        registry.tools.extend(deferred.map(|tool| RegisteredTool { tool, is_deferred: true }));
        registry.refresh_search_tool();
        registry
    }

    /// Adds the tool that loads skills at the end, if there are folders with skills.
    pub fn insert_skills(&mut self, context: &ToolSessionContext) {
        if !context.skill_directories.is_empty() {
            self.insert(into_tool(SkillTool::new(context)));
        }
    }

    /// Adds the web search tool, for a session whose provider offers search. Deferred, because most
    /// sessions never need it.
    pub fn insert_web_search(&mut self) {
        self.insert_deferred(into_tool(WebSearchTool));
    }

    /// Adds a tool at the end. One with the same name is replaced in place, and returned.
    pub fn insert(&mut self, tool: Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        self.insert_or_replace(tool, false)
    }

    /// Adds a tool that is offered only after it was found by a search.
    pub fn insert_deferred(&mut self, tool: Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        self.insert_or_replace(tool, true)
    }

    fn insert_or_replace(
        &mut self,
        tool: Arc<dyn Tool>,
        is_deferred: bool,
    ) -> Option<Arc<dyn Tool>> {
        let name = &tool.spec().name;
        let known = self.tools.iter_mut().find(|entry| entry.tool.spec().name == *name);
        let replaced = match known {
            Some(known) => {
                known.is_deferred = is_deferred;
                Some(std::mem::replace(&mut known.tool, tool))
            }
            None => {
                self.tools.push(RegisteredTool { tool, is_deferred });
                None
            }
        };
        self.refresh_search_tool();
        replaced
    }

    pub fn defer(&mut self, is_deferred: impl Fn(&ToolSpec) -> bool) {
        for entry in &mut self.tools {
            entry.is_deferred = is_deferred(entry.tool.spec());
        }
        self.refresh_search_tool();
    }

    /// Removes tools that a session may not even see.
    pub fn retain(&mut self, keep: impl Fn(&ToolSpec) -> bool) {
        self.tools.retain(|entry| keep(entry.tool.spec()));
        self.refresh_search_tool();
    }

    /// Keeps only these tools, and of a source only these and those of the servers named.
    pub fn restrict_to(&mut self, names: &[ToolName]) {
        if let Some(source) = &mut self.source {
            source.restrict_to(names);
        }
        self.retain(|spec| names.contains(&spec.name));
    }

    /// Adds a source of tools that are not all known yet.
    pub fn attach_source(&mut self, source: Arc<dyn ToolSource>) {
        self.source = Some(RestrictedToolSource::new(source));
        self.refresh_search_tool();
    }

    /// The tools offered from the start, in a stable order.
    #[must_use]
    pub fn specs(&self) -> Vec<ToolSpec> {
        let offered = self.tools.iter().filter(|entry| !entry.is_deferred).map(|entry| &entry.tool);
        offered.chain(&self.search_tool).map(|tool| tool.spec().clone()).collect()
    }

    #[must_use]
    pub fn deferred_specs(&self) -> Vec<ToolSpec> {
        let deferred = self.tools.iter().filter(|entry| entry.is_deferred);
        deferred.map(|entry| entry.tool.spec().clone()).collect()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        let all = self.tools.iter().map(|entry| &entry.tool).chain(&self.search_tool);
        all.map(|tool| tool.spec().name.as_str())
    }

    /// The search tool is offered while there is something to find.
    fn refresh_search_tool(&mut self) {
        let deferred = self.deferred_specs();
        let is_needed = !deferred.is_empty() || self.source.is_some();
        self.search_tool =
            is_needed.then(|| into_tool(ToolSearchTool::new(deferred, self.source.clone())));
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let mut all = self.tools.iter().map(|entry| &entry.tool).chain(&self.search_tool);
        let known = all.find(|tool| tool.spec().name.as_str() == name).cloned();
        known.or_else(|| self.source.as_ref()?.find_tool(name))
    }

    /// What is known of a call without running it.
    #[must_use]
    pub fn inspect(&self, name: &str, input: &Json) -> ToolInspection {
        match self.get(name) {
            Some(tool) => tool.inspect(input),
            None => ToolInspection::from_problem(self.explain_unknown_tool(name)),
        }
    }

    fn explain_unknown_tool(&self, name: &str) -> String {
        let names = || self.names();
        // Our tool names are short, but a name from outside may have any length.
        let asked: String = name.to_lowercase().chars().take(NAME_LETTERS_MAX).collect();
        let nearest = names()
            .map(|known| (strsim::levenshtein(&known.to_lowercase(), &asked), known))
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

impl std::fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

const NAME_LETTERS_MAX: usize = 128;
