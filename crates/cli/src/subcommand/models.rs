//! `windlass models`: the known models, as a table or as JSON. Local servers are asked for their models;
//! no request goes to other providers.

use serde_json::{Value, json};
use windlass_vocabulary::MicroUsd;

use crate::args::ModelsArgs;
use crate::words;
use windlass_host::command_error::CommandError;
use windlass_host::display::dollars_json::dollars_to_json;
use windlass_host::display::human_format::format_count;
use windlass_host::environment::EnvLookup;
use windlass_provider::config::Config;
use windlass_provider::config::model::{ModelConfig, ThinkingSupport};
use windlass_provider::keyring::Keyring;
use windlass_provider::local_server::{LocalServer, find_local_servers};
use windlass_provider::{key_source, keyring_key};

pub(crate) fn run(args: &ModelsArgs, lookup: &impl EnvLookup) -> Result<String, CommandError> {
    let config = Config::load(lookup)?;
    let servers = find_local_servers(&config, lookup);
    let mut rows = build_model_rows(&config, &servers, lookup);
    if let Some(part) = &args.part {
        rows.retain(|row| row.full_name().to_lowercase().contains(&part.to_lowercase()));
        if rows.is_empty() {
            return Err(CommandError::usage(words::describe_no_such_model(part)));
        }
    }
    Ok(match args.json {
        true => format!("{}\n", models_to_json(&config, &rows)),
        false => render_model_table(&config, &rows),
    })
}

struct ModelRow {
    provider: String,
    name: String,
    model: ModelConfig,
    key: ModelKeyState,
}

/// Whether there is a key to use the model with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ModelKeyState {
    Set,
    Missing,
    NotNeeded,
}

impl ModelKeyState {
    fn label(self) -> &'static str {
        match self {
            Self::Set => words::KEY_SET,
            Self::Missing => "-",
            Self::NotNeeded => words::KEY_NOT_NEEDED,
        }
    }
}

impl ModelRow {
    fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.name)
    }
}

fn build_model_rows(
    config: &Config,
    servers: &[LocalServer],
    lookup: &impl EnvLookup,
) -> Vec<ModelRow> {
    let mut rows = Vec::new();
    let mut keyring = Keyring::detect(lookup).ok();
    for (provider, facts) in &config.providers {
        let key = match key_source::list_configured_sources(facts, config, lookup).is_empty() {
            false => ModelKeyState::Set,
            true if is_key_in_keyring(&mut keyring, provider, config, lookup) => ModelKeyState::Set,
            true if facts.needs_no_key() => ModelKeyState::NotNeeded,
            true => ModelKeyState::Missing,
        };
        let server = servers.iter().find(|server| server.provider == *provider);
        let served = server.map(|server| server.models.as_slice()).unwrap_or_default();
        let mut names: Vec<&str> = config.listed_models(provider).collect();
        for name in served {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        rows.extend(names.into_iter().map(|name| ModelRow {
            provider: provider.clone(),
            name: name.to_owned(),
            model: config.resolve_model(provider, name).model,
            key,
        }));
    }
    rows
}

/// Drops a key ring that fails, because each further attempt would wait as long again.
fn is_key_in_keyring(
    keyring: &mut Option<Keyring>,
    name: &str,
    config: &Config,
    lookup: &impl EnvLookup,
) -> bool {
    let is_used = config.providers.get(name).is_some_and(keyring_key::uses_keyring);
    let origin = keyring_key::key_origin(name, config, lookup).filter(|_| is_used);
    let (Some(available), Some(origin)) = (keyring.as_ref(), origin) else {
        return false;
    };
    match keyring_key::find_keyring_key(available, name, &origin, config, lookup) {
        Ok(key) => key.is_some(),
        Err(_) => {
            *keyring = None;
            false
        }
    }
}

fn models_to_json(config: &Config, rows: &[ModelRow]) -> Value {
    let row = |row: &ModelRow| {
        let facts = row.model.to_model_facts(&row.name);
        let price = row.model.price.map(|price| {
            json!({
                "input": dollars_to_json(MicroUsd(price.input)),
                "output": dollars_to_json(MicroUsd(price.output)),
                "cache_read": dollars_to_json(MicroUsd(price.cache_read)),
                "cache_write": dollars_to_json(MicroUsd(price.cache_write)),
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
                ThinkingSupport::None => "none",
                ThinkingSupport::Optional => "optional",
                ThinkingSupport::Always => "always",
            }),
            "key": match row.key {
                ModelKeyState::Set => "set",
                ModelKeyState::Missing => "missing",
                ModelKeyState::NotNeeded => "not_needed",
            },
        })
    };
    json!({
        "facts": config.facts_date,
        "default_model": config.default_model,
        "config": config.path.as_ref().map(|path| path.display().to_string()),
        "models": rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn render_model_table(config: &Config, rows: &[ModelRow]) -> String {
    let mut lines = vec![TABLE_HEADER.map(str::to_owned)];
    lines.extend(rows.iter().map(build_model_cells));
    let mut widths = [0; COLUMNS];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for cells in &lines {
        let mut line = String::new();
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            match column {
                0 => line.push_str(&format!("{cell:<width$}")),
                // Text is aligned left, numbers right.
                column if column + 2 < COLUMNS => line.push_str(&format!("  {cell:>width$}")),
                _ => line.push_str(&format!("  {cell:<width$}")),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let day = config.facts_date.as_deref().unwrap_or(words::UNKNOWN_DAY);
    let path = config.path.as_ref().map(|path| path.display().to_string());
    let path = path.unwrap_or_else(|| "config.toml".to_owned());
    text.push_str(&words::explain_models(&day, &path));
    text
}

fn build_model_cells(row: &ModelRow) -> [String; COLUMNS] {
    let facts = row.model.to_model_facts(&row.name);
    let price = |pick: fn(&windlass_vocabulary::Prices) -> u64| match &row.model.price {
        Some(price) => format_dollars(pick(price)),
        None => "?".to_owned(),
    };
    [
        row.full_name(),
        format_count(facts.window.0),
        format_count(facts.output_max.0),
        price(|price| price.input),
        price(|price| price.output),
        price(|price| price.cache_read),
        row.key.label().to_owned(),
        if row.model.tools == Some(false) { words::NO_TOOLS } else { "" }.to_owned(),
    ]
}

/// Without trailing zeros.
fn format_dollars(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

const COLUMNS: usize = 8;
const TABLE_HEADER: [&str; COLUMNS] = words::MODEL_COLUMNS;
