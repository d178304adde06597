//! What prompts mean: commands of ours, commands of the shell, pages, or words for the model.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use windlass_driver::{AgentDefinition, Session, Settings, Submission};
use windlass_permission::Policy;
use windlass_terminal::{Asked, Facts, Hint, Host, Order as Meant, Ordering};
use windlass_vocabulary::{Block, Notice};

use super::past::Past;
use super::screen::Heard;
use super::{Next, hints, looks};
use crate::args::SettingsArgs;
use crate::command::{self, Front, Order};
use crate::compose::Atlas;
use crate::config::Config;
use crate::expansion::Expander;
use crate::layers::live::Live;
use crate::layers::{self, Layers};
use crate::refusal::Refusal;
use crate::subcommand::cost;
use crate::subcommand::journal::why;

/// Knows what prompts mean.
pub(super) struct Prompts {
    pub(super) desk: Arc<Desk>,
}

impl Host for Prompts {
    fn order(&self, prompt: String) -> Ordering {
        let desk = Arc::clone(&self.desk);
        Box::pin(async move { desk.order(prompt).await.map_err(|refusal| refusal.to_string()) })
    }

    fn commands(&self) -> Vec<Hint> {
        self.desk.hints()
    }

    fn heard(&self, notice: &Notice) {
        self.desk.heard.hear(notice);
    }

    fn said(&self, prompt: &str) {
        self.desk.past.add(prompt);
    }

    fn status(&self, facts: Facts) -> Option<Asked> {
        self.desk.status(&facts)
    }

    fn keep(&self, rules: &[String]) -> Result<String, String> {
        let environment = |name: &str| std::env::var_os(name);
        let request = layers::request(&self.desk.args, &self.desk.cwd, &environment)
            .map_err(|refusal| refusal.to_string())?;
        let path =
            windlass_settings::remember(&request, rules).map_err(|error| error.to_string())?;
        Ok(format!("{} allows {}", path.display(), rules.join(", ")))
    }
}

/// Everything prompts may be about.
pub(super) struct Desk {
    pub(super) session: Session,
    pub(super) journal: Option<PathBuf>,
    pub(super) expander: Expander,
    pub(super) settings: Settings,
    pub(super) agents: Vec<AgentDefinition>,
    pub(super) layers: Layers,
    /// Looks after their files, and has the hooks of the session itself.
    pub(super) live: tokio::sync::Mutex<Live>,
    /// What prompts may run, if that has changed.
    pub(super) policy: Mutex<Option<Policy>>,
    /// How hooks went.
    pub(super) heard: Heard,
    /// The models there are.
    pub(super) config: Config,
    /// Where each lives; more come when another is chosen.
    pub(super) atlas: Mutex<Atlas>,
    /// Which settings were asked for.
    pub(super) args: SettingsArgs,
    pub(super) cwd: PathBuf,
    pub(super) past: Past,
    /// Where to go when this conversation is over.
    pub(super) next: Arc<Mutex<Option<Next>>>,
    /// What shell commands printed that the model has not seen yet.
    pub(super) aside: Mutex<Vec<String>>,
}

impl Desk {
    /// What prompts stand for, under what may run now.
    fn expander(&self) -> Expander {
        let mut expander = self.expander.clone();
        let policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(policy) = policy.as_ref() {
            expander.hands.policy.clone_from(policy);
        }
        expander
    }

    /// Settings that changed take effect, unless something is being worked on.
    pub(super) async fn keep_up(&self) {
        if self.session.is_working().await {
            return;
        }
        let kept = self.live.lock().await.keep_up(&self.session, None).await;
        if let Some(change) = kept.change {
            let mut policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
            change.apply(policy.get_or_insert_with(|| self.expander.hands.policy.clone()));
        }
        for file in kept.files {
            self.session.warn(format!("{} changed and was read again", file.display()));
        }
        kept.lines.into_iter().for_each(|line| self.session.warn(line));
    }

    async fn order(&self, prompt: String) -> Result<Meant, Refusal> {
        self.keep_up().await;
        if let Some(command) = prompt.trim().strip_prefix('!') {
            return self.shell(command.trim()).await;
        }
        Ok(match command::order(prompt, Front::Terminal)? {
            Order::Say(submission) if submission.pinned => Meant::Say(submission),
            Order::Say(submission) => Meant::Say(self.worded(submission).await?),
            Order::Compact(focus) => Meant::Compact(focus),
            Order::Context => match self.session.inventory().await {
                Some(found) => Meant::Context(Box::new(found)),
                None => return Err(over()),
            },
            Order::Cost => match &self.journal {
                Some(journal) => Meant::Fit(cost::for_screen(journal)?.to_vec()),
                None => unwritten(),
            },
            Order::Why => match &self.journal {
                Some(journal) => Meant::Show(why::lately(journal)?),
                None => unwritten(),
            },
            Order::Aside(question) => Meant::Aside(question),
            Order::Rewind(wanted) => return self.rewind(&wanted).await,
            Order::Clear => self.go(Next::New),
            Order::Resume(None) => return self.sessions(),
            Order::Resume(Some(wanted)) => return self.resume(&wanted),
            Order::GoOn | Order::TakeUp => {
                Meant::Show("Nothing was left unfinished here.".to_owned())
            }
            Order::Show { topic, .. } => return self.screen(topic).await,
            Order::Act(act) => return self.act(act).await,
        })
    }

    /// What is set now.
    pub(super) async fn in_force(&self) -> Result<Settings, Refusal> {
        self.session.settings().await.ok_or_else(over)
    }

    /// What may be typed as a command now.
    pub(super) fn hints(&self) -> Vec<Hint> {
        hints(&self.expander)
    }

    /// A path as people see it: from where we are, or from home.
    pub(super) fn short(&self, path: &str) -> String {
        let inside = Path::new(path).strip_prefix(&self.cwd).ok();
        inside.map_or_else(|| looks::short(Path::new(path)), |rest| rest.display().to_string())
    }

    pub(super) fn go(&self, next: Next) -> Meant {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(next);
        Meant::Quit
    }

    /// What is said to the model: the words, what the shell said meanwhile, files and images.
    async fn worded(&self, submission: Submission) -> Result<Submission, Refusal> {
        let names: Vec<String> = match submission.content.as_slice() {
            [Block::Text(text)] => text.lines().flat_map(crate::memory::mentioned).collect(),
            _ => Vec::new(),
        };
        let mut said = self.expander().expand(submission).await?;
        let aside: Vec<String> =
            std::mem::take(&mut *self.aside.lock().unwrap_or_else(PoisonError::into_inner));
        if let (Some(Block::Text(text)), false) = (said.content.first_mut(), aside.is_empty()) {
            *text = format!("{}\n\n{text}", aside.join("\n\n"));
        }
        for name in names.iter().filter(|name| is_image(name)).take(IMAGES_MAX) {
            let path = self.cwd.join(name);
            let media = self.expander.hands.media(&path.to_string_lossy()).await;
            said.content.extend(media.into_iter().map(Block::Media));
        }
        Ok(said)
    }

    /// A command of the user's own. The model is told of it with the next prompt.
    async fn shell(&self, command: &str) -> Result<Meant, Refusal> {
        if command.is_empty() {
            return Err(Refusal::usage("! takes a command; for example: !git status"));
        }
        let printed = self.expander().hands.run_for_user(command).await.map_err(Refusal::failed)?;
        let told = format!("I ran `{command}` myself. It printed:\n{printed}");
        self.aside.lock().unwrap_or_else(PoisonError::into_inner).push(told);
        Ok(Meant::Show(format!("! {command}\n{printed}\n")))
    }
}

fn over() -> Refusal {
    Refusal::failed("the session ended")
}

pub(super) fn unwritten() -> Meant {
    Meant::Show("This session is not written down.".to_owned())
}

fn is_image(name: &str) -> bool {
    let end = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    matches!(end.as_str(), "png" | "jpg" | "jpeg" | "gif" | "webp")
}

const IMAGES_MAX: usize = 10;
