//! Finds the shell snippets of a custom command: `` !`command` `` at the start of a line or after a
//! blank, and blocks that begin with ```` ```! ````. Pure; nothing is run here.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptSegment<'a> {
    Text(&'a str),
    /// A command, to be replaced by its output.
    Command(&'a str),
}

pub fn split_segments(body: &str) -> Vec<PromptSegment<'_>> {
    let mut pieces = Vec::new();
    let mut rest = body;
    let mut from = 0;
    while let Some(found) = find_next_command(rest, from) {
        let CommandSpan { begin, end, command } = found;
        pieces.push(PromptSegment::Text(rest.get(..begin).unwrap_or_default()));
        pieces.push(PromptSegment::Command(command));
        rest = rest.get(end..).unwrap_or_default();
        from = 0;
    }
    pieces.push(PromptSegment::Text(rest));
    pieces.retain(|piece| *piece != PromptSegment::Text(""));
    pieces
}

struct CommandSpan<'a> {
    begin: usize,
    end: usize,
    command: &'a str,
}

fn find_next_command(text: &str, mut from: usize) -> Option<CommandSpan<'_>> {
    loop {
        let sign = text.get(from..)?.find("!`").map(|at| at + from);
        let fence = text.get(from..)?.find("```!").map(|at| at + from);
        let at = [sign, fence].into_iter().flatten().min()?;
        let before = text.get(..at).unwrap_or_default();
        let found = match fence == Some(at) {
            true => parse_command_block(text, at)
                .filter(|_| before.is_empty() || before.ends_with('\n')),
            false => parse_inline_command(text, at)
                .filter(|_| before.is_empty() || before.ends_with(char::is_whitespace)),
        };
        match found {
            Some(found) => return Some(found),
            None => from = at + 2,
        }
    }
}

fn parse_inline_command(text: &str, begin: usize) -> Option<CommandSpan<'_>> {
    let inner = text.get(begin + 2..)?;
    let length = inner.find(['`', '\n']).filter(|at| inner[*at..].starts_with('`'))?;
    let command = inner.get(..length)?;
    Some(CommandSpan { begin, end: begin + 2 + length + 1, command })
}

fn parse_command_block(text: &str, begin: usize) -> Option<CommandSpan<'_>> {
    let first = text.get(begin + 4..)?;
    let start = begin + 4 + first.find('\n')? + 1;
    let inner = text.get(start..)?;
    let length = match inner.starts_with("```") {
        true => 0,
        false => inner.find("\n```")? + 1,
    };
    let command = inner.get(..length)?.trim_end();
    Some(CommandSpan { begin, end: start + length + 3, command })
}

#[cfg(test)]
mod tests {
    use super::PromptSegment::{Command, Text};
    use super::*;

    #[test]
    fn commands_are_found_where_they_count() {
        let cases: &[(&str, &[PromptSegment<'_>])] = &[
            ("!`a b` c", &[Command("a b"), Text(" c")]),
            ("see !`a`, !`b`", &[Text("see "), Command("a"), Text(", "), Command("b")]),
            ("no!`a` and `!b`", &[Text("no!`a` and `!b`")]),
            ("!`open\nline`", &[Text("!`open\nline`")]),
            ("x\n```!\none\ntwo\n```\ny", &[Text("x\n"), Command("one\ntwo"), Text("\ny")]),
            ("```! \n```", &[Command("")]),
            ("```!\nnever ends", &[Text("```!\nnever ends")]),
            ("x ```!\na\n```", &[Text("x ```!\na\n```")]),
            ("", &[]),
        ];
        for (body, found) in cases {
            assert_eq!(split_segments(body), *found, "{body}");
        }
    }
}
