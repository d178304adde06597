//! `@path` in a prompt: the file is put behind the words, so that the model need not ask for it; so is
//! a resource of a server at `@server:uri`. Words after an at sign that name neither are just words.

use super::hands::Hands;
use crate::memory::mentioned;

/// The prompt with the files it mentions.
pub(super) async fn attach(prompt: String, hands: &Hands) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in prompt.lines().flat_map(mentioned) {
        if names.len() < FILES_MAX && !names.contains(&name) {
            names.push(name);
        }
    }
    let mut text = prompt;
    for name in names {
        let path = match name.strip_prefix("~/") {
            Some(rest) => std::env::home_dir().map(|home| home.join(rest)),
            None => Some(hands.surroundings.cwd.join(&name)),
        };
        let held = match path.filter(|path| path.is_file()) {
            Some(path) => hands.read(&path.to_string_lossy()).await,
            None => match hands.resource(&name).await {
                Some(held) => held,
                None => continue,
            },
        };
        let held = held.unwrap_or_else(|why| format!("(It was not attached: {why})"));
        if text.len() + held.len() > BYTES_MAX {
            text.push_str(&format!("\n\n@{name}: (It was not attached: it is too long; read it.)"));
        } else {
            text.push_str(&format!("\n\n@{name}:\n{held}"));
        }
    }
    text
}

/// Files put behind one prompt, and bytes of it with them.
const FILES_MAX: usize = 20;
const BYTES_MAX: usize = 400_000;
