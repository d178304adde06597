//! What prompts mean: commands of ours, commands of the shell, pages, or words for the model.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use windlass_driver::{AgentDefinition, Session, Settings, Submission};
use windlass_journal::transcript::Traced;
use windlass_terminal::{Asked, Facts, Host, Item, Order as Meant, Ordering, Picker};
use windlass_vocabulary::Block;

use super::past::Past;
use super::{Next, help, hints, looks};
use crate::args::{Division, HooksListArgs, SettingsArgs, WhyArgs};
use crate::choice;
use crate::command::{self, Order, Topic};
use crate::compose::Atlas;
use crate::expansion::Expander;
use crate::front::call::shortened;
use crate::front::table::{Side, ago, table};
use crate::layers::live::Live;
use crate::layers::{self, Layers};
use crate::refusal::{Refusal, one_line};
use crate::session::{self, account, cut, unusable};
use crate::subcommand::journal::why;
use crate::subcommand::rewind::{self, Wanted};
use crate::subcommand::{cost, hooks};
use crate::topic::InForce;

/// Knows what prompts mean.
pub(super) struct Prompts {
    pub(super) desk: Arc<Desk>,
}

impl Host for Prompts {
    fn order(&self, prompt: String) -> Ordering {
        let desk = Arc::clone(&self.desk);
        Box::pin(async move { desk.order(prompt).await.map_err(|refusal| refusal.to_string()) })
    }

    fn said(&self, prompt: &str) {
        self.desk.past.add(prompt);
    }

    fn status(&self, facts: Facts) -> Option<Asked> {
        self.desk.status(&facts)
    }

    fn keep(&self, rules: &[String]) -> Result<String, String> {
        let environment = |name: &str| std::env::var_os(name);
        let args = SettingsArgs::default();
        let request = layers::request(&args, &self.desk.cwd, &environment)
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
    /// Looks after their files.
    pub(super) live: tokio::sync::Mutex<Live>,
    pub(super) atlas: Atlas,
    pub(super) cwd: PathBuf,
    pub(super) past: Past,
    /// Where to go when this conversation is over.
    pub(super) next: Arc<Mutex<Option<Next>>>,
    /// What shell commands printed that the model has not seen yet.
    pub(super) aside: Mutex<Vec<String>>,
}

impl Desk {
    /// Settings that changed take effect, unless something is being worked on.
    async fn keep_up(&self) {
        if self.session.is_working().await {
            return;
        }
        let kept = self.live.lock().await.keep_up(&self.session, None).await;
        for file in kept.files {
            self.session.warn(format!("{} changed and was read again", file.display()));
        }
        kept.lines.into_iter().for_each(|line| self.session.warn(line));
    }

    async fn order(&self, prompt: String) -> Result<Meant, Refusal> {
        self.keep_up().await;
        let text = prompt.trim();
        if let Some(command) = text.strip_prefix('!') {
            return self.shell(command.trim()).await;
        }
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match name {
            "/exit" | "/quit" => return Ok(Meant::Quit),
            "/vim" => return Ok(Meant::Vim),
            "/theme" => return theme(rest),
            "/why" => return self.why(),
            "/hooks" if rest.is_empty() => {
                let args = HooksListArgs { json: false, settings: SettingsArgs::default() };
                return Ok(Meant::Show(hooks::list(&args, &|name: &str| std::env::var_os(name))?));
            }
            "/mcp" if rest.is_empty() => return Ok(Meant::Show(self.servers())),
            "/model" if rest.is_empty() => return Ok(self.models()),
            "/model" => return self.model(rest),
            _ => {}
        }
        Ok(match command::order(prompt)? {
            Order::Say(submission) if submission.pinned => Meant::Say(submission),
            Order::Say(submission) => Meant::Say(self.worded(submission).await?),
            Order::Compact(focus) => Meant::Compact(focus),
            Order::Context => match self.session.inventory().await {
                Some(found) => Meant::Context(Box::new(found)),
                None => return Err(Refusal::failed("the session ended")),
            },
            Order::Cost => self.cost()?,
            Order::Rewind(wanted) => return self.rewind(&wanted).await,
            Order::Clear => self.go(Next::New),
            Order::Resume(None) => return self.sessions(),
            Order::Resume(Some(wanted)) => return self.resume(&wanted),
            Order::GoOn | Order::TakeUp => {
                Meant::Show("Nothing was left unfinished here.".to_owned())
            }
            Order::Show { topic: Topic::Help, .. } => {
                Meant::Show(help::words(&hints(&self.expander)))
            }
            Order::Show { topic, .. } => {
                let (settings, pages) = (&self.settings, &self.expander.pages);
                let (agents, layers) = (&self.agents, &self.layers);
                Meant::Show(InForce { settings, agents, pages, layers }.words(topic))
            }
        })
    }

    /// How it stands with each MCP server.
    fn servers(&self) -> String {
        let rows: Vec<[String; 4]> = self
            .expander
            .hands
            .remote
            .status()
            .into_iter()
            .map(|server| {
                let tools = format!("{} tools", server.tools.len());
                let error = one_line(&server.error.unwrap_or_default());
                [server.name, server.status.word().to_owned(), tools, error]
            })
            .collect();
        match rows.is_empty() {
            true => "There are no MCP servers; `windlass mcp add` adds one.\n".to_owned(),
            false => table([Side::Left, Side::Left, Side::Right, Side::Left], &rows),
        }
    }

    fn go(&self, next: Next) -> Meant {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(next);
        Meant::Quit
    }

    /// What is said to the model: the words, what the shell said meanwhile, files and images.
    async fn worded(&self, submission: Submission) -> Result<Submission, Refusal> {
        let names: Vec<String> = match submission.content.as_slice() {
            [Block::Text(text)] => text.lines().flat_map(crate::memory::mentioned).collect(),
            _ => Vec::new(),
        };
        let mut said = self.expander.expand(submission).await?;
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
        let printed = self.expander.hands.run_for_user(command).await.map_err(Refusal::failed)?;
        let told = format!("I ran `{command}` myself. It printed:\n{printed}");
        self.aside.lock().unwrap_or_else(PoisonError::into_inner).push(told);
        Ok(Meant::Show(format!("! {command}\n{printed}\n")))
    }

    fn cost(&self) -> Result<Meant, Refusal> {
        let Some(journal) = &self.journal else { return Ok(unwritten()) };
        let rows = account::rows(journal).map_err(|error| unusable(&error))?;
        let account = cost::of_one(journal, None)?;
        let costs: Vec<u64> = rows.iter().map(|booked| booked.row.cost.0).collect();
        let mut text = cost::drawn(&account, Division::Model);
        if costs.len() > 1 {
            text.push_str(&format!("\neach request  {}\n", sparkline(&costs)));
        }
        Ok(Meant::Show(text))
    }

    fn why(&self) -> Result<Meant, Refusal> {
        let Some(journal) = &self.journal else { return Ok(unwritten()) };
        let session = Some(journal.to_string_lossy().into_owned());
        let args = WhyArgs { session, turn: None, json: false };
        let text = why::run(&args, &|name: &str| std::env::var_os(name))?;
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.len().saturating_sub(REASONS_MAX);
        Ok(Meant::Show(lines.get(from..).unwrap_or_default().join("\n")))
    }

    fn sessions(&self) -> Result<Meant, Refusal> {
        let own = &self.expander.names.session_id;
        let items = listed(&self.cwd)?.into_iter().filter(|item| item.value != *own);
        let items: Vec<Item> =
            items.map(|item| Item { value: format!("/resume {}", item.value), ..item }).collect();
        match items.is_empty() {
            true => Ok(Meant::Show("There is no other session of this directory.".to_owned())),
            false => Ok(Meant::Pick(Picker::new("Go on with which session?", items))),
        }
    }

    fn resume(&self, wanted: &str) -> Result<Meant, Refusal> {
        let catalogue = session::catalogue(&|name: &str| std::env::var_os(name))?;
        let found = session::find(&catalogue, Some(wanted), &self.cwd)?;
        match found.card.id == self.expander.names.session_id {
            true => Ok(Meant::Show("That is this session.".to_owned())),
            false => Ok(self.go(Next::Resume(found.card.id))),
        }
    }

    /// Models of the provider this session speaks with.
    fn models(&self) -> Meant {
        let provider = &self.atlas.first.provider;
        let config = &self.atlas.config;
        let lookup = |name: &str| std::env::var_os(name);
        let live = self.live.try_lock();
        let layers = live.as_ref().map_or(&self.layers, |live| &live.layers);
        let is_left = |name: &&str| {
            let chosen = choice::choose(&format!("{provider}/{name}"), config, &lookup);
            chosen.is_ok_and(|chosen| layers.available().has(&chosen, config, &lookup))
        };
        let items: Vec<Item> = config
            .listed(provider)
            .filter(is_left)
            .map(|name| {
                let facts = config.model(provider, name).model.facts(name);
                let about = format!("{} tokens", facts.window.0);
                Item { value: format!("/model {name}"), label: name.to_owned(), about }
            })
            .collect();
        match items.is_empty() {
            true => Meant::Show(format!("{}\n", self.settings.model.name)),
            false => Meant::Pick(Picker::new("Ask which model from now on?", items)),
        }
    }

    fn model(&self, wanted: &str) -> Result<Meant, Refusal> {
        let lookup = |name: &str| std::env::var_os(name);
        let chosen = choice::choose(wanted, &self.atlas.config, &lookup)?;
        if chosen.name != self.settings.model.name.as_str() {
            let live = self.live.try_lock();
            let layers = live.as_ref().map_or(&self.layers, |live| &live.layers);
            layers.available().check(&chosen, &self.atlas.config, &lookup)?;
        }
        if chosen.provider != self.atlas.first.provider {
            return Err(Refusal::usage(format!(
                "{} lives at another provider than this session; start a new one with --model",
                chosen.full_name()
            )));
        }
        let facts = chosen.facts();
        let window = facts.window.0;
        let sent = self.session.configure(move |settings| settings.model = facts);
        sent.map_err(|error| Refusal::failed(error.to_string()))?;
        Ok(Meant::Model(chosen.name, window))
    }

    /// Prompts to go back to, or back to one of them.
    async fn rewind(&self, wanted: &Wanted) -> Result<Meant, Refusal> {
        let Some(journal) = &self.journal else { return Ok(unwritten()) };
        let id = &self.expander.names.session_id;
        let prompts: Vec<Traced> =
            cut::messages(journal, id)?.into_iter().filter(|traced| traced.is_prompt).collect();
        if wanted.to.is_some() {
            let (words, found) = rewind::go_open(&self.session, journal, id, wanted).await?;
            let number = found.get("prompt").and_then(Value::as_u64);
            let at = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
            let is_back = wanted.part.conversation && !wanted.wish.dry_run;
            let prompt = prompts.into_iter().nth(at.unwrap_or(usize::MAX)).filter(|_| is_back);
            return Ok(match prompt {
                Some(prompt) => Meant::Back { words, prompt: prompt.words },
                None => Meant::Show(words),
            });
        }
        let mut items: Vec<Item> = prompts
            .into_iter()
            .zip(1_usize..)
            .map(|(traced, number)| Item {
                value: format!("/rewind {number}"),
                label: shortened(&one_line(&traced.words), WORDS_MAX),
                about: format!("prompt {number}"),
            })
            .collect();
        items.reverse();
        match items.is_empty() {
            true => Ok(Meant::Show("Nothing was said yet.".to_owned())),
            false => Ok(Meant::Pick(Picker::new("Go back to before which prompt?", items))),
        }
    }
}

/// The sessions of a folder, each by its id.
pub(super) fn listed(cwd: &std::path::Path) -> Result<Vec<Item>, Refusal> {
    let catalogue = session::catalogue(&|name: &str| std::env::var_os(name))?;
    let found = catalogue.list(Some(cwd)).map_err(|error| unusable(&error))?;
    let begun = found.into_iter().filter(|listed| !listed.card.prompt.is_empty());
    Ok(begun
        .take(SESSIONS_MAX)
        .map(|listed| {
            let card = listed.card;
            let title = card.title.as_deref().unwrap_or(&card.prompt);
            let label = shortened(&one_line(title), WORDS_MAX);
            let about = format!("{}, {} messages", ago(card.updated), card.messages);
            Item { value: card.id, label, about }
        })
        .collect())
}

fn theme(name: &str) -> Result<Meant, Refusal> {
    if name.is_empty() {
        let item = |name: &str| Item {
            value: format!("/theme {name}"),
            label: name.to_owned(),
            about: String::new(),
        };
        let items = ["dark", "light", "plain"].map(item).to_vec();
        return Ok(Meant::Pick(Picker::new("Which colours?", items)));
    }
    let theme = looks::theme(name);
    let theme = theme.ok_or_else(|| Refusal::usage("/theme takes light, dark or plain"))?;
    Ok(Meant::Theme(theme))
}

fn unwritten() -> Meant {
    Meant::Show("This session is not written down.".to_owned())
}

/// Numbers as bars of eight heights, the newest last.
fn sparkline(numbers: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let shown = numbers.iter().skip(numbers.len().saturating_sub(SPARKS_MAX));
    let most = shown.clone().copied().max().unwrap_or(0).max(1);
    let bar = |number: &u64| {
        let height = usize::try_from(number.saturating_mul(7) / most).unwrap_or(0);
        BARS.get(height).copied().unwrap_or('█')
    };
    shown.map(bar).collect()
}

fn is_image(name: &str) -> bool {
    let end = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    matches!(end.as_str(), "png" | "jpg" | "jpeg" | "gif" | "webp")
}

const IMAGES_MAX: usize = 10;
const REASONS_MAX: usize = 12;
const WORDS_MAX: usize = 60;
const SESSIONS_MAX: usize = 500;
const SPARKS_MAX: usize = 48;
