//! What the wiring of a session knows and its observer is not told: hooks, plugins, MCP servers,
//! commands, clean-ups.

use windlass_driver::mcp::McpConnectionChange;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WiringReport {
    HookRegistered(RegisteredHook),
    PluginLoaded(LoadedPlugin),
    /// The configured servers: the prefix of the names of their tools, and their scope.
    McpServersConfigured(Vec<(String, String)>),
    McpConnectionChanged(McpConnectionChange),
    /// A prompt was a command, and is about to be submitted as its text.
    CommandExpanded(ExpandedCommand),
    /// Old sessions were cleaned up.
    SessionsCleanedUp {
        moved: usize,
        deleted: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredHook {
    pub event: &'static str,
    /// `command`, `prompt` and so on.
    pub kind: &'static str,
    /// In the words of the reference CLI, such as `userSettings`.
    pub source: &'static str,
    pub matcher: String,
    pub plugin: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedPlugin {
    pub name: String,
    pub version: Option<String>,
    pub has_hooks: bool,
    pub has_mcp: bool,
    pub skill_folders: u64,
    pub command_folders: u64,
    pub agent_folders: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpandedCommand {
    /// Without the slash.
    pub name: String,
    /// `custom` or `mcp`.
    pub source: &'static str,
    /// The first text of the prompt that it became.
    pub text: String,
}
