//! Measures what the calls of workers cost a store: `store_costs URL [QUEUED]`. The store must be
//! migrated and should be empty. The figures are what `fleet_simulation` takes.

use std::time::{Duration, Instant};

use windlass_fleet::store::{
    AppendRequest, ClaimEnd, ClaimedRow, FleetStore, NewSession, TenantChange,
};

type MeasureError = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), MeasureError> {
    let url = std::env::args().nth(1).ok_or("name the store: postgres://…")?;
    let queued = std::env::args().nth(2).map_or(Ok(1000), |count| count.parse())?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measure(url, queued))
}

async fn measure(url: String, queued: u32) -> Result<(), MeasureError> {
    let store = FleetStore::open(&url, CLIENTS).await?;
    let change = TenantChange { running_max: Some(1_000_000), ..TenantChange::default() };
    for tenant in 0..TENANTS {
        store.put_tenant(&format!("costs-{tenant}"), &change).await?;
    }
    let began = Instant::now();
    for number in 0..queued {
        store.submit_session(&new_session(number)).await?;
    }
    report("submit", queued, began);
    let worker = format!("costs-{}", std::process::id());
    store.register_worker(&worker, "host", 1_000_000, Duration::from_secs(3600)).await?;
    let count = queued.min(CALLS);
    let began = Instant::now();
    let mut claimed = Vec::new();
    for _ in 0..count {
        claimed.extend(store.claim_session(&worker, 5).await?);
    }
    report(&format!("claim, {queued} queued, {TENANTS} tenants"), count, began);
    let began = Instant::now();
    for _ in 0..count {
        store.renew_worker(&worker, Duration::from_secs(3600), false).await?;
    }
    report(&format!("renew, {} held", claimed.len()), count, began);
    let frame = format!("{{\"text\":\"{}\"}}", "x".repeat(1000));
    let began = Instant::now();
    for (number, row) in (0..count).zip(claimed.iter().cycle()) {
        let uuid = number.to_string();
        store.add_event(&row.id, row.epoch, &worker, Some(&uuid), &frame).await?;
    }
    report("event", count, began);
    for clients in [1, CLIENTS] {
        let began = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        for row in claimed.iter().take(usize::try_from(clients)?) {
            tasks.spawn(append(store.clone(), row.clone(), worker.clone(), count / clients));
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        report(&format!("append, {clients} at once"), count / clients * clients, began);
    }
    let began = Instant::now();
    let end = ClaimEnd { state: "done", is_orderly: true, ..ClaimEnd::default() };
    for row in &claimed {
        store.end_claim(&row.id, row.epoch, &worker, &end).await?;
    }
    report("end of a claim", count, began);
    store.remove_worker(&worker).await?;
    Ok(())
}

async fn append(
    store: FleetStore,
    row: ClaimedRow,
    worker: String,
    count: u32,
) -> Result<(), MeasureError> {
    let line = format!("{}\n", "x".repeat(600));
    for _ in 0..count {
        let request = AppendRequest {
            session: &row.id,
            epoch: row.epoch,
            worker: &worker,
            file: "costs.jsonl",
            position: None,
            expected_seq: None,
            bytes: line.as_bytes(),
        };
        store.append_journal(request).await?;
    }
    Ok(())
}

fn new_session(number: u32) -> NewSession {
    NewSession {
        id: windlass_host::random::generate_uuid(),
        tenant: format!("costs-{}", number % TENANTS),
        batch: None,
        priority: 0,
        spec: "{}".to_owned(),
        title: None,
        budget_micro: None,
        content: "go".to_owned(),
        sender: "costs".to_owned(),
    }
}

fn report(what: &str, count: u32, began: Instant) {
    let seconds = began.elapsed().as_secs_f64();
    let (rate, each) = (f64::from(count) / seconds, seconds * 1e6 / f64::from(count));
    println!("{what}: {rate:.0} a second, {each:.0} µs each");
}

const CLIENTS: u32 = 8;
const TENANTS: u32 = 20;
const CALLS: u32 = 1000;
