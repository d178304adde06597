//! `windlass trust`: shows the settings of a project that would run programs, allow tools or redirect
//! requests, and trusts exactly those. Running the command is the consent; it asks nothing.

use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_assembly::options::SettingsOptions;
use windlass_permission::sanitize::escape_invisible;
use windlass_settings::trust::TrustStore;
use windlass_settings::{ProjectTrust, load_settings};

use crate::args::TrustArgs;
use crate::words;
use windlass_assembly::directories::working_directory;
use windlass_assembly::report::trust::render_trust;
use windlass_assembly::settings;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::user_directories;

pub(crate) fn run(args: &TrustArgs, lookup: &impl EnvLookup) -> Result<String, CommandError> {
    let Some(state) = user_directories::state_directory(lookup) else {
        return Err(CommandError::failure(words::NO_TRUST_STORE));
    };
    let store = TrustStore::new(&state);
    if args.list {
        return list_trusted(&store, args.json);
    }
    let cwd = resolve_directory(args)?;
    let request = settings::build_load_request(&SettingsOptions::default(), &cwd, lookup)?;
    let trust = load_settings(&request).trust;
    if args.forget {
        let write_error =
            |error: windlass_settings::SettingsWriteError| CommandError::failure(error.to_string());
        let was_trusted = store.forget(&trust.root).map_err(write_error)?;
        return Ok(match (args.json, was_trusted) {
            (true, _) => format!("{}\n", json!({ "root": trust.root, "was_trusted": was_trusted })),
            (false, true) => words::describe_forgotten_project(&trust.root.display()),
            (false, false) => words::describe_unknown_project(&trust.root.display()),
        });
    }
    if let Some(host) = &args.endpoint {
        return accept_endpoint(&store, &trust, host, args.json);
    }
    if !args.show && !trust.items.is_empty() {
        store.accept(&trust).map_err(|error| CommandError::failure(error.to_string()))?;
    }
    Ok(match args.json {
        true => format!("{}\n", trust_to_json(&trust, !args.show)),
        false => render_trust(&trust, !args.show),
    })
}

/// A yes to one host. Trusting the project is another question.
fn accept_endpoint(
    store: &TrustStore,
    trust: &ProjectTrust,
    host: &str,
    is_json: bool,
) -> Result<String, CommandError> {
    let host = host.trim().to_ascii_lowercase();
    if !trust.endpoints.iter().any(|endpoint| endpoint.host == host) {
        let why = words::describe_unknown_endpoint(&trust.root.display(), &host);
        return Err(CommandError::usage(why));
    }
    store
        .accept_endpoint(&trust.root, &host)
        .map_err(|error| CommandError::failure(error.to_string()))?;
    Ok(match is_json {
        true => format!("{}\n", json!({ "root": trust.root, "endpoint": host })),
        false => words::describe_trusted_endpoint(&host, &trust.root.display()),
    })
}

fn resolve_directory(args: &TrustArgs) -> Result<PathBuf, CommandError> {
    let Some(path) = &args.path else { return working_directory() };
    match path.canonicalize() {
        Ok(path) if path.is_dir() => Ok(path),
        // A deleted directory can still be removed from the list.
        Err(_) if args.forget => Ok(working_directory()?.join(path)),
        Ok(_) => Err(CommandError::usage(words::describe_no_directory(&path.display()))),
        Err(error) => Err(CommandError::usage(format!("{}: {error}", path.display()))),
    }
}

fn list_trusted(store: &TrustStore, is_json: bool) -> Result<String, CommandError> {
    let trusted = store.list().map_err(|error| CommandError::failure(error.to_string()))?;
    if is_json {
        let rows: Vec<Value> = trusted
            .iter()
            .map(|entry| json!({ "root": entry.root, "states": entry.states }))
            .collect();
        return Ok(format!("{}\n", json!({ "trusted": rows })));
    }
    if trusted.is_empty() {
        return Ok(words::NOTHING_TRUSTED.to_owned());
    }
    Ok(trusted
        .iter()
        .map(|entry| format!("{}\n", escape_invisible(&entry.root.to_string_lossy())))
        .collect())
}

fn trust_to_json(trust: &ProjectTrust, is_accepted: bool) -> Value {
    let items: Vec<Value> = trust
        .items
        .iter()
        .map(|item| json!({ "file": item.name, "key": item.key, "value": item.value }))
        .collect();
    let is_trusted = is_accepted || trust.is_given();
    json!({ "root": trust.root, "trusted": is_trusted, "digest": trust.digest, "items": items })
}
