//! The command line about sessions: which one a run belongs to, and what is asked about those that
//! were kept.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::trial::TrialArgs;

/// Which session a run belongs to.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct SessionArgs {
    /// Resume the newest session in this directory.
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    pub(crate) goes_on: bool,
    /// Resume this session: its id, the beginning of its id, or its name.
    #[arg(short, long, value_name = "ID|NAME", num_args = 0..=1)]
    pub(crate) resume: Option<Option<String>>,
    /// With -c or -r: resume in a copy; the original stays unchanged.
    #[arg(long)]
    pub(crate) fork_session: bool,
    /// With -c, -r or --journal: finish the interrupted run, without a new prompt.
    #[arg(long, conflicts_with_all = ["fork_session", "resume_session_at"])]
    pub(crate) continue_run: bool,
    /// With -c or -r: resume after this message of the transcript, and drop what came after it.
    #[arg(long, value_name = "UUID")]
    pub(crate) resume_session_at: Option<String>,
    /// With --resume-session-at: refuse if more than this prompt's turn would be dropped.
    #[arg(long, value_name = "UUID", requires = "resume_session_at")]
    pub(crate) resume_drops_turn: Option<String>,
    /// With -c or -r: if the journal is unusable, resume from the transcript.
    #[arg(long)]
    pub(crate) from_transcript: bool,
    /// The id of the new session. [default: a random one]
    #[arg(long, value_name = "UUID")]
    pub(crate) session_id: Option<String>,
    /// Give the session a name.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Work in a git worktree of this name beside the repository, on a branch of its own. It stays if
    /// anything changed in it. [default: a new name]
    #[arg(short, long, value_name = "NAME", num_args = 0..=1, conflicts_with_all = ["dry_run", "journal"])]
    pub(crate) worktree: Option<Option<String>>,
    /// Do not save the session.
    #[arg(long, conflicts_with_all = ["goes_on", "resume", "fork_session", "name", "journal"])]
    pub(crate) no_session_persistence: bool,
    /// Save the session in this file instead. A session that is already there is resumed.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["goes_on", "resume", "fork_session", "name"])]
    pub(crate) journal: Option<PathBuf>,
    /// Keep the journal with the process that listens at this socket, too. For workers of a fleet.
    #[arg(long, value_name = "SOCKET", hide = true, requires = "journal")]
    pub(crate) journal_relay: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trial: TrialArgs,
}

/// `windlass sessions`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

/// What to do with sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions of this directory, the newest first.
    #[command(alias = "ls")]
    List(SessionsListArgs),
    /// Show what was said in a session.
    Show(SingleSessionArgs),
    /// Search what was said in all sessions.
    Search(SessionsSearchArgs),
    /// Print a whole session as Markdown or JSON.
    Export(SessionsExportArgs),
    /// Delete a session and everything that belongs to it. Needs the full id.
    #[command(alias = "rm")]
    Delete(SessionsDeleteArgs),
    /// Restore a session from the trash, where old ones stay for a week. Without an id, list them.
    Restore(SessionsRestoreArgs),
    /// Rename a session; an empty name removes it.
    Rename(SessionsRenameArgs),
}

/// `windlass sessions list`.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionsListArgs {
    /// Sessions of all directories.
    #[arg(long)]
    pub(crate) all: bool,
    /// Show at most this many; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass sessions show`, `context` and `stats`: one session.
#[derive(Debug, clap::Args)]
pub(crate) struct SingleSessionArgs {
    /// Its id, the beginning of its id, or its name. [default: the newest of this directory]
    pub(crate) session: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass sessions search`.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionsSearchArgs {
    /// Words to look for; case is ignored.
    pub(crate) words: String,
    /// Search all directories.
    #[arg(long)]
    pub(crate) all: bool,
    /// Show at most this many sessions.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass sessions export`.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionsExportArgs {
    /// Its id, the beginning of its id, or its name. [default: the newest of this directory]
    pub(crate) session: Option<String>,
    /// Output format.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) format: SessionExportFormat,
}

/// How a session is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SessionExportFormat {
    /// For people.
    #[default]
    Markdown,
    /// For programs: one object per message.
    Jsonl,
}

/// `windlass sessions delete`.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionsDeleteArgs {
    /// The full id.
    pub(crate) id: String,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass sessions restore`.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionsRestoreArgs {
    /// The full id.
    pub(crate) id: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass sessions rename`.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionsRenameArgs {
    /// Its id, the beginning of its id, or its name.
    pub(crate) session: String,
    /// The new name.
    pub(crate) name: String,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass cost`.
#[derive(Debug, clap::Args)]
pub(crate) struct CostArgs {
    /// One session: its id, the beginning of its id, or its name. [default: all of this directory]
    #[arg(conflicts_with = "all")]
    pub(crate) session: Option<String>,
    /// The sessions of all directories.
    #[arg(long)]
    pub(crate) all: bool,
    /// Group costs by this.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) by: CostGroupingArg,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a sum is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CostGroupingArg {
    /// By model.
    #[default]
    Model,
    /// By day, in UTC.
    Day,
    /// By directory.
    Project,
}

/// `windlass resume`.
#[derive(Debug, clap::Args)]
pub(crate) struct ResumeArgs {
    /// Its id, the beginning of its id, or its name. [default: the newest of this directory]
    pub(crate) session: Option<String>,
    /// Finish the interrupted run, without a new prompt.
    #[arg(long)]
    pub(crate) continue_run: bool,
    /// Flags of a run, and a prompt after -p.
    #[arg(last = true, value_name = "FLAGS")]
    pub(crate) rest: Vec<std::ffi::OsString>,
}

/// `windlass rewind`.
#[derive(Debug, clap::Args)]
pub(crate) struct RewindArgs {
    /// Its id, the beginning of its id, or its name. [default: the newest of this directory]
    pub(crate) session: Option<String>,
    /// Rewind to before this prompt: its number, or its id in the transcript; or to before the call
    /// with this id. Without it, list the prompts and change nothing.
    #[arg(long, value_name = "PROMPT|CALL")]
    pub(crate) to: Option<String>,
    /// Only the conversation.
    #[arg(long, conflicts_with_all = ["files", "both"])]
    pub(crate) conversation: bool,
    /// Only the files.
    #[arg(long, conflicts_with = "both")]
    pub(crate) files: bool,
    /// The conversation and the files. This is the default.
    #[arg(long)]
    pub(crate) both: bool,
    /// Only show what would change, as a diff.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also overwrite files that were changed by others since.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Overwrite this file though others changed it since, and leave other such files alone. May be
    /// repeated.
    #[arg(long, value_name = "PATH", conflicts_with = "overwrite")]
    pub(crate) overwrite_file: Vec<PathBuf>,
    /// Leave files alone that others changed since, and restore the rest.
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) skip_changed: bool,
    /// Take back the last rewind of files.
    #[arg(long, conflicts_with_all = ["to", "conversation", "both"])]
    pub(crate) undo: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass diff`.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// Its id, the beginning of its id, or its name. [default: the newest of this directory]
    pub(crate) session: Option<String>,
    /// Only what the turn of this prompt did; `windlass rewind` lists them by number.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) turn: Option<usize>,
    /// Only what the turn of the last prompt did.
    #[arg(long, conflicts_with = "turn")]
    pub(crate) last: bool,
    /// Only what this call did: its id, or the beginning of it.
    #[arg(long, value_name = "ID", conflicts_with_all = ["turn", "last"])]
    pub(crate) call: Option<String>,
    /// Only list the files, with lines added and removed.
    #[arg(long)]
    pub(crate) stat: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass fork`.
#[derive(Debug, clap::Args)]
pub(crate) struct ForkArgs {
    /// Its id, the beginning of its id, or its name. [default: the newest of this directory]
    pub(crate) session: Option<String>,
    /// From before this prompt, by number or id, or before this call. [default: from now]
    #[arg(long, value_name = "PROMPT|CALL")]
    pub(crate) at: Option<String>,
    /// Give the fork files of its own: those of that moment, in this folder.
    /// [default: a new folder beside the original]
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true)]
    pub(crate) workspace: Option<Option<PathBuf>>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass pack`.
#[derive(Debug, clap::Args)]
pub(crate) struct PackArgs {
    /// Its id, the beginning of its id, or its name. [default: the newest of this directory]
    pub(crate) session: Option<String>,
    /// The file to write. [default: <id>.windlass]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Only the conversation, without the files of the working directory.
    #[arg(long)]
    pub(crate) no_files: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass unpack`.
#[derive(Debug, clap::Args)]
pub(crate) struct UnpackArgs {
    /// The pack.
    pub(crate) file: PathBuf,
    /// The new or empty folder for its files. [default: a folder named as the original's]
    #[arg(long, value_name = "DIR")]
    pub(crate) into: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass replay`.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// A session, or the file of a journal. [default: the newest of this directory]
    pub(crate) session: Option<String>,
    /// Show every event and what followed from it.
    #[arg(long)]
    pub(crate) step: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass why`.
#[derive(Debug, clap::Args)]
pub(crate) struct WhyArgs {
    /// A session, or the file of a journal. [default: the newest of this directory]
    pub(crate) session: Option<String>,
    /// Only this turn of the last run.
    pub(crate) turn: Option<u32>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass bugreport`.
#[derive(Debug, clap::Args)]
pub(crate) struct BugreportArgs {
    /// A session, or the file of a journal. [default: the newest of this directory]
    pub(crate) session: Option<String>,
    /// Output file; must not exist yet.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
