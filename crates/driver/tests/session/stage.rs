//! A session against a rehearsed model server, over real sockets, and ways to wait for what it
//! tells. Every wait has a deadline; none sleeps.
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use windlass_driver::{
    Builder, Endpoint, Notices, Registry, Session, Settings, Surroundings, Timeouts,
};
use windlass_rehearsal::{Answer, Rehearsal, Script, StartOptions};
use windlass_vocabulary::notice::Ending;
use windlass_vocabulary::{
    Delta, Mode, ModelFacts, ModelName, Notice, Prices, Terminal, Tokens, Wire,
};

/// The longest any test waits for one thing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A session on stage.
pub(crate) struct Stage {
    pub(crate) rehearsal: Rehearsal,
    pub(crate) session: Session,
    pub(crate) notices: Notices,
    pub(crate) directory: tempfile::TempDir,
}

/// What a session on stage is made of.
pub(crate) struct Setting {
    pub(crate) settings: Settings,
    pub(crate) registry: Registry,
    pub(crate) timeouts: Timeouts,
    pub(crate) directory: tempfile::TempDir,
}

impl Default for Setting {
    fn default() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut settings = Settings::new(facts("rehearsed-model"));
        settings.policy.mode = Mode::BypassPermissions;
        settings.policy.directories = vec![directory.path().to_str().unwrap().to_owned()];
        Self { settings, registry: Registry::builtin(), timeouts: Timeouts::default(), directory }
    }
}

impl Setting {
    /// Changes the settings.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// No second try after a failure.
    pub(crate) fn without_retries(self) -> Self {
        self.with(|settings| settings.limits.retries_max = 0)
    }

    /// A builder for this setting at an address.
    pub(crate) fn builder(&self, url: &str) -> Builder {
        Builder::new(self.settings.clone(), Endpoint::new(Wire::AnthropicMessages, url))
            .registry(self.registry.clone())
            .timeouts(self.timeouts)
            .surroundings(surroundings(self.directory.path()))
    }

    /// Starts a session that will hear these answers.
    pub(crate) async fn play(self, answers: impl IntoIterator<Item = Answer>) -> Stage {
        let rehearsal = rehearse(answers).await;
        let (session, notices) = self.builder(&rehearsal.url()).start().unwrap();
        Stage { rehearsal, session, notices, directory: self.directory }
    }
}

pub(crate) fn surroundings(directory: &Path) -> Surroundings {
    Surroundings::new(directory, directory.join("spill"))
}

pub(crate) async fn rehearse(answers: impl IntoIterator<Item = Answer>) -> Rehearsal {
    let script = answers.into_iter().fold(Script::new(), Script::answer);
    Rehearsal::start(script, StartOptions::default()).await.unwrap()
}

pub(crate) fn facts(name: &str) -> ModelFacts {
    ModelFacts {
        name: ModelName(Arc::from(name)),
        window: Tokens(200_000),
        output_default: Tokens(8_000),
        output_max: Tokens(64_000),
        prices: Prices::default(),
    }
}

impl Stage {
    /// Submits a message and reads to the end of the run.
    pub(crate) async fn run(&mut self, message: &str) -> (Ending, Vec<Notice>) {
        self.session.submit(message).unwrap();
        self.ending().await
    }

    /// Reads to the end of the run.
    pub(crate) async fn ending(&mut self) -> (Ending, Vec<Notice>) {
        let told = until(&mut self.notices, |notice| matches!(notice, Notice::RunEnded(_))).await;
        match told.last() {
            Some(Notice::RunEnded(ending)) => (ending.clone(), told),
            other => panic!("not an ending: {other:?}"),
        }
    }

    /// Reads up to the first notice that is meant.
    pub(crate) async fn until(&mut self, is_meant: impl Fn(&Notice) -> bool) -> Vec<Notice> {
        until(&mut self.notices, is_meant).await
    }
}

/// Reads up to the first notice that is meant.
pub(crate) async fn until(
    notices: &mut Notices,
    is_meant: impl Fn(&Notice) -> bool,
) -> Vec<Notice> {
    let mut told = Vec::new();
    let read = async {
        while let Some(notice) = notices.next().await {
            told.push(notice);
            if told.last().is_some_and(&is_meant) {
                return true;
            }
        }
        false
    };
    let found = tokio::time::timeout(PATIENCE, read).await;
    assert_eq!(found, Ok(true), "what was waited for was not told; told: {told:#?}");
    told
}

/// All streamed text, joined.
pub(crate) fn streamed(told: &[Notice]) -> String {
    let texts = told.iter().filter_map(|notice| match notice {
        Notice::Streamed { delta: Delta::Text(text), .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

pub(crate) fn is_streamed_text(notice: &Notice) -> bool {
    matches!(notice, Notice::Streamed { delta: Delta::Text(_), .. })
}

#[track_caller]
pub(crate) fn assert_ended(ending: &Ending, terminal: Terminal) {
    assert_eq!(ending.terminal, terminal, "{ending:#?}");
}

/// Runs one test of this program again in a process of its own, prepared by a line of shell, and
/// demands that it passes there. Inside, [`is_again`] says so.
pub(crate) fn again(test: &str, shell: &str, variables: &[(&str, &Path)]) {
    let mut command = std::process::Command::new("bash");
    command
        .args(["-c", &format!(r#"{shell}; exec "$0" "$@""#)])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env("RUN_AGAIN", "yes")
        .envs(variables.iter().copied());
    let ran = command.output().unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && told.contains("1 passed"), "{ran:?}");
}

pub(crate) fn is_again() -> bool {
    std::env::var_os("RUN_AGAIN").is_some()
}

pub(crate) fn block_on(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future);
}
