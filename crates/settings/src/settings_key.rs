//! Properties of keys besides their type: whether Windlass uses them, and whether a project may set
//! them before it is trusted.
//!
//! A key that is not listed as harmless needs trust, so a new key is withheld by default.

use serde_json::{Map, Value};

use crate::settings::{
    AfterRunSettings, Attribution, PermissionSettings, SandboxFilesystemSettings,
    SandboxNetworkSettings, SandboxSettings, SettingsFile,
};

/// The keys below a pointer; `None` where any key is allowed.
pub(crate) fn known_keys(pointer: &str) -> Option<Vec<String>> {
    let keys = match pointer {
        "" => serialized_keys(&SettingsFile::default()),
        "/permissions" => serialized_keys(&PermissionSettings::default()),
        "/sandbox" => serialized_keys(&SandboxSettings::default()),
        "/sandbox/network" => serialized_keys(&SandboxNetworkSettings::default()),
        "/sandbox/filesystem" => serialized_keys(&SandboxFilesystemSettings::default()),
        "/attribution" => serialized_keys(&Attribution::default()),
        "/afterRun" => serialized_keys(&AfterRunSettings::default()),
        _ => return None,
    };
    Some(keys)
}

fn serialized_keys(settings: &impl serde::Serialize) -> Vec<String> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(map)) => map.into_iter().map(|(key, _)| key).collect(),
        _ => Vec::new(),
    }
}

/// Is this a known key, in dotted notation, of another program?
pub(crate) fn is_foreign_key(key: &str) -> bool {
    ELSEWHERE.contains(&key)
}

/// Keys with which administrators restrict other programs, in dotted notation, and which restrict
/// nothing here. What they restrict may exist here in another form, so their author is told.
pub(crate) const RESTRICTIONS_WITHOUT_EFFECT: &[&str] = &[
    "allowedChannelPlugins",
    "blockedMarketplaces",
    "disableAutoMode",
    "disableBundledSkills",
    "disableRemoteControl",
    "disableWorkflows",
    "enforceAvailableModels",
    "forceLoginMethod",
    "forceLoginOrgUUID",
    "forceRemoteSettingsRefresh",
    "permissions.disableAutoMode",
    "policyHelper",
    "requiredMaximumVersion",
    "requiredMinimumVersion",
    "sandbox.credentials",
    "sshHostAllowlist",
    "strictKnownMarketplaces",
    "strictPluginOnlyCustomization",
];

/// Is this key, in dotted notation, or a parent of it used?
pub(crate) fn has_effect(key: &str) -> bool {
    let is_idle = |idle: &&str| {
        key == *idle || key.strip_prefix(*idle).is_some_and(|rest| rest.starts_with('.'))
    };
    !IDLE.iter().chain(IDLE_INSIDE).any(is_idle)
}

pub(crate) fn is_used(key: &str) -> bool {
    !IDLE.contains(&key)
}

/// May a project set this before it is trusted? `permissions` is checked separately.
pub(crate) fn is_harmless(key: &str, value: &Value) -> bool {
    match key {
        "model" => value.as_str().is_some_and(is_usual_model),
        "disableSkillShellExecution" => value == &Value::Bool(true),
        // Both become part of the system prompt.
        "outputStyle" => value.as_str().is_some_and(|name| OUTPUT_STYLES.contains(&name)),
        "language" => value.as_str().is_some_and(is_language),
        _ => HARMLESS.contains(&key),
    }
}

/// An alias of the provider's own models: using it sends no data elsewhere.
fn is_usual_model(name: &str) -> bool {
    let short = ["opus", "sonnet", "haiku", "fable", "default"];
    short.contains(&name) || (name.starts_with("claude-") && !name.contains('/'))
}

/// The sandbox settings a project may set before it is trusted: only those that restrict more.
pub(crate) fn keep_restricting_sandbox_keys(sandbox: &Map<String, Value>) -> Map<String, Value> {
    let mut retained = Map::new();
    for key in ["enabled", "failIfUnavailable"] {
        if sandbox.get(key) == Some(&Value::Bool(true)) {
            retained.insert(key.to_owned(), Value::Bool(true));
        }
    }
    for (part, keys) in
        [("network", &["deniedDomains"][..]), ("filesystem", &["denyWrite", "denyRead"][..])]
    {
        let Some(Value::Object(found)) = sandbox.get(part) else { continue };
        let found = found.iter().filter(|(key, _)| keys.contains(&key.as_str()));
        let found: Map<String, Value> = found.map(|(k, v)| (k.clone(), v.clone())).collect();
        if !found.is_empty() {
            retained.insert(part.to_owned(), Value::Object(found));
        }
    }
    for key in ["autoAllowBashIfSandboxed", "allowUnsandboxedCommands"] {
        if sandbox.get(key) == Some(&Value::Bool(false)) {
            retained.insert(key.to_owned(), Value::Bool(false));
        }
    }
    retained
}

/// The built-in output styles.
const OUTPUT_STYLES: &[&str] = &["default", "Concise", "Explanatory", "Learning", "Proactive"];

/// Is this only the name of a language?
fn is_language(text: &str) -> bool {
    LANGUAGES.iter().any(|known| known.eq_ignore_ascii_case(text.trim()))
}

const LANGUAGES: &[&str] = &[
    "Afrikaans",
    "Albanian",
    "Arabic",
    "Armenian",
    "Basque",
    "Belarusian",
    "Bengali",
    "Bosnian",
    "Bulgarian",
    "Catalan",
    "Chinese",
    "Croatian",
    "Czech",
    "Danish",
    "Dutch",
    "English",
    "Estonian",
    "Finnish",
    "French",
    "Galician",
    "Georgian",
    "German",
    "Greek",
    "Gujarati",
    "Hebrew",
    "Hindi",
    "Hungarian",
    "Icelandic",
    "Indonesian",
    "Irish",
    "Italian",
    "Japanese",
    "Kannada",
    "Kazakh",
    "Korean",
    "Latvian",
    "Lithuanian",
    "Macedonian",
    "Malay",
    "Malayalam",
    "Marathi",
    "Nepali",
    "Norwegian",
    "Persian",
    "Polish",
    "Portuguese",
    "Punjabi",
    "Romanian",
    "Russian",
    "Serbian",
    "Sinhala",
    "Slovak",
    "Slovenian",
    "Spanish",
    "Swahili",
    "Swedish",
    "Tamil",
    "Telugu",
    "Thai",
    "Turkish",
    "Ukrainian",
    "Urdu",
    "Vietnamese",
    "Welsh",
    "Brazilian Portuguese",
    "Simplified Chinese",
    "Traditional Chinese",
    "British English",
    "American English",
    "Deutsch",
    "Español",
    "Français",
    "Italiano",
    "Português",
    "Русский",
    "Українська",
    "日本語",
    "中文",
    "한국어",
    "ar",
    "cs",
    "da",
    "de",
    "el",
    "en",
    "es",
    "et",
    "fi",
    "fr",
    "he",
    "hi",
    "hr",
    "hu",
    "id",
    "it",
    "ja",
    "ko",
    "lt",
    "lv",
    "nl",
    "no",
    "pl",
    "pt",
    "ro",
    "ru",
    "sk",
    "sl",
    "sv",
    "th",
    "tr",
    "uk",
    "vi",
    "zh",
];

/// Keys that cannot run, permit or redirect anything.
const HARMLESS: &[&str] = &[
    "$schema",
    "effortLevel",
    "alwaysThinkingEnabled",
    "includeCoAuthoredBy",
    "attribution",
    "disabledMcpjsonServers",
    "deniedMcpServers",
    "allowedMcpServers",
    "autoCompactEnabled",
    "autoCompactWindow",
    "respectGitignore",
    "theme",
    "preferredNotifChannel",
];

/// Known but unused: they concern editors or features that Windlass lacks. Nothing is added to
/// commits, there are no marketplaces, plans are not files, and git decides which files are
/// suggested.
const IDLE: &[&str] = &[
    "$schema",
    "attribution",
    "includeCoAuthoredBy",
    "extraKnownMarketplaces",
    "respectGitignore",
    "plansDirectory",
];

/// The same for nested keys: the sandbox has its own proxy, always restricts files, lets commands
/// listen only among themselves, and has no weaker variant for containers.
const IDLE_INSIDE: &[&str] = &[
    "statusLine.padding",
    "sandbox.network.allowLocalBinding",
    "sandbox.network.httpProxyPort",
    "sandbox.network.socksProxyPort",
    "sandbox.filesystem.disabled",
    "sandbox.enableWeakerNestedSandbox",
];

/// Keys of other programs that share these files, in dotted notation. They cause no warning.
const ELSEWHERE: &[&str] = &[
    "advisorModel",
    "agent",
    "agentPushNotifEnabled",
    "allowAllClaudeAiMcps",
    "allowManagedMcpServersOnly",
    "allowedChannelPlugins",
    "attribution.sessionUrl",
    "autoMode",
    "autoScrollEnabled",
    "autoUpdatesChannel",
    "awaySummaryEnabled",
    "awsAuthRefresh",
    "awsCredentialExport",
    "axScreenReader",
    "blockedMarketplaces",
    "channelsEnabled",
    "claudeMd",
    "companyAnnouncements",
    "crossSessionInbound",
    "defaultShell",
    "disableAgentView",
    "disableArtifact",
    "disableAutoMode",
    "disableBundledSkills",
    "disableClaudeAiConnectors",
    "disableDeepLinkRegistration",
    "disableRemoteControl",
    "disableWorkflows",
    "editorMode",
    "enforceAvailableModels",
    "fastMode",
    "fastModePerSessionOptIn",
    "feedbackSurveyRate",
    "fileSuggestion",
    "footerLinksRegexes",
    "forceLoginMethod",
    "forceLoginOrgUUID",
    "forceRemoteSettingsRefresh",
    "gcpAuthRefresh",
    "includeGitInstructions",
    "inputNeededNotifEnabled",
    "leftArrowOpensAgents",
    "managedMcpServers",
    "minimumVersion",
    "modelOverrides",
    "parentSettingsBehavior",
    "permissions.disableAutoMode",
    "pluginConfigs",
    "pluginSuggestionMarketplaces",
    "pluginTrustMessage",
    "policyHelper",
    "prUrlTemplate",
    "prefersReducedMotion",
    "remoteControlAtStartup",
    "requiredMaximumVersion",
    "requiredMinimumVersion",
    "respondToBashCommands",
    "sandbox.allowAppleEvents",
    "sandbox.bwrapPath",
    "sandbox.credentials",
    "sandbox.enableWeakerNetworkIsolation",
    "sandbox.network.allowAllUnixSockets",
    "sandbox.network.allowMachLookup",
    "sandbox.ripgrep",
    "sandbox.socatPath",
    "showClearContextOnPlanAccept",
    "showThinkingSummaries",
    "showTurnDuration",
    "skillListingBudgetFraction",
    "skillListingMaxDescChars",
    "skillOverrides",
    "skipDangerousModePermissionPrompt",
    "skipWebFetchPreflight",
    "skippedMarketplaces",
    "skippedPlugins",
    "spinnerTipsEnabled",
    "spinnerTipsOverride",
    "spinnerVerbs",
    "sshConfigs",
    "sshHostAllowlist",
    "strictKnownMarketplaces",
    "strictPluginOnlyCustomization",
    "subagentStatusLine",
    "syntaxHighlightingDisabled",
    "teammateMode",
    "terminalProgressBarEnabled",
    "tui",
    "useAutoModeDuringPlan",
    "verbose",
    "viewMode",
    "voice",
    "voiceEnabled",
    "wheelScrollAccelerationEnabled",
    "workflowKeywordTriggerEnabled",
    "worktree",
    "wslInheritsWindowsSettings",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_name_keys_that_are_there_and_others_that_are_not() {
        let known = known_keys("").unwrap();
        for key in HARMLESS.iter().chain(IDLE) {
            assert!(known.iter().any(|one| one == key), "{key}");
        }
        let mut idle: Vec<&str> = IDLE.to_vec();
        idle.sort_unstable();
        assert_eq!(idle, serialized_keys(&crate::settings::UnusedSettings::default()));
        for key in ELSEWHERE {
            assert!(!known.iter().any(|one| one == key), "{key}");
        }
        for key in RESTRICTIONS_WITHOUT_EFFECT {
            assert!(is_foreign_key(key), "{key}");
        }
        assert!(has_effect("sandbox.enabled") && has_effect("env.THEME"));
        assert!(!has_effect("sandbox.network.httpProxyPort") && !has_effect("attribution.commit"));
    }
}
