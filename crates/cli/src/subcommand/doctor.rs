//! `windlass doctor`: what was read from where, what is wrong, what is not trusted, which sandbox holds
//! commands, and where the key would come from. Asks no server, reads no key, changes nothing.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_sandbox::{Sandbox, Wanted};
use windlass_settings::{Loaded, Place, Problem, Severity, Source, State, TrustState};

use crate::args::{DoctorArgs, ModelArgs};
use crate::choice::{self, Cast};
use crate::compose::working_directory;
use crate::config::Config;
use crate::environment::Lookup;
use crate::exit::Exit;
use crate::front::table::{Side, table};
use crate::keyring::Ring;
use crate::layers::Layers;
use crate::refusal::{Refusal, one_line};
use crate::sandbox::ENTRY;
use crate::server::{ring, source};
use crate::{agents, hooks, skills, style};

/// What was found.
struct Findings {
    layers: Layers,
    /// Lines about what is wrong outside of settings.
    wrong: Vec<String>,
    model: Option<String>,
    key: Option<String>,
    sandbox: Result<String, String>,
    config: Option<PathBuf>,
}

/// What to print, and how to exit.
pub(crate) fn run(args: &DoctorArgs, lookup: &impl Lookup) -> Result<(String, Exit), Refusal> {
    let cwd = working_directory()?;
    let layers = Layers::read(&args.settings, false, &cwd, lookup)?;
    let findings = look(layers, &cwd, lookup);
    let is_fine = findings.wrong.is_empty() && findings.layers.loaded.problems.is_empty();
    let text = match args.json {
        true => format!("{}\n", object(&findings, is_fine)),
        false => words(&findings, is_fine),
    };
    Ok((text, if is_fine { Exit::DONE } else { Exit::FAILED }))
}

/// What is wrong with what people keep beside settings: hooks, skills, agents, styles.
fn pieces(layers: &Layers, cwd: &Path, config: &Config, lookup: &impl Lookup) -> Vec<String> {
    let (_, mut wrong) = hooks::configured(layers);
    let folders = skills::folders(cwd, layers, lookup);
    for skill in windlass_driver::skills(&folders, |_| false) {
        let place = skill.folder.join("SKILL.md");
        wrong.extend(skill.problem.map(|why| format!("{}: {why}", place.display())));
    }
    wrong.extend(agents::definitions(cwd, config, layers, lookup).1);
    wrong.extend(style::all(cwd, layers, lookup).into_iter().filter_map(|style| style.problem));
    wrong
}

fn look(mut layers: Layers, cwd: &Path, lookup: &impl Lookup) -> Findings {
    let mut wrong = Vec::new();
    let variables = layers.clone();
    let lookup = &variables.over(lookup);
    let (mut model, mut key, mut path) = (None, None, None);
    let said = |refusal: Refusal| one_line(refusal.line());
    match Config::load(lookup) {
        Err(refusal) => wrong.push(said(refusal)),
        Ok(mut config) => {
            layers.amend_config(&mut config);
            wrong.extend(pieces(&layers, cwd, &config, lookup));
            path.clone_from(&config.path);
            let args = layers.model_args(&ModelArgs::default(), lookup);
            match choice::cast(&args, &config, lookup) {
                Err(refusal) => wrong.push(said(refusal)),
                Ok(cast) => {
                    model = Some(cast.first.full_name());
                    key = key_source(&cast, &config, lookup);
                    if key.is_none() {
                        wrong.push(format!(
                            "there is no key for {}; see `windlass key --help`",
                            cast.first.provider
                        ));
                    }
                }
            }
        }
    }
    layers.directories(Vec::new());
    wrong.extend(layers.more().iter().cloned());
    let ourselves = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("windlass"));
    let sandbox = Sandbox::probe(&Wanted::any(ourselves, [ENTRY]));
    let sandbox = sandbox.map(|found| found.report().to_owned()).map_err(|error| error.to_string());
    Findings { layers, wrong, model, key, sandbox, config: path }
}

/// Where the key of the first model would come from; never the key.
fn key_source(cast: &Cast, config: &Config, lookup: &impl Lookup) -> Option<String> {
    let name = cast.first.provider.as_str();
    let provider = config.providers.get(name)?;
    if let Some(source) = source::named(provider, config, lookup).first() {
        return Some(source.to_string());
    }
    let origin = ring::origin(name, config, lookup).filter(|_| ring::is_wanted(provider));
    if let (Ok(asked), Some(origin)) = (Ring::here(lookup), origin)
        && ring::look(&asked, name, &origin, config, lookup).is_ok_and(|kept| kept.is_some())
    {
        return Some(source::Source::Ring.to_string());
    }
    let base_url = ring::origin(name, config, lookup);
    let is_local = base_url.is_some_and(|url| crate::environment::local_place(&url).is_some());
    (provider.is_open() || is_local).then(|| "none needed".to_owned())
}

const fn layer(source: Source) -> &'static str {
    match source {
        Source::User => "user",
        Source::Project => "project",
        Source::Local => "local",
        Source::Flag => "flag",
        Source::Managed => "managed",
    }
}

const fn state(state: State) -> &'static str {
    match state {
        State::Absent => "not there",
        State::Read => "read",
        State::Broken => "broken",
    }
}

const fn trust(state: TrustState) -> &'static str {
    match state {
        TrustState::Needless => "not needed",
        TrustState::Given => "given",
        TrustState::GivenOnce => "given for this run",
        TrustState::Never => "not given",
        TrustState::Changed => "given to something else; it has changed",
    }
}

fn object(findings: &Findings, is_fine: bool) -> Value {
    let Loaded { files, problems, trust: trusted, .. } = &findings.layers.loaded;
    let files: Vec<Value> = files
        .iter()
        .map(|file| {
            let state = match file.state {
                State::Absent => "absent",
                State::Read => "read",
                State::Broken => "broken",
            };
            json!({ "layer": layer(file.source), "file": file.name, "state": state, "keys": file.keys })
        })
        .collect();
    let place = |place: Option<Place>| place.map(|place| (place.line, place.column)).unzip();
    let problem = |problem: &Problem| {
        let (line, column) = place(problem.place);
        json!({
            "layer": problem.source.map(layer), "file": problem.name, "line": line, "column": column,
            "what": problem.what, "severity": problem.severity.word(),
        })
    };
    let values: serde_json::Map<String, Value> = findings
        .layers
        .loaded
        .origins()
        .map(|(key, names)| (key.to_owned(), json!(names)))
        .collect();
    let idle: Vec<&str> = findings
        .layers
        .loaded
        .origins()
        .map(|(key, _)| key)
        .filter(|key| !Loaded::has_effect(key))
        .collect();
    let withheld: Vec<Value> = trusted
        .withheld()
        .iter()
        .map(|item| json!({ "file": item.name, "key": item.key }))
        .collect();
    json!({
        "ok": is_fine,
        "files": files,
        "values": values,
        "without_effect": idle,
        "problems": problems.iter().map(problem).collect::<Vec<_>>(),
        "wrong": findings.wrong,
        "trust": { "root": trusted.root, "given": trusted.is_given(), "withheld": withheld },
        "sandbox": match &findings.sandbox {
            Ok(report) => json!({ "available": true, "report": report }),
            Err(why) => json!({ "available": false, "report": why }),
        },
        "model": findings.model,
        "key": findings.key,
        "config": findings.config,
    })
}

fn words(findings: &Findings, is_fine: bool) -> String {
    let Loaded { files, problems, trust: trusted, .. } = &findings.layers.loaded;
    let mut text = "Settings, the later one winning\n".to_owned();
    let rows: Vec<[String; 4]> = files
        .iter()
        .map(|file| {
            let keys = file.keys.join(", ");
            [layer(file.source).to_owned(), state(file.state).to_owned(), file.name.clone(), keys]
                .map(|cell| one_line(&cell))
        })
        .collect();
    text.push_str(&indented(&table([Side::Left; 4], &rows)));
    let values: Vec<[String; 2]> = findings
        .layers
        .loaded
        .origins()
        .map(|(key, names)| {
            let idle = if Loaded::has_effect(key) { "" } else { " (no effect here)" };
            [one_line(key), format!("{}{idle}", one_line(&names.join(", ")))]
        })
        .collect();
    if !values.is_empty() {
        text.push_str("\nIn force, and from where\n");
        text.push_str(&indented(&table([Side::Left; 2], &values)));
    }
    text.push_str(&format!(
        "\nTrust\n  {}: {}\n",
        one_line(&trusted.root.display().to_string()),
        trust(trusted.state)
    ));
    for item in trusted.withheld() {
        text.push_str(&format!(
            "  left out: {}\n",
            one_line(&format!("{} in {}", item.key, item.name))
        ));
    }
    let sandbox = match &findings.sandbox {
        Ok(report) => report.clone(),
        Err(why) => format!("none can be had: {why}"),
    };
    let said = |text: &Option<String>| one_line(text.as_deref().unwrap_or("none"));
    text.push_str(&format!("\nSandbox\n  {}\n", one_line(&sandbox)));
    text.push_str(&format!("\nModel\n  {}; key: {}\n", said(&findings.model), said(&findings.key)));
    text.push_str(if is_fine { "\nNothing is wrong.\n" } else { "\nWhat is wrong\n" });
    let mut problems: Vec<&Problem> = problems.iter().collect();
    problems.sort_by_key(|problem| std::cmp::Reverse(problem.severity));
    for problem in problems {
        let mark = if problem.severity == Severity::File { "!" } else { "-" };
        text.push_str(&format!("  {mark} {}\n", one_line(&problem.to_string())));
    }
    for line in &findings.wrong {
        text.push_str(&format!("  - {}\n", one_line(line)));
    }
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
