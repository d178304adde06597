//! What is in force, in words: for commands that ask about it.

use windlass_driver::mcp::Servers;
use windlass_driver::{AgentDefinition, Settings};
use windlass_permission::Rule;

use crate::command::{self, Front, Topic};
use crate::expansion::Pages;
use crate::front::table::{Side, table};
use crate::hooks;
use crate::layers::Layers;
use crate::refusal::one_line;

/// Everything that may be asked about.
pub(crate) struct InForce<'a> {
    /// What the session is set to.
    pub(crate) settings: &'a Settings,
    /// Agents kept in files.
    pub(crate) agents: &'a [AgentDefinition],
    /// Pages kept as commands.
    pub(crate) pages: &'a Pages,
    /// The settings behind it.
    pub(crate) layers: &'a Layers,
    /// The MCP servers.
    pub(crate) remote: &'a Servers,
}

impl InForce<'_> {
    /// The words.
    pub(crate) fn words(&self, topic: Topic) -> String {
        match topic {
            Topic::Help => self.help(),
            Topic::Agents => listed(
                self.agents.iter().map(|agent| (agent.name.clone(), agent.description.clone())),
                "There are no agents of your own; put them into .claude/agents.",
            ),
            Topic::Hooks => listed(
                hooks::configured(self.layers).0.listing().into_iter().map(|hook| {
                    let matcher = if hook.matcher.is_empty() { "*" } else { &hook.matcher };
                    let about = format!("{} {} ({})", hook.kind, hook.name, hook.source);
                    (format!("{} {matcher}", hook.event.name()), about)
                }),
                "There are no hooks; `windlass hooks` says more.",
            ),
            Topic::Memory => match &self.settings.user_context {
                Some(text) => format!("{}\n", text.trim_end()),
                None => "There are no standing instructions; `/init` writes them.\n".to_owned(),
            },
            Topic::Model => self.model(),
            Topic::Permissions => self.permissions(),
            Topic::Servers => self.servers(),
        }
    }

    fn help(&self) -> String {
        let title = |name: &str, hint: &str| format!("/{name} {hint}").trim_end().to_owned();
        let own = command::shown(Front::Headless)
            .map(|one| (title(one.name, one.hint), one.about.to_owned()));
        let pages = self.pages.iter().map(|page| {
            let hint = page.hint.as_deref().unwrap_or_default();
            (title(&page.name, hint), page.description.clone())
        });
        listed(own.chain(pages), "")
    }

    fn model(&self) -> String {
        let mut words = format!("{}\n", self.settings.model.name);
        for fallback in &self.settings.fallbacks {
            words.push_str(&format!("{} stands in for it\n", fallback.name));
        }
        words
    }

    /// How it stands with each MCP server.
    fn servers(&self) -> String {
        let row = |server: windlass_driver::mcp::ServerStatus| {
            let tools = format!("{} tools", server.tools.len());
            let error = one_line(&server.error.unwrap_or_default());
            [server.name, server.status.word().to_owned(), tools, error]
        };
        let rows: Vec<[String; 4]> = self.remote.status().into_iter().map(row).collect();
        match rows.is_empty() {
            true => "There are no MCP servers; `windlass mcp add` adds one.\n".to_owned(),
            false => table([Side::Left, Side::Left, Side::Right, Side::Left], &rows),
        }
    }

    fn permissions(&self) -> String {
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
fn listed(rows: impl Iterator<Item = (String, String)>, nothing: &str) -> String {
    let rows: Vec<(String, String)> = rows.collect();
    if rows.is_empty() {
        return format!("{nothing}\n");
    }
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(WIDTH_MAX);
    rows.iter().map(|(name, about)| format!("{name:width$}  {about}\n")).collect()
}

const WIDTH_MAX: usize = 32;
