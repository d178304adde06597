//! The settings in force: what the files and the flags say together. Read once for a run; what comes of
//! it is said in `apply`.

mod apply;
pub(crate) mod live;

use std::ffi::OsString;
use std::path::Path;

use windlass_driver::HookSet;
use windlass_settings::{Given, Loaded, Places, Request, Severity, Source, Sourced, Sources, load};

use crate::args::{HeadlessArgs, SettingsArgs};
use crate::environment::Lookup;
use crate::folder;
use crate::hooks;
use crate::plugins::{self, Plugin};
use crate::refusal::Refusal;

/// The settings in force.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layers {
    /// As they were read.
    pub(crate) loaded: Loaded,
    /// Which files were wanted.
    pub(crate) sources: Sources,
    /// Plugins in force.
    pub(crate) plugins: Vec<Plugin>,
    /// What else people must know.
    more: Vec<String>,
}

impl Layers {
    /// Reads them. Only what the flags themselves got wrong is refused.
    pub(crate) fn read(
        args: &SettingsArgs,
        is_bare: bool,
        cwd: &Path,
        lookup: &impl Lookup,
    ) -> Result<Self, Refusal> {
        let mut request = request(args, cwd, lookup)?;
        request.only_restricts = is_bare || args.safe_mode;
        let mut loaded = load(&request);
        let is_given = |name: &str| {
            matches!(&request.given, Some(Given::File(path)) if path.display().to_string() == name)
                || name.starts_with("--")
        };
        let mistake = loaded
            .problems
            .iter()
            .find(|problem| problem.severity == Severity::File && is_given(&problem.name));
        if let Some(problem) = mistake {
            let what = problem.what.split("; until it is mended").next().unwrap_or_default();
            let place = problem
                .place
                .map(|place| format!(", line {}, column {}", place.line, place.column));
            let place = place.unwrap_or_default();
            return Err(Refusal::usage(format!(
                "--settings: {}{place}: {what}; give a JSON object, or a file with one",
                problem.name
            )));
        }
        if args.safe_mode {
            only_managed(&mut loaded);
        }
        let mut layers =
            Self { loaded, sources: request.sources, plugins: Vec::new(), more: Vec::new() };
        if !request.only_restricts {
            layers.enable_plugins(lookup);
        }
        Ok(layers)
    }

    /// Files were read again. Plugins and servers stay as they were.
    fn renew(&mut self, mut loaded: Loaded, args: &SettingsArgs) {
        if args.safe_mode {
            only_managed(&mut loaded);
        }
        loaded.mcp_servers = std::mem::take(&mut self.loaded.mcp_servers);
        self.loaded = loaded;
    }

    /// Plugins that settings switch on.
    fn enable_plugins(&mut self, lookup: &impl Lookup) {
        let wanted = self.loaded.settings.enabled_plugins.clone().unwrap_or_default();
        let Some(claude) = folder::claude(lookup).filter(|_| !wanted.is_empty()) else { return };
        for found in plugins::enabled(&wanted, &claude) {
            self.plug(found.and_then(|root| Plugin::read(&root)));
        }
    }

    /// Plugins that the command line names. A folder that is none is told, and left out.
    pub(crate) fn add_plugins(&mut self, args: &HeadlessArgs, cwd: &Path) {
        for root in &args.plugin_dir {
            self.plug(Plugin::read(&cwd.join(root)));
        }
        for root in &args.plugin_dir_no_mcp {
            self.plug(Plugin::read(&cwd.join(root)).map(Plugin::without_servers));
        }
    }

    fn plug(&mut self, plugin: Result<Plugin, String>) {
        let servers = plugin.and_then(|plugin| Ok((plugin.servers()?, plugin)));
        match servers {
            Ok((_, plugin)) if self.plugins.iter().any(|known| known.name == plugin.name) => {}
            Ok((servers, plugin)) => {
                if !servers.is_empty() {
                    let name = plugin.root.join(".mcp.json").display().to_string();
                    // Whatever anybody else says of a server of this name counts more.
                    let servers = Sourced { source: Source::User, name, value: servers };
                    self.loaded.mcp_servers.insert(0, servers);
                }
                self.plugins.push(plugin);
            }
            Err(problem) => self.more.push(format!("{problem}; the plugin is left out")),
        }
    }

    /// May pages of people's own and plugins bring hooks along, besides settings?
    pub(crate) fn lets_others_hook(&self) -> bool {
        let settings = &self.loaded.settings;
        settings.disable_all_hooks != Some(true) && settings.allow_managed_hooks_only != Some(true)
    }

    /// Something else that people must know.
    pub(crate) fn warn(&mut self, words: String) {
        self.more.push(words);
    }

    /// The hooks that may run; what is wrong with others is warned of from now on.
    pub(crate) fn hooks(&mut self) -> HookSet {
        let (set, problems) = hooks::configured(self);
        self.more.extend(problems);
        set
    }

    /// One line each for what is wrong and what was left out.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let problems = &self.loaded.problems;
        let mut lines: Vec<String> =
            problems.iter().take(WARNINGS_MAX).map(ToString::to_string).collect();
        if let Some(rest) = problems.len().checked_sub(WARNINGS_MAX).filter(|rest| *rest > 0) {
            lines.push(format!("{rest} more problems in settings; see `windlass doctor`"));
        }
        lines.extend(self.more.iter().cloned());
        lines.extend(self.loaded.trust.warning());
        lines
    }

    /// What else people must know.
    pub(crate) fn more(&self) -> &[String] {
        &self.more
    }

    /// The environment with the variables of the settings. They do not move our own folders: settings
    /// that are found by a folder must not say where it is.
    pub(crate) fn over<'a>(&'a self, lookup: &'a impl Lookup) -> impl Lookup + 'a {
        let variables = self.loaded.settings.env.as_ref();
        move |name: &str| {
            let own = variables.filter(|_| !is_folder(name)).and_then(|all| all.get(name));
            own.map(|value| OsString::from(value.to_string())).or_else(|| lookup(name))
        }
    }
}

/// Leaves out what was customised.
fn only_managed(loaded: &mut Loaded) {
    loaded.hooks.retain(|one| one.source == Source::Managed);
    loaded.mcp_servers.retain(|one| one.source == Source::Managed);
}

/// What to read, by the flags and the environment.
pub(crate) fn request(
    args: &SettingsArgs,
    cwd: &Path,
    lookup: &impl Lookup,
) -> Result<Request, Refusal> {
    let sources = match args.setting_sources.as_deref().map(Sources::parse) {
        None => Sources::default(),
        Some(Ok(sources)) => sources,
        Some(Err(word)) => {
            return Err(Refusal::usage(format!(
                "--setting-sources: there is no source `{word}`; give a list of user, project, local"
            )));
        }
    };
    let root = args.root(cwd);
    if !root.is_dir() {
        return Err(Refusal::usage(format!(
            "--project-config-root {}: there is no such folder",
            root.display()
        )));
    }
    let given = args.settings.as_deref().filter(|given| !given.is_empty()).map(Given::parse);
    let given = given.map(|given| match given {
        Given::File(path) => Given::File(cwd.join(path)),
        text => text,
    });
    Ok(Request {
        places: places(lookup),
        cwd: root,
        sources,
        given,
        given_managed: args.managed_settings.clone().filter(|given| !given.is_empty()),
        is_trusted: args.trust_project,
        only_restricts: false,
    })
}

fn places(lookup: &impl Lookup) -> Places {
    let claude = folder::claude(lookup);
    let claude_json = match lookup("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty()) {
        Some(_) => claude.as_ref().map(|folder| folder.join(".claude.json")),
        None => folder::home(lookup).map(|home| home.join(".claude.json")),
    };
    Places {
        managed: Places::managed_here(),
        user: claude.into_iter().chain(folder::config(lookup)).collect(),
        claude_json,
        home: folder::home(lookup),
        state: folder::state(lookup),
    }
}

fn is_folder(name: &str) -> bool {
    name == "HOME" || name == "CLAUDE_CONFIG_DIR" || name.starts_with("XDG_")
}

/// Problems that are told one by one.
const WARNINGS_MAX: usize = 10;
