//! What a command may change, as data. Only a user at a terminal may do it: a prompt that a program
//! passes on may come from an untrusted source.

use windlass_settings::RuleList;

use windlass_host::command_error::CommandError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalAction {
    Quit,
    /// Keys as in vim, or no longer.
    ToggleVim,
    /// Other colours; without a name, a list of them.
    Theme(Option<String>),
    Model(String),
    Rules(RuleAction),
    /// Switch the hook with this number, of those listed, on or off for this session.
    Hook(usize, bool),
    /// Something about an MCP server: a list without more, as in `/mcp NAME`.
    McpServer(McpServerAction, String),
    /// Create an agent with this name, or ask for one.
    NewAgent(Option<String>),
    EditAgent(String),
    /// Show the standing instructions that were read.
    ShowMemory,
    /// Write in a file of standing instructions.
    EditMemory(String),
    /// Open this settings file in an editor, or ask which.
    Config(Option<RuleFile>),
    /// Copy the last answer.
    Copy,
    /// Run `windlass doctor` and show its output.
    Doctor,
    /// Another effort; without a name, a list of them.
    Effort(Option<String>),
    /// Write the conversation to this file, or one named after the session.
    Export(Option<String>),
    Status,
    ListTasks,
    /// By its id.
    StopTask(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleAction {
    /// Ask which list of which file a new one goes to.
    ChooseFile,
    EnterRule(RuleFile, RuleList),
    Add(RuleFile, RuleList, String),
    /// Ask whether it is to be taken out.
    ConfirmRemove(RuleFile, RuleList, String),
    RemoveNow(RuleFile, RuleList, String),
    /// Say what would come of a command; without one, ask for it.
    Check(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleFile {
    /// The project's, this machine's alone.
    Local,
    Project,
    User,
}

impl RuleFile {
    /// All of them, the nearest first.
    pub const ALL: [Self; 3] = [Self::Local, Self::Project, Self::User];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpServerAction {
    Open,
    Reconnect,
    On,
    Off,
    LogIn,
}

impl McpServerAction {
    const KEYWORDS: [(&'static str, Self); 4] = [
        ("reconnect", Self::Reconnect),
        ("on", Self::On),
        ("off", Self::Off),
        ("login", Self::LogIn),
    ];
}

/// `/mcp WHAT NAME`, or `/mcp NAME`.
pub(super) fn parse_server_action(rest: &str) -> TerminalAction {
    let (first, name) = split_first_word(rest);
    match McpServerAction::KEYWORDS.iter().find(|(word, _)| *word == first && !name.is_empty()) {
        Some((_, act)) => TerminalAction::McpServer(*act, name.to_owned()),
        None => TerminalAction::McpServer(McpServerAction::Open, rest.to_owned()),
    }
}

/// `/hooks on NUMBER`, `/hooks off NUMBER`.
pub(super) fn parse_hook_action(rest: &str) -> Result<TerminalAction, CommandError> {
    let (word, number) = split_first_word(rest);
    match (word, number.parse()) {
        ("on", Ok(number)) => Ok(TerminalAction::Hook(number, true)),
        ("off", Ok(number)) => Ok(TerminalAction::Hook(number, false)),
        _ => Err(CommandError::usage("/hooks takes on or off, and the number of a hook")),
    }
}

/// `/agents new [NAME]`, `/agents edit NAME`.
pub(super) fn parse_agent_action(rest: &str) -> Result<TerminalAction, CommandError> {
    match split_first_word(rest) {
        ("new", name) => Ok(TerminalAction::NewAgent((!name.is_empty()).then(|| name.to_owned()))),
        ("edit", name) if !name.is_empty() => Ok(TerminalAction::EditAgent(name.to_owned())),
        _ => Err(CommandError::usage("/agents takes new and a name, or edit and a name")),
    }
}

/// `/memory edit FILE`.
pub(super) fn parse_memory_action(rest: &str) -> Result<TerminalAction, CommandError> {
    match split_first_word(rest) {
        ("show", "") => Ok(TerminalAction::ShowMemory),
        ("edit", path) if !path.is_empty() => Ok(TerminalAction::EditMemory(path.to_owned())),
        _ => Err(CommandError::usage("/memory takes show, or edit and a file")),
    }
}

/// `/permissions check [COMMAND]`, `/permissions add|remove [FILE LIST [RULE]]`.
pub(super) fn parse_rule_action(rest: &str) -> Result<TerminalAction, CommandError> {
    let (word, rest) = split_first_word(rest);
    if word == "check" {
        return Ok(TerminalAction::Rules(RuleAction::Check(rest.to_owned())));
    }
    if (word, rest) == ("add", "") {
        return Ok(TerminalAction::Rules(RuleAction::ChooseFile));
    }
    let (file, rest) = split_first_word(rest);
    let file = RuleFile::ALL.into_iter().find(|one| one.name() == file);
    let (list, rule) = split_first_word(rest);
    let list = RuleList::ALL.into_iter().find(|one| one.key() == list);
    let (Some(file), Some(list)) = (file, list) else {
        return Err(CommandError::usage(PERMISSIONS_USAGE));
    };
    let rule = rule.to_owned();
    Ok(TerminalAction::Rules(match (word, rule.is_empty()) {
        ("add", true) => RuleAction::EnterRule(file, list),
        ("add", false) => RuleAction::Add(file, list, rule),
        ("remove", false) => RuleAction::ConfirmRemove(file, list, rule),
        ("remove-now", false) => RuleAction::RemoveNow(file, list, rule),
        _ => return Err(CommandError::usage(PERMISSIONS_USAGE)),
    }))
}

fn split_first_word(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.trim())
}

const PERMISSIONS_USAGE: &str = "/permissions takes check and a command; or add or remove, then local, project \
                     or user, then allow, ask or deny, then a rule";
