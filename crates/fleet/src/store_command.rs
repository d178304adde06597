//! `windlass-fleet store`: migrate, check, tenants, limits, tokens, import and export.

use windlass_fleet::session_spec::trim_repository;
use windlass_fleet::store::{
    FleetStore, LimitKind, StoreError, StoredLimit, TenantChange, TokenRole,
};
use windlass_fleet::store_transfer::{export_session, import_session};
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;

use crate::args::{
    LimitWord, RoleArg, RunningLimitArgs, StoreCommand, TenantArgs, TokenAddArgs, TokenCommand,
    YesNo,
};

/// The provider of models that name none.
const DEFAULT_PROVIDER: &str = "default";

pub(crate) async fn run(command: StoreCommand) -> Result<Exit, CommandError> {
    let lines = match command {
        StoreCommand::Migrate(url) => {
            let store = FleetStore::connect(&url.store, 2).await.map_err(to_error)?;
            match store.migrate().await.map_err(to_error)? {
                windlass_fleet::store::SCHEMA_VERSION => "the store is up to date".to_owned(),
                0 => "the store was created".to_owned(),
                before => format!("the store was brought from schema {before} to this version"),
            }
        }
        StoreCommand::Check(url) => check(&open(&url.store).await?).await?,
        StoreCommand::Tenant(args) => put_tenant(args).await?,
        StoreCommand::Limit(args) => put_limit(args).await?,
        StoreCommand::Clean(args) => crate::store_clean::run(args).await?,
        StoreCommand::Token(args) => run_token(args.command).await?,
        StoreCommand::Import(args) => {
            let store = open(&args.store.store).await?;
            let id = import_session(&store, &args.journal).await.map_err(to_failure)?;
            format!("session {id} is in the store")
        }
        StoreCommand::Run(args) => return crate::store_run::run(args).await,
        StoreCommand::Export(args) => {
            let store = open(&args.store.store).await?;
            let count = export_session(&store, &args.session, &args.folder).await;
            let count = count.map_err(to_failure)?;
            format!("{count} files were written to {}", args.folder.display())
        }
    };
    println!("{}", lines.trim_end());
    Ok(Exit::SUCCESS)
}

pub(crate) async fn open(url: &str) -> Result<FleetStore, CommandError> {
    FleetStore::open(url, 2).await.map_err(to_error)
}

async fn check(store: &FleetStore) -> Result<String, CommandError> {
    let states = store.count_states().await.map_err(to_error)?;
    let workers = store.list_workers().await.map_err(to_error)?;
    let live = workers.iter().filter(|worker| worker.lease_millis > 0 && worker.capacity > 0);
    let mut text = format!("the store can be used; {} workers are alive\n", live.count());
    for (state, count) in states {
        text.push_str(&format!("{state}: {count}\n"));
    }
    Ok(text)
}

async fn put_tenant(args: TenantArgs) -> Result<String, CommandError> {
    check_name("a tenant", &args.name)?;
    let budget = match args.budget_usd {
        Some(most) if !(0.0..1e9).contains(&most) => {
            return Err(CommandError::usage("--budget-usd must be 0 or more"));
        }
        // The range was checked above.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        most => most.map(|most| (most * 1e6).round() as u64),
    };
    let named = !args.repositories.is_empty();
    let change = TenantChange {
        budget_micro: budget,
        running_max: args.running,
        is_trusted: args.trusted.map(|answer| answer == YesNo::Yes),
        repositories: named
            .then(|| args.repositories.iter().filter(|it| !it.is_empty()).cloned().collect()),
        push_prefix: args.push_prefix.clone(),
    };
    let store = open(&args.store.store).await?;
    let row = store.put_tenant(&args.name, &change).await.map_err(to_error)?;
    let budget = match row.money.budget_micro {
        Some(most) => {
            format!("spent {} of {} dollars", to_usd(row.money.spent_micro), to_usd(most))
        }
        None => "no budget".to_owned(),
    };
    let mut text =
        format!("tenant {}: {budget}, at most {} sessions at once", row.id, row.running_max);
    if row.policy.is_trusted {
        text.push_str(", trusted with the workers' hosts");
    }
    if let Some(prefix) = &row.policy.push_prefix {
        text.push_str(&format!(", pushes branches {prefix}…"));
    }
    for repository in &row.policy.repositories {
        text.push_str(&format!("\nrepository {repository}"));
    }
    Ok(text)
}

/// Sets, removes or lists limits.
async fn put_limit(args: RunningLimitArgs) -> Result<String, CommandError> {
    let RunningLimitArgs { store, kind, name, running, remove } = args;
    if kind.is_some() && running.is_none() && !remove {
        return Err(CommandError::usage("say how many with --running, or --remove"));
    }
    let name = name.unwrap_or_default();
    if name.len() > 2000 || name.chars().any(char::is_control) {
        return Err(CommandError::usage("that is not the name of a repository or a provider"));
    }
    let store = open(&store.store).await?;
    match kind {
        Some(LimitWord::Repository) => {
            let name = trim_repository(&name);
            store.put_limit(LimitKind::Repository, name, running).await.map_err(to_error)?;
        }
        Some(LimitWord::Provider) => {
            let name = if name == DEFAULT_PROVIDER { "" } else { &name };
            store.put_limit(LimitKind::Provider, name, running).await.map_err(to_error)?;
        }
        None => {}
    }
    let limits = store.list_limits().await.map_err(to_error)?;
    let line = |limit: &StoredLimit| {
        let name = if limit.name.is_empty() { DEFAULT_PROVIDER } else { &limit.name };
        format!("{} {name}: at most {} sessions at once\n", limit.kind, limit.running_max)
    };
    match limits.is_empty() {
        true => Ok("there are no limits but those of tenants".to_owned()),
        false => Ok(limits.iter().map(line).collect()),
    }
}

async fn run_token(command: TokenCommand) -> Result<String, CommandError> {
    match command {
        TokenCommand::Add(TokenAddArgs { store, name, tenant, role, days }) => {
            check_name("a token", &name)?;
            let role = match role {
                RoleArg::Watch => TokenRole::Watch,
                RoleArg::Submit => TokenRole::Submit,
                RoleArg::Approve => TokenRole::Approve,
                RoleArg::Admin => TokenRole::Admin,
            };
            let store = open(&store.store).await?;
            store.add_token(&name, &tenant, role, days).await.map_err(to_error)
        }
        TokenCommand::List(url) => {
            let tokens = open(&url.store).await?.list_tokens().await.map_err(to_error)?;
            let line = |token: &windlass_fleet::store::TokenRow| {
                let expired = if token.is_expired { " (expired)" } else { "" };
                format!("{}  {}  {}{expired}\n", token.name, token.tenant, token.role)
            };
            Ok(tokens.iter().map(line).collect())
        }
        TokenCommand::Remove(args) => {
            let store = open(&args.store.store).await?;
            match store.remove_tokens(&args.name).await.map_err(to_error)? {
                0 => Err(CommandError::usage(format!("there is no token called {}", args.name))),
                count => Ok(format!("{count} tokens were removed")),
            }
        }
    }
}

fn check_name(what: &str, name: &str) -> Result<(), CommandError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    match (1..=64).contains(&name.len()) && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(CommandError::usage(format!(
            "{what} is called by at most 64 letters, digits, `-`, `_`, `.` and `@`"
        ))),
    }
}

#[allow(clippy::cast_precision_loss, reason = "for people")]
fn to_usd(micro: i64) -> String {
    format!("{:.2}", micro as f64 / 1e6)
}

#[allow(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
pub(crate) fn to_error(error: StoreError) -> CommandError {
    if let StoreError::NotAUrl | StoreError::BadUrl(_) = error {
        return CommandError::usage(error.to_string());
    }
    CommandError::failure(error.to_string())
}

fn to_failure(words: String) -> CommandError {
    CommandError::failure(words)
}
