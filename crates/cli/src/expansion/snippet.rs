//! Finds the commands in a page: `` !`command` `` at the start of a line or after a blank, and blocks
//! that begin with ```` ```! ````. Pure; nothing is run here.

/// A part of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Words.
    Text(&'a str),
    /// A command, whose place what it prints takes.
    Command(&'a str),
}

/// The parts, in order.
pub(super) fn pieces(body: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = body;
    let mut from = 0;
    while let Some(found) = next(rest, from) {
        let Found { begin, end, command } = found;
        pieces.push(Piece::Text(rest.get(..begin).unwrap_or_default()));
        pieces.push(Piece::Command(command));
        rest = rest.get(end..).unwrap_or_default();
        from = 0;
    }
    pieces.push(Piece::Text(rest));
    pieces.retain(|piece| *piece != Piece::Text(""));
    pieces
}

struct Found<'a> {
    begin: usize,
    end: usize,
    command: &'a str,
}

fn next(text: &str, mut from: usize) -> Option<Found<'_>> {
    loop {
        let sign = text.get(from..)?.find("!`").map(|at| at + from);
        let fence = text.get(from..)?.find("```!").map(|at| at + from);
        let at = [sign, fence].into_iter().flatten().min()?;
        let before = text.get(..at).unwrap_or_default();
        let found = match fence == Some(at) {
            true => block(text, at).filter(|_| before.is_empty() || before.ends_with('\n')),
            false => span(text, at)
                .filter(|_| before.is_empty() || before.ends_with(char::is_whitespace)),
        };
        match found {
            Some(found) => return Some(found),
            None => from = at + 2,
        }
    }
}

fn span(text: &str, begin: usize) -> Option<Found<'_>> {
    let inner = text.get(begin + 2..)?;
    let length = inner.find(['`', '\n']).filter(|at| inner[*at..].starts_with('`'))?;
    let command = inner.get(..length)?;
    Some(Found { begin, end: begin + 2 + length + 1, command })
}

fn block(text: &str, begin: usize) -> Option<Found<'_>> {
    let first = text.get(begin + 4..)?;
    let start = begin + 4 + first.find('\n')? + 1;
    let inner = text.get(start..)?;
    let length = match inner.starts_with("```") {
        true => 0,
        false => inner.find("\n```")? + 1,
    };
    let command = inner.get(..length)?.trim_end();
    Some(Found { begin, end: start + length + 3, command })
}

#[cfg(test)]
mod tests {
    use super::Piece::{Command, Text};
    use super::*;

    #[test]
    fn commands_are_found_where_they_count() {
        let cases: &[(&str, &[Piece<'_>])] = &[
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
            assert_eq!(pieces(body), *found, "{body}");
        }
    }
}
