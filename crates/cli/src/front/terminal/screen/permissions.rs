//! `/permissions`: rules by layer and file, what would come of a command, and rules that come and go.
//! What the administrator or the command line says is shown and stays.

use std::sync::Arc;

use serde_json::json;
use windlass_driver::Disk;
use windlass_permission::check::{explain, report};
use windlass_permission::{Policy, Rule, Rules};
use windlass_settings::{
    Request, RuleChange, RuleList, Source, WriteError, WrittenRule, add_rule, load, remove_rule,
    rule_file, written_rules,
};
use windlass_terminal::{Check, Field, Item, Order as Meant, Picker, Remark};
use windlass_vocabulary::{Json, ToolCall};

use super::super::desk::Desk;
use super::{environment, item};
use crate::command::{RuleAct, Shelf};
use crate::layers;
use crate::refusal::Refusal;

impl Desk {
    /// The rules there are.
    pub(super) fn rules(&self) -> Result<Meant, Refusal> {
        Ok(Meant::Pick(self.rule_list()?))
    }

    fn rule_list(&self) -> Result<Picker, Refusal> {
        let request = self.request()?;
        let loaded = load(&request);
        let mut items = vec![
            item("/permissions check", "Check a command", "what would come of it, and why"),
            item("/permissions add", "Add a rule", ""),
        ];
        let trusted = loaded.trust.is_given();
        items.extend(written_rules(&request).iter().map(|written| self.row(written, trusted)));
        // What the session reads back from its own folder is nobody's wish.
        let own = super::super::state().map(|state| format!("/{}", state.display()));
        let is_own = |rule: &Rule| {
            let content = rule.content.as_deref().unwrap_or_default();
            rule.tool == "Read" && own.as_deref().is_some_and(|own| content.starts_with(own))
        };
        let flags = |list: RuleList| {
            let known = of_list(&loaded.rules, list);
            let given = of_list(&self.settings.policy.rules, list).iter();
            let given = given.filter(|rule| !known.contains(rule) && !is_own(rule));
            let row = |rule| item("", format!("{} {rule}", list.key()), "this session");
            given.map(row).collect::<Vec<Item>>()
        };
        items.extend(RuleList::ALL.into_iter().flat_map(flags));
        Ok(Picker::new("Rules: deny counts before ask, ask before allow", items))
    }

    /// A rule where it stands. Only what is ours to write can be taken out.
    fn row(&self, written: &WrittenRule, trusted: bool) -> Item {
        let WrittenRule { source, name, line, list, rule } = written;
        let label = format!("{} {rule}", list.key());
        let shelf = Shelf::ALL.into_iter().find(|shelf| source_of(*shelf) == *source);
        let value = shelf
            .map(|shelf| format!("/permissions remove {} {} {rule}", shelf.name(), list.key()));
        let is_project = matches!(source, Source::Project | Source::Local);
        let idle = is_project && !trusted && *list == RuleList::Allow;
        let idle = if idle { ", not trusted, so without effect" } else { "" };
        let about = format!("{} · {}:{line}{idle}", layer(*source), self.short(name));
        item(value.unwrap_or_default(), label, about)
    }

    pub(super) async fn rule_act(&self, act: RuleAct) -> Result<Meant, Refusal> {
        match act {
            RuleAct::Where => self.places(),
            RuleAct::What(shelf, list) => self.ask_rule(shelf, list),
            RuleAct::Add(shelf, list, rule) => {
                let rule = judged(list, &rule).map_err(Refusal::usage)?;
                let text = rule.to_string();
                let change = RuleChange { source: source_of(shelf), list, rule: &text };
                let path = add_rule(&self.request()?, change).map_err(|error| unwritten(&error))?;
                let name = self.short(&path.to_string_lossy());
                let words = format!("{name} now says {} {rule}", list.key());
                self.took_effect(words).await
            }
            RuleAct::Remove(shelf, list, rule) => {
                let (shelf, list) = (shelf.name(), list.key());
                let yes = format!("/permissions remove-now {shelf} {list} {rule}");
                let items = vec![
                    item("/permissions", "No, keep it", ""),
                    item(yes, "Yes, take it out", format!("of the {shelf} settings")),
                ];
                Ok(Meant::Pick(Picker::new(format!("Take out {list} {rule}?"), items)))
            }
            RuleAct::RemoveNow(shelf, list, rule) => {
                let change = RuleChange { source: source_of(shelf), list, rule: &rule };
                let paths =
                    remove_rule(&self.request()?, change).map_err(|error| unwritten(&error))?;
                let names: Vec<String> =
                    paths.iter().map(|path| self.short(&path.to_string_lossy())).collect();
                let names = names.join(" and ");
                let words = format!("{names} no longer says {} {rule}", list.key());
                self.took_effect(words).await
            }
            RuleAct::Check(command) => self.check(&command).await,
        }
    }

    /// Which list of which file.
    fn places(&self) -> Result<Meant, Refusal> {
        let request = self.request()?;
        let places = Shelf::ALL.into_iter().flat_map(|shelf| {
            [RuleList::Allow, RuleList::Ask, RuleList::Deny].map(|list| (shelf, list))
        });
        let row = |(shelf, list): (Shelf, RuleList)| {
            let file = rule_file(&request, source_of(shelf))?;
            let value = format!("/permissions add {} {}", shelf.name(), list.key());
            let label = format!("{} for {}", list.key(), whose(shelf));
            Some(item(value, label, self.short(&file.to_string_lossy())))
        };
        Ok(Meant::Pick(Picker::new(
            "What shall it do, and for whom?",
            places.filter_map(row).collect(),
        )))
    }

    /// The rule, checked at every key.
    fn ask_rule(&self, shelf: Shelf, list: RuleList) -> Result<Meant, Refusal> {
        let request = self.request()?;
        let file = rule_file(&request, source_of(shelf));
        let file = file.ok_or_else(|| Refusal::failed("there is no home directory; set HOME"))?;
        let file = self.short(&file.to_string_lossy());
        let check: Check = Arc::new(move |text: &str| match text {
            "" => Remark {
                words: "a tool, or a tool and what of it: Bash(git log:*), Read(~/notes/**)".into(),
                is_good: false,
            },
            text => match judged(list, text) {
                Ok(rule) => Remark {
                    words: format!("{} {rule}, written to {file}", list.key()),
                    is_good: true,
                },
                Err(words) => Remark { words, is_good: false },
            },
        });
        let title = format!("Which rule? It will {} for {}", list.key(), whose(shelf));
        let lead = format!("/permissions add {} {} ", shelf.name(), list.key());
        Ok(Meant::Fill(Field::new(title, lead, check)))
    }

    /// What would come of a command: as it is typed, or for good.
    async fn check(&self, command: &str) -> Result<Meant, Refusal> {
        let policy = self.in_force().await?.policy;
        if !command.is_empty() {
            return Ok(Meant::Show(format!("$ {command}\n{}", judgement(&policy, command))));
        }
        let check: Check = Arc::new(move |command: &str| match command {
            "" => Remark { words: "type a shell command; nothing is run".into(), is_good: false },
            command => Remark { words: judgement(&policy, command), is_good: true },
        });
        let field = Field::new("What would come of which command?", "/permissions check ", check);
        Ok(Meant::Fill(field))
    }

    /// A file was changed: what it says counts, unless a hook objects, and not while something is
    /// being worked on.
    async fn took_effect(&self, words: String) -> Result<Meant, Refusal> {
        let later = match self.session.is_working().await {
            true => "; it counts from the next prompt on",
            false => "",
        };
        self.keep_up().await;
        Ok(Meant::Done(format!("{words}{later}"), Some(self.rule_list()?)))
    }

    fn request(&self) -> Result<Request, Refusal> {
        layers::request(&self.args, &self.cwd, &environment)
    }
}

fn unwritten(error: &WriteError) -> Refusal {
    Refusal::failed(error.to_string())
}

/// The rule, or what is wrong with it.
fn judged(list: RuleList, text: &str) -> Result<Rule, String> {
    let rule = Rule::parse(text).map_err(|error| error.to_string())?;
    let idle = rule.idle_as_allow().filter(|_| list == RuleList::Allow);
    match idle {
        Some(why) => Err(format!("it would never allow anything: {why}")),
        None => Ok(rule),
    }
}

fn judgement(policy: &Policy, command: &str) -> String {
    let call = ToolCall {
        id: "checked".into(),
        name: "Bash".into(),
        input: Json::from_checked(&json!({ "command": command }).to_string()),
        signature: None,
    };
    explain(&report(policy, &call, &Disk::new())).trim_end().to_owned()
}

fn of_list(rules: &Rules, list: RuleList) -> &[Rule] {
    match list {
        RuleList::Allow => &rules.allow,
        RuleList::Ask => &rules.ask,
        RuleList::Deny => &rules.deny,
    }
}

fn source_of(shelf: Shelf) -> Source {
    match shelf {
        Shelf::Local => Source::Local,
        Shelf::Project => Source::Project,
        Shelf::User => Source::User,
    }
}

fn whose(shelf: Shelf) -> &'static str {
    match shelf {
        Shelf::Local => "me in this project",
        Shelf::Project => "everybody in this project",
        Shelf::User => "me in all projects",
    }
}

fn layer(source: Source) -> &'static str {
    match source {
        Source::User => "user",
        Source::Project => "project",
        Source::Local => "local",
        Source::Flag => "command line",
        Source::Managed => "managed",
    }
}
