//! What bash really runs against what was judged.
//!
//! Text is made from a grammar, or thrown together, by fixed seeds. It is taken apart here and run
//! by bash with stub programs that write down how they were called. A program that ran and is not
//! among the commands found, with its words and its place, is a hole in the judgement; so is a file
//! that was made and is not among those found to be written. Text that is not understood asks, and
//! so may do what it likes.
//!
//! `WINDLASS_DIFFERENTIAL=seed,count` tries other seeds, and more of them.

#[cfg(test)]
#[path = "differential/grammar.rs"]
mod grammar;
#[cfg(test)]
#[path = "differential/random.rs"]
mod random;
#[cfg(test)]
#[path = "differential/stub_shell.rs"]
mod stub_shell;

#[cfg(test)]
mod run {
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    use windlass_permission::shell_command::{CertainCommand, list_certain_commands};

    use crate::grammar::{Writer, soup};
    use crate::random::Random;
    use crate::stub_shell::{StubCall, StubShell};

    /// Seeds that every run tries.
    const SEEDS: u64 = 800;

    /// No more new ones are begun after this; a slow machine tries fewer.
    const BOX: Duration = Duration::from_secs(30);

    fn could_be(found: &CertainCommand, seen: &StubCall) -> bool {
        let is_here =
            found.working_directories.is_empty() || found.working_directories.contains(&seen.place);
        let is_long_enough = seen.words.len() >= found.words.len();
        let is_short_enough = found.is_open || seen.words.len() == found.words.len();
        let is_same = found
            .words
            .iter()
            .zip(&seen.words)
            .all(|(own, given)| own.as_ref().is_none_or(|own| own == given));
        is_here && is_long_enough && is_short_enough && is_same
    }

    fn could_write(found: &CertainCommand, file: &Path) -> bool {
        found.writes.iter().any(|target| match target {
            None => true,
            Some(target) => {
                let places = &found.working_directories;
                places.is_empty() || places.iter().any(|place| place.join(target) == *file)
            }
        })
    }

    fn explore(seeds: std::ops::Range<u64>, write: fn(&mut Random) -> String) -> (usize, usize) {
        let mut stub_shell = StubShell::new();
        let start = Instant::now();
        let (mut ran, mut understood) = (0, 0);
        let mut holes = Vec::new();
        for seed in seeds {
            if start.elapsed() > BOX && !has_wish() {
                break;
            }
            let text = write(&mut Random::new(seed));
            let place: PathBuf = stub_shell.next_place();
            let (found, is_understood) = list_certain_commands(&text, &place);
            ran += 1;
            if !is_understood {
                continue;
            }
            understood += 1;
            let Some((seen, made)) = stub_shell.run(&text, &place) else { continue };
            for call in &seen {
                if !found.iter().any(|found| could_be(found, call)) {
                    holes.push(format!("seed {seed} ran {call:?}\n{text}\nfound {found:?}"));
                }
            }
            for file in &made {
                if !found.iter().any(|found| could_write(found, file)) {
                    holes.push(format!("seed {seed} wrote {file:?}\n{text}\nfound {found:?}"));
                }
            }
        }
        let shown = holes.iter().take(40).cloned().collect::<Vec<_>>().join("\n\n");
        assert!(holes.is_empty(), "{} holes:\n{shown}", holes.len());
        (ran, understood)
    }

    fn has_wish() -> bool {
        std::env::var_os("WINDLASS_DIFFERENTIAL").is_some()
    }

    fn seeds(base: u64) -> std::ops::Range<u64> {
        let wish = std::env::var("WINDLASS_DIFFERENTIAL").ok();
        let wish = wish.as_deref().and_then(|wish| wish.split_once(','));
        match wish.map(|(seed, count)| (seed.parse::<u64>(), count.parse::<u64>())) {
            Some((Ok(seed), Ok(count))) => seed..seed + count,
            _ => base..base + SEEDS,
        }
    }

    #[test]
    fn nothing_from_the_grammar_runs_unjudged() {
        let (ran, understood) = explore(seeds(1), |random| Writer::new(random).script());
        println!("{ran} texts, {understood} understood");
        assert!(understood * 4 > ran, "only {understood} of {ran} are understood");
    }

    #[test]
    fn nothing_thrown_together_runs_unjudged() {
        let (ran, understood) = explore(seeds(1_000_000), soup);
        println!("{ran} texts, {understood} understood");
        assert!(understood * 20 > ran, "only {understood} of {ran} are understood");
    }
}
