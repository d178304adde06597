//! `windlass replay`: the journal is folded through the engine again, and every decision that was
//! noted down then is held against what comes out now.

use serde_json::{Value, json};
use windlass_journal::clock::moment;
use windlass_journal::{Verified, Walked, verify, walk};

use super::{fallback, meant};
use crate::args::ReplayArgs;
use crate::environment::Lookup;
use crate::exit::Exit;
use crate::front::harmless;
use crate::front::words::count;
use crate::refusal::Refusal;
use crate::session::unusable;

/// What to print, and whether every decision came out the same.
pub(crate) fn run(args: &ReplayArgs, lookup: &impl Lookup) -> Result<(String, Exit), Refusal> {
    let journal = meant(args.session.as_deref(), lookup)?;
    let settings = fallback();
    let mut text = String::new();
    if args.step {
        let see = |walked: Walked| match args.json {
            true => text.push_str(&format!("{}\n", object(&walked))),
            false => text.push_str(&lines(&walked)),
        };
        walk(&journal, &settings, see).map_err(|error| unusable(&error))?;
    }
    let verified = verify(&journal, &settings).map_err(|error| unusable(&error))?;
    text.push_str(&match args.json {
        true => format!("{}\n", verdict_object(&verified)),
        false => verdict(&verified),
    });
    let exit = if verified.difference.is_some() { Exit::FAILED } else { Exit::DONE };
    Ok((text, exit))
}

fn verdict(verified: &Verified) -> String {
    let Verified { folded, same, missing, difference } = verified;
    let mut text = format!("{} records, {} decisions the same", count(folded.seq), count(*same));
    if *missing > 0 {
        text.push_str(&format!(", {} not noted down then", count(*missing)));
    }
    if !folded.damages.is_empty() {
        text.push_str(&format!(", {} damaged lines left out", folded.damages.len()));
    }
    text.push_str(".\n");
    match difference {
        None => text.push_str("It comes out as it did then.\n"),
        Some((seq, note)) => {
            let note = format!("{note:?}");
            let note: String = note.chars().take(NOTE_CHARS).collect();
            text.push_str(&format!(
                "It comes out differently: record {seq} says {}, and that does not follow now.\n",
                harmless(&note)
            ));
        }
    }
    text
}

fn verdict_object(verified: &Verified) -> Value {
    let difference = verified.difference.as_ref().map(|(seq, _)| seq);
    json!({
        "records": verified.folded.seq,
        "same": verified.same,
        "missing": verified.missing,
        "damaged": verified.folded.damages.len(),
        "difference": difference,
    })
}

fn lines(walked: &Walked) -> String {
    let (before, now) = walked.phase;
    let moved = if before == now { now.to_owned() } else { format!("{before} → {now}") };
    let because = walked.transition.map(|transition| format!(" · {transition}"));
    let mut text = format!(
        "{:>6}  {}\n        {moved} · turn {}{}\n",
        walked.seq,
        harmless(&walked.event),
        walked.turn,
        because.unwrap_or_default()
    );
    for effect in &walked.effects {
        text.push_str(&format!("        ↳ {}\n", harmless(&effect.replace('\n', " "))));
    }
    text
}

fn object(walked: &Walked) -> Value {
    json!({
        "record": walked.seq,
        "at": moment(walked.at),
        "event": walked.event,
        "before": walked.phase.0,
        "after": walked.phase.1,
        "turn": walked.turn,
        "transition": walked.transition.map(|transition| transition.name()),
        "effects": walked.effects,
    })
}

const NOTE_CHARS: usize = 200;
