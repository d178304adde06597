//! What is asked for, in the words it stands for, and the servers of everybody who may be asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::Handle;
use windlass_driver::{Builder, Endpoint, Settings, Surroundings};
use windlass_vocabulary::{ModelName, Wire};

use super::found::Found;
use crate::args::RunArgs;
use crate::choice::{Cast, Chosen};
use crate::command::{self, Front, Order, Topic};
use crate::config::Config;
use crate::environment::Lookup;
use crate::expansion::{self, Hands, Names};
use crate::layers::Layers;
use crate::prompt;
use crate::refusal::Refusal;
use crate::server::{self, Place, Proofs, Server};
use crate::session::Kept;
use crate::topic::InForce;

/// Where each model of a session lives.
#[derive(Clone, Debug)]
pub(crate) struct Atlas {
    /// The table, for names that are near.
    pub(crate) config: Config,
    /// Whose a model without a place of its own is.
    pub(crate) first: Place,
    /// By the model's name.
    pub(crate) places: BTreeMap<ModelName, Place>,
}

impl Atlas {
    /// Where this model lives.
    pub(crate) fn place(&self, model: Option<&ModelName>) -> &Place {
        model.and_then(|model| self.places.get(model)).unwrap_or(&self.first)
    }
}

/// What is asked for, if that is known already, and the servers of everybody who may be asked.
type Asked = (Option<Order>, Vec<(ModelName, Server)>);

/// The prompt and whom to ask. A slow pipe is worth waiting for only when the rest is right.
pub(super) fn asked(
    args: &RunArgs,
    (has_prompt, is_put_off): (bool, bool),
    cast: &Cast,
    config: &Config,
    lookup: &impl Lookup,
) -> Result<Asked, Refusal> {
    if args.session.continue_run && has_prompt {
        let order = if is_put_off { Order::TakeUp } else { Order::GoOn };
        return Ok((Some(order), servers(cast, config, lookup)?));
    }
    let asked = match prompt::on_command_line(args)? {
        Some(_) if !has_prompt => {
            return Err(Refusal::usage(
                "prompts come over standard input with --input-format stream-json; leave the one \
                 on the command line out",
            ));
        }
        None if !has_prompt => return Ok((None, servers(cast, config, lookup)?)),
        None => {
            let order = match prompt::from_stdin()? {
                Some(words) => command::order(words, Front::Headless)?,
                // Nothing has to be said to a call that waits for a decision.
                None if is_put_off => Order::TakeUp,
                None => return Err(prompt::empty()),
            };
            return Ok((Some(order), servers(cast, config, lookup)?));
        }
        Some(asked) => asked,
    };
    if let Ok(order) = command::order(asked.clone(), Front::Headless)
        && order.asks_nobody()
    {
        // Whoever only looks needs no key.
        let servers = servers(cast, config, lookup);
        return Ok((Some(order), servers.unwrap_or_else(|_| nobody(cast))));
    }
    let servers = servers(cast, config, lookup)?;
    Ok((Some(command::order(prompt::with_stdin(asked)?, Front::Headless)?), servers))
}

/// Servers that are never asked.
fn nobody(cast: &Cast) -> Vec<(ModelName, Server)> {
    let place = Place {
        provider: String::new(),
        base_url: NOWHERE.to_owned(),
        key_advice: String::new(),
        address_advice: String::new(),
    };
    let endpoint = || Endpoint::new(Wire::AnthropicMessages, NOWHERE);
    let server = |chosen: &Chosen| {
        let server = Server { endpoint: endpoint(), place: place.clone() };
        (ModelName::from(chosen.name.as_str()), server)
    };
    cast.all().map(server).collect()
}

/// What the prompt asks for. One that only looks at a session that is new leaves none behind.
pub(super) fn ordered(order: Order, kept: &mut Kept) -> Result<Order, Refusal> {
    if order == Order::GoOn {
        kept.check_unfinished()?;
    }
    if order.needs_history() && !kept.is_continued {
        return Err(Refusal::usage(
            "nothing was said in a new session; go on with one: add -c, or -r and its id",
        ));
    }
    if order.only_looks() && !kept.is_continued {
        kept.journal = None;
    }
    Ok(order)
}

/// The order in the words it stands for: what a page says in the place of its name, and what is in
/// force for whoever asks. Commands of a page run now, on the runtime this was started from.
pub(super) fn worded(
    order: Option<Order>,
    hands: Hands,
    (found, layers): (&Found, &Layers),
    names: &Names,
    settings: &Settings,
) -> Result<(Option<Order>, Surroundings), Refusal> {
    let surroundings = Arc::clone(&hands.surroundings);
    let order = match order {
        Some(Order::Show { topic, .. }) => {
            let remote = hands.remote.clone();
            drop(hands);
            if topic == Topic::Servers {
                Handle::current().block_on(remote.settled(SERVERS_WAIT));
            }
            let (agents, pages, remote) = (&found.agents, &found.pages, &remote);
            let in_force = InForce { settings, agents, pages, layers, remote };
            Some(Order::Show { topic, text: in_force.words(topic) })
        }
        Some(Order::Say(submission)) if !submission.pinned => {
            let expanding = expansion::submission(submission, &found.pages, names, hands);
            Some(Order::Say(Handle::current().block_on(expanding)?))
        }
        other => {
            drop(hands);
            other
        }
    };
    let surroundings = Arc::try_unwrap(surroundings).unwrap_or_else(|shared| shared.for_another());
    Ok((order, surroundings))
}

/// The server of everybody who may be asked. Each is looked for now: a fallback without a key would
/// only be found out when it is needed.
fn servers(
    cast: &Cast,
    config: &Config,
    lookup: &impl Lookup,
) -> Result<Vec<(ModelName, Server)>, Refusal> {
    let mut proofs = Proofs::default();
    let found = |chosen: &Chosen| {
        let server = server::server(chosen, config, &mut proofs, lookup)?;
        Ok((ModelName::from(chosen.name.as_str()), server))
    };
    cast.all().map(found).collect()
}

/// A session in which each model is asked at its own server.
pub(super) fn casted(
    settings: Settings,
    servers: Vec<(ModelName, Server)>,
    config: Config,
) -> Result<(Builder, Atlas), Refusal> {
    let mut servers = servers.into_iter();
    let Some((name, first)) = servers.next() else {
        return Err(Refusal::usage("there is no model to ask; give one with --model"));
    };
    let mut atlas = Atlas { config, first: first.place.clone(), places: BTreeMap::new() };
    atlas.places.insert(name, first.place);
    let mut builder = Builder::new(settings, first.endpoint);
    for (name, Server { endpoint, place }) in servers {
        builder = builder.endpoint_for(name.clone(), endpoint);
        atlas.places.insert(name, place);
    }
    Ok((builder, atlas))
}

/// How long servers that are being connected are waited for, by whoever asks how they stand.
const SERVERS_WAIT: std::time::Duration = std::time::Duration::from_secs(10);
/// An address at which nobody is ever asked.
const NOWHERE: &str = "http://127.0.0.1:9";
