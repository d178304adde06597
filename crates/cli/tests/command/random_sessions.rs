//! Sessions of random changes, by our own tools and by shells, of which one process is killed: every
//! prompt can be gone back to, exactly.

use rustix::process::Signal;
use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{RunningCommand, TestDirs, play, run, wait_for_file};
use crate::recorded_session::{SESSION, TreeEntry, read_tree, rewind};
use crate::work_files::{bash, text};

const PROMPTS: usize = 4;
const NAMES: [&str; 8] = ["a", "b", "c/d", "c/e", "f/g/h", "A", "sp ace", "\u{fc}"];

/// A small deterministic random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn name(&mut self) -> &'static str {
        let place = usize::try_from(self.below(NAMES.len() as u64)).expect("a place");
        NAMES.get(place).expect("a name")
    }

    /// One change, as a line for the shell.
    fn shell_change(&mut self) -> String {
        let name = self.name();
        let other = self.name();
        let count = self.below(4_000);
        let make = format!("mkdir -p \"$(dirname '{name}')\" 2> /dev/null");
        match self.below(9) {
            0 | 1 => format!("{make}; rm -rf '{name}'; seq {count} > '{name}'"),
            2 => format!("echo {count} >> '{name}'"),
            3 => format!("rm -rf '{name}'"),
            4 => format!("{make}; ln -sfn '{other}' '{name}'"),
            5 => format!("mv -T '{name}' '{other}'"),
            6 => format!("chmod {} '{name}'", ["700", "444", "755"][(count % 3) as usize]),
            7 => format!("rm -rf '{name}'; mkdir -p '{name}'"),
            _ => format!("cp -p '{name}' '{other}'; touch -r '{name}' '{other}'"),
        }
    }

    fn answer(&mut self, dirs: &TestDirs) -> ScriptedAnswer {
        if self.below(3) == 0 {
            let path = dirs.file(&format!("tool{}", self.below(3)));
            let content = format!("{}\n", self.below(1_000)).repeat(3);
            return ScriptedAnswer::call("Write", json!({"file_path": path, "content": content}));
        }
        let changes: Vec<String> = (0..4).map(|_| self.shell_change()).collect();
        bash(&format!("({}) 2> /dev/null; true", changes.join("; ")))
    }
}

fn check_seed(seed: u64, is_edited_after: bool) {
    let dirs = TestDirs::new();
    let mut random = Random(seed);
    let begin: Vec<String> = (0..12).map(|_| random.shell_change()).collect();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &begin.join("; ")]).current_dir(dirs.work());
    shell.output().expect("a shell");

    let killed = usize::try_from(random.below(PROMPTS as u64)).expect("a number");
    let mut states: Vec<Vec<TreeEntry>> = Vec::new();
    for prompt in 0..PROMPTS {
        states.push(read_tree(&dirs.work()));
        let mut script = Script::new();
        for _ in 0..=random.below(2) {
            script = script.answer(random.answer(&dirs));
        }
        let ready = dirs.home().join("ready");
        if prompt == killed {
            let wait = format!(
                "{}; echo r > '{}'; exec sleep 600",
                random.shell_change(),
                ready.display()
            );
            script = script.answer(bash(&wait));
        }
        let server = play(script.answer(ScriptedAnswer::text("Done.").repeat(0)));
        let mut asking = dirs.asking(&server.url(), &["--dangerously-skip-permissions"]);
        match prompt {
            0 => asking.args(["--session-id", SESSION]),
            _ => asking.args(["-r", SESSION]),
        };
        asking.args(["-p", "change something"]);
        if prompt == killed {
            let running = RunningCommand::start(&mut asking);
            wait_for_file(&ready);
            running.signal(Signal::KILL);
            running.finish();
        } else {
            run(&mut asking).answer();
        }
    }
    if is_edited_after {
        return check_edits(&dirs, &mut random, &format!("seed {seed}"));
    }
    let last = read_tree(&dirs.work());
    let about = |to: usize| format!("seed {seed}, killed in prompt {}, back to {to}", killed + 1);
    for (place, state) in states.iter().enumerate().rev() {
        let to = (place + 1).to_string();
        // Nobody saw the end of the killed prompt, so what it did needs a yes.
        let yes: &[&str] = if place <= killed { &["--overwrite"] } else { &[] };
        rewind(&dirs, &[&["--to", &to, "--files"], yes].concat());
        assert_eq!(&read_tree(&dirs.work()), state, "{}", about(place + 1));
        rewind(&dirs, &["--undo"]);
        assert_eq!(read_tree(&dirs.work()), last, "{}, undone", about(place + 1));
    }
}

#[test]
fn every_prompt_of_random_sessions_can_be_gone_back_to() {
    for seed in 1..=4 {
        check_seed(seed * 7_919, false);
    }
}

/// What a person saved last is there after any rewind, and after it is taken back.
fn check_edits(dirs: &TestDirs, random: &mut Random, about: &str) {
    let mut edited: Vec<(&str, String)> = Vec::new();
    for number in 0..4 {
        let name = random.name();
        let save = format!(
            "rm -rf '{name}'; mkdir -p \"$(dirname '{name}')\"; echo by hand {number} > '{name}'"
        );
        let mut shell = std::process::Command::new("sh");
        let saved = shell.args(["-ec", &save]).current_dir(dirs.work()).output().expect("a shell");
        edited.retain(|(known, _)| *known != name);
        if saved.status.success() {
            edited.push((name, format!("by hand {number}\n")));
        }
    }
    edited.retain(|(name, saved)| text(&dirs.file(name)) == *saved);
    assert!(!edited.is_empty(), "{about}: nothing could be saved");
    let check = |what: &str| {
        for (name, saved) in &edited {
            assert_eq!(&text(&dirs.file(name)), saved, "{about}, {what}: {name}");
        }
    };
    for to in (1..=PROMPTS).rev() {
        rewind(dirs, &["--to", &to.to_string(), "--files", "--skip-changed"]);
        check(&format!("back to {to}"));
        run(&mut dirs.windlass(&["rewind", SESSION, "--undo", "--skip-changed"]));
        check(&format!("back to {to} and forth"));
    }
}

#[test]
fn what_a_person_saves_last_outlives_every_rewind_of_random_sessions() {
    for seed in 11..=15 {
        check_seed(seed * 7_919, true);
    }
}
