//! Reloads settings files that change during a session. They are checked between prompts, never
//! during a run, and their content needs the same trust as at the start.
//!
//! What takes effect is what may run: rules, directories, the ban on the bypass mode, and hooks.
//! Models, effort, style, variables, servers, plugins and the sandbox stay as they were when the session
//! began.

use std::path::{Path, PathBuf};

use windlass_driver::{ConfigChange, ConfigChangeSource, HookSet, Session, SettingsChange};
use windlass_permission::{Policy, Rule, Rules};
use windlass_settings::{
    LoadedSettings, SettingsFileChanged, SettingsRequest, SettingsSource, SettingsWatcher,
};
use windlass_vocabulary::PermissionMode;

use super::{SettingsLayers, build_load_request};
use crate::options::{RunOptions, SettingsOptions};
use windlass_host::environment::{EnvLookup, process_environment};

/// Reloads the settings files of a session when they change.
#[derive(Clone, Debug)]
pub struct SettingsReloader {
    /// Which files count, by the command line.
    pub options: SettingsOptions,
    cwd: PathBuf,
    is_bare: bool,
    watch: SettingsWatcher,
    /// The rules of the command line, independent of files.
    flag_rules: Rules,
    /// The additional directories of the command line, independent of files.
    flag_directories: Vec<PathBuf>,
    pub layers: SettingsLayers,
    /// The hooks in force: those of the session itself, so that one can be switched off.
    pub hooks: HookSet,
}

#[derive(Clone, Debug)]
pub struct PolicyChange {
    flag_rules: Rules,
    flag_directories: Vec<PathBuf>,
    before: SettingsLayers,
    now: SettingsLayers,
}

impl PolicyChange {
    /// Replaces the rules of the old settings by those of the new; rules of the command line stay.
    pub fn apply(&self, policy: &mut Policy) {
        let Self { flag_rules: flags, flag_directories: directories, before, now } = self;
        replace_rules(&mut policy.rules, flags, &before.loaded.rules, &now.loaded.rules);
        replace_directories(policy, directories, &before.loaded, &now.loaded);
        now.enforce_managed_rules(policy, PermissionMode::Default);
    }
}

#[derive(Clone, Debug, Default)]
pub struct ReloadOutcome {
    /// What changed in what may run, if something was read.
    pub change: Option<PolicyChange>,
    pub files: Vec<PathBuf>,
    /// Messages for the user.
    pub lines: Vec<String>,
}

impl SettingsReloader {
    /// From the settings at the start.
    pub fn new(
        options: &RunOptions,
        cwd: &Path,
        layers: &mut SettingsLayers,
        lookup: &impl EnvLookup,
    ) -> Self {
        let given = &options.permission;
        // What is wrong with flags was refused before.
        let flags =
            |rules: &[String]| crate::tool_selection::parse_rules(rules).unwrap_or_default();
        let allow = flags(&given.allowed_tools);
        let deny = flags(&given.disallowed_tools);
        let directories = given.add_dir.iter().filter_map(|path| path.canonicalize().ok());
        let mut reloader = Self {
            options: options.settings.clone(),
            cwd: cwd.to_owned(),
            is_bare: options.bare,
            watch: SettingsWatcher::default(),
            flag_rules: Rules { allow, deny, ..Rules::default() },
            flag_directories: directories.collect(),
            hooks: layers.load_hooks(),
            layers: layers.clone(),
        };
        if let Some(request) = reloader.load_request(lookup) {
            reloader.watch = SettingsWatcher::new(&request, &layers.loaded);
        }
        reloader
    }

    /// What to load; `None` if the working directory was deleted.
    fn load_request(&self, lookup: &impl EnvLookup) -> Option<SettingsRequest> {
        let mut request = build_load_request(&self.options, &self.cwd, lookup).ok()?;
        request.only_restricts = self.is_bare || self.options.safe_mode;
        Some(request)
    }

    /// Is there anything new? A handful of looks at the file system.
    pub fn is_stale(&self, lookup: &impl EnvLookup) -> bool {
        self.load_request(lookup).is_some_and(|request| self.watch.is_stale(&request))
    }

    /// Applies changes to the session, unless a hook blocks them. `own` are hooks that do not come
    /// from files. Returns messages about the change; empty if nothing changed.
    pub async fn reload_changed(
        &mut self,
        session: &Session,
        own: Option<HookSet>,
    ) -> ReloadOutcome {
        let environment = process_environment;
        let Some(request) = self.load_request(&environment) else {
            return ReloadOutcome::default();
        };
        if !self.watch.is_stale(&request) {
            return ReloadOutcome::default();
        }
        let changed = self.watch.find_changed_files(&request);
        let mut refused = Vec::new();
        let mut lines = Vec::new();
        for SettingsFileChanged { source, path } in &changed {
            let change = ConfigChange { source: to_change_source(*source), file: path.clone() };
            if let Err(why) = session.report_config_change(change).await {
                let place = path.display();
                lines.push(format!(
                    "{place}: a hook refused the change, so it is not applied: {why}"
                ));
                refused.push(path.clone());
            }
        }
        let mut watch = std::mem::take(&mut self.watch);
        let once = request.clone();
        let not = refused.clone();
        let read = tokio::task::spawn_blocking(move || {
            let read = watch.reload(&once, &not);
            (watch, read)
        });
        let Ok((watch, (loaded, broken))) = read.await else { return ReloadOutcome::default() };
        self.watch = watch;
        lines.extend(broken);
        let before = self.layers.clone();
        self.layers.replace_loaded(loaded, &self.options);
        let (hooks, problems) = self.layers.read_hooks();
        self.hooks = hooks.with_previous_state(&self.hooks);
        let hooks = self.hooks.clone().join(own.unwrap_or_default());
        let known = before.warnings();
        let all = self.layers.warnings().into_iter().chain(problems);
        lines.extend(all.filter(|line| !known.contains(line)));
        let flags = self.flag_rules.clone();
        let directories = self.flag_directories.clone();
        let change = PolicyChange {
            flag_rules: flags,
            flag_directories: directories,
            before,
            now: self.layers.clone(),
        };
        let applied = change.clone();
        // An error means that the session is over, which the front end hears of next.
        let _ = session.replace_hooks(hooks);
        let _ = session.configure([SettingsChange::policy(move |policy| applied.apply(policy))]);
        let files = changed.into_iter().map(|file| file.path);
        let files = files.filter(|path| !refused.contains(path)).collect();
        ReloadOutcome { change: Some(change), files, lines }
    }
}

fn replace_rules(rules: &mut Rules, flags: &Rules, before: &Rules, now: &Rules) {
    for (list, flags, before, now) in [
        (&mut rules.allow, &flags.allow, &before.allow, &now.allow),
        (&mut rules.ask, &flags.ask, &before.ask, &now.ask),
        (&mut rules.deny, &flags.deny, &before.deny, &now.deny),
    ] {
        let stays =
            |rule: &Rule| !before.contains(rule) || now.contains(rule) || flags.contains(rule);
        list.retain(stays);
        let fresh: Vec<Rule> = now.iter().filter(|rule| !list.contains(rule)).cloned().collect();
        list.extend(fresh);
    }
}

/// The same for directories, of which those that are there count.
fn replace_directories(
    policy: &mut Policy,
    own: &[PathBuf],
    before: &LoadedSettings,
    now: &LoadedSettings,
) {
    let real = |loaded: &LoadedSettings| -> Vec<String> {
        let all = loaded.directories.iter().filter_map(|one| one.value.canonicalize().ok());
        let all = all.filter(|path| path.is_dir() && !own.contains(path));
        all.map(|path| path.to_string_lossy().into_owned()).collect()
    };
    let before = real(before);
    let now = real(now);
    let mut place = 0;
    policy.directories.retain(|directory| {
        place += 1;
        // The first is where we are.
        place == 1 || !before.contains(directory) || now.contains(directory)
    });
    let fresh = now.into_iter().filter(|path| !policy.directories.contains(path));
    let fresh: Vec<String> = fresh.collect();
    policy.directories.extend(fresh);
}

/// The name of a layer in hook input. A file of the command line counts as the user's.
fn to_change_source(source: SettingsSource) -> ConfigChangeSource {
    match source {
        SettingsSource::User => ConfigChangeSource::User,
        SettingsSource::Project => ConfigChangeSource::Project,
        SettingsSource::Local | SettingsSource::Flag => ConfigChangeSource::Local,
        SettingsSource::Managed => ConfigChangeSource::Policy,
    }
}
