//! Which extension files of the user, the project and plugins are used, and what they may contain.

use windlass_settings::EnabledSources;

use crate::plugins::Plugin;

/// The settings about extension files.
#[derive(Clone, Copy, Debug)]
pub struct ExtensionSources<'a> {
    /// The settings layers whose folders are used.
    pub enabled: EnabledSources,
    pub plugins: &'a [Plugin],
    /// The user trusts the current files of this project.
    pub trusts_project: bool,
    /// Files other than settings may contain hooks.
    pub allows_hooks: bool,
}
