//! The text of slash commands that show the current settings.

use windlass_driver::AgentDefinition;
use windlass_driver::SessionSettingsView;
use windlass_driver::mcp::McpServers;
use windlass_permission::Rule;

use crate::settings::SettingsLayers;
use crate::slash_command;
use crate::slash_command::{FrontEnd, OverviewSection};
use windlass_host::command_error::to_single_line;
use windlass_host::display::human_format::format_counted;
use windlass_host::display::text_table::{ColumnAlignment, render_table};
use windlass_host::display::tool_call_summary::truncate_with_ellipsis;
use windlass_project::custom_command::CustomCommands;

pub struct SessionOverview<'a> {
    /// What the session is set to.
    pub settings: &'a SessionSettingsView,
    pub agents: &'a [AgentDefinition],
    pub custom_commands: &'a CustomCommands,
    pub layers: &'a SettingsLayers,
    pub mcp_servers: &'a McpServers,
}

impl SessionOverview<'_> {
    pub fn render(&self, topic: OverviewSection) -> String {
        match topic {
            OverviewSection::Help => self.render_help(),
            OverviewSection::Agents => render_two_columns(
                self.agents.iter().map(|agent| (agent.name.clone(), agent.description.clone())),
                "No agents of your own; put them into .claude/agents.",
            ),
            OverviewSection::Hooks => render_two_columns(
                self.layers.read_hooks().0.list().into_iter().map(|hook| {
                    let matcher = if hook.matcher.is_empty() { "*" } else { &hook.matcher };
                    let about = format!("{} {} ({})", hook.kind.name(), hook.name, hook.source);
                    (format!("{} {matcher}", hook.event.name()), about)
                }),
                "No hooks; `windlass hooks` says more.",
            ),
            OverviewSection::Memory => match &self.settings.user_context {
                Some(text) => format!("{}\n", text.trim_end()),
                None => "No memory files; /init creates one.\n".to_owned(),
            },
            OverviewSection::Model => self.render_model(),
            OverviewSection::Permissions => self.render_permissions(),
            OverviewSection::McpServers => self.render_mcp_servers(),
        }
    }

    fn render_help(&self) -> String {
        let title = |name: &str, hint: &str| format!("/{name} {hint}").trim_end().to_owned();
        let own = slash_command::list_available(FrontEnd::Headless)
            .map(|one| (title(one.name, one.argument_hint), one.description.to_owned()));
        let custom_commands = self.custom_commands.iter().map(|page| {
            let hint = page.argument_hint.as_deref().unwrap_or_default();
            (title(&page.name, hint), page.description.clone())
        });
        render_two_columns(own.chain(custom_commands), "")
    }

    fn render_model(&self) -> String {
        let mut words = format!("{}\n", self.settings.model.name);
        for fallback in &self.settings.fallbacks {
            words.push_str(&format!("{} (fallback)\n", fallback.name));
        }
        words
    }

    fn render_mcp_servers(&self) -> String {
        let row = |server: windlass_driver::mcp::McpServerReport| {
            let tools = format_counted(server.tools.len(), "tool");
            let error = to_single_line(&server.error.unwrap_or_default());
            let name = truncate_with_ellipsis(&to_single_line(&server.name), SERVER_NAME_WIDTH_MAX);
            [name, server.status.as_str().to_owned(), tools, error]
        };
        let rows: Vec<[String; 4]> =
            self.mcp_servers.server_reports().into_iter().map(row).collect();
        match rows.is_empty() {
            true => "No MCP servers; `windlass mcp add` adds one.\n".to_owned(),
            false => render_table(
                [
                    ColumnAlignment::Left,
                    ColumnAlignment::Left,
                    ColumnAlignment::Right,
                    ColumnAlignment::Left,
                ],
                &rows,
            ),
        }
    }

    fn render_permissions(&self) -> String {
        let policy = &self.settings.policy;
        let mut words = format!("mode {}\n", policy.mode.name());
        let kinds = [
            ("deny", &policy.rules.deny),
            ("ask", &policy.rules.ask),
            ("allow", &policy.rules.allow),
        ];
        for (kind, rules) in kinds {
            let line = |rule: &Rule| format!("{kind:5} {rule}\n");
            words.extend(rules.iter().map(line));
        }
        for directory in &policy.directories {
            words.push_str(&format!("works in {directory}\n"));
        }
        words
    }
}

/// Two columns, the second as it is.
fn render_two_columns(rows: impl Iterator<Item = (String, String)>, nothing: &str) -> String {
    let rows: Vec<(String, String)> = rows.collect();
    if rows.is_empty() {
        return format!("{nothing}\n");
    }
    let width = rows
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0)
        .min(NAME_COLUMN_WIDTH_MAX);
    rows.iter().map(|(name, about)| format!("{name:width$}  {about}\n")).collect()
}

const NAME_COLUMN_WIDTH_MAX: usize = 32;
/// One long name would push the other columns of every row away. `windlass mcp list` shows it whole.
const SERVER_NAME_WIDTH_MAX: usize = 64;
