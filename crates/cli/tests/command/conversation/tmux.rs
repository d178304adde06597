//! The same through tmux, where there is one: it has a screen of its own between us and the terminal.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use windlass_rehearsal::{Script, ScriptedAnswer};

use super::talk::READY;
use crate::fixture::{TestDirs, play};

/// A tmux of our own, spoken to in its control mode.
struct Tmux {
    child: Child,
    orders: ChildStdin,
    lines: mpsc::Receiver<String>,
}

const DEADLINE: Duration = Duration::from_secs(240);

impl Tmux {
    fn begin(dirs: &TestDirs, url: &str) -> Option<Self> {
        let windlass = env!("CARGO_BIN_EXE_windlass");
        let mut command = Command::new("tmux");
        command
            .args(["-L", "windlass-test", "-f", "/dev/null", "-C", "new-session"])
            .args(["-x", "80", "-y", "24", windlass])
            .env_clear()
            .env("PATH", std::env::var_os("PATH")?)
            .env("HOME", dirs.home())
            .env("TMUX_TMPDIR", dirs.home())
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .env("ANTHROPIC_BASE_URL", url)
            .env("ANTHROPIC_API_KEY", "test-key")
            .current_dir(dirs.work())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let orders = child.stdin.take()?;
        let output = BufReader::new(child.stdout.take()?);
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Some(Self { child, orders, lines })
    }

    fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").expect("an order");
    }

    fn keys(&mut self, keys: &str) {
        self.order(&format!("send-keys -l '{keys}'"));
    }

    /// Waits until the pane shows this, and gives it.
    fn until(&mut self, words: &str) -> String {
        let limit = Instant::now() + DEADLINE;
        loop {
            self.order("capture-pane -p");
            let mut pane = String::new();
            let mut is_inside = false;
            // The answer to one order, then whatever happens next.
            loop {
                let left = limit.saturating_duration_since(Instant::now());
                let line =
                    self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("{words}:\n{pane}"));
                match line.as_str() {
                    begin if begin.starts_with("%begin") => {
                        pane.clear();
                        is_inside = true;
                    }
                    end if end.starts_with("%end") || end.starts_with("%error") => {
                        is_inside = false;
                        if pane.contains(words) {
                            return pane;
                        }
                    }
                    happened if !is_inside && happened.starts_with("%output") => break,
                    line if is_inside => {
                        pane.push_str(line);
                        pane.push('\n');
                    }
                    _ => {}
                }
            }
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = writeln!(self.orders, "kill-server");
        let _ = self.child.wait();
    }
}

#[test]
fn a_conversation_inside_tmux() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("It **works**.").repeat(0)));
    let Some(mut tmux) = Tmux::begin(&dirs, &server.url()) else {
        let words = "tmux cannot be started";
        assert!(std::env::var_os("WINDLASS_ALL_TESTS").is_none(), "{words}");
        return;
    };
    tmux.until(READY);
    tmux.keys("hello");
    tmux.until("> hello");
    tmux.order("send-keys Enter");
    tmux.until("It works.");
    tmux.until(READY);
    // Escape is a key of its own there, too, and arrows are arrows.
    tmux.order("send-keys Up");
    tmux.until("> hello\n─");
    tmux.order("send-keys Escape");
    tmux.until(READY);
    tmux.order("send-keys C-o");
    tmux.until("Esc to go back");
    tmux.order("send-keys q");
    tmux.until(READY);
    tmux.order("resize-window -x 50 -y 20");
    tmux.keys("narrow");
    tmux.until("> narrow");
}
