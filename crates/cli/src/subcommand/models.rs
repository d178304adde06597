//! `windlass models`: what is known of models, as a table or as JSON. Servers on this machine are
//! asked which models they have; providers elsewhere are not asked anything.

use serde_json::{Value, json};
use windlass_vocabulary::MicroUsd;

use crate::args::ModelsArgs;
use crate::config::Config;
use crate::config::model::{Model, Thinking};
use crate::environment::Lookup;
use crate::front::result::dollars;
use crate::front::words::count;
use crate::keyring::Ring;
use crate::refusal::Refusal;
use crate::server::local::{Found, look};
use crate::server::{ring, source};

/// What to print.
pub(crate) fn run(args: &ModelsArgs, lookup: &impl Lookup) -> Result<String, Refusal> {
    let config = Config::load(lookup)?;
    let found = look(&config, lookup);
    let mut rows = rows(&config, &found, lookup);
    if let Some(part) = &args.part {
        rows.retain(|row| row.full_name().to_lowercase().contains(&part.to_lowercase()));
        if rows.is_empty() {
            return Err(Refusal::usage(format!(
                "no model that is known has `{part}` in its name; `windlass models` lists all, and \
                 one that is not listed can be asked all the same"
            )));
        }
    }
    Ok(match args.json {
        true => format!("{}\n", object(&config, &rows)),
        false => table(&config, &rows),
    })
}

/// One model.
struct Row {
    provider: String,
    name: String,
    model: Model,
    key: Key,
}

/// Whether it can be asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Set,
    Missing,
    NotNeeded,
}

impl Key {
    fn words(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Missing => "-",
            Self::NotNeeded => "not needed",
        }
    }
}

impl Row {
    fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.name)
    }
}

fn rows(config: &Config, found: &[Found], lookup: &impl Lookup) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut ring = Ring::here(lookup).ok();
    for (provider, facts) in &config.providers {
        let key = match source::named(facts, config, lookup).is_empty() {
            false => Key::Set,
            true if is_in(&mut ring, provider, config, lookup) => Key::Set,
            true if facts.is_open() => Key::NotNeeded,
            true => Key::Missing,
        };
        let there = found.iter().find(|found| found.provider == *provider);
        let there = there.map(|found| found.models.as_slice()).unwrap_or_default();
        let mut names: Vec<&str> = config.listed(provider).collect();
        for name in there {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        rows.extend(names.into_iter().map(|name| Row {
            provider: provider.clone(),
            name: name.to_owned(),
            model: config.model(provider, name).model,
            key,
        }));
    }
    rows
}

/// Is the provider's key in the key ring? One that fails is not asked again.
fn is_in(ring: &mut Option<Ring>, name: &str, config: &Config, lookup: &impl Lookup) -> bool {
    let is_wanted = config.providers.get(name).is_some_and(ring::is_wanted);
    let origin = ring::origin(name, config, lookup).filter(|_| is_wanted);
    let (Some(asked), Some(origin)) = (ring.as_ref(), origin) else {
        return false;
    };
    match ring::look(asked, name, &origin, config, lookup) {
        Ok(kept) => kept.is_some(),
        Err(_) => {
            *ring = None;
            false
        }
    }
}

fn object(config: &Config, rows: &[Row]) -> Value {
    let row = |row: &Row| {
        let facts = row.model.facts(&row.name);
        let price = row.model.price.map(|price| {
            json!({
                "input": dollars(MicroUsd(price.input)),
                "output": dollars(MicroUsd(price.output)),
                "cache_read": dollars(MicroUsd(price.cache_read)),
                "cache_write": dollars(MicroUsd(price.cache_write)),
            })
        });
        json!({
            "model": row.full_name(),
            "provider": row.provider,
            "name": row.name,
            "window": facts.window.0,
            "output_default": facts.output_default.0,
            "output_max": facts.output_max.0,
            "usd_per_million_tokens": price,
            "tools": row.model.tools.unwrap_or(true),
            "images": row.model.images,
            "cache": row.model.cache,
            "thinking": row.model.thinking.map(|thinking| match thinking {
                Thinking::None => "none",
                Thinking::Optional => "optional",
                Thinking::Always => "always",
            }),
            "key": match row.key {
                Key::Set => "set",
                Key::Missing => "missing",
                Key::NotNeeded => "not_needed",
            },
        })
    };
    json!({
        "facts": config.facts,
        "default_model": config.default_model,
        "config": config.path.as_ref().map(|path| path.display().to_string()),
        "models": rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn table(config: &Config, rows: &[Row]) -> String {
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(rows.iter().map(line));
    let mut widths = [0; COLUMNS];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for cells in &lines {
        let mut line = String::new();
        for (place, (cell, width)) in cells.iter().zip(widths).enumerate() {
            match place {
                0 => line.push_str(&format!("{cell:<width$}")),
                // Words stand left, numbers right.
                place if place + 2 < COLUMNS => line.push_str(&format!("  {cell:>width$}")),
                _ => line.push_str(&format!("  {cell:<width$}")),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let day = config.facts.as_deref().unwrap_or("an unknown day");
    let path = config.path.as_ref().map(|path| path.display().to_string());
    let path = path.unwrap_or_else(|| "config.toml".to_owned());
    text.push_str(&format!(
        "\nWindow and output in tokens; dollars per million tokens, as of {day}; where a price \
         depends on\nthe length of the prompt, the dearer one. Another model can be asked as \
         provider/name. To add or\ncorrect a row: {path}\n"
    ));
    text
}

fn line(row: &Row) -> [String; COLUMNS] {
    let facts = row.model.facts(&row.name);
    let price = |pick: fn(&windlass_vocabulary::Prices) -> u64| match &row.model.price {
        Some(price) => plain_dollars(pick(price)),
        None => "?".to_owned(),
    };
    [
        row.full_name(),
        count(facts.window.0),
        count(facts.output_max.0),
        price(|price| price.input),
        price(|price| price.output),
        price(|price| price.cache_read),
        row.key.words().to_owned(),
        if row.model.tools == Some(false) { "no tools".to_owned() } else { String::new() },
    ]
}

/// Without zeros nobody needs.
fn plain_dollars(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

const COLUMNS: usize = 8;
const HEAD: [&str; COLUMNS] = ["model", "window", "output", "in", "out", "cached", "key", ""];
