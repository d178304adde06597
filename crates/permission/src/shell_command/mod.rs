//! Analyses a shell line, as far as that is reliable.
//!
//! `bash_grammar` parses it, `syntax_walker` splits the tree into parts, each a simple command that
//! could run; `wrapper` finds the commands that parts run. `command_effect`, `read_only_command`,
//! `rule_reach` and the lists in `program_table` tell what a part does. Where the grammar fails,
//! `loose_scanner` guesses, for deny rules only. Nothing is run or expanded here.

mod archive_listing;
mod backup_suffix;
mod bash_grammar;
mod certain_command;
mod char_cursor;
mod command_effect;
mod command_pattern;
mod critical_removal;
mod document_text;
mod file_operands;
mod find_command;
mod git_command;
mod interpreter;
mod jq_command;
mod loose_scanner;
mod named_programs;
mod parsed_command_line;
mod parsed_script;
mod plain_words;
mod program_start;
mod program_table;
mod read_only_command;
mod rule_reach;
mod sed_awk;
mod shell_builtin;
mod shell_variable;
mod shell_word;
mod strip_wrappers;
mod syntax_walker;
mod system_command;
mod word_paths;
mod wrapper;
mod xargs_command;

pub(crate) use backup_suffix::find_protected_backup;
pub use certain_command::{
    CertainCommand, is_read_only_line, list_certain_commands, may_walk_directories,
};
pub(crate) use command_effect::{
    CommandEffect, check_read_only, classify_effect, find_certain_file_words, find_read_words,
    find_written_words, is_file_reader,
};
pub(crate) use command_pattern::{CommandPattern, MatchCertainty, RuleCoverage};
pub(crate) use critical_removal::find_critical_removal;
pub(crate) use file_operands::find_file_operands;
pub(crate) use find_command::find_search_roots;
pub use git_command::may_start_git;
pub(crate) use git_command::{find_git_directory, reads_outside_repository};
pub(crate) use interpreter::is_interpreter;
pub(crate) use parsed_command_line::ParsedCommandLine;
pub(crate) use parsed_script::{ParseDoubt, ParsedShellScript, PossibleDirectories, SimpleCommand};
pub use plain_words::parse_plain_words;
pub(crate) use program_start::{ProgramStart, find_program_start};
pub(crate) use program_table::CellNeed;
pub use read_only_command::{ReadOnlyCommand, analyze_read_only};
pub(crate) use read_only_command::{ReadOnlyWords, analyze_read_only_words};
pub(crate) use rule_reach::{RuleGap, reaches_beyond_rule};
pub(crate) use shell_word::ShellWord;
pub(crate) use strip_wrappers::strip_wrappers;
pub(crate) use syntax_walker::{ScriptContext, parse_script};
pub(crate) use word_paths::{
    find_path_candidates, find_protected_glob_match, list_matching_paths, may_leave_workspace,
};
pub(crate) use wrapper::{base_name, is_runner};
