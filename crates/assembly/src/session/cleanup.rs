//! Removes old sessions with their transcripts. Runs in the background and at most once a day: nothing
//! waits for it, and what is in use or cannot be deleted stays.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use windlass_journal::{SessionCatalogue, project_key::project_key};

/// Begins to sweep away what was last used longer ago than this, but for the journals in use: this
/// session's is not locked yet, and neither is the one it is a copy of.
pub fn spawn_cleanup(
    catalogue: &SessionCatalogue,
    transcripts: Option<PathBuf>,
    in_use: Vec<PathBuf>,
    days: u32,
) {
    let catalogue = catalogue.clone();
    // Dies with the process; the next one begins where it was.
    std::thread::spawn(move || {
        remove_old_sessions(&catalogue, transcripts.as_deref(), &in_use, days)
    });
}

/// Runs at most once a day. Returns how many sessions were removed.
fn remove_old_sessions(
    catalogue: &SessionCatalogue,
    transcripts: Option<&Path>,
    in_use: &[PathBuf],
    days: u32,
) -> usize {
    let mark = catalogue.root().join("swept");
    if file_age(&mark).is_some_and(|age| age < DAY) {
        return 0;
    }
    if fs::write(&mark, "").is_err() {
        return 0;
    }
    let most = DAY * days.max(1);
    let mut gone = 0;
    for listed in catalogue.list(None).unwrap_or_default() {
        // By name: a path may lead through a link, and no two sessions share an id.
        let is_in_use = in_use.iter().any(|used| used.file_name() == listed.path.file_name());
        if is_in_use || !is_older(listed.summary.updated, most) {
            continue;
        }
        if catalogue.delete(&listed.path).is_ok() {
            gone += 1;
            if let (Some(root), Some(project)) = (transcripts, &listed.summary.project) {
                let folder = root.join("projects").join(project_key(Path::new(project)));
                remove_transcript(&folder.join(format!("{}.jsonl", listed.summary.id)));
            }
        }
    }
    gone
}

pub fn remove_transcript(path: &Path) {
    // Best effort: the session itself is gone.
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path.with_extension(""));
}

fn is_older(updated: u64, most: Duration) -> bool {
    let updated = SystemTime::UNIX_EPOCH + Duration::from_millis(updated);
    SystemTime::now().duration_since(updated).is_ok_and(|age| age > most)
}

fn file_age(path: &Path) -> Option<Duration> {
    let changed = path.metadata().ok()?.modified().ok()?;
    SystemTime::now().duration_since(changed).ok()
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long sessions are kept by default.
pub const CLEANUP_DAYS_DEFAULT: u32 = 30;

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_journal::transcript::transcript_path;

    #[test]
    fn old_sessions_go_once_a_day_and_new_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (root, claude) = (folder.path().join("sessions"), folder.path().join("claude"));
        let catalogue = SessionCatalogue::new(&root);
        let project = Path::new("/home/u/project");
        let now = super::super::fork::now_millis();
        let session = |id: &str, days: u64| {
            let at = now - days * 86_400_000;
            let journal = catalogue.journal_path(project, id);
            fs::create_dir_all(journal.parent().unwrap()).unwrap();
            let head = windlass_journal::JournalHead {
                project: Some(project.to_string_lossy().into_owned()),
                created: at,
                ..windlass_journal::JournalHead::default()
            };
            let imported = windlass_journal::transcript::ImportedConversation {
                messages: vec![windlass_vocabulary::Message::user_text(
                    windlass_vocabulary::MessageId(0),
                    windlass_vocabulary::MessageOrigin::User,
                    "hi",
                )],
                ..Default::default()
            };
            windlass_journal::transcript::write_imported_journal(
                imported,
                &journal,
                &id.into(),
                &head,
            )
            .unwrap();
            let transcript = transcript_path(&claude, project, id);
            fs::create_dir_all(transcript.with_extension("")).unwrap();
            fs::write(&transcript, "{}\n").unwrap();
            (journal, transcript)
        };
        let (old, old_transcript) = session("old", 31);
        let (resumed, resumed_transcript) = session("resumed", 400);
        let in_use = [resumed.clone()];
        let (new, new_transcript) = session("new", 29);
        assert_eq!(
            remove_old_sessions(&catalogue, Some(&claude), &in_use, CLEANUP_DAYS_DEFAULT),
            1
        );
        assert!(!old.exists() && !old_transcript.exists());
        assert!(!old_transcript.with_extension("").exists());
        assert!(new.exists() && new_transcript.exists());
        assert!(resumed.exists() && resumed_transcript.exists(), "in use, however old");
        session("older", 90);
        assert_eq!(
            remove_old_sessions(&catalogue, Some(&claude), &in_use, CLEANUP_DAYS_DEFAULT),
            0,
            "once a day"
        );
    }
}
