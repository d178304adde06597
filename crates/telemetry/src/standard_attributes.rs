//! Attributes common to all metrics and events, and those of the resource.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use serde_json::Value;
use windlass_host::random::generate_uuid;
use windlass_host::regular_file::read_or_skip;

use crate::config::TelemetryConfig;
use crate::names;
use crate::record::{AttributeValue, Attributes};
use crate::wire::otlp_messages::OtlpRequestHead;

#[derive(Debug)]
pub(crate) struct StandardAttributes {
    pub(crate) head: OtlpRequestHead,
    pub(crate) of_events: Attributes,
    pub(crate) of_metrics: Attributes,
}

impl StandardAttributes {
    /// Reads files, so it is called on the exporter's thread.
    pub(crate) fn gather(config: &TelemetryConfig) -> Self {
        let process = &config.process;
        let labels = &config.labels;
        let user = process.user_id_files.as_ref().and_then(|(theirs, ours)| user_id(theirs, ours));
        let common = Attributes::default()
            .optional_text("user.id", user)
            .optional_text("terminal.type", process.terminal.clone());
        let written = to_attributes(&config.resource);
        let version = Some(&process.version);
        let entrypoint = Some(&process.entrypoint).filter(|text| !text.is_empty());
        let of_events = common
            .clone()
            .optional_text("app.version", version)
            .optional_text("app.entrypoint", entrypoint);
        let mut of_metrics = common
            .optional_text("app.version", version.filter(|_| labels.version))
            .optional_text("app.entrypoint", entrypoint.filter(|_| labels.entrypoint));
        if labels.resource {
            of_metrics = written.clone().join(of_metrics);
        }
        let resource = Attributes::default()
            .text("service.name", names::SERVICE)
            .text("service.version", &process.version)
            .text("os.type", std::env::consts::OS)
            .optional_text("os.version", os_version())
            .text("host.arch", host_architecture())
            .optional_text("wsl.version", wsl_version(os_version().as_deref()))
            // The user's attributes come last, so that they override ours, such as `service.name`.
            .join(written);
        let head = OtlpRequestHead { resource, version: process.version.clone() };
        Self { head, of_events, of_metrics }
    }
}

fn to_attributes(pairs: &[(String, String)]) -> Attributes {
    let pairs = pairs
        .iter()
        .map(|(name, value)| (Cow::Owned(name.clone()), AttributeValue::Text(value.clone())));
    Attributes(pairs.collect())
}

fn os_version() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The generation of the Linux subsystem of Windows, which its kernels say in their names.
fn wsl_version(kernel: Option<&str>) -> Option<&'static str> {
    let kernel = kernel?.to_ascii_lowercase();
    match (kernel.contains("wsl2"), kernel.contains("microsoft")) {
        (true, _) => Some("2"),
        // The second generation had `microsoft-standard` before it had its own name.
        (false, true) if kernel.contains("microsoft-standard") => Some("2"),
        (false, true) => Some("1"),
        (false, false) => None,
    }
}

/// In the spelling of OpenTelemetry's conventions.
fn host_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// A stable random id of the user: the reference CLI's, or our own.
fn user_id(theirs: &Path, ours: &Path) -> Option<String> {
    let known = read_or_skip(theirs, THEIR_BYTES_MAX)
        .and_then(|text| serde_json::from_str::<Value>(&text).ok())
        .and_then(|file| file.get("userID").and_then(Value::as_str).map(str::to_owned));
    if let Some(known) = known.filter(|known| !known.is_empty()) {
        return Some(known);
    }
    let own = read_or_skip(ours, OWN_BYTES_MAX).map(|text| text.trim().to_owned());
    if let Some(own) = own.filter(|own| !own.is_empty()) {
        return Some(own);
    }
    let new = generate_uuid();
    let _ = ours.parent().map(fs::create_dir_all);
    // `None` if it cannot be stored: a new id per run would count the user repeatedly.
    fs::write(ours, format!("{new}\n")).ok().map(|()| new)
}

const THEIR_BYTES_MAX: u64 = 16 << 20;
const OWN_BYTES_MAX: u64 = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subsystem_is_known_by_its_kernel() {
        for (kernel, version) in [
            ("5.15.153.1-microsoft-standard-WSL2", Some("2")),
            ("4.19.84-microsoft-standard", Some("2")),
            ("4.4.0-19041-Microsoft", Some("1")),
            ("6.1.0-18-amd64", None),
        ] {
            assert_eq!(wsl_version(Some(kernel)), version, "{kernel}");
        }
        assert_eq!(wsl_version(None), None);
    }
}
