//! `windlass acp setup`: the settings entry with which an editor starts us. It is shown, and
//! written only if the user agrees; the rest of the editor's file is not changed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::{Value, json};
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
    if editor == Editor::Neovim {
        let snippet = NEOVIM_SNIPPET.replace("PROGRAM", &lua_string(&program));
        return Ok(format!(
            "Add this to your Neovim configuration (CodeCompanion 19 or later):\n\n{snippet}"
        ));
    }
    let path = settings_path(editor, lookup)?;
    let entry = build_entry(editor, &program);
    let shown =
        serde_json::to_string_pretty(&json!({ SERVERS_KEY: { NAME: entry } })).unwrap_or_default();
    if !is_agreed {
        return Ok(format!(
            "This would be added to {}:\n\n{shown}\n\nNothing was written. Add --yes to write it.\n",
            path.display()
        ));
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| {
            CommandError::failure(format!("{} cannot be made: {error}", folder.display()))
        })?;
    }
    add_entry(&path, &entry)?;
    Ok(format!("{shown}\n\nWritten to {}. Choose Windlass as the agent.\n", path.display()))
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

fn build_entry(editor: Editor, program: &Path) -> Value {
    let command = program.to_string_lossy();
    match editor {
        Editor::Zed => json!({ "type": "custom", "command": command, "args": ["acp"], "env": {} }),
        Editor::Jetbrains | Editor::Neovim => {
            json!({ "command": command, "args": ["acp"], "env": {} })
        }
    }
}

/// Editors write comments into their settings, and people too: both stay.
fn add_entry(path: &Path, entry: &Value) -> Result<(), CommandError> {
    let fail =
        |why: String| CommandError::failure(format!("{} was not changed: {why}", path.display()));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => "{}\n".to_owned(),
        Err(error) => return Err(fail(error.to_string())),
    };
    let root = CstRootNode::parse(&text, &ParseOptions::default())
        .map_err(|error| fail(format!("it is not JSON with comments: {error}")))?;
    let servers = root
        .object_value_or_create()
        .and_then(|root| root.object_value_or_create(SERVERS_KEY))
        .ok_or_else(|| fail(format!("`{SERVERS_KEY}` is not an object")))?;
    match servers.get(NAME) {
        Some(known) => known.set_value(to_cst(entry)),
        None => drop(servers.append(NAME, to_cst(entry))),
    }
    let fresh = path.with_extension("json.new");
    std::fs::write(&fresh, root.to_string())
        .and_then(|()| std::fs::rename(&fresh, path))
        .map_err(|error| fail(error.to_string()))
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
