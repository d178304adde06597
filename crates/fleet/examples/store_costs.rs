//! Measures what the calls of workers cost a store: `store_costs URL [QUEUED [PID]]`. The store must
//! be migrated and should be empty. With the pid of a server on this host also the time of its
//! processors, which depends little on what else the machine does: `fleet_simulation` takes those.

use std::time::{Duration, Instant};

use windlass_fleet::store::{
    AppendRequest, ClaimEnd, ClaimedRow, FleetStore, NewSession, TenantChange,
};

type MeasureError = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), MeasureError> {
    let url = std::env::args().nth(1).ok_or("name the store: postgres://…")?;
    let queued = std::env::args().nth(2).map_or(Ok(1000), |count| count.parse())?;
    let server = std::env::args().nth(3).and_then(|pid| pid.parse().ok());
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(measure(url, queued, server))
}

async fn measure(url: String, queued: u32, server: Option<u32>) -> Result<(), MeasureError> {
    let store = FleetStore::open(&url, CLIENTS).await?;
    let change = TenantChange { running_max: Some(1_000_000), ..TenantChange::default() };
    for tenant in 0..TENANTS {
        store.put_tenant(&format!("costs-{tenant}"), &change).await?;
    }
    let began = Stopwatch::start(server);
    for number in 0..queued {
        store.submit_session(&new_session(number)).await?;
    }
    began.report("submit", queued);
    let worker = format!("costs-{}", std::process::id());
    store.register_worker(&worker, "host", 1_000_000, Duration::from_secs(3600)).await?;
    let count = queued.min(CALLS);
    let began = Stopwatch::start(server);
    let mut claimed = Vec::new();
    for _ in 0..count {
        claimed.extend(store.claim_session(&worker, 5).await?);
    }
    began.report(&format!("claim, {queued} queued, {TENANTS} tenants"), count);
    let began = Stopwatch::start(server);
    for _ in 0..count {
        store.renew_worker(&worker, Duration::from_secs(3600), false).await?;
    }
    began.report(&format!("renew, {} held", claimed.len()), count);
    let frame = format!("{{\"text\":\"{}\"}}", "x".repeat(1000));
    let began = Stopwatch::start(server);
    for (number, row) in (0..count).zip(claimed.iter().cycle()) {
        let uuid = number.to_string();
        store.add_event(&row.id, row.epoch, &worker, Some(&uuid), &frame).await?;
    }
    began.report("event", count);
    for clients in [1, CLIENTS] {
        let began = Stopwatch::start(server);
        let mut tasks = tokio::task::JoinSet::new();
        for row in claimed.iter().take(usize::try_from(clients)?) {
            tasks.spawn(append(store.clone(), row.clone(), worker.clone(), count / clients));
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        began.report(&format!("append, {clients} at once"), count / clients * clients);
    }
    let began = Stopwatch::start(server);
    let end = ClaimEnd { state: "done", is_orderly: true, ..ClaimEnd::default() };
    for row in &claimed {
        store.end_claim(&row.id, row.epoch, &worker, &end).await?;
    }
    began.report("end of a claim", count);
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

struct Stopwatch {
    began: Instant,
    server: Option<u32>,
    server_millis: u64,
}

impl Stopwatch {
    fn start(server: Option<u32>) -> Self {
        Self { began: Instant::now(), server, server_millis: read_server_millis(server) }
    }

    fn report(&self, what: &str, count: u32) {
        let seconds = self.began.elapsed().as_secs_f64();
        let (rate, each) = (f64::from(count) / seconds, seconds * 1e6 / f64::from(count));
        print!("{what}: {rate:.0} a second, {each:.0} µs each");
        if self.server.is_some() {
            let millis = read_server_millis(self.server) - self.server_millis;
            print!(", {} µs of the server's processors", millis * 1000 / u64::from(count));
        }
        println!();
    }
}

/// The time of all processes of a server, in steps of 10 ms.
fn read_server_millis(server: Option<u32>) -> u64 {
    let Some(server) = server else { return 0 };
    let mut ticks = 0;
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |place: usize| fields.get(place).and_then(|field| field.parse::<u64>().ok());
        // Parent, then the time in user and in system mode.
        if number(1) == Some(u64::from(server)) {
            ticks += number(11).unwrap_or(0) + number(12).unwrap_or(0);
        }
    }
    ticks * 10
}

const CLIENTS: u32 = 8;
const TENANTS: u32 = 20;
const CALLS: u32 = 1000;
