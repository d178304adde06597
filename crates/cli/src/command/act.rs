//! What a person at a terminal may have done by a command, besides looking: as data. Nothing of it is
//! taken from a program: a prompt it hands on may have been written by anybody.

use windlass_settings::RuleList;

use crate::refusal::Refusal;

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// End the session.
    Leave,
    /// Keys as in vim, or no longer.
    Vim,
    /// Other colours; without a name, a list of them.
    Theme(Option<String>),
    /// Ask this model from now on.
    Model(String),
    /// Something about rules.
    Rules(RuleAct),
    /// Switch the hook with this number, of those listed, on or off for this session.
    Hook(usize, bool),
    /// Something about an MCP server: a list without more, as in `/mcp NAME`.
    Server(ServerAct, String),
    /// Write a new agent, with this name or one that is asked for.
    NewAgent(Option<String>),
    /// Write in the file of an agent.
    EditAgent(String),
    /// Show the standing instructions that were read.
    ShowMemory,
    /// Write in a file of standing instructions.
    EditMemory(String),
}

/// What is done about rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RuleAct {
    /// Ask which list of which file a new one goes to.
    Where,
    /// Ask for the rule.
    What(Shelf, RuleList),
    /// Add it.
    Add(Shelf, RuleList, String),
    /// Ask whether it is to be taken out.
    Remove(Shelf, RuleList, String),
    /// Take it out.
    RemoveNow(Shelf, RuleList, String),
    /// Say what would come of a command; without one, ask for it.
    Check(String),
}

/// Which file rules stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shelf {
    /// The project's, this machine's alone.
    Local,
    /// The project's, shared.
    Project,
    /// The user's own.
    User,
}

impl Shelf {
    /// All of them, the nearest first.
    pub(crate) const ALL: [Self; 3] = [Self::Local, Self::Project, Self::User];

    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

/// What is done about a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerAct {
    /// Show what may be done.
    Open,
    /// Connect it anew.
    Reconnect,
    /// Switch it on.
    On,
    /// Switch it off.
    Off,
    /// Log in to it.
    LogIn,
}

impl ServerAct {
    const ALL: [(&'static str, Self); 4] = [
        ("reconnect", Self::Reconnect),
        ("on", Self::On),
        ("off", Self::Off),
        ("login", Self::LogIn),
    ];
}

/// `/mcp WHAT NAME`, or `/mcp NAME`.
pub(super) fn server(rest: &str) -> Act {
    let (first, name) = split(rest);
    match ServerAct::ALL.iter().find(|(word, _)| *word == first && !name.is_empty()) {
        Some((_, act)) => Act::Server(*act, name.to_owned()),
        None => Act::Server(ServerAct::Open, rest.to_owned()),
    }
}

/// `/hooks on NUMBER`, `/hooks off NUMBER`.
pub(super) fn hook(rest: &str) -> Result<Act, Refusal> {
    let (word, number) = split(rest);
    match (word, number.parse()) {
        ("on", Ok(number)) => Ok(Act::Hook(number, true)),
        ("off", Ok(number)) => Ok(Act::Hook(number, false)),
        _ => Err(Refusal::usage("/hooks takes on or off, and the number of a hook")),
    }
}

/// `/agents new [NAME]`, `/agents edit NAME`.
pub(super) fn agent(rest: &str) -> Result<Act, Refusal> {
    match split(rest) {
        ("new", name) => Ok(Act::NewAgent((!name.is_empty()).then(|| name.to_owned()))),
        ("edit", name) if !name.is_empty() => Ok(Act::EditAgent(name.to_owned())),
        _ => Err(Refusal::usage("/agents takes new and a name, or edit and a name")),
    }
}

/// `/memory edit FILE`.
pub(super) fn memory(rest: &str) -> Result<Act, Refusal> {
    match split(rest) {
        ("show", "") => Ok(Act::ShowMemory),
        ("edit", path) if !path.is_empty() => Ok(Act::EditMemory(path.to_owned())),
        _ => Err(Refusal::usage("/memory takes show, or edit and a file")),
    }
}

/// `/permissions check [COMMAND]`, `/permissions add|remove [FILE LIST [RULE]]`.
pub(super) fn rules(rest: &str) -> Result<Act, Refusal> {
    let (word, rest) = split(rest);
    if word == "check" {
        return Ok(Act::Rules(RuleAct::Check(rest.to_owned())));
    }
    if (word, rest) == ("add", "") {
        return Ok(Act::Rules(RuleAct::Where));
    }
    let (shelf, rest) = split(rest);
    let shelf = Shelf::ALL.into_iter().find(|one| one.name() == shelf);
    let (list, rule) = split(rest);
    let list = RuleList::ALL.into_iter().find(|one| one.key() == list);
    let (Some(shelf), Some(list)) = (shelf, list) else { return Err(Refusal::usage(RULES)) };
    let rule = rule.to_owned();
    Ok(Act::Rules(match (word, rule.is_empty()) {
        ("add", true) => RuleAct::What(shelf, list),
        ("add", false) => RuleAct::Add(shelf, list, rule),
        ("remove", false) => RuleAct::Remove(shelf, list, rule),
        ("remove-now", false) => RuleAct::RemoveNow(shelf, list, rule),
        _ => return Err(Refusal::usage(RULES)),
    }))
}

fn split(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.trim())
}

const RULES: &str = "/permissions takes check and a command; or add or remove, then local, project \
                     or user, then allow, ask or deny, then a rule";
