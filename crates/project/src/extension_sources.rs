//! Which files of the user, the project and plugins may be read, and what they may bring along.

use windlass_settings::EnabledSources;

use crate::plugins::Plugin;

/// What the settings in force say about files that extend a session.
#[derive(Clone, Copy, Debug)]
pub struct ExtensionSources<'a> {
    /// The settings layers whose folders count.
    pub enabled: EnabledSources,
    pub plugins: &'a [Plugin],
    /// The user trusts this project, as its files are now.
    pub trusts_project: bool,
    /// Files other than settings may bring hooks.
    pub allows_hooks: bool,
}
