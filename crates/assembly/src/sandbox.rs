//! `--sandbox`: shell commands held by the kernel to what the session may touch.
//!
//! Flags and settings become one config; from it come the launcher, notes about it, and what the
//! policy must know of it.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use windlass_driver::{CommandSandboxConfig, ToolSandboxLauncher, ToolSessionContext};
use windlass_permission::{Policy, SandboxPolicy};
use windlass_sandbox::proxy::InvalidAllowedHost;
use windlass_sandbox::{AllowedHost, ProxyHostRules, ProxyThread, SandboxProbeOptions};

use crate::cell::list_own_directories;
use crate::options::SandboxUse;
use windlass_host::command_error::CommandError;
use windlass_host::random;
use windlass_host::standard_streams::write_error_line;

/// The hidden subcommand through which a process restricts itself before it becomes a command.
pub const ENTRY_SUBCOMMAND: &str = "__sandbox";

/// If this process was started to become a command in the sandbox, it does, and this does not come
/// back unless that failed.
pub fn enter_if_requested() -> Option<i32> {
    let mut arguments = std::env::args_os().skip(1);
    let is_meant = arguments.next().is_some_and(|word| word == ENTRY_SUBCOMMAND);
    is_meant.then(|| windlass_sandbox::enter(&arguments.collect::<Vec<OsString>>()))
}

/// What flags and settings ask for. The names are those of the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxConfig {
    pub enabled: bool,
    pub fail_if_unavailable: bool,
    /// Commands in the sandbox run without a permission prompt.
    pub auto_allow_bash_if_sandboxed: bool,
    pub excluded_commands: Vec<String>,
    pub allow_unsandboxed_commands: bool,
    pub allowed_domains: Vec<String>,
    /// The administrator alone says which domains are allowed.
    pub allow_managed_domains_only: bool,
    pub denied_domains: Vec<String>,
    /// Sockets of the host that may be spoken to.
    pub allow_unix_sockets: Vec<String>,
    pub allow_write: Vec<String>,
    /// Places inside those that stay as they are.
    pub deny_write: Vec<String>,
    pub deny_read: Vec<String>,
    /// Places to be seen all the same.
    pub allow_read: Vec<String>,
    /// Settings that have no effect here, and why.
    pub notes: Vec<String>,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            fail_if_unavailable: false,
            auto_allow_bash_if_sandboxed: true,
            excluded_commands: Vec::new(),
            allow_unsandboxed_commands: true,
            allowed_domains: Vec::new(),
            allow_managed_domains_only: false,
            denied_domains: Vec::new(),
            allow_unix_sockets: Vec::new(),
            allow_write: Vec::new(),
            deny_write: Vec::new(),
            deny_read: Vec::new(),
            allow_read: Vec::new(),
            notes: Vec::new(),
        }
    }
}

impl SandboxConfig {
    /// The `sandbox` object of the settings, all layers together. What is of the wrong kind counts
    /// as not said; the loader has warned of it.
    pub(crate) fn from_settings(sandbox: &Value) -> Self {
        let flag = |name: &str, default: bool| {
            sandbox.get(name).and_then(Value::as_bool).unwrap_or(default)
        };
        let list = |place: &str| {
            let found = sandbox.pointer(place).and_then(Value::as_array);
            let texts = found.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect::<Vec<String>>()
        };
        let cannot = [
            ("/network/httpProxyPort", "the sandbox brings its own proxy"),
            ("/network/socksProxyPort", "the sandbox brings its own proxy"),
            ("/filesystem/disabled", "files are always held"),
        ];
        let is_set = |place: &str| {
            sandbox
                .pointer(place)
                .is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
        };
        let notes = cannot
            .iter()
            .filter(|(place, _)| is_set(place))
            .map(|(place, why)| format!("sandbox{} is not used: {why}", place.replace('/', ".")));
        Self {
            enabled: flag("enabled", false),
            fail_if_unavailable: flag("failIfUnavailable", false),
            auto_allow_bash_if_sandboxed: flag("autoAllowBashIfSandboxed", true),
            excluded_commands: list("/excludedCommands"),
            allow_unsandboxed_commands: flag("allowUnsandboxedCommands", true),
            allowed_domains: list("/network/allowedDomains"),
            allow_managed_domains_only: is_set("/network/allowManagedDomainsOnly"),
            denied_domains: list("/network/deniedDomains"),
            allow_unix_sockets: list("/network/allowUnixSockets"),
            allow_write: list("/filesystem/allowWrite"),
            deny_write: list("/filesystem/denyWrite"),
            deny_read: list("/filesystem/denyRead"),
            allow_read: list("/filesystem/allowRead"),
            notes: notes.collect(),
        }
    }

    /// With what the command line adds: a flag there outweighs the settings.
    pub(crate) fn with_flags(mut self, when: SandboxUse, domains: &[String]) -> Self {
        self.enabled = when != SandboxUse::Off;
        self.fail_if_unavailable = when == SandboxUse::Required;
        match self.allow_managed_domains_only && !domains.is_empty() {
            true => self.notes.push(
                "the administrator's settings let nobody else allow domains, so those of the \
                 command line are not"
                    .to_owned(),
            ),
            false => self.allowed_domains.extend(domains.iter().cloned()),
        }
        self
    }

    fn parse_hosts(&self) -> Result<ProxyHostRules, CommandError> {
        let read = |entries: &[String]| {
            let one = |entry: &String| {
                let mut host: AllowedHost = entry
                    .parse()
                    .map_err(|error: InvalidAllowedHost| CommandError::usage(error.to_string()))?;
                host.reaches_private = is_literal_address(entry);
                Ok(host)
            };
            entries.iter().map(one).collect::<Result<Vec<AllowedHost>, CommandError>>()
        };
        Ok(ProxyHostRules {
            allowed: read(&self.allowed_domains)?,
            denied: read(&self.denied_domains)?,
        })
    }
}

/// Runs the session's commands in a sandbox, if configured. Returns notes about it.
pub(crate) fn confine_commands(
    config: &SandboxConfig,
    tool_context: &mut ToolSessionContext,
    policy: &mut Policy,
) -> Result<Vec<String>, CommandError> {
    let hosts = config.parse_hosts()?;
    if !config.enabled {
        return Ok(Vec::new());
    }
    let ourselves = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("windlass"));
    let proxy = match hosts.allowed.is_empty() {
        true => None,
        false => Some(Arc::new(open_gate(hosts)?)),
    };
    let confinement = build_confinement(config, tool_context, proxy);
    match ToolSandboxLauncher::probe(
        &SandboxProbeOptions::best_available(ourselves, [ENTRY_SUBCOMMAND]),
        confinement,
    ) {
        Ok(confined) => {
            let mut notes = config.notes.clone();
            notes.push(confined.report().to_owned());
            tool_context.processes.launcher = Some(Arc::new(confined));
            tool_context.processes.unsandboxed_commands.clone_from(&config.excluded_commands);
            policy.held = Some(SandboxPolicy {
                runs_unasked: config.auto_allow_bash_if_sandboxed,
                may_be_left: config.allow_unsandboxed_commands,
                outside: config.excluded_commands.clone(),
            });
            Ok(notes)
        }
        Err(unavailable) if config.fail_if_unavailable => Err(CommandError::failure(format!(
            "a sandbox is required and not available: {unavailable}; install bubblewrap, or leave \
             out --sandbox"
        ))),
        Err(unavailable) => {
            // The user requested a sandbox, so this is always reported, even in quiet mode.
            write_error_line(&format!("windlass: commands run without a sandbox: {unavailable}"));
            Ok(config.notes.clone())
        }
    }
}

fn build_confinement(
    config: &SandboxConfig,
    tool_context: &ToolSessionContext,
    proxy: Option<Arc<ProxyThread>>,
) -> CommandSandboxConfig {
    let home = std::env::home_dir();
    let places = |texts: &[String]| {
        let place = |text: &String| resolve_path(text, &tool_context.files.cwd, home.as_deref());
        texts.iter().map(place).collect::<Vec<PathBuf>>()
    };
    let mut roots = tool_context.files.working_directories();
    roots.extend(places(&config.allow_write).into_iter().filter(|path| path.is_dir()));
    let shown = places(&config.allow_read);
    let mut readable = shown.clone();
    readable.extend(places(&config.allow_unix_sockets));
    CommandSandboxConfig {
        roots,
        hidden: places(&config.deny_read).into_iter().chain(list_own_directories()).collect(),
        shown,
        protected: places(&config.deny_write),
        readable,
        gate: proxy,
        may_be_disabled: config.allow_unsandboxed_commands,
        home,
        ..CommandSandboxConfig::default()
    }
}

/// A path of the settings: below the home, absolute, or from where we are. What follows a star is
/// everything below.
pub(crate) fn resolve_path(text: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    let text = text.split_once("/*").map_or(text, |(folder, _)| folder);
    match (text.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ if text == "~" => home.unwrap_or(cwd).to_owned(),
        // Two slashes mean the root, as in rules.
        _ => match text.strip_prefix("//") {
            Some(below) => Path::new("/").join(below),
            None => cwd.join(text),
        },
    }
}

/// Is this machine, or one by its number, named outright? A name may lead anywhere, and then it
/// leads to the public network or nowhere.
fn is_literal_address(entry: &str) -> bool {
    let host = match entry.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => entry.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok()
}

fn open_gate(hosts: ProxyHostRules) -> Result<ProxyThread, CommandError> {
    let directory = std::env::temp_dir().join(format!("windlass-gate-{}", random::generate_name()));
    ProxyThread::start(&directory, hosts).map_err(|error| {
        CommandError::failure(format!(
            "the proxy for the allowed hosts cannot be started in {}: {error}",
            directory.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_and_flags_become_wishes() {
        assert_eq!(SandboxConfig::from_settings(&json!({})), SandboxConfig::default());
        let config = SandboxConfig::from_settings(&json!({
            "enabled": true, "failIfUnavailable": true, "autoAllowBashIfSandboxed": false,
            "excludedCommands": ["docker"], "allowUnsandboxedCommands": false,
            "network": {"allowedDomains": ["a.org"], "deniedDomains": ["b.org"],
                "allowUnixSockets": ["/run/x"], "httpProxyPort": 1},
            "filesystem": {"allowWrite": ["w"], "denyWrite": ["x"], "denyRead": ["y"],
                "allowRead": ["~/z"], "disabled": true},
        }));
        assert_eq!(config.notes.len(), 2, "{:?}", config.notes);
        let expected = SandboxConfig {
            enabled: true,
            fail_if_unavailable: true,
            auto_allow_bash_if_sandboxed: false,
            excluded_commands: vec!["docker".to_owned()],
            allow_unsandboxed_commands: false,
            allowed_domains: vec!["a.org".to_owned()],
            allow_managed_domains_only: false,
            denied_domains: vec!["b.org".to_owned()],
            allow_unix_sockets: vec!["/run/x".to_owned()],
            allow_write: vec!["w".to_owned()],
            deny_write: vec!["x".to_owned()],
            deny_read: vec!["y".to_owned()],
            allow_read: vec!["~/z".to_owned()],
            notes: config.notes.clone(),
        };
        assert_eq!(config, expected);
        let off = config.with_flags(SandboxUse::Off, &["c.org".to_owned()]);
        assert!(!off.enabled && off.allowed_domains == ["a.org", "c.org"]);
        let required = SandboxConfig::default().with_flags(SandboxUse::Required, &[]);
        assert!(required.enabled && required.fail_if_unavailable);
    }

    #[test]
    fn paths_are_read_as_they_are_written() {
        let cwd = Path::new("/w");
        let home = Some(Path::new("/home/u"));
        for (text, expected) in [
            ("x", "/w/x"),
            ("./x/**", "/w/./x"),
            ("/etc/x", "/etc/x"),
            ("//etc/x", "/etc/x"),
            ("~/x", "/home/u/x"),
            ("~", "/home/u"),
        ] {
            assert_eq!(resolve_path(text, cwd, home), Path::new(expected), "{text}");
        }
    }
}
