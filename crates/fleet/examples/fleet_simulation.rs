//! Simulates large fleets on virtual time: which part of the store becomes the limit, and what it
//! buys to divide the tenants between several databases.
//!
//! `fleet_simulation [WORKERS SESSIONS DATABASES]`; without arguments, a table of sizes. A worker
//! runs a few sessions at once; a session alternates between a model, which takes seconds, and the
//! store, which has so many processors, one lock for all claims, and the costs of [`COSTS`],
//! measured by `store_costs`. The same seed gives the same figures.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Virtual time in microseconds.
type Micros = u64;

/// What calls cost the store, in microseconds of one processor.
struct StoreCosts {
    claim: Micros,
    /// What a claim costs besides for each running session of the database: it counts them.
    claim_nanos_per_running: u64,
    append: Micros,
    event: Micros,
    renew: Micros,
    idle_poll: Micros,
}

#[derive(Clone, Copy)]
struct SimulatedFleet {
    workers: u64,
    sessions: u64,
    databases: u64,
}

/// One database: processors, and the lock that claims wait for.
struct SimulatedStore {
    /// When each processor is free.
    processors: BinaryHeap<Reverse<Micros>>,
    claims_free_at: Micros,
    running: u64,
    claim_busy: Micros,
    busy: Micros,
}

impl SimulatedStore {
    fn new() -> Self {
        let processors = (0..PROCESSORS).map(|_| Reverse(0)).collect();
        Self { processors, claims_free_at: 0, running: 0, claim_busy: 0, busy: 0 }
    }

    /// Runs a call that arrives at this time. Returns when it is done.
    fn call(&mut self, at: Micros, cost: Micros) -> Micros {
        let free = self.processors.pop().map_or(0, |Reverse(free)| free);
        let done = free.max(at) + cost;
        self.processors.push(Reverse(done));
        self.busy += cost;
        done
    }

    fn claim(&mut self, at: Micros) -> Micros {
        let start = self.claims_free_at.max(at);
        let cost = COSTS.claim + self.running * COSTS.claim_nanos_per_running / 1000;
        let done = self.call(start, cost);
        self.claims_free_at = done;
        self.claim_busy += cost;
        self.running += 1;
        done
    }
}

/// A slot of a worker. Ordered by its time.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SlotEvent {
    at: Micros,
    slot: u64,
    /// Turns left of its session; 0 to claim the next.
    turns: u32,
}

struct SimulationOutcome {
    hours: f64,
    claims_busy: f64,
    processors_busy: f64,
    claim_wait_p99: Micros,
    turn_wait_p99: Micros,
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let fleets = match *numbers.as_slice() {
        [workers, sessions, databases] => vec![SimulatedFleet { workers, sessions, databases }],
        _ => TABLE
            .iter()
            .map(|(workers, sessions, databases)| SimulatedFleet {
                workers: *workers,
                sessions: *sessions,
                databases: *databases,
            })
            .collect(),
    };
    println!(
        "| workers | sessions | databases | hours | claims | processors | claim p99 | turn p99 |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for fleet in fleets {
        let outcome = simulate(fleet);
        println!(
            "| {} | {} | {} | {:.2} | {:.0} % | {:.0} % | {} ms | {} ms |",
            fleet.workers,
            fleet.sessions,
            fleet.databases,
            outcome.hours,
            outcome.claims_busy * 100.0,
            outcome.processors_busy * 100.0,
            outcome.claim_wait_p99 / 1000,
            outcome.turn_wait_p99 / 1000
        );
    }
}

#[allow(clippy::cast_precision_loss, reason = "shares, for people")]
fn simulate(fleet: SimulatedFleet) -> SimulationOutcome {
    let mut seed = SEED;
    let mut stores: Vec<SimulatedStore> =
        (0..fleet.databases).map(|_| SimulatedStore::new()).collect();
    let slots = fleet.workers * SLOTS;
    let mut left = fleet.sessions;
    let mut events = BinaryHeap::new();
    // Workers are started over ten seconds, as a scheduler would.
    for slot in 0..slots {
        events.push(Reverse(SlotEvent { at: next(&mut seed) % 10_000_000, slot, turns: 0 }));
    }
    let (mut claim_waits, mut turn_waits) = (WaitHistogram::default(), WaitHistogram::default());
    let mut renewed_until = 0;
    let mut now = 0;
    while let Some(Reverse(SlotEvent { at, slot, turns })) = events.pop() {
        now = at;
        // Renewals and polls of all workers, second by second.
        while renewed_until < now {
            for store in &mut stores {
                let share = fleet.workers / fleet.databases;
                let renewals = share * COSTS.renew / RENEW_SECONDS;
                // Only workers with nothing to do poll.
                let polls = if left == 0 { share * COSTS.idle_poll } else { 0 };
                let each = (renewals + polls) / PROCESSORS;
                for _ in 0..PROCESSORS {
                    store.call(renewed_until, each);
                }
            }
            renewed_until += 1_000_000;
        }
        let count = u64::try_from(stores.len()).unwrap_or(1);
        let place = usize::try_from(slot % count).unwrap_or(0);
        let Some(store) = stores.get_mut(place) else { continue };
        if turns == 0 {
            if left == 0 {
                continue;
            }
            left -= 1;
            let done = store.claim(at);
            claim_waits.add(done - at);
            events.push(Reverse(SlotEvent { at: done + START, slot, turns: TURNS }));
            continue;
        }
        let cost = APPENDS * COSTS.append + EVENTS * COSTS.event;
        let done = store.call(at, cost);
        turn_waits.add(done - at);
        // The model and the tools: 2 to 18 seconds.
        let pause = 2_000_000 + next(&mut seed) % 16_000_000;
        store.running -= u64::from(turns == 1);
        events.push(Reverse(SlotEvent { at: done + pause, slot, turns: turns - 1 }));
    }
    let most = |of: fn(&SimulatedStore) -> Micros| stores.iter().map(of).max().unwrap_or(0) as f64;
    SimulationOutcome {
        hours: now as f64 / 3.6e9,
        claims_busy: most(|store| store.claim_busy) / now as f64,
        processors_busy: most(|store| store.busy) / (now * PROCESSORS) as f64,
        claim_wait_p99: claim_waits.percentile(99),
        turn_wait_p99: turn_waits.percentile(99),
    }
}

/// Waits, counted by powers of the square root of two.
#[derive(Default)]
struct WaitHistogram {
    counts: std::collections::BTreeMap<Micros, u64>,
    all: u64,
}

impl WaitHistogram {
    fn add(&mut self, wait: Micros) {
        // Three leading binary digits: at most an eighth off.
        let shift = wait.checked_ilog2().unwrap_or(0).saturating_sub(3);
        *self.counts.entry(wait >> shift << shift).or_insert(0) += 1;
        self.all += 1;
    }

    fn percentile(&self, part: u64) -> Micros {
        let mut seen = 0;
        for (wait, count) in &self.counts {
            seen += count;
            if seen * 100 >= self.all * part {
                return *wait;
            }
        }
        0
    }
}

/// `splitmix64`.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *seed;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Measured with PostgreSQL 15, 200,000 queued and up to 40,000 running sessions.
const COSTS: StoreCosts = StoreCosts {
    claim: 1_100,
    claim_nanos_per_running: 250,
    append: 550,
    event: 600,
    renew: 800,
    idle_poll: 800,
};
const TABLE: &[(u64, u64, u64)] = &[
    (100, 10_000, 1),
    (1_000, 100_000, 1),
    (2_000, 200_000, 1),
    (5_000, 500_000, 1),
    (10_000, 1_000_000, 1),
    (10_000, 1_000_000, 4),
    (10_000, 1_000_000, 16),
];
const PROCESSORS: u64 = 16;
/// Sessions at once of one worker.
const SLOTS: u64 = 4;
const TURNS: u32 = 20;
/// Of one turn.
const APPENDS: u64 = 7;
const EVENTS: u64 = 3;
/// A third of the default lease.
const RENEW_SECONDS: u64 = 5;
/// The start of a session's process.
const START: Micros = 500_000;
const SEED: u64 = 23;
