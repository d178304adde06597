//! Handles a session whose journal is unusable while its transcript is intact. A transcript is used
//! only with consent: at a terminal the user is asked, elsewhere `--from-transcript` is required.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use windlass_journal::project_key::project_key;
use windlass_journal::{ListedSession, SessionCatalogue, SessionSummary, is_rewound, transcript};

use windlass_host::command_error::{CommandError, CommandRemedy};

/// A journal that cannot be used, and the transcript of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DamagedSession {
    pub id: String,
    pub journal: PathBuf,
    pub transcript: PathBuf,
}

impl DamagedSession {
    /// Looks for a session by its id.
    pub(super) fn find(
        catalogue: &SessionCatalogue,
        cwd: &Path,
        id: &str,
        transcripts: &Path,
    ) -> Option<Self> {
        let folders = std::fs::read_dir(catalogue.root()).ok()?.flatten();
        let mut places = folders.map(|folder| folder.path().join(format!("{id}.jsonl")));
        let journal = places.find(|path| path.symlink_metadata().is_ok())?;
        Self::inspect(journal, cwd, id, transcripts)
    }

    /// The newest of this directory, if no session that can be used is newer.
    pub(super) fn find_newest(
        catalogue: &SessionCatalogue,
        cwd: &Path,
        transcripts: &Path,
        newest: Option<&ListedSession>,
    ) -> Option<Self> {
        let modified = |path: &Path| path.metadata().ok()?.modified().ok();
        let than = newest.and_then(|listed| modified(&listed.path));
        let folder = catalogue.root().join(project_key(cwd));
        let mut journals: Vec<(SystemTime, PathBuf)> = std::fs::read_dir(folder)
            .ok()?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
            .filter_map(|path| Some((modified(&path)?, path)))
            .filter(|(at, _)| than.is_none_or(|than| *at > than))
            .collect();
        journals.sort();
        journals.into_iter().rev().find_map(|(_, journal)| {
            let id = journal.file_stem()?.to_str().filter(|id| transcript::is_uuid(id))?.to_owned();
            Self::inspect(journal, cwd, &id, transcripts)
        })
    }

    fn inspect(journal: PathBuf, cwd: &Path, id: &str, transcripts: &Path) -> Option<Self> {
        // A journal in which nothing is said any more was cut.
        if SessionSummary::read(&journal).is_ok_and(|summary| !summary.prompt.is_empty())
            || is_rewound(&journal)
        {
            return None;
        }
        let transcript = transcript::find_transcript(transcripts, cwd, id)?;
        transcript::import_transcript(&transcript, None).ok()??;
        Some(Self { id: id.to_owned(), journal, transcript })
    }

    pub(super) fn refusal(&self) -> CommandError {
        let Self { id, journal, transcript } = self;
        CommandError::usage(format!(
            "the journal {} cannot be used, and the transcript {} of this session is intact; \
             continue from it: windlass -r {id} --from-transcript -p \"your prompt\" (the journal \
             is kept beside it)",
            journal.display(),
            transcript.display()
        ))
        .with_remedy(CommandRemedy::ContinueFromTranscript)
    }
}

/// Gives the files of a journal that cannot be used other names, under which nothing reads them.
pub(super) fn set_aside(journal: &Path) -> std::io::Result<()> {
    let folder = journal.parent().unwrap_or(journal);
    let stem = journal.file_stem().unwrap_or_default().to_string_lossy().into_owned() + ".";
    for entry in std::fs::read_dir(folder)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(&stem) && name.ends_with(".jsonl") {
            let free = (1..).map(|number| folder.join(format!("{name}.damaged-{number}")));
            let Some(to) = free.into_iter().find(|path| !path.exists()) else { continue };
            std::fs::rename(entry.path(), to)?;
        }
    }
    Ok(())
}
