//! `windlass key list`: which providers have a key, and where it comes from. No key is shown, no file
//! is opened for it and no program of the user's is started; the key ring is asked what it has.

use serde_json::{Value, json};

use crate::args::KeyListArgs;
use crate::config::Config;
use crate::environment::Lookup;
use crate::keyring::{Found, Ring, Trouble};
use crate::server::ring;
use crate::server::source::{self, Source};

/// One provider.
struct Row<'a> {
    name: &'a str,
    is_open: bool,
    /// The first is used.
    sources: Vec<Source>,
}

/// What to print.
pub(super) fn run(args: &KeyListArgs, config: &Config, lookup: &impl Lookup) -> String {
    let mut trouble = None;
    let ring = Ring::here(lookup).map_err(|absent| trouble = Some(absent)).ok();
    let mut rows = Vec::new();
    for (name, provider) in &config.providers {
        let mut sources = source::named(provider, config, lookup);
        // A key ring that failed once is not asked again: it would take its time again.
        let origin = ring::origin(name, config, lookup).filter(|_| ring::is_wanted(provider));
        if let (Some(ring), None, Some(origin)) = (&ring, &trouble, origin) {
            match ring::look(ring, name, &origin, config, lookup) {
                Ok(Some(kept)) => sources.push(in_ring(ring, &kept.found)),
                Ok(None) => {}
                Err(failed) => trouble = Some(failed),
            }
        }
        rows.push(Row { name, is_open: provider.is_open(), sources });
    }
    match args.json {
        true => format!("{}\n", object(&rows, trouble.as_ref())),
        false => table(&rows, trouble.as_ref()),
    }
}

/// The keychain of macOS gives nothing unasked, locked or not.
fn in_ring(ring: &Ring, found: &Found) -> Source {
    match (ring, found) {
        (Ring::SecretTool(_), Found::Kept) => Source::LockedRing,
        _ => Source::Ring,
    }
}

fn object(rows: &[Row<'_>], trouble: Option<&Trouble>) -> Value {
    let row = |row: &Row<'_>| {
        json!({
            "provider": row.name,
            "needs_key": !row.is_open,
            "from": row.sources.first().map(Source::kind),
            "sources": row.sources.iter().map(Source::to_string).collect::<Vec<_>>(),
        })
    };
    json!({
        "providers": rows.iter().map(row).collect::<Vec<_>>(),
        "keyring_problem": trouble.map(Trouble::to_string),
    })
}

fn table(rows: &[Row<'_>], trouble: Option<&Trouble>) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let mut text = format!("{:<width$}  key comes from\n", "provider");
    for row in rows {
        let sources: Vec<String> = row.sources.iter().map(Source::to_string).collect();
        let from = match sources.as_slice() {
            [] if row.is_open => "not needed".to_owned(),
            [] => "-".to_owned(),
            [only] => only.clone(),
            [first, rest @ ..] => format!("{first}; not used: {}", rest.join(", ")),
        };
        text.push_str(&format!("{:<width$}  {from}\n", row.name));
    }
    text.push_str(ORDER);
    if let Some(trouble) = trouble {
        text.push_str(&format!("The key ring cannot be asked: {trouble}.\n"));
    }
    text
}

const ORDER: &str = "\nLooked for in this order: environment, key_file or key_command of config.toml, key \
                     ring.\n`windlass key set PROVIDER` puts one into the key ring.\n";
