//! What a line that is allowed unasked really does, as the kernel sees it.
//!
//! Lines are made from programs, options good and bad, and files inside and outside, by fixed seeds.
//! Each is judged; those that are let through as reading run in a traced shell. A file opened for
//! writing, a name that is made or removed, a program that no part names, a network socket, or a file
//! read outside the working directory is a hole in the judgement.
//!
//! `WINDLASS_TRACED=seed,count` tries other seeds, and more of them. Without `strace` there is nothing
//! to compare with; with `WINDLASS_ALL_TESTS` set that is a failure.

#[cfg(test)]
#[path = "differential/random.rs"]
mod random;
#[cfg(test)]
#[path = "traced/reading_lines.rs"]
mod reading_lines;
#[cfg(test)]
#[path = "traced/traced_shell.rs"]
mod traced_shell;

#[cfg(test)]
mod run {
    use std::time::{Duration, Instant};

    use crate::random::Random;
    use crate::reading_lines::write_line;
    use crate::traced_shell::{TracedShell, has_strace};

    /// Lines that every run makes.
    const LINES: u64 = 4_000;

    /// Lines that share one tracer.
    const BATCH: usize = 60;

    /// No new batch is begun after this; a slow machine tries fewer.
    const BOX: Duration = Duration::from_secs(9);

    fn seeds() -> (std::ops::Range<u64>, bool) {
        let wish = std::env::var("WINDLASS_TRACED").ok();
        let wish = wish.as_deref().and_then(|wish| wish.split_once(','));
        match wish.map(|(seed, count)| (seed.parse::<u64>(), count.parse::<u64>())) {
            Some((Ok(seed), Ok(count))) => (seed..seed + count, true),
            _ => (1..1 + LINES, false),
        }
    }

    #[test]
    fn what_runs_unasked_does_what_it_was_judged_to_do() {
        if !has_strace() {
            let is_wanted = std::env::var_os("WINDLASS_ALL_TESTS").is_some();
            assert!(!is_wanted, "strace is not installed, and WINDLASS_ALL_TESTS wants this test");
            println!("strace is not installed: nothing was compared");
            return;
        }
        let shell = TracedShell::new();
        let start = Instant::now();
        let (seeds, is_wish) = seeds();
        let first = seeds.start;
        let (mut made, mut ran) = (0, 0);
        let mut holes = Vec::new();
        let mut batch: Vec<(u64, String)> = Vec::new();
        for seed in seeds {
            if start.elapsed() > BOX && !is_wish {
                break;
            }
            let line = write_line(&mut Random::new(seed));
            made += 1;
            if shell.allows(&line) {
                batch.push((seed, line));
            }
            if batch.len() >= BATCH {
                ran += batch.len();
                holes.extend(shell.run(&std::mem::take(&mut batch)));
            }
        }
        ran += batch.len();
        holes.extend(shell.run(&batch));
        println!("seeds from {first}: {made} lines, {ran} allowed and run");
        let shown = holes.iter().take(30).cloned().collect::<Vec<_>>().join("\n");
        assert!(holes.is_empty(), "{} holes:\n{shown}", holes.len());
        assert!(ran * 20 > made, "only {ran} of {made} lines are allowed");
    }

    /// The comparison sees what it is there to see.
    #[test]
    fn the_trace_shows_what_lines_do() {
        if !has_strace() {
            return;
        }
        let shell = TracedShell::new();
        for (line, what) in [
            ("echo x > made", "writes"),
            ("touch made", "writes"),
            ("sort -o made a", "writes"),
            ("mkdir made", "makes or removes"),
            ("cat ../outside/secret", "reads"),
            ("cat \"$HOME/token\"", "reads"),
            ("find . -maxdepth 0 -exec ./evil \\;", "runs evil"),
            ("exec 3<>/dev/tcp/127.0.0.1/9", "opens a socket"),
        ] {
            let holes = shell.run(&[(0, line.to_owned())]);
            assert!(holes.iter().any(|hole| hole.contains(what)), "{line}: {holes:?}");
        }
        assert_eq!(shell.run(&[(0, "cat a | sort | head -2; ls -la src".to_owned())]), [""; 0]);
    }
}
