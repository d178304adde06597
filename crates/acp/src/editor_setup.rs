//! `windlass acp setup`: the settings entry with which an editor starts us. It is shown, and
//! written only if the user agrees; the rest of the editor's file is not changed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::{Map, Value, json};
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::user_directories;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Editor {
    Zed,
    Jetbrains,
    Neovim,
}

/// Returns what to print.
pub fn run(
    editor: Editor,
    is_agreed: bool,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let program = std::env::current_exe().map_err(|error| {
        CommandError::failure(format!("the path of this program is not known: {error}"))
    })?;
    let program = find_on_path(&program, lookup).unwrap_or(program);
    if editor == Editor::Neovim {
        let snippet = NEOVIM_SNIPPET.replace("PROGRAM", &lua_string(&program));
        return Ok(format!(
            "Add this to your Neovim configuration (CodeCompanion 19 or later):\n\n{snippet}"
        ));
    }
    let path = settings_path(editor, lookup)?;
    let mut file = EditorSettingsFile::read(path)?;
    let is_new = file.set_entry(&build_entry(editor, &program))?;
    let shown = file.show_entry();
    let place = file.path.display();
    if !is_agreed {
        let would = if is_new { "be added to" } else { "replace the entry in" };
        return Ok(format!(
            "This would {would} {place}:\n\n{shown}\n\nNothing was written. Add --yes to write it.\n"
        ));
    }
    file.write()?;
    Ok(format!("{shown}\n\nWritten to {place}. Choose Windlass as the agent.\n"))
}

/// The program as it is found on `PATH`, if that is the one that runs: its name stays when a package puts
/// another version in the place it links to.
fn find_on_path(program: &Path, lookup: &impl EnvLookup) -> Option<PathBuf> {
    let path = lookup("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let mut found = folders.map(|folder| folder.join(PROGRAM));
    // Only the first one: that is what the name starts.
    found
        .find(|path| path.is_file())
        .filter(|path| path.canonicalize().is_ok_and(|it| it == program))
}

fn settings_path(editor: Editor, lookup: &impl EnvLookup) -> Result<PathBuf, CommandError> {
    let missing = || CommandError::failure("HOME is not set; set it to your home directory");
    let home = user_directories::home_directory(lookup).ok_or_else(missing)?;
    let config = lookup("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    Ok(match editor {
        Editor::Zed => {
            config.unwrap_or_else(|| home.join(".config")).join("zed").join("settings.json")
        }
        Editor::Jetbrains | Editor::Neovim => home.join(".jetbrains").join("acp.json"),
    })
}

fn build_entry(editor: Editor, program: &Path) -> Map<String, Value> {
    let kind = (editor == Editor::Zed).then(|| ("type", json!("custom")));
    let rest = [
        ("command", json!(program.to_string_lossy())),
        ("args", json!(["acp"])),
        ("env", json!({})),
    ];
    kind.into_iter().chain(rest).map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Editors write comments into their settings, and people too: both stay.
struct EditorSettingsFile {
    /// Where it really is: settings are often links into a folder of their own.
    path: PathBuf,
    root: CstRootNode,
}

impl EditorSettingsFile {
    /// A file that is not there is an empty one.
    fn read(path: PathBuf) -> Result<Self, CommandError> {
        let path = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => path,
            Err(error) => return Err(not_changed(&path, &error.to_string())),
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => "{}\n".to_owned(),
            Err(error) => return Err(not_changed(&path, &error.to_string())),
        };
        let root = CstRootNode::parse(&text, &ParseOptions::default()).map_err(|error| {
            not_changed(&path, &format!("it is not JSON with comments: {error}"))
        })?;
        Ok(Self { path, root })
    }

    /// Adds the entry, or sets the program of the one that is there: flags and variables of the user stay.
    /// Returns whether it is new.
    fn set_entry(&mut self, entry: &Map<String, Value>) -> Result<bool, CommandError> {
        let servers = self
            .root
            .object_value_or_create()
            .and_then(|root| root.object_value_or_create(SERVERS_KEY))
            .ok_or_else(|| not_changed(&self.path, &format!("`{SERVERS_KEY}` is not an object")))?;
        let known = servers.get(NAME);
        let is_new = known.is_none();
        let fields = match known {
            Some(known) => known.object_value_or_set(),
            None => servers.append(NAME, CstInputValue::Object(Vec::new())).object_value_or_set(),
        };
        for (key, value) in entry {
            match fields.get(key) {
                Some(field) if key == "command" => field.set_value(to_cst(value)),
                Some(_) => {}
                None => drop(fields.append(key, to_cst(value))),
            }
        }
        Ok(is_new)
    }

    /// What is to be in the file, for a person to look at.
    fn show_entry(&self) -> String {
        let servers = self.root.object_value().and_then(|root| root.object_value(SERVERS_KEY));
        let entry = servers.and_then(|servers| servers.get(NAME)).map(|entry| entry.to_string());
        format!("{{ \"{SERVERS_KEY}\": {{\n    {}\n}} }}", entry.unwrap_or_default())
    }

    /// A reader never sees half a file, and it stays as readable for others as it was.
    fn write(&self) -> Result<(), CommandError> {
        let fail = |error: std::io::Error| not_changed(&self.path, &error.to_string());
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(fail)?;
        }
        let fresh = self.path.with_extension(format!("{}.new", std::process::id()));
        let written = std::fs::write(&fresh, self.root.to_string()).and_then(|()| {
            if let Ok(metadata) = self.path.metadata() {
                std::fs::set_permissions(&fresh, metadata.permissions())?;
            }
            std::fs::rename(&fresh, &self.path)
        });
        if written.is_err() {
            // Perhaps it was never made.
            let _ = std::fs::remove_file(&fresh);
        }
        written.map_err(fail)
    }
}

fn not_changed(path: &Path, why: &str) -> CommandError {
    CommandError::failure(format!("{} was not changed: {why}", path.display()))
}

fn to_cst(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is_on) => CstInputValue::Bool(*is_on),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(to_cst).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields.iter().map(|(key, value)| (key.clone(), to_cst(value))).collect(),
        ),
    }
}

fn lua_string(path: &Path) -> String {
    format!("\"{}\"", path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\""))
}

const SERVERS_KEY: &str = "agent_servers";
const NAME: &str = "Windlass";
const PROGRAM: &str = "windlass";

const NEOVIM_SNIPPET: &str = r#"require("codecompanion").setup({
  interactions = { chat = { adapter = "windlass" } },
  adapters = {
    acp = {
      windlass = function()
        local helpers = require("codecompanion.adapters.acp.helpers")
        return {
          name = "windlass",
          formatted_name = "Windlass",
          type = "acp",
          roles = { llm = "assistant", user = "user" },
          opts = {},
          commands = { default = { PROGRAM, "acp" } },
          defaults = { mcpServers = {}, timeout = 20000 },
          parameters = {
            protocolVersion = 1,
            clientCapabilities = { fs = { readTextFile = true, writeTextFile = true } },
            clientInfo = { name = "CodeCompanion.nvim", version = "1.0.0" },
          },
          handlers = {
            setup = function() return true end,
            auth = function() return true end,
            form_messages = function(self, messages, capabilities)
              return helpers.form_messages(self, messages, capabilities)
            end,
            on_exit = function() end,
          },
        }
      end,
    },
  },
})
"#;
