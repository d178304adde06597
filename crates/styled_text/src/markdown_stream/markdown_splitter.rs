//! Cuts a growing text into chunks whose look does not depend on later text. Reads each line
//! once, and knows just enough Markdown for that: fences, lists, blank lines.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StableChunk {
    /// In bytes.
    pub(super) end: usize,
    /// What must be put before the chunk because an earlier one began it: a fence, a table's head.
    pub(super) head: String,
    /// A blank line separates it from the chunk before.
    pub(super) has_gap: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum OpenBlock {
    #[default]
    Nothing,
    /// Text, tables, quotes: ended by a blank line.
    Paragraph,
    /// Not ended by a blank line; may hold a fence.
    List {
        fence: Option<CodeFence>,
    },
    Code(CodeFence),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct CodeFence {
    sign: char,
    length: usize,
    /// The opening line.
    line: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct MarkdownSplitter {
    open: OpenBlock,
    /// Where the open chunk begins, in bytes.
    open_start: usize,
    /// How far lines were read, in bytes.
    read: usize,
    is_after_blank: bool,
    /// Where the last item of the open list begins.
    last_item_start: usize,
    /// As in [`StableChunk`], for the open chunk.
    head: String,
    has_gap: bool,
}

impl MarkdownSplitter {
    pub(super) fn open_start(&self) -> usize {
        self.open_start
    }

    pub(super) fn head(&self) -> &str {
        &self.head
    }

    pub(super) fn has_gap(&self) -> bool {
        self.has_gap
    }

    /// The next chunk that will not change; `is_whole` says that the text grows no more.
    pub(super) fn next_chunk(&mut self, text: &str, is_whole: bool) -> Option<StableChunk> {
        while let Some(line) = complete_line_at(text, self.read, is_whole) {
            let start = self.read;
            self.read += line.len();
            if let Some(chunk) = self.read_line(line, start) {
                return Some(chunk);
            }
            if self.read - self.open_start > CHUNK_BYTES_MAX {
                return Some(self.force_chunk(text));
            }
        }
        // Complete lines of code never change.
        let is_code = matches!(self.open, OpenBlock::Code(_)) && self.read > self.open_start;
        if is_code {
            return Some(self.force_chunk(text));
        }
        if is_whole && self.open_start < text.len() {
            return Some(self.end_chunk(text.len(), false));
        }
        // One endless line.
        let over = text.len() - self.open_start > CHUNK_BYTES_MAX;
        over.then(|| self.force_chunk(text))
    }

    fn read_line(&mut self, line: &str, start: usize) -> Option<StableChunk> {
        let words = line.trim();
        let indent = line.len() - line.trim_start_matches(' ').len();
        match &mut self.open {
            OpenBlock::Code(fence) => {
                let is_over = indent < 4 && fence.is_closed_by(words);
                return is_over.then(|| self.end_chunk(self.read, true));
            }
            OpenBlock::List { fence: Some(inner) } if inner.is_closed_by(words) => {
                self.open = OpenBlock::List { fence: None };
                return None;
            }
            OpenBlock::List { fence: Some(_) } => return None,
            OpenBlock::Nothing | OpenBlock::Paragraph | OpenBlock::List { fence: None } => {}
        }
        if words.is_empty() {
            self.is_after_blank = true;
            // Blank lines between chunks belong to neither.
            if self.open == OpenBlock::Nothing {
                self.open_start = self.read;
                self.has_gap = true;
            }
            return None;
        }
        let is_list = matches!(self.open, OpenBlock::List { .. });
        let is_item = indent < 4 && is_list_item(words);
        let fence = (indent < 4 || is_list).then(|| CodeFence::parse_opening(words)).flatten();
        let continues_list = is_list && (is_item || indent >= 2);
        let is_after_blank = std::mem::take(&mut self.is_after_blank);
        let starts_chunk = self.open != OpenBlock::Nothing
            && match fence.is_some() {
                true => !(is_list && indent >= 2),
                false => is_after_blank && !continues_list,
            };
        if starts_chunk {
            // The line is read again, as the first of its chunk.
            self.read = start;
            return Some(self.end_chunk(start, true));
        }
        if is_item && indent < 2 {
            self.last_item_start = start;
        }
        self.open = match (std::mem::take(&mut self.open), fence) {
            (OpenBlock::Nothing, Some(fence)) => OpenBlock::Code(fence),
            (OpenBlock::List { .. }, fence) => OpenBlock::List { fence },
            (_, None) if is_item => OpenBlock::List { fence: None },
            (OpenBlock::Nothing, None) => OpenBlock::Paragraph,
            (open, _) => open,
        };
        None
    }

    fn end_chunk(&mut self, end: usize, has_gap_after: bool) -> StableChunk {
        let head = std::mem::take(&mut self.head);
        let has_gap = std::mem::replace(&mut self.has_gap, has_gap_after);
        self.open = OpenBlock::Nothing;
        self.open_start = end;
        self.is_after_blank = false;
        StableChunk { end, head, has_gap }
    }

    /// Cuts a block that continues: because its lines do not change, or because it has become too long
    /// to be rendered again with every frame.
    fn force_chunk(&mut self, text: &str) -> StableChunk {
        let piece = text.get(self.open_start..).unwrap_or_default();
        let end = match &self.open {
            OpenBlock::List { fence: None } if self.last_item_start > self.open_start => {
                self.last_item_start
            }
            OpenBlock::Nothing
            | OpenBlock::Paragraph
            | OpenBlock::List { .. }
            | OpenBlock::Code(_) => {
                if self.read > self.open_start {
                    self.read
                } else {
                    let most = piece.floor_char_boundary(CHUNK_BYTES_MAX);
                    let begin = piece.get(..most).unwrap_or_default();
                    self.open_start + begin.rfind(' ').map_or(most, |at| at + 1)
                }
            }
        };
        let (open, head) = match std::mem::take(&mut self.open) {
            OpenBlock::Code(fence) | OpenBlock::List { fence: Some(fence) } => {
                let line = fence.line.clone();
                (OpenBlock::Code(fence), line)
            }
            // The rest of a table is a table only with the head before it.
            OpenBlock::Paragraph if !self.head.is_empty() => {
                (OpenBlock::Paragraph, self.head.clone())
            }
            OpenBlock::Paragraph => match parse_table_head(piece) {
                Some(head) => (OpenBlock::Paragraph, head),
                None => (OpenBlock::Nothing, String::new()),
            },
            OpenBlock::Nothing | OpenBlock::List { fence: None } => {
                (OpenBlock::Nothing, String::new())
            }
        };
        let chunk = self.end_chunk(end, false);
        self.open = open;
        self.head = head;
        self.read = end;
        chunk
    }
}

impl CodeFence {
    fn parse_opening(words: &str) -> Option<Self> {
        let sign = words.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let length = words.chars().take_while(|one| *one == sign).count();
        let rest = words.get(length..).unwrap_or_default();
        let is_one = length >= 3 && !(sign == '`' && rest.contains('`'));
        is_one.then(|| Self { sign, length, line: format!("{words}\n") })
    }

    fn is_closed_by(&self, words: &str) -> bool {
        let length = words.chars().take_while(|one| *one == self.sign).count();
        length >= self.length && words.len() == length
    }
}

/// The line at `from`, if its end is there.
fn complete_line_at(text: &str, from: usize, is_whole: bool) -> Option<&str> {
    let rest = text.get(from..).filter(|rest| !rest.is_empty())?;
    match rest.find('\n') {
        Some(at) => rest.get(..=at),
        None => is_whole.then_some(rest),
    }
}

fn is_list_item(words: &str) -> bool {
    let digits = words.bytes().take_while(u8::is_ascii_digit).count();
    let rest = words.get(digits..).unwrap_or_default();
    let mut letters = rest.chars();
    let is_sign = match letters.next() {
        Some('-' | '*' | '+') => digits == 0,
        Some('.' | ')') => (1..=9).contains(&digits),
        _ => false,
    };
    is_sign && letters.next().is_none_or(char::is_whitespace)
}

/// `None` if the text is not a table.
fn parse_table_head(piece: &str) -> Option<String> {
    let mut lines = piece.split_inclusive('\n');
    let head = lines.next()?;
    let rule = lines.next()?;
    let is_rule = rule.contains('|') && rule.contains('-');
    let is_plain = !rule.contains(|one| !" |:-\r\n".contains(one));
    (is_rule && is_plain && head.len() < TABLE_HEAD_MAX).then(|| format!("{head}{rule}"))
}

/// A longer block is cut wherever possible: the open chunk is rendered again with every frame.
pub(super) const CHUNK_BYTES_MAX: usize = 8 * 1024;
/// A longer head is not repeated.
const TABLE_HEAD_MAX: usize = 1_024;
