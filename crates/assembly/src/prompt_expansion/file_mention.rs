//! `@path` in a prompt appends the file, so that the model need not ask for it; `@server:uri` appends
//! a resource of an MCP server. Words after an at sign that name neither stay as they are. Each file is
//! a block of its own that begins with its name: transcripts recognise it by that.

use windlass_permission::PriorDecision;

use super::prompt_tools::PromptTools;
use windlass_project::memory::find_mentions;

/// Reads the files that a prompt mentions. Those that its own words name may be read because the user
/// named them; the others as if the model read them.
pub(super) async fn read_mentioned_files(
    prompt: &str,
    own_words: &str,
    prompt_tools: &PromptTools,
) -> Vec<String> {
    let own_names: Vec<String> = own_words.lines().flat_map(find_mentions).collect();
    let mut names: Vec<String> = Vec::new();
    for name in own_names.iter().cloned().chain(prompt.lines().flat_map(find_mentions)) {
        if names.len() < FILES_MAX && !names.contains(&name) {
            names.push(name);
        }
    }
    let mut files = Vec::new();
    let mut bytes = prompt.len();
    for name in names {
        let path = match name.strip_prefix("~/") {
            Some(rest) => std::env::home_dir().map(|home| home.join(rest)),
            None => Some(prompt_tools.tool_context.files.cwd.join(&name)),
        };
        let opinion = match own_names.contains(&name) {
            true => PriorDecision::Allow,
            false => PriorDecision::None,
        };
        let content = match path.filter(|path| path.is_file()) {
            Some(path) => prompt_tools.read_file(&path.to_string_lossy(), opinion).await,
            None => match prompt_tools.read_resource(&name).await {
                Some(content) => content,
                None => continue,
            },
        };
        let content = content.unwrap_or_else(|why| format!("(It was not attached: {why})"));
        files.push(match bytes + content.len() > BYTES_MAX {
            true => format!("@{name}: (It was not attached: it is too long; read it.)"),
            false => format!("@{name}:\n{content}"),
        });
        bytes += files.last().map_or(0, String::len);
    }
    files
}

/// Files put behind one prompt, and bytes of it with them.
const FILES_MAX: usize = 20;
const BYTES_MAX: usize = 400_000;
