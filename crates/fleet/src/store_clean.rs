//! `windlass-fleet store clean`: removes sessions that ended long ago.

use windlass_fleet::store::{RemovalCount, RemovalFilter};
use windlass_host::command_error::CommandError;

use crate::args::CleanArgs;
use crate::store_command::{open, to_error};

/// Says what it removes, or with `--dry-run` would remove, by tenant and state.
pub(crate) async fn run(args: CleanArgs) -> Result<String, CommandError> {
    let CleanArgs { store, older_than, tenant, parked, dry_run } = args;
    let filter = RemovalFilter { age: older_than, tenant, includes_parked: parked };
    let store = open(&store.store).await?;
    let counts = store.count_removable(&filter).await.map_err(to_error)?;
    let all: u64 = counts.iter().map(|count| count.sessions).sum();
    let mut text: String = counts.iter().map(describe).collect();
    if dry_run {
        text.push_str(&format!("{all} sessions would be removed; nothing was\n"));
        return Ok(text);
    }
    let mut removed = 0;
    loop {
        let count = store.remove_some_sessions(&filter).await.map_err(to_error)?;
        removed += count;
        // Sessions that end meanwhile are not old enough, so this comes to an end.
        if count == 0 {
            break;
        }
        eprintln!("{removed} of {all}");
    }
    store.remove_leftovers(&filter).await.map_err(to_error)?;
    text.push_str(&format!("{removed} sessions were removed\n"));
    Ok(text)
}

fn describe(count: &RemovalCount) -> String {
    format!("{}  {}: {}\n", count.tenant, count.state, count.sessions)
}
