//! One session: a server that misbehaves by chance, and one process after the other.

use core::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_journal::{JournalEntry, JournalReader, RecordItem};
use windlass_lab::sim::recorded_events::check_recorded_events;
use windlass_lab::sim::seeded_random::SeededRandom;
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer, ScriptedFault};

use crate::disk::SoakDisk;
use crate::life::{EndedLife, LifeFault, live};

pub(crate) struct SoakedSession {
    binary: PathBuf,
    disk: SoakDisk,
    server: Rehearsal,
    random: SeededRandom,
    id: String,
    pub(crate) totals: SessionTotals,
}

/// What was gone through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionTotals {
    sessions: u64,
    lives: u64,
    kills: u64,
    failed_lives: u64,
    events: u64,
    effects: u64,
    full_disks: u64,
}

impl SessionTotals {
    pub(crate) fn add(&mut self, more: &Self) {
        self.sessions += more.sessions;
        self.lives += more.lives;
        self.kills += more.kills;
        self.failed_lives += more.failed_lives;
        self.events += more.events;
        self.effects += more.effects;
        self.full_disks += more.full_disks;
    }
}

impl fmt::Display for SessionTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sessions, lives, kills, failed_lives, events, effects, full_disks } = self;
        write!(
            f,
            "{sessions} sessions, {lives} lives ({kills} killed, {full_disks} on a full disk, \
             {failed_lives} ended with an error), {events} events checked, {effects} effects of tools, none twice"
        )
    }
}

impl SoakedSession {
    pub(crate) fn begin(binary: &Path, seed: u64, number: u64) -> Self {
        let mut random = SeededRandom::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let disk = SoakDisk::create();
        for name in ["work", "home", "tmp"] {
            std::fs::create_dir(disk.path().join(name)).expect("a folder");
        }
        let script = draw_script(&mut random);
        let server = Rehearsal::start_blocking(script, RehearsalOptions::default());
        Self {
            binary: binary.to_owned(),
            disk,
            server: server.expect("a server"),
            random,
            id: format!("{number:08x}-50a4-4000-8000-{seed:012x}"),
            totals: SessionTotals { sessions: 1, ..SessionTotals::default() },
        }
    }

    /// One life after the other; the last one meets nothing and must succeed.
    pub(crate) fn live_until(&mut self, until: Instant) -> Result<(), String> {
        while Instant::now() < until && self.totals.lives < LIVES_MAX {
            let fault = LifeFault::draw(&mut self.random);
            self.live_once(fault)?;
        }
        // What the server still holds back may fail one more prompt, but not many.
        for _ in 0..LAST_LIVES_MAX {
            if self.live_once(LifeFault::Nothing)?.code == Some(0) {
                return Ok(());
            }
        }
        Err("without faults it does not come to a good end".to_owned())
    }

    fn live_once(&mut self, fault: LifeFault) -> Result<EndedLife, String> {
        let number = self.totals.lives;
        let command = self.build_command(number);
        self.totals.lives += 1;
        let fault = match fault {
            LifeFault::DiskFull(left) if !self.disk.leave_free(left) => {
                LifeFault::FilesLimited(left.max(2_000))
            }
            other => other,
        };
        let ended = live(&command, fault);
        self.disk.make_room();
        self.totals.full_disks += u64::from(matches!(fault, LifeFault::DiskFull(_)));
        let ended = ended.ok_or_else(|| format!("life {number}, {fault:?}: it does not end"))?;
        self.totals.kills += u64::from(ended.code.is_none());
        self.totals.failed_lives += u64::from(ended.code.is_some_and(|code| code != 0));
        self.judge(&ended, fault).map_err(|words| {
            let EndedLife { code, stderr, stdout } = &ended;
            let stdout: String = stdout.chars().take(400).collect();
            format!("life {number}, {fault:?}: {words} (code {code:?}, {stderr:?}, {stdout:?})")
        })?;
        Ok(ended)
    }

    fn build_command(&self, life: u64) -> Command {
        let root = self.root();
        let mut command = Command::new(&self.binary);
        let prompt = format!("step {life}");
        command.args(["-p", &prompt, "--dangerously-skip-permissions", "--max-retries", "2"]);
        match self.journal().is_some() {
            true => command.args(["-r", &self.id]),
            false => command.args(["--session-id", &self.id]),
        };
        let formats: &[&str] = match life % 3 {
            0 => &[],
            1 => &["--output-format", "json"],
            _ => &["--output-format", "stream-json", "--verbose"],
        };
        command
            .args(formats)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", root.join("home"))
            .env("TMPDIR", root.join("tmp"))
            .env("XDG_STATE_HOME", root.join("state"))
            .env("ANTHROPIC_BASE_URL", self.server.url())
            .env("ANTHROPIC_API_KEY", "soaked")
            .env("API_TIMEOUT_MS", "20000")
            .env("CLAUDE_STREAM_IDLE_TIMEOUT_MS", "3000")
            .current_dir(root.join("work"));
        command
    }

    fn judge(&mut self, ended: &EndedLife, fault: LifeFault) -> Result<(), String> {
        if fault.leaves_a_code() && ended.code.is_none() {
            return Err("a signal ended it".to_owned());
        }
        if ended.stderr.contains("panicked") {
            return Err("it broke down".to_owned());
        }
        self.totals.effects = self.check_effects()?;
        if let Some(journal) = self.journal() {
            self.totals.events = check_journal(&journal)?;
        }
        Ok(())
    }

    /// Each call writes a number of its own: none may be there twice.
    fn check_effects(&self) -> Result<u64, String> {
        let log = std::fs::read_to_string(self.root().join("work/log")).unwrap_or_default();
        let mut lines: Vec<&str> = log.lines().collect();
        let count = lines.len();
        lines.sort_unstable();
        lines.dedup();
        match lines.len() == count {
            true => Ok(count as u64),
            false => Err("a call ran twice".to_owned()),
        }
    }

    /// Its journal, once something is in it.
    fn journal(&self) -> Option<PathBuf> {
        let folders =
            std::fs::read_dir(self.root().join("state/windlass/sessions")).ok()?.flatten();
        let mut places = folders.map(|folder| folder.path().join(format!("{}.jsonl", self.id)));
        places.find(|path| path.metadata().is_ok_and(|found| found.len() > 0))
    }

    fn root(&self) -> &Path {
        self.disk.path()
    }

    /// Leaves the files for whoever looks at what went wrong.
    pub(crate) fn keep_files(&mut self) -> String {
        self.disk.keep().display().to_string()
    }
}

fn check_journal(journal: &Path) -> Result<u64, String> {
    let mut reader = JournalReader::open(journal).map_err(|error| error.to_string())?;
    let mut events = Vec::new();
    while let Some(entry) = reader.next_entry().map_err(|error| error.to_string())? {
        match entry {
            Ok(JournalEntry::Record(record)) => {
                if let RecordItem::Event(event) = record.item {
                    events.push(event);
                }
            }
            Ok(JournalEntry::Head(_) | JournalEntry::Claim(_)) => {}
            Err(damage) => return Err(format!("line {}: {damage}", reader.line_number())),
        }
    }
    check_recorded_events(events)
}

/// Calls with a number of their own, answers, and faults of every kind, by chance.
fn draw_script(random: &mut SeededRandom) -> Script {
    let mut script = Script::new();
    for number in 0..SCRIPT_LENGTH {
        let command = format!("echo {number} >> log; seq 1 {}", random.choose([1, 50, 3_000]));
        let answer = match random.draw_below(10) {
            0..=4 => ScriptedAnswer::call("Bash", json!({"command": command})),
            5 | 6 => ScriptedAnswer::text("that was a step ".repeat(20)),
            7 => ScriptedAnswer::call("Bash", json!({"command": command})).fault(
                ScriptedFault::CutAfterEvent { events: random.choose([1, 3, 5, 7]), reset: true },
            ),
            8 if random.draw_below(3) == 0 => ScriptedAnswer::text("stalled and silent ".repeat(9))
                .fault(ScriptedFault::StallAfterEvent {
                    events: random.choose([0, 1, 3, 5]),
                    ping: random.choose([None, Some(Duration::from_millis(300))]),
                }),
            8 => ScriptedAnswer::text("cut short").fault(ScriptedFault::CutAfterByte {
                bytes: random.choose([10, 200, 500]),
                reset: false,
            }),
            _ => ScriptedAnswer::from_fault(match random.draw_below(5) {
                0 => ScriptedFault::refuse(529),
                1 => ScriptedFault::refuse(500),
                2 => ScriptedFault::DropConnection { reset: true },
                3 => ScriptedFault::refuse_for(429, 1),
                _ => ScriptedFault::Html { status: 502 },
            }),
        };
        script = script.answer(answer);
    }
    script.answer(ScriptedAnswer::text("nothing is left to do").repeat(0))
}

const SCRIPT_LENGTH: usize = 4_000;

/// Every life reads the whole journal twice, once to go on from it and once to check it: after this many
/// the machine would do little else.
const LIVES_MAX: u64 = 25;
const LAST_LIVES_MAX: usize = 8;
