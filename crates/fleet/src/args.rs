//! The command line of `windlass-fleet`. Doc comments here are the help text.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use windlass_fleet::live::LiveOption;
use windlass_host::command_error::CommandError;

/// Sessions on many hosts: a store in PostgreSQL, workers, a gateway, and commands for them.
#[derive(Debug, Parser)]
#[command(name = "windlass-fleet", version, after_help = include_str!("text/help.txt"))]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Serve the HTTP API in front of the store.
    Serve(ServeArgs),
    /// Claim sessions from the store and run them on this host.
    Worker(WorkerArgs),
    /// Create, check and look after the store.
    Store(StoreArgs),
    /// Start a session in a fleet.
    Submit(SubmitArgs),
    /// Start one session for each row of a file, and report on all of them.
    Batch(BatchArgs),
    /// List sessions.
    Ps(PsArgs),
    /// Follow a session, and send it messages from standard input.
    Attach(AttachArgs),
    /// Answer a question of a session.
    Answer(AnswerArgs),
    /// Cancel a session.
    Cancel(SessionArg),
    /// Print what a session said.
    Logs(LogsArgs),
    /// Print what a session changed, for `git apply`.
    Patch(SessionArg),
    /// Run an ordinary command of `windlass` on sessions of the store.
    #[command(hide = true)]
    Local(LocalArgs),
    /// Run a command until the worker's lease ends.
    #[command(hide = true)]
    Guard(GuardArgs),
}

/// Where the store is.
#[derive(Debug, Args)]
pub(crate) struct StoreUrlArg {
    /// The store: `postgres://user:password@host:5432/database`.
    #[arg(long, value_name = "URL", env = "WINDLASS_STORE", hide_env_values = true)]
    pub(crate) store: String,
}

/// How text travels while it is written.
#[derive(Debug, Args)]
pub(crate) struct LiveArgs {
    /// How gateways get text while it is written: `direct` from the worker, at the address that the
    /// database sees; from another address of this worker's host; over `nats://HOST` or
    /// `tls://HOST`; or `off`. [default: direct]
    #[arg(
        long,
        value_name = "WAY",
        env = "WINDLASS_LIVE",
        hide_env_values = true,
        default_value = "direct",
        hide_default_value = true
    )]
    live: LiveOption,
    /// Trust only these certificates of a NATS server, a PEM file. [default: those of the system]
    #[arg(long, value_name = "FILE", env = "WINDLASS_LIVE_CA", hide_env_values = true)]
    live_ca: Option<PathBuf>,
}

impl LiveArgs {
    pub(crate) fn load(self) -> Result<LiveOption, CommandError> {
        let loaded = self.live.with_authorities(self.live_ca.as_deref());
        loaded.map_err(|words| CommandError::usage(format!("--live-ca {words}")))
    }
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The store of a fleet: `postgres://user:password@host:5432/database`. Without it, sessions run
    /// here and are kept in files.
    #[arg(long, value_name = "URL", env = "WINDLASS_STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,
    /// The address to listen at.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7117")]
    pub(crate) listen: String,
    /// Connections at once.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) connections: usize,
    /// Event streams of one tenant at once, below --connections: no tenant holds them all.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) streams: usize,
    /// Serve HTTPS with this certificate and its chain, a PEM file. It is read again when it changes.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's private key, a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) live: LiveArgs,
    #[command(flatten, next_help_heading = "Without a store")]
    pub(crate) running: RunningArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    pub(crate) store: StoreUrlArg,
    /// Seconds after which another worker may take over.
    #[arg(long, value_name = "SECONDS", default_value_t = 15.0)]
    pub(crate) lease: f64,
    #[command(flatten)]
    pub(crate) live: LiveArgs,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
}

/// How sessions run on this host.
#[derive(Debug, Args)]
pub(crate) struct RunningArgs {
    /// Sessions at once.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) capacity: u32,
    /// Claim nothing while less memory than this is available. [default: 256]
    #[arg(long, value_name = "MIB")]
    pub(crate) memory_min: Option<u64>,
    /// Where sessions and repositories lie on this host; the same on all hosts. [default: the state directory]
    #[arg(long = "dir", value_name = "PATH")]
    pub(crate) directory: Option<PathBuf>,
    /// The `windlass` command. [default: beside this program, then PATH]
    #[arg(long, value_name = "PATH")]
    pub(crate) windlass: Option<PathBuf>,
    /// Run commands of models without a sandbox where there is none.
    #[arg(long)]
    pub(crate) allow_unsandboxed: bool,
    /// Park a session after it lost its worker this often in a row.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) attempts: u32,
    /// Seconds that sessions may go on after a request to terminate.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) drain: u64,
    /// Seconds after which a session that waits for an answer leaves its place to others. It goes on
    /// when the answer is there.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) question_wait: u64,
}

#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Create the store in an empty database, or bring it to this version.
    Migrate(StoreUrlArg),
    /// Check that the store can be used, and say what is in it.
    Check(StoreUrlArg),
    /// Add a tenant, or change its limits.
    Tenant(TenantArgs),
    /// Limit the sessions that run at once in one repository or at one provider.
    Limit(RunningLimitArgs),
    /// Make, list and remove tokens.
    Token(TokenArgs),
    /// Remove sessions that ended long ago, with all that belongs to them.
    Clean(CleanArgs),
    /// Put the journal of a session of this host into the store.
    Import(ImportArgs),
    /// Write the journals of a session as files.
    Export(StoreExportArgs),
    /// Look at a session with a command of `windlass`: `store run ID -- why`.
    Run(StoreRunArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TenantArgs {
    #[command(flatten)]
    pub(crate) store: StoreUrlArg,
    /// Its name.
    pub(crate) name: String,
    /// What all its sessions together may spend, in dollars.
    #[arg(long, value_name = "USD")]
    pub(crate) budget_usd: Option<f64>,
    /// Sessions that may run at once.
    #[arg(long, value_name = "N")]
    pub(crate) running: Option<u32>,
    /// Let its sessions do what the workers' user may: `bypassPermissions`, any rule, any repository,
    /// files of the host. [default: no]
    #[arg(long, value_enum)]
    pub(crate) trusted: Option<YesNo>,
    /// Repositories for its sessions besides public ones: URLs, or beginnings that end in `/`. Replaces
    /// those named before; an empty one leaves none.
    #[arg(long = "repository", value_name = "URL")]
    pub(crate) repositories: Vec<String>,
    /// Let its sessions push their changes to branches that begin like this, of the repositories that
    /// `--repository` names; an empty one forbids it again. [default: none]
    #[arg(long, value_name = "PREFIX")]
    pub(crate) push_prefix: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunningLimitArgs {
    #[command(flatten)]
    pub(crate) store: StoreUrlArg,
    /// What is limited. Without it, the limits are listed.
    #[arg(value_enum, requires = "name")]
    pub(crate) kind: Option<LimitWord>,
    /// The repository's URL, or the provider's name: what is before the `/` of `--model`, `default` for
    /// models without one.
    pub(crate) name: Option<String>,
    /// Sessions that may run at once; 0 stops them all.
    #[arg(long, value_name = "N", requires = "kind")]
    pub(crate) running: Option<u32>,
    /// Remove the limit.
    #[arg(long, conflicts_with = "running", requires = "kind")]
    pub(crate) remove: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LimitWord {
    Repository,
    Provider,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    #[command(flatten)]
    pub(crate) store: StoreUrlArg,
    /// Only sessions that ended at least this long ago: `30d`, `12h`, `90m`.
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub(crate) older_than: Duration,
    /// Only those of this tenant.
    #[arg(long, value_name = "NAME")]
    pub(crate) tenant: Option<String>,
    /// Also parked sessions, which a message would start again.
    #[arg(long)]
    pub(crate) parked: bool,
    /// Remove nothing: print what would be removed.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// A number and its unit: minutes, hours or days.
fn parse_age(text: &str) -> Result<Duration, String> {
    let wrong = || "it must be a number and a unit, such as 30d, 12h or 90m".to_owned();
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds = match unit {
        'd' => 24 * 3600,
        'h' => 3600,
        'm' => 60,
        _ => return Err(wrong()),
    };
    let number: u32 = text.strip_suffix(unit).unwrap_or_default().parse().map_err(|_| wrong())?;
    match number {
        // A typing error must not remove what has just ended.
        0 => Err("it must be more than 0".to_owned()),
        number => Ok(Duration::from_secs(u64::from(number) * seconds)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum YesNo {
    Yes,
    No,
}

#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it. It is shown only once.
    Add(TokenAddArgs),
    /// List tokens.
    List(StoreUrlArg),
    /// Remove the tokens of this name.
    Remove(TokenRemoveArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TokenAddArgs {
    #[command(flatten)]
    pub(crate) store: StoreUrlArg,
    /// Whose it is, for lists and for the record of answers.
    pub(crate) name: String,
    #[arg(long, value_name = "NAME")]
    pub(crate) tenant: String,
    #[arg(long, value_name = "ROLE", value_enum)]
    pub(crate) role: RoleArg,
    /// Days until it expires.
    #[arg(long, value_name = "N")]
    pub(crate) days: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct TokenRemoveArgs {
    #[command(flatten)]
    pub(crate) store: StoreUrlArg,
    pub(crate) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleArg {
    /// See sessions.
    Watch,
    /// Also start sessions, send messages and cancel.
    Submit,
    /// Also answer permission questions.
    Approve,
    /// Everything, for every tenant.
    Admin,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    pub(crate) store: StoreUrlArg,
    /// The journal: a file such as `ID.jsonl`.
    pub(crate) journal: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct StoreExportArgs {
    #[command(flatten)]
    pub(crate) store: StoreUrlArg,
    /// The session's id.
    pub(crate) session: String,
    /// The folder to write to; it must not exist.
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct StoreRunArgs {
    #[command(flatten)]
    pub(crate) store: StoreUrlArg,
    /// The session's id.
    pub(crate) session: String,
    /// The command: why, replay, cost, sessions, context or stats, with its options.
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<String>,
}

/// Where the gateway is, and who asks.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// The gateway.
    #[arg(
        long,
        value_name = "URL",
        env = "WINDLASS_SERVER",
        default_value = "http://127.0.0.1:7117"
    )]
    pub(crate) server: String,
}

/// How sessions run.
#[derive(Debug, Args)]
pub(crate) struct SpecArgs {
    /// The model.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// What to do with calls that no rule covers.
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<String>,
    /// Deny what would be asked, instead of waiting for an answer.
    #[arg(long)]
    pub(crate) deny_questions: bool,
    /// Allow these calls.
    #[arg(long = "allowedTools", visible_alias = "allowed-tools", value_name = "RULE")]
    pub(crate) allowed_tools: Vec<String>,
    /// Deny these calls.
    #[arg(long = "disallowedTools", visible_alias = "disallowed-tools", value_name = "RULE")]
    pub(crate) disallowed_tools: Vec<String>,
    /// Model calls of one run at most.
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,
    /// What one session may spend.
    #[arg(long, value_name = "USD")]
    pub(crate) max_budget_usd: Option<f64>,
    /// Start a session again this often when its provider fails; 0 for never. [default: 3, at most 10]
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// The repository to work in.
    #[arg(long, value_name = "URL")]
    pub(crate) git: Option<String>,
    /// The commit, branch or tag of it.
    #[arg(long, value_name = "REF", requires = "git")]
    pub(crate) commit: Option<String>,
    /// Sessions with a higher number go first.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) priority: i32,
}

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// The prompt. [default: standard input]
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) spec: SpecArgs,
    /// Wait for the result and print it.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Push what the session changes to this new branch of its repository.
    #[arg(long, value_name = "BRANCH", requires = "git")]
    pub(crate) push_branch: Option<String>,
    /// A name for people.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct BatchArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Rows: a CSV file with a header, one JSON object a line (`.jsonl`), or a list of repositories
    /// (`.txt`), whose column is `repository`.
    pub(crate) rows: PathBuf,
    /// The prompt, with `{column}` for the values of a row; `--git` and `--commit` may have them, too.
    #[arg(long, value_name = "TEXT")]
    pub(crate) template: String,
    #[command(flatten)]
    pub(crate) spec: SpecArgs,
    /// The batch's name. The same name again goes on with the same batch.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What all sessions of the batch together may spend, whatever dies. Sessions that it does not
    /// cover wait.
    #[arg(long, value_name = "USD", requires = "max_budget_usd")]
    pub(crate) batch_budget_usd: Option<f64>,
    /// Push what each session changes to a new branch of its repository: this prefix and the number of
    /// the row. It may have `{column}`, too.
    #[arg(long, value_name = "PREFIX", requires = "git")]
    pub(crate) branch_prefix: Option<String>,
    /// Start nothing: print the sessions and the worst case in money.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Where to write the report: Markdown, and JSON beside it.
    #[arg(long, value_name = "PATH")]
    pub(crate) report: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PsArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Only sessions in this state: queued, running, done, failed, parked, cancelled.
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    /// List workers instead.
    #[arg(long)]
    pub(crate) workers: bool,
    /// List batches instead, with their budgets.
    #[arg(long, conflicts_with = "workers")]
    pub(crate) batches: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// The session. Without it, the first message starts one.
    #[arg(required_unless_present = "stream_json")]
    pub(crate) session: Option<String>,
    /// Print only what comes from now on.
    #[arg(long, requires = "session")]
    pub(crate) new: bool,
    /// Speak stream-json on both standard streams, as `windlass -p` does.
    #[arg(long)]
    pub(crate) stream_json: bool,
    /// With --stream-json, also the pieces of answers while they are written.
    #[arg(long, requires = "stream_json")]
    pub(crate) include_partial_messages: bool,
    #[command(flatten, next_help_heading = "Without a session")]
    pub(crate) spec: SpecArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    pub(crate) session: String,
    /// `allow` or `deny`. Without it, the open questions are listed.
    #[arg(value_enum)]
    pub(crate) answer: Option<AnswerWord>,
    /// Which question, if there are several.
    #[arg(long, value_name = "ID")]
    pub(crate) question: Option<String>,
    /// What the model is told when denied.
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerWord {
    Allow,
    Deny,
}

#[derive(Debug, Args)]
pub(crate) struct SessionArg {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    pub(crate) session: String,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    pub(crate) session: String,
    /// Go on until the session ends.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Print the frames as they are.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LocalArgs {
    #[command(flatten)]
    pub(crate) store: StoreUrlArg,
    #[arg(last = true)]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct GuardArgs {
    #[arg(long)]
    pub(crate) socket: PathBuf,
    #[arg(long)]
    pub(crate) foreground: bool,
    #[arg(last = true)]
    pub(crate) command: Vec<OsString>,
}
