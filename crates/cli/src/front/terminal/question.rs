//! What has to be asked before there is a session: which one to go on with, whether the project is
//! trusted, and what to do without a key.

use windlass_settings::load;
use windlass_settings::trust::TrustStore;
use windlass_terminal::{Item, Looks, Picker, choose};

use super::back;
use crate::args::{DemoArgs, RunArgs};
use crate::compose::working_directory;
use crate::config::Config;
use crate::exit::Exit;
use crate::refusal::Refusal;
use crate::server::local;
use crate::subcommand::{demo, trust};
use crate::{folder, layers};

/// What came of a question.
pub(super) enum Answered {
    /// Go on.
    Go,
    /// That was all.
    Leave(Exit),
}

/// Asks what has to be asked. Nothing, as a rule.
pub(super) async fn before(args: &mut RunArgs, looks: Looks) -> Result<Answered, Refusal> {
    if args.session.resume == Some(None) {
        let items = back::listed(&working_directory()?)?;
        if items.is_empty() {
            return Err(Refusal::usage("there is no session of this directory yet; leave out -r"));
        }
        let picker = Picker::new("Go on with which session?", items);
        match asked(looks, "", picker).await? {
            Some(item) => args.session.resume = Some(Some(item.value)),
            None => return Ok(Answered::Leave(Exit::DONE)),
        }
    }
    if args.bare || args.settings.safe_mode || args.settings.trust_project {
        return Ok(Answered::Go);
    }
    trusted(args, looks).await
}

/// A project that brings along what would run, allow or lead elsewhere is asked about once.
async fn trusted(args: &RunArgs, looks: Looks) -> Result<Answered, Refusal> {
    let environment = |name: &str| std::env::var_os(name);
    let request = layers::request(&args.settings, &working_directory()?, &environment)?;
    let wanted = load(&request).trust;
    let Some(state) = folder::state(&environment) else { return Ok(Answered::Go) };
    if wanted.withheld().is_empty() {
        return Ok(Answered::Go);
    }
    let words = trust::words(&wanted, false);
    let items = [
        ("no", "No, go on without it", "asked again the next time"),
        ("yes", "Yes, I trust exactly this", "asked again when it changes"),
        ("leave", "Leave", ""),
    ]
    .map(|(value, label, about)| item(value, label, about));
    let picker = Picker::new("Do you trust this folder?", items.to_vec());
    match asked(looks, &words, picker).await?.map(|item| item.value).as_deref() {
        Some("yes") => {
            let store = TrustStore::new(&state);
            store.accept(&wanted).map_err(|error| Refusal::failed(error.to_string()))?;
            Ok(Answered::Go)
        }
        Some("no") => Ok(Answered::Go),
        _ => Ok(Answered::Leave(Exit::DONE)),
    }
}

/// No key: a server on this machine, the demo, or how to set one.
pub(super) async fn without_key(
    args: &mut RunArgs,
    looks: Looks,
    refusal: Refusal,
) -> Result<Answered, Refusal> {
    let environment = |name: &str| std::env::var_os(name);
    let config = Config::load(&environment)?;
    let found = tokio::task::spawn_blocking(move || local::look(&config, &environment))
        .await
        .unwrap_or_default();
    let mut items = Vec::new();
    for server in &found {
        for model in server.models.iter().take(MODELS_MAX) {
            let label = format!("Ask {model} on this machine");
            let about = format!("{} answers on port {}", server.title, server.port);
            items.push(item(&format!("{}/{model}", server.provider), &label, &about));
        }
    }
    items.push(item("demo", "Watch the demo", "a rehearsed model; no key, no cost"));
    items.push(item("key", "Show how to set a key", ""));
    items.push(item("leave", "Leave", ""));
    let picker = Picker::new("What shall it be?", items);
    let words =
        "Welcome to Windlass. There is no key for a model yet, so nothing can be asked.\n\n";
    match asked(looks, words, picker).await? {
        Some(item) if item.value == "demo" => {
            Ok(Answered::Leave(demo::run(&DemoArgs { fast: false, keep: false }).await?))
        }
        Some(item) if item.value == "key" => Err(refusal),
        Some(item) if item.value == "leave" => Ok(Answered::Leave(Exit::DONE)),
        Some(item) => {
            args.model.model = Some(item.value);
            Ok(Answered::Go)
        }
        None => Ok(Answered::Leave(Exit::DONE)),
    }
}

async fn asked(looks: Looks, words: &str, picker: Picker) -> Result<Option<Item>, Refusal> {
    choose(looks, words, picker).await.map_err(|error| {
        Refusal::failed(format!("the terminal cannot be used: {error}; ask with -p instead"))
    })
}

fn item(value: &str, label: &str, about: &str) -> Item {
    Item { value: value.to_owned(), label: label.to_owned(), about: about.to_owned() }
}

const MODELS_MAX: usize = 4;
