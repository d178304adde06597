//! Finds model servers on this machine, at their providers' addresses.
//!
//! Queries all at once, for at most [`WAIT_MAX`]. Sends only a request for the list of models, so
//! other programs are not harmed.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::model_list::fetch_model_list;
use crate::config::Config;
use windlass_host::environment::{EnvLookup, parse_local_address};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    pub provider: String,
    pub title: String,
    pub port: u16,
    pub models: Vec<String>,
}

/// The servers that respond in time, by provider.
pub fn find_local_servers(config: &Config, lookup: &impl EnvLookup) -> Vec<LocalServer> {
    let deadline = Instant::now() + WAIT_MAX;
    let (answers, received) = mpsc::channel();
    for (name, provider) in &config.providers {
        let address = crate::base_url::resolve_base_url(name, config, lookup).ok();
        let Some((host, port)) = address.as_deref().and_then(parse_local_address) else {
            continue;
        };
        let title = provider.title.clone().unwrap_or_else(|| name.clone());
        let provider = name.clone();
        let answers = answers.clone();
        // A late thread is not joined: it ends by its own deadline.
        thread::spawn(move || {
            if let Some(models) = fetch_model_list(&host, port, WAIT_MAX) {
                let _ = answers.send(LocalServer { provider, title, port, models });
            }
        });
    }
    drop(answers);
    let mut found = Vec::new();
    while let Ok(one) = received.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        found.push(one);
    }
    found.sort_by(|one, other| one.provider.cmp(&other.provider));
    found
}

impl LocalServer {
    pub fn describe(&self) -> String {
        let Self { provider, title, port, models } = self;
        match models.as_slice() {
            [] => format!("{title} answers on port {port} and has no model yet"),
            [only] => format!("{title} answers on port {port}: --model {provider}/{only}"),
            [first, rest @ ..] => {
                let others: Vec<&str> = rest.iter().take(SHOWN_MAX).map(String::as_str).collect();
                let more = match rest.len().saturating_sub(SHOWN_MAX) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let others = others.join(", ");
                format!(
                    "{title} answers on port {port}: --model {provider}/{first} (also {others}{more})"
                )
            }
        }
    }
}

/// For all of them together.
const WAIT_MAX: Duration = Duration::from_millis(150);
const SHOWN_MAX: usize = 4;
