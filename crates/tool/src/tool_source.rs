//! Tools that are not all known when a session begins, and that may come and go during it.
//!
//! The registry uses a source for searches and for calls by name. Its tools are not offered from
//! the start, because a change of the offered tools invalidates the provider's prompt cache.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use windlass_vocabulary::ToolName;

use crate::tool::Tool;

/// A source of further tools.
pub trait ToolSource: Send + Sync {
    /// A description for the model; it must not change during the session.
    fn describe(&self) -> String;

    /// The current tools, in a stable order.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// The tool with that name, if it exists or may appear later.
    fn find_tool(&self, name: &str) -> Option<Arc<dyn Tool>>;

    /// Further notes about these tools that the model has not received yet.
    fn notes_for(&self, names: &[&str]) -> Vec<String> {
        let _ = names;
        Vec::new()
    }

    /// Waits for tools that are still loading, up to a limit.
    fn wait_until_ready(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The part of a source that a session may use.
#[derive(Clone)]
pub(crate) struct RestrictedToolSource {
    source: Arc<dyn ToolSource>,
    /// `None` means all of it.
    allowed_names: Option<Arc<[ToolName]>>,
}

impl RestrictedToolSource {
    pub(crate) fn new(source: Arc<dyn ToolSource>) -> Self {
        Self { source, allowed_names: None }
    }

    /// Keeps only these names, and names that start with one of these and two underscores.
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
