//! Every text that commands of the terminal show, in one place, so that it can be read top to bottom.

use std::path::Path;

use windlass_host::display::human_format::format_counted;
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{FailureKind, Terminal};

// Prompts.

pub(super) const SHELL_COMMAND_MISSING: &str = "! needs a command, for example: !git status";
pub(super) const NOTHING_UNFINISHED: &str = "Nothing is left to finish.";
pub(super) const SESSION_ENDED: &str = "the session has ended; start another one";
pub(super) const NOT_SAVED: &str = "This session is not saved.";

pub(super) fn describe_reload(place: &str) -> String {
    format!("Settings reloaded: {place} changed")
}

pub(super) fn describe_saved_rules(rules: &[String], place: &str) -> String {
    format!("Always allowed: {} (saved in {place})", rules.join(", "))
}

// Sessions.

pub(super) const TITLE_RESUME: &str = "Resume a session";
pub(super) const NO_OTHER_SESSION: &str = "No other session in this folder.";
pub(super) const NO_SESSION_YET: &str = "no session in this folder yet; leave out -r";
pub(super) const SAME_SESSION: &str = "You are already in that session.";

pub(super) const TITLE_REWIND: &str = "Rewind to before which prompt?";
pub(super) const NOTHING_TO_REWIND: &str = "Nothing to rewind yet.";
pub(super) const TITLE_REWIND_SCOPE: &str = "Rewind?";
pub(super) const REWIND_NO: &str = "No, back to the list";
pub(super) const REWIND_BOTH: &str = "Yes, conversation and files";
pub(super) const REWIND_FILES: &str = "Files only";
pub(super) const REWIND_CONVERSATION: &str = "Conversation only";
pub(super) const REWIND_SKIP: &str = "Yes, both, but keep changes by others";
pub(super) const REWIND_SKIP_NOTE: &str = "those files stay as they are now";
pub(super) const REWIND_OVERWRITE: &str = "Yes, both, and overwrite changes by others";
pub(super) const REWIND_OVERWRITE_NOTE: &str = "these files were changed outside this session";

pub(super) const REWIND_EACH_FILE: &str = "Yes, both, and ask about each file that others changed";
pub(super) const REWIND_CALLS: &str = "Only back to one of its calls";
pub(super) const REWIND_CALLS_NOTE: &str = "choose the call";
pub(super) const TITLE_REWIND_CALL: &str = "Rewind to before which call?";
pub(super) const NO_CALL_TO_REWIND: &str = "No call of this prompt has changes to take back.";
pub(super) fn describe_rewind_to_call(call: &str) -> String {
    format!("Would rewind the conversation to before {call}")
}

pub(super) const FILE_KEEP: &str = "No, keep it as it is now";
pub(super) const FILE_OVERWRITE: &str = "Yes, overwrite it";

pub(super) fn title_overwrite(file: &str) -> String {
    format!("Others changed {file}. Overwrite it?")
}

pub(super) const CHANGED_BY_OTHERS: &str = "changed by others since";
pub(super) const NOT_STORED: &str = "cannot be restored: too large, or there is no room";
pub(super) const REMOVED: &str = "removed";

/// Of the last turn, or of the named point.
pub(super) fn describe_changes(files: usize, is_last_turn: bool) -> String {
    let files = match files {
        0 => "No files changed".to_owned(),
        files => format!("{} changed", format_counted(files, "file")),
    };
    match is_last_turn {
        true => format!("{files} since your last prompt. /diff all shows the whole session."),
        false => format!("{files}."),
    }
}

pub(super) fn describe_unshown_change(kind: &str) -> String {
    format!("{kind}; not text, or not kept")
}

pub(super) fn describe_resume(id: &str) -> String {
    format!("Resume this session with: windlass --resume {id}")
}

// Before a session starts.

pub(super) const TITLE_TRUST: &str = "Do you trust this folder?";
pub(super) const TRUST_NO: &str = "No, continue without it";
pub(super) const TRUST_NO_NOTE: &str = "asked again next time";
pub(super) const TRUST_YES: &str = "Yes, trust exactly this";
pub(super) const TRUST_YES_NOTE: &str = "asked again when it changes";
pub(super) const LEAVE: &str = "Exit";

pub(super) const TITLE_TRANSCRIPT: &str = "Continue from the transcript?";
pub(super) const TRANSCRIPT_YES: &str = "Yes, continue from the transcript";
pub(super) const TRANSCRIPT_YES_NOTE: &str = "the damaged journal is kept beside it";
pub(super) const TRANSCRIPT_NO: &str = "No, exit and change nothing";

pub(super) const WELCOME: &str =
    "Welcome to Windlass. It needs an API key for a model, and has none yet.\n\n";
pub(super) const TITLE_WELCOME: &str = "What would you like to do?";
pub(super) const WELCOME_ENTER: &str = "Enter an API key";
pub(super) const WELCOME_ENTER_NOTE: &str =
    "stored in the key ring, or in a file only you can read";
pub(super) const TITLE_PROVIDER: &str = "Key for which provider?";
pub(super) const WELCOME_DEMO: &str = "Watch the demo";
pub(super) const WELCOME_DEMO_NOTE: &str = "scripted model, no key, no cost";
pub(super) const WELCOME_KEY: &str = "Show how to set a key";

pub(super) fn title_key(provider: &str) -> String {
    format!("API key for {provider}")
}

pub(super) fn describe_stored_key(provider: &str) -> String {
    format!("Stored the key for {provider} in the key ring")
}

pub(super) fn describe_key_file(provider: &str, file: &str) -> String {
    format!("Stored the key for {provider} in {file}, which only you can read")
}

pub(super) fn describe_unstored_key(
    provider: &str,
    config: &Path,
    error: &std::io::Error,
) -> String {
    format!(
        "the key for {provider} was not stored: {error}; name it in {} (key_file or key_env)",
        config.display()
    )
}

pub(super) fn label_local_model(model: &str) -> String {
    format!("Use {model} on this machine")
}

pub(super) fn describe_local_server(server: &str, port: u16) -> String {
    format!("{server} on port {port}")
}

pub(super) fn describe_unstarted_session(error: &dyn std::fmt::Display) -> String {
    format!("{error}; correct it and try again")
}

pub(super) fn describe_terminal_failure(error: &std::io::Error) -> String {
    format!("the terminal cannot be used: {error}; ask with -p instead")
}

// Failed runs.

/// The command that helps with a failed run, if one does.
pub(super) fn advise_command(ending: &RunEnding) -> Option<&'static str> {
    match (ending.terminal, ending.failure.as_ref().map(|failure| failure.kind)) {
        (Terminal::PromptTooLong | Terminal::BlockingLimit, _) => {
            Some("/compact shortens the conversation")
        }
        (Terminal::ModelError, Some(FailureKind::Unauthorised | FailureKind::Quota)) => {
            Some("/model switches to a model you have a key for")
        }
        (
            Terminal::ModelError,
            Some(
                FailureKind::ModelGone
                | FailureKind::Overloaded
                | FailureKind::RateLimited
                | FailureKind::ServerFault
                | FailureKind::Refused,
            ),
        ) => Some("/model switches to another model"),
        (
            Terminal::Completed
            | Terminal::ImageError
            | Terminal::ModelError
            | Terminal::AbortedStreaming
            | Terminal::AbortedTools
            | Terminal::StopHookPrevented
            | Terminal::HookStopped
            | Terminal::MaxTurns
            | Terminal::MaxBudgetUsd,
            _,
        ) => None,
    }
}

pub(super) fn describe_status_line_problem(why: &dyn std::fmt::Display) -> String {
    format!("The status line {why}")
}

// Shared by lists.

pub(super) const IN_EDITOR: &str = "in your editor";
pub(super) const IN_BROWSER: &str = "in a browser";
pub(super) const FOR_SESSION: &str = "for this session";
pub(super) const THIS_SESSION: &str = "this session";
pub(super) const NO_HOME: &str = "there is no home directory; set HOME";
pub(super) const NAME_TOO_LONG: &str = "too long";

// /model

pub(super) const TITLE_MODEL: &str = "Choose a model · prices per million tokens";
pub(super) const MODEL_CURRENT: &str = "current · ";
pub(super) const MODEL_ONLY: &str = "the only model known";
pub(super) const MODEL_WITHOUT_KEY: &str = "no key · ";
pub(super) const NO_PRICE: &str = "no price";

pub(super) fn describe_price(input: &str, output: &str) -> String {
    format!("{input} in, {output} out")
}

// /agents

pub(super) const TITLE_AGENTS: &str = "Agents";
pub(super) const AGENT_NEW: &str = "Create an agent";
pub(super) const AGENT_FROM_FLAG: &str = "command line";
pub(super) const AGENT_GENERAL: &str = "general-purpose";
pub(super) const AGENT_GENERAL_NOTE: &str = "built in · all tools · same model · any task";
pub(super) const ALL_TOOLS: &str = "all tools";
pub(super) const SAME_MODEL: &str = "same model";
pub(super) const TITLE_NEW_AGENT: &str = "Name of the new agent";
pub(super) const AGENT_NAME_RULE: &str = "lower-case letters, digits and hyphens";

pub(super) fn label_running_agent(id: &str) -> String {
    format!("{id} (running)")
}

pub(super) fn describe_new_agent(name: &str) -> String {
    format!("creates .claude/agents/{name}.md")
}

pub(super) fn describe_unknown_agent(name: &str) -> String {
    format!("no agent file for `{name}`; /agents lists them")
}

pub(super) fn describe_bad_agent_name(name: &str) -> String {
    format!("`{name}` is not a valid name; use {AGENT_NAME_RULE}")
}

pub(super) fn describe_taken_agent(name: &str) -> String {
    format!("`{name}` already exists")
}

pub(super) fn describe_taken_file(path: &Path) -> String {
    format!("{} already exists", path.display())
}

pub(super) fn describe_unwritten_file(path: &Path, error: &std::io::Error) -> String {
    format!("{} cannot be written: {error}", path.display())
}

/// What a new agent file says.
pub(super) fn build_agent_template(name: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Use this agent when … (say when, and what it returns)\n\
         tools: Read, Grep, Glob\n---\n\nYou are … Say what it does, how, and what it must not do.\n"
    )
}

// /hooks

pub(super) const TITLE_HOOKS: &str = "Hooks · Enter turns one on or off for this session";
pub(super) const NO_HOOKS: &str = "No hooks";
pub(super) const NO_HOOKS_NOTE: &str = "add them in settings: see docs/hooks.md";
pub(super) const HOOK_FINE: &str = "succeeded";
pub(super) const HOOK_CANCELLED: &str = "cancelled";
pub(super) const HOOK_FAILED: &str = "failed";
pub(super) const HOOK_NOT_RUN: &str = "not run yet";
pub(super) const HOOK_MANAGED: &str = "this hook is managed by your administrator and stays on";

pub(super) fn describe_hook_exit(code: &i32) -> String {
    format!("exited with {code}")
}

pub(super) fn describe_hook_failure(code: &i32) -> String {
    format!("failed with exit code {code}")
}

pub(super) fn describe_unknown_hook(number: usize) -> String {
    format!("no hook {number}; /hooks lists them")
}

pub(super) fn describe_switched_hook(name: &str, is_on: bool) -> String {
    match is_on {
        true => format!("Hook on: {name}"),
        false => format!("Hook off for this session: {name}"),
    }
}

// /mcp

pub(super) const TITLE_SERVERS: &str = "MCP servers";
pub(super) const NO_SERVERS: &str = "No MCP servers";
pub(super) const NO_SERVERS_NOTE: &str = "add one with `windlass mcp add`";
pub(super) const SERVERS_UNTRUSTED: &str = "More servers of this project";
pub(super) const SERVERS_UNTRUSTED_NOTE: &str = "not trusted; restart windlass to review them";
pub(super) const SERVER_BACK: &str = "Back";
pub(super) const SERVER_RECONNECT: &str = "Reconnect";
pub(super) const SERVER_ON: &str = "Turn on";
pub(super) const SERVER_OFF: &str = "Turn off";
pub(super) const SERVER_LOGIN: &str = "Log in";
pub(super) const TOOL: &str = "tool";

pub(super) fn describe_unknown_server(name: &str) -> String {
    format!("no MCP server `{name}`; /mcp lists them")
}

pub(super) fn describe_login(address: &str) -> String {
    format!("Log in here: {address}")
}

// /memory

pub(super) const TITLE_MEMORY: &str = "Memory files · Enter opens one in your editor";
pub(super) const MEMORY_SHOW: &str = "Show what was read";
pub(super) const MEMORY_NEW_PROJECT: &str = "new · this project, shared";
pub(super) const MEMORY_NEW_LOCAL: &str = "new · this project, only you";
pub(super) const MEMORY_NEW_USER: &str = "new · all your projects";
pub(super) const NO_MEMORY: &str = "No memory files; /init creates one.\n";

pub(super) fn describe_bad_memory_file(path: &Path) -> String {
    format!("{} is not a memory file; name one that ends in .md", path.display())
}

// /theme

pub(super) const TITLE_THEME: &str = "Choose a theme";
pub(super) const THEME_USAGE: &str = "/theme takes auto, light, dark or plain";

// /permissions

pub(super) const TITLE_RULES: &str = "Permission rules · deny beats ask, ask beats allow";
pub(super) const RULE_CHECK: &str = "Check a command";
pub(super) const RULE_CHECK_NOTE: &str = "allowed, asked or denied, and why";
pub(super) const RULE_ADD: &str = "Add a rule";
pub(super) const RULE_UNTRUSTED: &str = " (no effect: the folder is not trusted)";
pub(super) const RULE_KEEP: &str = "No, keep it";
pub(super) const RULE_REMOVE: &str = "Yes, remove it";
pub(super) const TITLE_NEW_RULE: &str = "Add which kind of rule?";
pub(super) const RULE_SYNTAX: &str =
    "a tool, or a tool and what of it: Bash(git log:*), Read(~/notes/**)";
pub(super) const TITLE_CHECK: &str = "Check which command?";
pub(super) const CHECK_HINT: &str = "type a shell command; nothing is run";
pub(super) const COUNTS_LATER: &str = "; takes effect with the next prompt";

pub(super) const FOR_ME_HERE: &str = "me in this project";
pub(super) const FOR_EVERYONE_HERE: &str = "everyone in this project";
pub(super) const FOR_ME_EVERYWHERE: &str = "me in all projects";

pub(super) const LAYER_USER: &str = "user";
pub(super) const LAYER_PROJECT: &str = "project";
pub(super) const LAYER_LOCAL: &str = "local";
pub(super) const LAYER_FLAG: &str = "command line";
pub(super) const LAYER_MANAGED: &str = "managed";

pub(super) fn describe_added_rule(list: &str, rule: &str, file: &str) -> String {
    format!("Added to {file}: {list} {rule}")
}

pub(super) fn describe_removed_rule(list: &str, rule: &str, files: &str) -> String {
    format!("Removed from {files}: {list} {rule}")
}

pub(super) fn describe_rule_scope(file: &str) -> String {
    format!("from the {file} settings")
}

pub(super) fn title_remove_rule(list: &str, rule: &str) -> String {
    format!("Remove {list} {rule}?")
}

pub(super) fn title_enter_rule(list: &str, whom: &str) -> String {
    format!("Rule to {list} for {whom}")
}

pub(super) fn describe_new_rule(list: &str, rule: &str, file: &str) -> String {
    format!("{list} {rule}, saved in {file}")
}

pub(super) fn describe_idle_rule(why: &str) -> String {
    format!("this rule would never allow anything: {why}")
}

// /status, /doctor, /export, /copy

pub(super) const NONE: &str = "none";

#[rustfmt::skip]
pub(super) const STATUS_ROWS: [&str; 10] = [
    "Version", "Session", "Folder", "Model", "Effort", "Mode", "Settings", "MCP servers",
    "Background tasks", "Saved",
];
pub(super) const STATUS_NOT_SAVED: &str = "no";

pub(super) fn describe_no_doctor(error: &std::io::Error) -> String {
    format!("`windlass doctor` did not run: {error}; run it in a shell")
}

pub(super) fn describe_export(place: &str) -> String {
    format!("Conversation written to {place}")
}

pub(super) fn describe_export_failure(path: &Path, error: &std::io::Error) -> String {
    format!("{} cannot be written: {error}; name another file", path.display())
}

// /effort

pub(super) const TITLE_EFFORT: &str = "Choose an effort";
pub(super) const CURRENT: &str = "current";
pub(super) const EFFORT_USAGE: &str = "/effort takes default, low, medium, high, xhigh or max";

pub(super) fn describe_effort(name: &str) -> String {
    format!("Effort: {name}")
}

// /tasks

pub(super) const TITLE_TASKS: &str = "Background tasks · Enter stops one";
pub(super) const NO_TASKS: &str = "No background tasks";
pub(super) const NO_TASKS_NOTE: &str = "Ctrl-B moves a running command or agent to the background";
pub(super) const TASK_RUNNING: &str = "running";

pub(super) fn describe_stopped_task(id: &str) -> String {
    format!("Stopped {id}")
}

// /config

pub(super) const TITLE_CONFIG: &str = "Settings files · Enter opens one in your editor";
pub(super) const NEW_FILE: &str = "new";
