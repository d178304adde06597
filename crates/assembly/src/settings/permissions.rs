//! Working directories, rules and the permission mode.

use std::path::PathBuf;

use windlass_permission::Policy;
use windlass_vocabulary::PermissionMode;

use super::SettingsLayers;
use crate::options::PermissionOptions;
use windlass_host::command_error::CommandError;

impl SettingsLayers {
    /// Adds the directories of the settings. One that does not exist is left out with a warning.
    pub fn add_directories(&mut self, mut given: Vec<PathBuf>) -> Vec<PathBuf> {
        for one in &self.loaded.directories {
            match one.value.canonicalize().ok().filter(|path| path.is_dir()) {
                Some(path) if given.contains(&path) => {}
                Some(path) => given.push(path),
                None => self.extra_warnings.push(format!(
                    "{}: the directory {} does not exist and is ignored",
                    one.name,
                    one.value.display()
                )),
            }
        }
        given
    }

    /// Adds the rules, and sets the mode unless a flag does.
    pub(crate) fn apply_permissions(
        &self,
        policy: &mut Policy,
        options: &PermissionOptions,
    ) -> Result<(), CommandError> {
        let loaded = &self.loaded;
        let has_flag = options.permission_mode.is_some() || options.dangerously_skip_permissions;
        if let Some(mode) = loaded.mode.filter(|_| !has_flag) {
            policy.mode = mode;
        }
        if loaded.forbids_bypass && policy.mode == PermissionMode::BypassPermissions {
            let place =
                loaded.files.iter().rfind(|file| file.keys.iter().any(|k| k == "permissions"));
            let place = place.map_or("settings", |file| file.name.as_str());
            return Err(CommandError::usage(format!(
                "{place} forbids bypassing permissions (disableBypassPermissionsMode); choose \
                 another \
                 --permission-mode, and allow what you need with --allowedTools"
            )));
        }
        policy.rules.deny.extend(loaded.rules.deny.iter().cloned());
        policy.rules.ask.extend(loaded.rules.ask.iter().cloned());
        policy.rules.allow.extend(loaded.rules.allow.iter().cloned());
        Ok(())
    }

    /// Puts back what may not be taken away: managed rules, and the mode if the new one is forbidden.
    pub fn enforce_managed_rules(&self, policy: &mut Policy, mode_before: PermissionMode) {
        let managed = &self.loaded.managed;
        for (list, required) in
            [(&mut policy.rules.deny, &managed.deny), (&mut policy.rules.ask, &managed.ask)]
        {
            let missing = required.iter().filter(|rule| !list.contains(rule));
            let missing: Vec<_> = missing.cloned().collect();
            list.extend(missing);
        }
        if self.loaded.forbids_bypass && policy.mode == PermissionMode::BypassPermissions {
            policy.mode = mode_before;
        }
    }

    /// Does the user trust the project, as its files are now?
    pub fn trusts_project(&self) -> bool {
        self.loaded.trust.is_given()
    }
}
