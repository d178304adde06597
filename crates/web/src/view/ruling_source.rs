//! Finds a permission rule's file and line in the project's current settings.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_assembly::options::SettingsOptions;
use windlass_assembly::settings::SettingsLayers;
use windlass_host::environment::process_environment;

use crate::viewer::Viewer;

/// Cached settings of the projects shown so far.
#[derive(Default)]
pub(crate) struct ProjectSettingsCache(Mutex<Vec<(String, Option<Arc<SettingsLayers>>)>>);

impl ProjectSettingsCache {
    fn load(&self, project: &str) -> Option<Arc<SettingsLayers>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, layers)) = known.iter().find(|(own, _)| own == project) {
            return layers.clone();
        }
        let layers = SettingsLayers::load(
            &shown_settings(),
            false,
            Path::new(project),
            &process_environment,
        );
        let layers = layers.ok().map(Arc::new);
        if known.len() >= PROJECTS_MAX {
            known.remove(0);
        }
        known.push((project.to_owned(), layers.clone()));
        layers
    }
}

pub(crate) struct RuleSources<'a> {
    cache: &'a ProjectSettingsCache,
    project: Option<&'a str>,
}

impl<'a> RuleSources<'a> {
    pub(crate) fn new(viewer: &'a Viewer, project: Option<&'a str>) -> Self {
        Self { cache: &viewer.project_settings, project }
    }

    /// `file:line`, if the rule still exists.
    pub(crate) fn find(&self, rule: &str) -> Option<String> {
        let layers = self.cache.load(self.project?)?;
        layers.loaded.rule_origin(rule).map(str::to_owned)
    }
}

const PROJECTS_MAX: usize = 64;

/// Includes the settings of untrusted projects: they are only shown, not used for decisions.
fn shown_settings() -> SettingsOptions {
    SettingsOptions { trust_project: true, ..SettingsOptions::default() }
}
