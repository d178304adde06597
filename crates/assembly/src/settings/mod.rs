//! The settings in force: what the files and the flags say together, read once for a run. What they
//! mean is in one file for each topic.

pub(crate) mod hooks;
mod memory;
mod models;
mod permissions;
pub mod reloader;
mod sandbox;
mod session;

use std::ffi::OsString;
use std::path::Path;

use windlass_settings::{
    CommandLineSettings, EnabledSources, LoadedSettings, ProblemSeverity, SettingsLocations,
    SettingsRequest, SettingsSource, SourcedValue, load_settings,
};

use crate::options::{HeadlessOptions, SettingsOptions};
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::user_directories;
use windlass_project::extension_sources::ExtensionSources;
use windlass_project::plugins;
use windlass_project::plugins::Plugin;

#[derive(Clone, Debug, Default)]
pub struct SettingsLayers {
    pub loaded: LoadedSettings,
    pub sources: EnabledSources,
    pub plugins: Vec<Plugin>,
    pub(crate) extra_warnings: Vec<String>,
}

impl SettingsLayers {
    /// Reads them. Only what the flags themselves got wrong is refused.
    pub fn load(
        options: &SettingsOptions,
        is_bare: bool,
        cwd: &Path,
        lookup: &impl EnvLookup,
    ) -> Result<Self, CommandError> {
        let mut request = build_load_request(options, cwd, lookup)?;
        request.only_restricts = is_bare || options.safe_mode;
        let mut loaded = load_settings(&request);
        let is_given = |name: &str| {
            matches!(&request.command_line, Some(CommandLineSettings::File(path)) if path.display().to_string() == name)
                || name.starts_with("--")
        };
        let mistake = loaded
            .problems
            .iter()
            .find(|problem| problem.severity == ProblemSeverity::File && is_given(&problem.name));
        if let Some(problem) = mistake {
            let place = problem
                .position
                .map(|place| format!(", line {}, column {}", place.line, place.column));
            let place = place.unwrap_or_default();
            return Err(CommandError::usage(format!(
                "--settings: {}{place}: {}; give a JSON object, or a file with one",
                problem.name, problem.what
            )));
        }
        if options.safe_mode {
            keep_only_managed(&mut loaded);
        }
        let mut layers = Self {
            loaded,
            sources: request.sources,
            plugins: Vec::new(),
            extra_warnings: Vec::new(),
        };
        if !request.only_restricts {
            layers.enable_plugins(lookup);
        }
        Ok(layers)
    }

    /// Files were read again. Plugins and servers stay as they were.
    fn replace_loaded(&mut self, mut loaded: LoadedSettings, options: &SettingsOptions) {
        if options.safe_mode {
            keep_only_managed(&mut loaded);
        }
        loaded.mcp_servers = std::mem::take(&mut self.loaded.mcp_servers);
        self.loaded = loaded;
    }

    fn enable_plugins(&mut self, lookup: &impl EnvLookup) {
        let wanted = self.loaded.settings.enabled_plugins.clone().unwrap_or_default();
        let Some(claude) =
            user_directories::claude_directory(lookup).filter(|_| !wanted.is_empty())
        else {
            return;
        };
        for found in plugins::find_enabled_plugins(&wanted, &claude) {
            self.add_plugin(found.and_then(|root| Plugin::load(&root)));
        }
    }

    /// Plugins that the command line names. A folder without a plugin is left out with a warning.
    pub(crate) fn add_plugins(&mut self, options: &HeadlessOptions, cwd: &Path) {
        for root in &options.plugin_dir {
            self.add_plugin(Plugin::load(&cwd.join(root)));
        }
        for root in &options.plugin_dir_no_mcp {
            self.add_plugin(Plugin::load(&cwd.join(root)).map(Plugin::without_mcp_servers));
        }
    }

    fn add_plugin(&mut self, plugin: Result<Plugin, String>) {
        let servers = plugin.and_then(|plugin| Ok((plugin.read_mcp_servers()?, plugin)));
        match servers {
            Ok((_, plugin)) if self.plugins.iter().any(|known| known.name == plugin.name) => {}
            Ok((servers, plugin)) => {
                if !servers.is_empty() {
                    let name = plugin.root.join(".mcp.json").display().to_string();
                    // Lowest precedence: any other layer may replace a server of this name.
                    let servers =
                        SourcedValue { source: SettingsSource::User, name, value: servers };
                    self.loaded.mcp_servers.layers.insert(0, servers);
                }
                self.plugins.push(plugin);
            }
            Err(problem) => self.extra_warnings.push(format!("{problem}; the plugin is left out")),
        }
    }

    /// What files of the user, the project and plugins may bring along.
    pub fn extension_sources(&self) -> ExtensionSources<'_> {
        ExtensionSources {
            enabled: self.sources,
            plugins: &self.plugins,
            trusts_project: self.trusts_project(),
            allows_hooks: self.allows_extension_hooks(),
        }
    }

    pub fn warn(&mut self, words: String) {
        self.extra_warnings.push(words);
    }

    /// One line for each problem, and for what was left out.
    pub fn warnings(&self) -> Vec<String> {
        let problems = &self.loaded.problems;
        let mut lines: Vec<String> =
            problems.iter().take(WARNINGS_MAX).map(ToString::to_string).collect();
        if let Some(rest) = problems.len().checked_sub(WARNINGS_MAX).filter(|rest| *rest > 0) {
            lines.push(format!("{rest} more problems in settings; see `windlass doctor`"));
        }
        lines.extend(self.extra_warnings.iter().cloned());
        lines.extend(self.loaded.trust.render_warning());
        lines.extend(self.loaded.trust.render_endpoint_warning());
        lines
    }

    pub fn extra_warnings(&self) -> &[String] {
        &self.extra_warnings
    }

    /// The environment with the variables of the settings. They do not move our own folders: settings
    /// that are found by a folder must not say where it is.
    pub fn overlay_environment<'a>(&'a self, lookup: &'a impl EnvLookup) -> impl EnvLookup + 'a {
        let variables = self.loaded.settings.env.as_ref();
        move |name: &str| {
            let own =
                variables.filter(|_| !is_directory_variable(name)).and_then(|all| all.get(name));
            own.map(|value| OsString::from(value.to_string())).or_else(|| lookup(name))
        }
    }
}

fn keep_only_managed(loaded: &mut LoadedSettings) {
    loaded.hooks.retain(|one| one.source == SettingsSource::Managed);
    loaded.mcp_servers.layers.retain(|one| one.source == SettingsSource::Managed);
}

/// What to read, by the flags and the environment.
pub fn build_load_request(
    options: &SettingsOptions,
    cwd: &Path,
    lookup: &impl EnvLookup,
) -> Result<SettingsRequest, CommandError> {
    let sources = match options.setting_sources.as_deref().map(EnabledSources::parse) {
        None => EnabledSources::default(),
        Some(Ok(sources)) => sources,
        Some(Err(word)) => {
            return Err(CommandError::usage(format!(
                "--setting-sources: there is no source `{word}`; give a list of user, project, local"
            )));
        }
    };
    let root = options.resolve_project_root(cwd);
    if !root.is_dir() {
        return Err(CommandError::usage(format!(
            "--project-config-root {}: there is no such folder",
            root.display()
        )));
    }
    let given = options
        .settings
        .as_deref()
        .filter(|given| !given.is_empty())
        .map(CommandLineSettings::parse);
    let given = given.map(|given| match given {
        CommandLineSettings::File(path) => CommandLineSettings::File(cwd.join(path)),
        CommandLineSettings::Text(text) => CommandLineSettings::Text(text),
    });
    Ok(SettingsRequest {
        locations: locate_settings_files(lookup),
        cwd: root,
        sources,
        command_line: given,
        command_line_managed: options.managed_settings.clone().filter(|given| !given.is_empty()),
        is_trusted: options.trust_project,
        only_restricts: false,
    })
}

fn locate_settings_files(lookup: &impl EnvLookup) -> SettingsLocations {
    let claude = user_directories::claude_directory(lookup);
    SettingsLocations {
        managed: SettingsLocations::system_managed_folders(),
        user: claude.into_iter().chain(user_directories::config_directory(lookup)).collect(),
        claude_json: user_directories::claude_json_file(lookup),
        home: user_directories::home_directory(lookup),
        state: user_directories::state_directory(lookup),
    }
}

fn is_directory_variable(name: &str) -> bool {
    name == "HOME" || name == "CLAUDE_CONFIG_DIR" || name.starts_with("XDG_")
}

/// The word that clients and collectors have for a layer of settings.
pub fn settings_source_name(source: SettingsSource) -> &'static str {
    match source {
        SettingsSource::User => "userSettings",
        SettingsSource::Project => "projectSettings",
        SettingsSource::Local => "localSettings",
        SettingsSource::Flag => "flagSettings",
        SettingsSource::Managed => "policySettings",
    }
}

/// Problems that are listed one by one.
const WARNINGS_MAX: usize = 10;
