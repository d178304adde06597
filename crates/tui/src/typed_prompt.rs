//! A prompt as typed: as it is sent, and as it was in the composer.

use windlass_vocabulary::ContentBlock;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypedPrompt {
    /// With pastes in full.
    pub text: String,
    /// With labels in place of long pastes and images.
    pub shown: String,
}

impl From<String> for TypedPrompt {
    fn from(text: String) -> Self {
        Self { shown: text.clone(), text }
    }
}

impl From<&str> for TypedPrompt {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

/// A prompt on its way to the model. The session reports it by what the model gets, which may hold
/// files and the text of a custom command; the user wants to see what was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentPrompt {
    /// All text that the model gets, joined as the session joins it.
    pub sent: String,
    pub typed: TypedPrompt,
}

impl SentPrompt {
    pub fn new(content: &[ContentBlock], typed: TypedPrompt) -> Self {
        let shown = label_attachments(&typed.shown, content);
        Self { sent: join_texts(content), typed: TypedPrompt { shown, ..typed } }
    }

    /// For a message of which only the content is known, for example one of an earlier run.
    pub fn from_content(content: &[ContentBlock]) -> Self {
        let first = content.iter().find_map(|block| match block {
            ContentBlock::Text(text) => Some(text.as_str()),
            ContentBlock::Thinking(_)
            | ContentBlock::ToolUse(_)
            | ContentBlock::ToolResult(_)
            | ContentBlock::Media(_)
            | ContentBlock::Provider(_) => None,
        });
        Self::new(content, TypedPrompt::from(first.unwrap_or_default()))
    }
}

/// As `Message::text` joins them.
pub fn join_texts(content: &[ContentBlock]) -> String {
    let mut joined = String::new();
    for block in content {
        if let ContentBlock::Text(text) = block {
            joined.push_str(text);
        }
    }
    joined
}

/// The words that introduce the output of a command that the user ran.
pub fn introduce_shell_output(command: &str, printed: &str) -> String {
    format!("{SHELL_OUTPUT_HEAD}{command}{SHELL_OUTPUT_MIDDLE}{printed}")
}

/// Puts labels in place of what is attached: `[src/app.py]` for `@src/app.py`, `[! ls]` for the output
/// of a command.
fn label_attachments(shown: &str, content: &[ContentBlock]) -> String {
    let mut labelled = shown.to_owned();
    let mut commands = String::new();
    for block in content.iter().skip(1) {
        match block {
            ContentBlock::Text(text) => {
                if let Some(command) = parse_shell_command(text) {
                    commands.push_str(&format!("[! {command}] "));
                } else if let Some(name) = parse_attached_name(text) {
                    labelled = label_mention(&labelled, name);
                }
            }
            ContentBlock::Media(media) if !media.name.is_empty() => {
                labelled = label_mention(&labelled, &media.name);
            }
            ContentBlock::Media(_)
            | ContentBlock::Thinking(_)
            | ContentBlock::ToolUse(_)
            | ContentBlock::ToolResult(_)
            | ContentBlock::Provider(_) => {}
        }
    }
    commands + &labelled
}

fn parse_shell_command(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(SHELL_OUTPUT_HEAD)?;
    Some(rest.split_once(SHELL_OUTPUT_MIDDLE)?.0)
}

/// The name of a file block, which begins with `@name:` on a line of its own.
fn parse_attached_name(text: &str) -> Option<&str> {
    let (first, _) = text.split_once('\n')?;
    first.strip_prefix('@')?.strip_suffix(':').filter(|name| !name.is_empty())
}

/// The mention may be quoted, and relative while the attachment has its full path.
fn label_mention(shown: &str, name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let label = if name.starts_with('/') { last } else { name };
    for name in [name, label] {
        for mention in [format!("@\"{name}\""), format!("@{name}")] {
            let labelled = replace_words(shown, &mention, &format!("[{label}]"));
            if labelled != shown {
                return labelled;
            }
        }
    }
    shown.to_owned()
}

/// Replaces complete mentions only: `@app.py` does not match in `@app.pyc`.
fn replace_words(text: &str, mention: &str, label: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(mention) {
        let (before, from) = rest.split_at(at);
        let (found, behind) = from.split_at(mention.len());
        let goes_on = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '/';
        let is_whole = found.ends_with('"') || !behind.starts_with(goes_on);
        replaced.push_str(before);
        replaced.push_str(if is_whole { label } else { found });
        rest = behind;
    }
    replaced + rest
}

const SHELL_OUTPUT_HEAD: &str = "I ran `";
const SHELL_OUTPUT_MIDDLE: &str = "` myself. It printed:\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attachments_are_labels_in_the_words_of_the_user() {
        let text = |words: &str| ContentBlock::Text(words.to_owned());
        let content = [
            text("explain @src/app.py, @src/app.pyc and @\"a b.txt\" but not @nowhere"),
            text("@src/app.py:\nprint(1)\n"),
            text("@a b.txt:\nx\n"),
            text(&introduce_shell_output("ls -l", "made.txt")),
        ];
        let shown = "[! ls -l] explain [src/app.py], @src/app.pyc and [a b.txt] but not @nowhere";
        assert_eq!(SentPrompt::from_content(&content).typed.shown, shown);
        let typed = TypedPrompt { text: "long".to_owned(), shown: "[Pasted 500 lines]".to_owned() };
        let sent = SentPrompt::new(&[text("long")], typed);
        assert_eq!((sent.sent.as_str(), sent.typed.shown.as_str()), ("long", "[Pasted 500 lines]"));
    }
}
