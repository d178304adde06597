//! How a session answers, and how long it is kept.

use std::num::NonZeroU32;
use std::time::Duration;

use windlass_driver::snapshot::SnapshotConfig;

use super::SettingsLayers;

impl SettingsLayers {
    /// The language of answers, as a line of the system context.
    pub(crate) fn build_language_context(&self) -> Option<(String, String)> {
        let named = self.loaded.settings.appearance.language.as_deref().map(str::trim)?;
        let language: String = named.chars().filter(|letter| !letter.is_control()).collect();
        let instruction = format!("answer in {language}, whatever language the question is in");
        (!language.is_empty()).then(|| ("Language".to_owned(), instruction))
    }

    pub fn output_style(&self) -> String {
        self.loaded.settings.appearance.output_style.clone().unwrap_or_else(|| "default".to_owned())
    }

    /// The output style reported to clients, even if it waits for trust and is not applied.
    pub(crate) fn requested_output_style(&self) -> String {
        let mut items = self.loaded.trust.items.iter().rev();
        let withheld =
            items.find(|item| item.key == "outputStyle").and_then(|item| item.value.as_str());
        match (&self.loaded.settings.appearance.output_style, withheld) {
            (None, Some(name)) => name.to_owned(),
            (Some(_), _) | (None, None) => self.output_style(),
        }
    }

    pub(crate) fn has_file_checkpointing(&self) -> bool {
        self.loaded.settings.storage.file_checkpointing_enabled != Some(false)
    }

    /// What the snapshots of a directory may take, and how long those of ended sessions are kept.
    pub(crate) fn limit_snapshots(&self, config: &mut SnapshotConfig) {
        let storage = &self.loaded.settings.storage;
        let megabytes = storage.snapshot_megabytes_max.map_or(SNAPSHOT_MEGABYTES, NonZeroU32::get);
        config.store_bytes_max = Some(u64::from(megabytes) << 20);
        let days = storage.snapshot_period_days.map(NonZeroU32::get);
        config.age_max = days.map(|days| Duration::from_secs(u64::from(days) * 24 * 60 * 60));
    }

    /// Days after which sessions are removed.
    pub(crate) fn cleanup_days(&self) -> Option<u32> {
        self.loaded.settings.storage.cleanup_period_days.map(NonZeroU32::get)
    }
}

/// What the snapshots of one directory may take, unless settings say otherwise.
const SNAPSHOT_MEGABYTES: u32 = 2_048;
