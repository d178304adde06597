//! Follows the sessions of a batch by the list of the batch, one request at a time for all of them,
//! and fetches the result of each when it has ended.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use serde_json::{Value, json};
use windlass_host::command_error::CommandError;

use super::gateway_client::{GatewayClient, GatewayError};
use super::{encode_query, text_of, to_usd};

/// A session that has ended.
#[derive(Clone, Debug)]
pub(crate) struct RowOutcome {
    /// As the gateway describes it.
    pub(crate) session: Value,
    /// Its last result frame; null if it has none.
    pub(crate) result: Value,
}

impl RowOutcome {
    pub(crate) fn state(&self) -> String {
        text_of(&self.session, "state")
    }
}

pub(crate) struct BatchProgress<'a> {
    client: &'a GatewayClient,
    batch: String,
    /// The sessions in the order of the rows.
    ids: Vec<String>,
    /// Those that have not ended, with whether the list has them.
    pending: BTreeMap<String, bool>,
    outcomes: BTreeMap<String, RowOutcome>,
    failures: u32,
}

/// What one page of the list has changed.
#[derive(Default)]
struct PageNews {
    next: Option<String>,
    /// Why the first session that waits does.
    waits: Option<String>,
}

impl<'a> BatchProgress<'a> {
    pub(crate) fn new(client: &'a GatewayClient, batch: &str, ids: Vec<String>) -> Self {
        let pending = ids.iter().map(|id| (id.clone(), false)).collect();
        let batch = encode_query(batch);
        Self { client, batch, ids, pending, outcomes: BTreeMap::new(), failures: 0 }
    }

    /// Returns the outcomes in the order of the rows when all sessions have ended.
    pub(crate) async fn follow(mut self) -> Result<Vec<RowOutcome>, CommandError> {
        let mut pause = PAUSE_MIN;
        while !self.pending.is_empty() {
            let before = self.pending.len();
            let waits = self.read_pages().await?;
            self.report(waits.as_deref());
            pause = match self.pending.len() < before {
                true => PAUSE_MIN,
                false => (pause * 3 / 2).min(PAUSE_MAX),
            };
            if !self.pending.is_empty() {
                tokio::time::sleep(pause).await;
            }
        }
        eprintln!();
        let Self { ids, mut outcomes, .. } = self;
        Ok(ids.iter().filter_map(|id| outcomes.remove(id)).collect())
    }

    /// Reads the list from the first session that has not ended. Returns why sessions wait.
    async fn read_pages(&mut self) -> Result<Option<String>, CommandError> {
        let mut waits = None;
        self.pending.values_mut().for_each(|is_listed| *is_listed = false);
        let mut after = self.pending.keys().next().map(|first| find_predecessor(first));
        loop {
            let after_query = after.map(|after| format!("&after={after}")).unwrap_or_default();
            let path = format!("/v1/sessions?batch={}&limit={PAGE}{after_query}", self.batch);
            let page = match self.client.try_get(&path).await {
                Ok(page) => page,
                Err(error) => {
                    self.count_failure(error)?;
                    return Ok(waits);
                }
            };
            let news = self.take_page(&page).await?;
            waits = waits.or(news.waits);
            after = news.next;
            if after.is_none() {
                break;
            }
            // One request a second, however many rows there are.
            tokio::time::sleep(PAUSE_MIN).await;
        }
        self.failures = 0;
        match self.pending.iter().find(|(_, is_listed)| !**is_listed) {
            // Submitted, and not of this batch: the id belongs to another session, or it was removed.
            Some((id, _)) => Err(CommandError::failure(format!(
                "the session {id} is not in the batch; choose another --name"
            ))),
            None => Ok(waits),
        }
    }

    async fn take_page(&mut self, page: &Value) -> Result<PageNews, CommandError> {
        let mut news = PageNews::default();
        let rows = page.get("sessions").and_then(Value::as_array);
        for session in rows.into_iter().flatten() {
            let id = text_of(session, "id");
            let Some(is_listed) = self.pending.get_mut(&id) else { continue };
            *is_listed = true;
            let state = text_of(session, "state");
            if matches!(state.as_str(), "queued" | "running") {
                let reason = text_of(session, "reason");
                news.waits = news.waits.or(Some(reason).filter(|reason| !reason.is_empty()));
                continue;
            }
            if let Some(result) = self.read_result(&id).await? {
                self.pending.remove(&id);
                self.outcomes.insert(id, RowOutcome { session: session.clone(), result });
            }
        }
        news.next = page.get("next").and_then(Value::as_str).map(str::to_owned);
        Ok(news)
    }

    /// The result frame of a session that has ended, null without one. `None` if it has to be asked
    /// for again.
    async fn read_result(&mut self, id: &str) -> Result<Option<Value>, CommandError> {
        match self.client.try_get(&format!("/v1/sessions/{id}/result")).await {
            Ok(frame) => Ok(Some(frame)),
            Err(error) if error.is_transient() => self.count_failure(error).map(|()| None),
            // It ended before it had one.
            Err(_) => Ok(Some(Value::Null)),
        }
    }

    fn count_failure(&mut self, error: GatewayError) -> Result<(), CommandError> {
        self.failures += 1;
        match error.is_transient() && self.failures <= FAILURES_MAX {
            true => Ok(()),
            false => Err(error.into_command_error()),
        }
    }

    fn report(&self, waits: Option<&str>) {
        let done = self.outcomes.len();
        let cost = self.outcomes.values();
        let cost: i64 =
            cost.filter_map(|outcome| outcome.session.get("cost_micro_usd")?.as_i64()).sum();
        let bar = render_bar(done, self.ids.len());
        let waits = waits.filter(|_| done < self.ids.len());
        let waits = waits.map(|words| format!("; {words}")).unwrap_or_default();
        // Erases the rest of a longer line.
        let erase = if std::io::stderr().is_terminal() { "\u{1b}[K" } else { "" };
        eprint!("\r{bar} {}{waits}{erase}", to_usd(&json!(cost)));
        let _ = std::io::stderr().flush();
    }
}

/// An id that comes just before this one, so that the list begins with it.
fn find_predecessor(id: &str) -> String {
    let mut shorter = id.to_owned();
    shorter.pop();
    shorter
}

/// `[#####---------------] 1 of 4 ended`.
fn render_bar(done: usize, all: usize) -> String {
    let filled = (done * BAR_WIDTH).checked_div(all).unwrap_or(BAR_WIDTH);
    let full = "#".repeat(filled);
    let empty = "-".repeat(BAR_WIDTH - filled);
    format!("[{full}{empty}] {done} of {all} ended")
}

const BAR_WIDTH: usize = 20;
const PAGE: usize = 1000;
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// Requests that fail in a row before the batch is given up.
const FAILURES_MAX: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_begins_with_the_first_that_has_not_ended() {
        assert_eq!(render_bar(1, 4), "[#####---------------] 1 of 4 ended");
        assert_eq!(render_bar(4, 4), "[####################] 4 of 4 ended");
        let id = "0b8d1c2e-0000-8000-8000-000000000000";
        assert!(find_predecessor(id).as_str() < id);
    }
}
