//! `windlass rewind` and `/rewind`: a session goes back to one of its prompts, the conversation, the
//! files our tools changed, or both. Shown first, if asked; refused where others changed a file since.

use std::path::Path;

use serde_json::{Value, json};
use windlass_driver::undo::{self, FileBack, NOT_COVERED, Part, RewindError, Standing, Wish};
use windlass_driver::{Durability, Session};
use windlass_journal::transcript::Traced;
use windlass_journal::{Kept, KeptLimits, hold, rewind_held};

use super::sessions::one;
use crate::args::RewindArgs;
use crate::environment::Lookup;
use crate::front::call::shortened;
use crate::front::table::{Side, table};
use crate::refusal::{Refusal, one_line};
use crate::session::{cut, unusable};

/// What is wanted of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// To which prompt; none lists them.
    pub(crate) to: Option<String>,
    pub(crate) part: Part,
    pub(crate) wish: Wish,
}

/// What to print.
pub(crate) fn run(args: &RewindArgs, lookup: &impl Lookup) -> Result<String, Refusal> {
    let listed = one(args.session.as_deref(), lookup)?;
    let part = Part { conversation: !args.files, files: !args.conversation };
    let wish = Wish { dry_run: args.dry_run, overwrite: args.overwrite };
    let wanted = Wanted { to: args.to.clone(), part, wish };
    let (text, object) = go(&listed.path, &listed.card.id, &wanted)?;
    Ok(if args.json { format!("{object}\n") } else { text })
}

/// The words after `/rewind`.
pub(crate) fn parsed(words: &str) -> Result<Wanted, Refusal> {
    let mut wanted =
        Wanted { to: None, part: Part { conversation: true, files: true }, wish: Wish::default() };
    for word in words.split_whitespace() {
        match word.trim_start_matches("--") {
            "conversation" => wanted.part.files = false,
            "files" => wanted.part.conversation = false,
            "both" => {}
            "dry-run" => wanted.wish.dry_run = true,
            "overwrite" => wanted.wish.overwrite = true,
            other if wanted.to.is_none() => wanted.to = Some(other.to_owned()),
            _ => {
                return Err(Refusal::usage(
                    "/rewind takes a prompt's number or name, and conversation, files, both, \
                     dry-run or overwrite",
                ));
            }
        }
    }
    Ok(wanted)
}

/// Goes back, or says what that would mean; for people and for programs.
pub(crate) fn go(journal: &Path, id: &str, wanted: &Wanted) -> Result<(String, Value), Refusal> {
    let messages = cut::messages(journal, id)?;
    let prompts: Vec<&Traced> = messages.iter().filter(|traced| traced.is_prompt).collect();
    let kept = Kept::open(&Kept::folder(journal), Durability::Synced, KeptLimits::default());
    let kept = kept.map_err(|error| unusable(&error))?;
    let Some(to) = &wanted.to else { return Ok(listed(id, &prompts, &kept)) };
    let (number, prompt) = meant(&prompts, to)?;
    let end = messages.last().map_or(0, |last| last.until);
    // Nobody may write the session meanwhile.
    let held = hold(journal).map_err(|error| unusable(&error))?;
    let before = prompt.record.saturating_sub(1);
    let mut files = Vec::new();
    if wanted.part.files {
        files = undo::rewind(&kept, before, end, wanted.wish).map_err(refused)?;
    }
    if wanted.part.conversation && !wanted.wish.dry_run {
        rewind_held(&held, before, &cut::unsaid()).map_err(|error| unusable(&error))?;
    }
    Ok(told(wanted, number, prompt, &files))
}

/// The same in a session that is open: what is going on there is ended, and it goes on from before
/// the prompt.
pub(crate) async fn go_open(
    session: &Session,
    journal: &Path,
    id: &str,
    wanted: &Wanted,
) -> Result<(String, Value), Refusal> {
    let (journal, id, asked) = (journal.to_owned(), id.to_owned(), wanted.clone());
    let looked = tokio::task::spawn_blocking(move || match &asked.to {
        None => go(&journal, &id, &asked).map(Err),
        Some(to) => {
            let messages = cut::messages(&journal, &id)?;
            let prompts: Vec<&Traced> = messages.iter().filter(|traced| traced.is_prompt).collect();
            meant(&prompts, to).map(|(number, prompt)| Ok((number, prompt.clone())))
        }
    });
    let broken = |error| Refusal::failed(format!("this should not happen: {error}"));
    let (number, prompt) = match looked.await.map_err(broken)?? {
        Ok(found) => found,
        Err(listed) => return Ok(listed),
    };
    let name = prompt.uuids.first().cloned().unwrap_or_default();
    let rewound = session.rewind(name, wanted.part, wanted.wish).await.map_err(refused)?;
    Ok(told(wanted, number, &prompt, &rewound.files))
}

/// The prompt that is called this: its number, or else the beginning of its name in the transcript.
fn meant<'a>(prompts: &[&'a Traced], to: &str) -> Result<(usize, &'a Traced), Refusal> {
    let numbered = || (1..).zip(prompts.iter().copied());
    let number = to.parse::<usize>().ok();
    if let Some(found) = numbered().find(|(place, _)| Some(*place) == number) {
        return Ok(found);
    }
    let is_named = |traced: &Traced| traced.uuids.iter().any(|own| own.starts_with(to));
    let found: Vec<(usize, &Traced)> = numbered().filter(|(_, it)| is_named(it)).collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(Refusal::usage(format!(
            "there is no prompt `{to}`; without --to the prompts of the session are listed"
        ))),
        _ => Err(Refusal::usage(format!("several prompts are called `{to}`; give more of it"))),
    }
}

fn listed(id: &str, prompts: &[&Traced], kept: &Kept) -> (String, Value) {
    let mut rows = vec![["", "files", "message", "prompt"].map(str::to_owned)];
    let mut objects = Vec::new();
    for (place, traced) in prompts.iter().enumerate() {
        let before = traced.record.saturating_sub(1);
        let files = kept.plan_restore(before).into_iter();
        let files = files.filter(|planned| planned.standing != Standing::Same).count();
        let name = traced.uuids.first().cloned().unwrap_or_default();
        let words = shortened(&one_line(&traced.words), WORDS_MAX);
        objects.push(
            json!({"number": place + 1, "uuid": name, "prompt": traced.words, "files": files}),
        );
        rows.push([(place + 1).to_string(), files.to_string(), name, words]);
    }
    let sides = [Side::Right, Side::Right, Side::Left, Side::Left];
    let text = format!(
        "Session {id}\n{}\nGo back to before a prompt: windlass rewind {id} --to NUMBER. {NOT_COVERED}\n",
        table(sides, &rows)
    );
    (text, json!({"session_id": id, "prompts": objects}))
}

fn told(wanted: &Wanted, number: usize, prompt: &Traced, files: &[FileBack]) -> (String, Value) {
    let is_done = !wanted.wish.dry_run;
    let mut text = String::new();
    let words = shortened(&one_line(&prompt.words), WORDS_MAX);
    if wanted.part.conversation {
        let begins =
            if is_done { "The conversation goes on" } else { "The conversation would go on" };
        text.push_str(&format!("{begins} before prompt {number}: {words}\n"));
    }
    let rows: Vec<[String; 4]> = files.iter().map(row).collect();
    text.push_str(&table([Side::Left, Side::Right, Side::Right, Side::Left], &rows));
    if wanted.part.files {
        let many = match files.len() {
            0 => "No file changes.".to_owned(),
            count if is_done => format!("{count} files went back."),
            count => format!("{count} files would go back."),
        };
        text.push_str(&format!("{many} {NOT_COVERED}\n"));
    }
    let objects: Vec<Value> = files.iter().map(object).collect();
    let object = json!({
        "prompt": number,
        "uuid": prompt.uuids.first(),
        "conversation": wanted.part.conversation,
        "dry_run": wanted.wish.dry_run,
        "files": objects,
    });
    (text, object)
}

fn row(file: &FileBack) -> [String; 4] {
    let note = match file.standing {
        Standing::ChangedByOthers => "changed by others since",
        Standing::NotKept => "too large: cannot go back",
        Standing::Unchanged | Standing::Same if file.is_removed => "removed",
        Standing::Unchanged | Standing::Same => "",
    };
    let path = one_line(&file.path.to_string_lossy());
    [path, format!("+{}", file.insertions), format!("-{}", file.deletions), note.to_owned()]
}

fn object(file: &FileBack) -> Value {
    let standing = match file.standing {
        Standing::ChangedByOthers => "changed_by_others",
        Standing::NotKept => "not_kept",
        Standing::Unchanged | Standing::Same => "ours",
    };
    json!({
        "path": file.path,
        "removed": file.is_removed,
        "insertions": file.insertions,
        "deletions": file.deletions,
        "standing": standing,
    })
}

fn refused(error: RewindError) -> Refusal {
    match error {
        RewindError::ChangedByOthers(_) => Refusal::failed(format!(
            "nothing was done: {error}; look with --dry-run, and say --overwrite to overwrite them"
        )),
        error => Refusal::failed(error.to_string()),
    }
}

const WORDS_MAX: usize = 60;
