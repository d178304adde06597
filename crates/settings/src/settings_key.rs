//! What is known of each key besides its type: whether anything comes of it here, and what a project
//! may say by it before the user trusted it.
//!
//! A key that is not listed as harmless waits for trust, so a new key is withheld by default.

use serde_json::{Map, Value};

use crate::settings::{
    AfterRunSettings, Attribution, PermissionSettings, SandboxFilesystemSettings,
    SandboxNetworkSettings, SandboxSettings, SettingsFile,
};

/// The keys below a pointer; `None` where anything may stand.
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

/// Is this a key, with dots, that others know and that has no meaning here?
pub(crate) fn is_foreign_key(key: &str) -> bool {
    ELSEWHERE.contains(&key)
}

/// Does something come of this key, with dots, or of what it is in?
pub(crate) fn has_effect(key: &str) -> bool {
    let is_idle = |idle: &&str| {
        key == *idle || key.strip_prefix(*idle).is_some_and(|rest| rest.starts_with('.'))
    };
    !IDLE.iter().chain(IDLE_INSIDE).any(is_idle)
}

pub(crate) fn is_used(key: &str) -> bool {
    !IDLE.contains(&key)
}

/// May a project say this before it is trusted? `permissions` is judged on its own.
pub(crate) fn is_harmless(key: &str, value: &Value) -> bool {
    match key {
        "model" => value.as_str().is_some_and(is_usual_model),
        "disableSkillShellExecution" => value == &Value::Bool(true),
        // Both become a part of what the model is told with authority.
        "outputStyle" => value.as_str().is_some_and(|name| OUTPUT_STYLES.contains(&name)),
        "language" => value.as_str().is_some_and(is_language),
        _ => HARMLESS.contains(&key),
    }
}

/// A model of the usual family: naming it sends nothing elsewhere.
fn is_usual_model(name: &str) -> bool {
    let short = ["opus", "sonnet", "haiku", "fable", "default"];
    short.contains(&name) || (name.starts_with("claude-") && !name.contains('/'))
}

/// What a project may say about the sandbox before it is trusted: only what holds more.
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

/// Styles that come with the program.
const OUTPUT_STYLES: &[&str] = &["default", "Concise", "Explanatory", "Learning", "Proactive"];

/// The name of a language and nothing else.
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

/// Nothing runs, nothing is granted and nothing goes elsewhere because of these.
const HARMLESS: &[&str] = &[
    "$schema",
    "effortLevel",
    "alwaysThinkingEnabled",
    "includeCoAuthoredBy",
    "attribution",
    "disabledMcpjsonServers",
    "autoCompactEnabled",
    "autoCompactWindow",
    "respectGitignore",
    "theme",
    "preferredNotifChannel",
];

/// Known, and without effect here: for editors, or about what Windlass does not do. Nothing is added to
/// commits, there are no marketplaces, plans are no files, and files are offered as git sees them.
const IDLE: &[&str] = &[
    "$schema",
    "attribution",
    "includeCoAuthoredBy",
    "extraKnownMarketplaces",
    "respectGitignore",
    "plansDirectory",
];

/// The same for keys inside of others: the sandbox brings its own proxy, always holds files, lets
/// commands listen among themselves, and makes do with nothing less inside a container.
const IDLE_INSIDE: &[&str] = &[
    "statusLine.padding",
    "sandbox.network.allowLocalBinding",
    "sandbox.network.httpProxyPort",
    "sandbox.network.socksProxyPort",
    "sandbox.filesystem.disabled",
    "sandbox.enableWeakerNestedSandbox",
];

/// Keys of other programs that share these files, with dots. They cause no warning.
const ELSEWHERE: &[&str] = &[
    "advisorModel",
    "agent",
    "agentPushNotifEnabled",
    "allowAllClaudeAiMcps",
    "allowManagedMcpServersOnly",
    "allowedChannelPlugins",
    "allowedMcpServers",
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
    "deniedMcpServers",
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
    "sandbox.filesystem.allowManagedReadPathsOnly",
    "sandbox.network.allowAllUnixSockets",
    "sandbox.network.allowMachLookup",
    "sandbox.network.allowManagedDomainsOnly",
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
        assert!(has_effect("sandbox.enabled") && has_effect("env.THEME"));
        assert!(!has_effect("sandbox.network.httpProxyPort") && !has_effect("attribution.commit"));
    }
}
