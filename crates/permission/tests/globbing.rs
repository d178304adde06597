//! What bash makes of a pattern, against what rules on paths think it may become: patterns are put
//! together by chance, bash expands them in a real directory, and no pattern that became a denied
//! name may have been allowed.

use std::fs;
use std::process::{Command, Stdio};

use windlass_permission::{PermissionDecision, Policy, PriorDecision, Rule, decide};
use windlass_vocabulary::{Json, PermissionMode, ToolCall, ToolCallId, ToolInspection, ToolName};

/// The files that lie there; every other one is denied.
const NAMES: &[&str] = &[".env", "secret", "key]", "a[b", "Éa", "x-y", "env", ".e", "secrets"];

/// What patterns are made of.
const PIECES: &[&str] = &[
    "*",
    "?",
    "[e]",
    "[!x]",
    "[^x]",
    "[a-z]",
    "[[:lower:]]",
    "[[:alpha:]s]",
    "[]k]",
    "[!]]",
    "[.]",
    "[s[.-.]x]",
    "[",
    "]",
    ".",
    "e",
    "n",
    "v",
    "s",
    "ec",
    "ret",
    "key",
    "x",
    "-",
    "y",
    "É",
    "a",
    "{s,x}",
    "\\.",
    "'.'",
    "\"e\"",
    "[\\]]",
    "[[=e=]]",
];

const PATTERNS: usize = 4_000;

/// Numbers that look like chance and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap_or_default() % sides
    }

    fn pattern(&mut self) -> String {
        let length = 1 + self.below(6);
        (0..length).filter_map(|_| PIECES.get(self.below(PIECES.len())).copied()).collect()
    }
}

fn is_allowed(policy: &Policy, pattern: &str) -> bool {
    let input = serde_json::json!({ "command": format!("cat ./{pattern}") }).to_string();
    let call = ToolCall {
        id: ToolCallId::from("call"),
        name: ToolName::from("Bash"),
        input: Json::from_checked(&input),
        signature: None,
    };
    let facts = ToolInspection::EXCLUSIVE_EFFECT;
    matches!(decide(policy, call, &facts, PriorDecision::None), PermissionDecision::Allow(_))
}

#[test]
fn no_pattern_becomes_a_denied_name_unasked() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let denied: Vec<&str> = NAMES.iter().copied().step_by(2).collect();
    let mut policy =
        Policy { mode: PermissionMode::BypassPermissions, can_ask: true, ..Policy::default() };
    policy.directories = vec![folder.path().to_str().unwrap().to_owned()];
    // A bracket of a rule opens a set, as in the shell.
    let rule = |name: &&str| Rule::parse(&format!("Read(./{})", name.replace('[', "[[]")));
    policy.rules.deny = denied.iter().map(|name| rule(name).unwrap()).collect();

    let mut dice = Dice(0x2026_1115);
    let patterns: Vec<String> = (0..PATTERNS).map(|_| dice.pattern()).collect();
    let lines = patterns.iter().map(|pattern| format!("printf '%s/' ./{pattern}; echo\n"));
    let script: String = std::iter::once("shopt -s nullglob\n".to_owned()).chain(lines).collect();
    fs::write(folder.path().join("script"), script).unwrap();
    let output = Command::new("/bin/bash")
        .args(["--noprofile", "--norc", "./script"])
        .current_dir(folder.path())
        .env_clear()
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let expanded = String::from_utf8(output.stdout).unwrap();
    let expanded: Vec<&str> = expanded.lines().collect();
    assert_eq!(expanded.len(), PATTERNS, "{}", String::from_utf8_lossy(&output.stderr));

    let (mut hits, mut free) = (0, 0);
    for (pattern, names) in patterns.iter().zip(expanded) {
        let is_allowed = is_allowed(&policy, pattern);
        let hit = names.split('/').find(|name| denied.contains(name));
        assert!(
            hit.is_none() || !is_allowed,
            "`cat ./{pattern}` reads {}",
            hit.unwrap_or_default()
        );
        hits += usize::from(hit.is_some());
        free += usize::from(is_allowed);
    }
    assert!(hits >= 100 && free >= 1_000, "too tame: {hits} hits, {free} free");
}
