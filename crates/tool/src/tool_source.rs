//! Tools that are not all known when a session begins, and that may come and go while it runs.
//!
//! A source stands behind the registry: what it has is found by searching and by name, and is never
//! offered of its own accord, because a provider's prompt cache is lost when the tools on offer
//! change.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use windlass_vocabulary::ToolName;

use crate::tool::Tool;

/// Where more tools come from.
pub trait ToolSource: Send + Sync {
    /// What the model is told of it from the start; the same as long as the session lasts.
    fn describe(&self) -> String;

    /// What there is now, in an order that stays.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// The tool of that name, if it is there or may yet come.
    fn find_tool(&self, name: &str) -> Option<Arc<dyn Tool>>;

    /// What the model should know of these tools besides their descriptions, and was not told yet.
    fn notes_for(&self, names: &[&str]) -> Vec<String> {
        let _ = names;
        Vec::new()
    }

    /// Waits for what is on its way, within bounds of its own.
    fn wait_until_ready(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The part of a source that a session may use.
#[derive(Clone)]
pub(crate) struct RestrictedToolSource {
    source: Arc<dyn ToolSource>,
    /// All of it, unless said.
    allowed_names: Option<Arc<[ToolName]>>,
}

impl RestrictedToolSource {
    pub(crate) fn new(source: Arc<dyn ToolSource>) -> Self {
        Self { source, allowed_names: None }
    }

    /// Only these, or all whose names begin with one of these and two underscores.
    pub(crate) fn restrict_to(&mut self, names: &[ToolName]) {
        let both = names.iter().filter(|name| self.allows(name.as_str())).cloned().collect();
        self.allowed_names = Some(both);
    }

    fn allows(&self, name: &str) -> bool {
        let covers = |wanted: &ToolName| {
            let rest = name.strip_prefix(wanted.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
        };
        self.allowed_names.as_ref().is_none_or(|names| names.iter().any(covers))
    }

    pub(crate) fn describe(&self) -> String {
        self.source.describe()
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = Arc<dyn Tool>> {
        self.source.tools().into_iter().filter(|tool| self.allows(tool.spec().name.as_str()))
    }

    pub(crate) fn find_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.allows(name).then(|| self.source.find_tool(name)).flatten()
    }

    pub(crate) fn notes_for(&self, names: &[&str]) -> Vec<String> {
        self.source.notes_for(names)
    }

    pub(crate) async fn wait_until_ready(&self) {
        self.source.wait_until_ready().await;
    }
}
