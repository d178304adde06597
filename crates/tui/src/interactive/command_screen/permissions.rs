//! `/permissions`: rules by layer and file, a check of a command against them, adding and removing rules.
//! Managed rules and rules of the command line are shown and cannot be changed.

use std::sync::Arc;

use crate::{InputFeedback, InputValidator, Picker, PickerItem, PromptAction, ValidatedInput};
use serde_json::json;
use windlass_driver::HostFileSystem;
use windlass_host::environment::process_environment;
use windlass_permission::policy_check::{build_report, render_report};
use windlass_permission::{Policy, Rule, Rules};
use windlass_settings::{
    RuleChange, RuleList, SettingsRequest, SettingsSource, SettingsWriteError, WrittenRule,
    add_rule, list_written_rules, load_settings, remove_rule, rule_file_path,
};
use windlass_vocabulary::{Json, ToolCall};

use super::super::prompt_handler::PromptHandler;
use super::super::words;
use super::build_item;
use windlass_assembly::settings;
use windlass_assembly::slash_command::{RuleAction, RuleFile};
use windlass_host::command_error::CommandError;

impl PromptHandler {
    pub(super) fn open_rule_picker(&self) -> Result<PromptAction, CommandError> {
        Ok(PromptAction::OpenPicker(self.build_rule_picker()?))
    }

    fn build_rule_picker(&self) -> Result<Picker, CommandError> {
        let request = self.build_settings_request()?;
        let loaded = load_settings(&request);
        let mut items = vec![
            build_item("/permissions check", words::RULE_CHECK, words::RULE_CHECK_NOTE),
            build_item("/permissions add", words::RULE_ADD, ""),
        ];
        let trusted = loaded.trust.is_given();
        items.extend(
            list_written_rules(&request)
                .iter()
                .map(|written| self.build_rule_item(written, trusted)),
        );
        // The session allows itself to read its own state directory; the user never wrote that rule.
        let own = super::super::find_state_directory().map(|state| format!("/{}", state.display()));
        let is_own = |rule: &Rule| {
            let content = rule.content.as_deref().unwrap_or_default();
            rule.tool == "Read" && own.as_deref().is_some_and(|own| content.starts_with(own))
        };
        let flags = |list: RuleList| {
            let written = select_rule_list(&loaded.rules, list);
            let given = select_rule_list(&self.settings.policy.rules, list).iter();
            let given = given.filter(|rule| !written.contains(rule) && !is_own(rule));
            let row = |rule| build_item("", format!("{} {rule}", list.key()), words::THIS_SESSION);
            given.map(row).collect::<Vec<PickerItem>>()
        };
        items.extend(RuleList::ALL.into_iter().flat_map(flags));
        Ok(Picker::new(words::TITLE_RULES, items))
    }

    /// Only rules of files that we may write can be removed.
    fn build_rule_item(&self, written: &WrittenRule, trusted: bool) -> PickerItem {
        let WrittenRule { source, name, line, list, rule } = written;
        let label = format!("{} {rule}", list.key());
        let rule_file =
            RuleFile::ALL.into_iter().find(|rule_file| rule_file_to_source(*rule_file) == *source);
        let value = rule_file.map(|rule_file| {
            format!("/permissions remove {} {} {rule}", rule_file.name(), list.key())
        });
        let is_project = matches!(source, SettingsSource::Project | SettingsSource::Local);
        let is_idle = is_project && !trusted && *list == RuleList::Allow;
        let idle = if is_idle { words::RULE_UNTRUSTED } else { "" };
        let description =
            format!("{} · {}:{line}{idle}", layer_label(*source), self.shorten_path(name));
        build_item(value.unwrap_or_default(), label, description)
    }

    pub(super) async fn perform_rule_action(
        &self,
        action: RuleAction,
    ) -> Result<PromptAction, CommandError> {
        match action {
            RuleAction::ChooseFile => self.pick_rule_destination(),
            RuleAction::EnterRule(rule_file, list) => self.ask_rule(rule_file, list),
            RuleAction::Add(rule_file, list, rule) => {
                let rule = parse_rule(list, &rule).map_err(CommandError::usage)?;
                let text = rule.to_string();
                let change =
                    RuleChange { source: rule_file_to_source(rule_file), list, rule: &text };
                let path = add_rule(&self.build_settings_request()?, change)
                    .map_err(|error| settings_write_failed(&error))?;
                let name = self.shorten_path(&path.to_string_lossy());
                let words = words::describe_added_rule(list.key(), &text, &name);
                self.report_rule_change(words).await
            }
            RuleAction::ConfirmRemove(rule_file, list, rule) => {
                let rule_file = rule_file.name();
                let list = list.key();
                let yes = format!("/permissions remove-now {rule_file} {list} {rule}");
                let items = vec![
                    build_item("/permissions", words::RULE_KEEP, ""),
                    build_item(yes, words::RULE_REMOVE, words::describe_rule_scope(rule_file)),
                ];
                Ok(PromptAction::OpenPicker(Picker::new(
                    words::title_remove_rule(list, &rule),
                    items,
                )))
            }
            RuleAction::RemoveNow(rule_file, list, rule) => {
                let change =
                    RuleChange { source: rule_file_to_source(rule_file), list, rule: &rule };
                let paths = remove_rule(&self.build_settings_request()?, change)
                    .map_err(|error| settings_write_failed(&error))?;
                let names: Vec<String> =
                    paths.iter().map(|path| self.shorten_path(&path.to_string_lossy())).collect();
                let names = names.join(" and ");
                let words = words::describe_removed_rule(list.key(), &rule, &names);
                self.report_rule_change(words).await
            }
            RuleAction::Check(command) => self.check_command(&command).await,
        }
    }

    /// Asks for the file and the list of a new rule.
    fn pick_rule_destination(&self) -> Result<PromptAction, CommandError> {
        let request = self.build_settings_request()?;
        let destinations = RuleFile::ALL.into_iter().flat_map(|rule_file| {
            [RuleList::Allow, RuleList::Ask, RuleList::Deny].map(|list| (rule_file, list))
        });
        let row = |(rule_file, list): (RuleFile, RuleList)| {
            let file = rule_file_path(&request, rule_file_to_source(rule_file))?;
            let value = format!("/permissions add {} {}", rule_file.name(), list.key());
            let label = format!("{} for {}", list.key(), describe_rule_file(rule_file));
            Some(build_item(value, label, self.shorten_path(&file.to_string_lossy())))
        };
        Ok(PromptAction::OpenPicker(Picker::new(
            words::TITLE_NEW_RULE,
            destinations.filter_map(row).collect(),
        )))
    }

    fn ask_rule(&self, rule_file: RuleFile, list: RuleList) -> Result<PromptAction, CommandError> {
        let request = self.build_settings_request()?;
        let file = rule_file_path(&request, rule_file_to_source(rule_file));
        let file = file.ok_or_else(|| CommandError::failure(words::NO_HOME))?;
        let file = self.shorten_path(&file.to_string_lossy());
        let check: InputValidator = Arc::new(move |text: &str| match text {
            "" => InputFeedback { message: words::RULE_SYNTAX.into(), is_valid: false },
            text => match parse_rule(list, text) {
                Ok(rule) => InputFeedback {
                    message: words::describe_new_rule(list.key(), &rule.to_string(), &file),
                    is_valid: true,
                },
                Err(words) => InputFeedback { message: words, is_valid: false },
            },
        });
        let title = words::title_enter_rule(list.key(), describe_rule_file(rule_file));
        let lead = format!("/permissions add {} {} ", rule_file.name(), list.key());
        Ok(PromptAction::OpenInput(ValidatedInput::new(title, lead, check)))
    }

    /// Explains the decision about a command; without one, opens an input that explains as it is typed.
    async fn check_command(&self, command: &str) -> Result<PromptAction, CommandError> {
        let policy = self.read_current_settings().await?.policy;
        if !command.is_empty() {
            return Ok(PromptAction::ShowText(format!(
                "$ {command}\n{}",
                explain_decision(&policy, command)
            )));
        }
        let check: InputValidator = Arc::new(move |command: &str| match command {
            "" => InputFeedback { message: words::CHECK_HINT.into(), is_valid: false },
            command => {
                InputFeedback { message: explain_decision(&policy, command), is_valid: true }
            }
        });
        let field = ValidatedInput::new(words::TITLE_CHECK, "/permissions check ", check);
        Ok(PromptAction::OpenInput(field))
    }

    /// Reloads the settings after a change of a file. A hook may refuse the change, and an active run
    /// postpones it.
    async fn report_rule_change(&self, words: String) -> Result<PromptAction, CommandError> {
        let later = match self.session.is_run_active().await {
            true => words::COUNTS_LATER,
            false => "",
        };
        self.reload_changed_settings().await;
        Ok(PromptAction::ShowResult(format!("{words}{later}"), Some(self.build_rule_picker()?)))
    }

    pub(super) fn build_settings_request(&self) -> Result<SettingsRequest, CommandError> {
        settings::build_load_request(&self.settings_state.options, &self.cwd, &process_environment)
    }
}

fn settings_write_failed(error: &SettingsWriteError) -> CommandError {
    CommandError::failure(error.to_string())
}

/// Refuses an allow rule that would never match.
fn parse_rule(list: RuleList, text: &str) -> Result<Rule, String> {
    let rule = Rule::parse(text).map_err(|error| error.to_string())?;
    let idle = rule.explain_idle_allow().filter(|_| list == RuleList::Allow);
    match idle {
        Some(why) => Err(words::describe_idle_rule(why)),
        None => Ok(rule),
    }
}

fn explain_decision(policy: &Policy, command: &str) -> String {
    let call = ToolCall {
        id: "checked".into(),
        name: "Bash".into(),
        input: Json::from_checked(&json!({ "command": command }).to_string()),
        signature: None,
    };
    render_report(&build_report(policy, &call, &HostFileSystem::new())).trim_end().to_owned()
}

fn select_rule_list(rules: &Rules, list: RuleList) -> &[Rule] {
    match list {
        RuleList::Allow => &rules.allow,
        RuleList::Ask => &rules.ask,
        RuleList::Deny => &rules.deny,
    }
}

pub(super) fn rule_file_to_source(rule_file: RuleFile) -> SettingsSource {
    match rule_file {
        RuleFile::Local => SettingsSource::Local,
        RuleFile::Project => SettingsSource::Project,
        RuleFile::User => SettingsSource::User,
    }
}

fn describe_rule_file(rule_file: RuleFile) -> &'static str {
    match rule_file {
        RuleFile::Local => words::FOR_ME_HERE,
        RuleFile::Project => words::FOR_EVERYONE_HERE,
        RuleFile::User => words::FOR_ME_EVERYWHERE,
    }
}

fn layer_label(source: SettingsSource) -> &'static str {
    match source {
        SettingsSource::User => words::LAYER_USER,
        SettingsSource::Project => words::LAYER_PROJECT,
        SettingsSource::Local => words::LAYER_LOCAL,
        SettingsSource::Flag => words::LAYER_FLAG,
        SettingsSource::Managed => words::LAYER_MANAGED,
    }
}
