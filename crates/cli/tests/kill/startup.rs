//! Every place that is looked at during a run, found by a tracer, with something there that is no file:
//! the run comes to its end all the same.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use super::SESSION;
use super::traced::has_tracer;
use crate::fixture::{FinishedCommand, TestDirs, play, run};

const ASK: [&str; 5] = ["-p", "go", "--session-id", SESSION, "--verbose"];
/// Runs at once: most of a run is waiting.
const AT_ONCE: usize = 4;

fn server() -> Rehearsal {
    play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)))
}

fn root(dirs: &TestDirs) -> PathBuf {
    dirs.work().parent().expect("a folder").to_owned()
}

/// A project and a user with one of everything that is read at the start.
fn furnished() -> TestDirs {
    let dirs = TestDirs::new();
    let page = "---\nname: page\ndescription: a page\n---\nSay something.\n";
    let files = [
        ("work/.git/HEAD", "ref: refs/heads/main\n"),
        ("work/CLAUDE.md", "Be brief. @more.md\n"),
        ("work/more.md", "More.\n"),
        ("work/.claude/skills/s/SKILL.md", page),
        ("work/.claude/agents/a.md", page),
        ("work/.claude/commands/c.md", page),
        ("work/.claude/output-styles/o.md", page),
        ("work/.claude/rules/r.md", "Rules.\n"),
        ("work/.claude/settings.json", "{}"),
        ("work/.mcp.json", "{}"),
        ("home/.claude.json", "{}"),
        ("home/.claude/CLAUDE.md", "Be kind.\n"),
        ("home/.claude/settings.json", "{}"),
        ("home/.claude/skills/t/SKILL.md", page),
        ("home/.claude/agents/b.md", page),
        ("home/.claude/commands/d.md", page),
        ("home/.claude/output-styles/p.md", page),
        ("home/.config/windlass/settings.json", "{}"),
        ("home/.config/windlass/config.toml", ""),
    ];
    for (name, text) in files {
        let path = root(&dirs).join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    dirs
}

/// Every path below the folder of the test that a run names to the system, if no folder stands there.
fn looked_at(server: &Rehearsal) -> BTreeSet<PathBuf> {
    let dirs = furnished();
    // A second session finds what the first has left.
    for _ in 0..2 {
        let ask = ["-p", "go", "--verbose"];
        assert_eq!(run(&mut dirs.asking(&server.url(), &ask)).code, Some(0));
    }
    let calls = root(&dirs).join("calls");
    let plain = dirs.asking(&server.url(), &ASK);
    let mut command = Command::new("strace");
    command.args(["-f", "-qqq", "-e", "trace=%file", "-e", "signal=none", "-o"]).arg(&calls);
    command.arg(plain.get_program()).args(plain.get_args());
    command.env_clear().current_dir(dirs.work());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let finished = run(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let text = std::fs::read_to_string(&calls).expect("calls");
    let quoted = text.lines().flat_map(|line| line.split('"').skip(1).step_by(2));
    let below = quoted.filter_map(|path| Path::new(path).strip_prefix(root(&dirs)).ok());
    let is_place = |path: &&Path| {
        let name = path.to_string_lossy();
        // What is made for one process has a name of its own each time.
        !root(&dirs).join(path).is_dir() && !name.starts_with("tmp/") && !name.ends_with(".tmp")
    };
    below.filter(is_place).map(Path::to_owned).collect()
}

/// Puts something that is no file there, and asks.
fn run_with_special(server: &Rehearsal, place: &Path, is_device: bool) -> FinishedCommand {
    let dirs = furnished();
    let ask = ["-p", "go"];
    assert_eq!(run(&mut dirs.asking(&server.url(), &ask)).code, Some(0));
    let path = root(&dirs).join(place);
    if let Some(folder) = path.parent() {
        // A file may stand where the place wants a folder: then it cannot be reached.
        let _ = std::fs::create_dir_all(folder);
    }
    let _ = std::fs::remove_file(&path);
    match is_device {
        true => drop(symlink("/dev/zero", &path)),
        false => drop(mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)),
    }
    run(&mut dirs.asking(&server.url(), &ASK))
}

#[test]
fn what_is_no_file_is_waited_for_at_no_place_that_is_read() {
    if !has_tracer() {
        return;
    }
    let server = server();
    let places = looked_at(&server);
    let wanted = ["work/.git/HEAD", "home/.claude.json", "work/CLAUDE.md", "work/.mcp.json"];
    for place in wanted.iter().map(Path::new) {
        assert!(places.contains(place), "{} is not among {places:?}", place.display());
    }
    let cases: Vec<(&Path, bool)> =
        places.iter().flat_map(|place| [(place.as_path(), false), (place, true)]).collect();
    let next = Mutex::new(cases.into_iter());
    let take = || next.lock().expect("no test panicked").next();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((place, is_device)) = take() {
                    let finished = run_with_special(&server, place, is_device);
                    let name = place.display();
                    // What is written may be refused with a line; what is only read is left out.
                    match place.starts_with("state") {
                        true => assert!(finished.code.is_some(), "{name}: {finished:?}"),
                        false => assert_eq!(finished.code, Some(0), "{name}: {finished:?}"),
                    }
                }
            });
        }
    });
}

#[test]
fn what_is_left_out_at_the_start_is_named() {
    let server = server();
    let places = [
        "work/.git/HEAD",
        "home/.claude/output-styles/o.md",
        "home/.claude.json",
        "home/.config/windlass/config.toml",
        "work/CLAUDE.md",
    ];
    for place in places {
        let finished = run_with_special(&server, Path::new(place), false);
        assert_eq!(finished.code, Some(0), "{place}: {finished:?}");
        assert!(finished.stderr.contains(place), "{place}: {finished:?}");
    }
}
