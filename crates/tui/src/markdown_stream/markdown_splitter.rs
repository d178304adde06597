//! Where a text that is still being written can be cut, so that what is before the cut looks the same
//! whatever follows. Reads each line once. Knows just enough Markdown for that: fences, lists, empty
//! lines. How a piece looks is not decided here.

/// A piece that will not change any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StableChunk {
    /// Where it ends, in bytes.
    pub(super) end: usize,
    /// What has to stand before it, because an earlier piece began it: a fence, the head of a table.
    pub(super) head: String,
    /// An empty line stands between it and the piece before.
    pub(super) has_gap: bool,
}

/// What is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum OpenBlock {
    /// Nothing yet.
    #[default]
    Nothing,
    /// Words, tables, quotes: whatever an empty line ends.
    Paragraph,
    /// A list: an empty line does not end it, and it may hold a fence.
    List { fence: Option<CodeFence> },
    /// Code.
    Code(CodeFence),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct CodeFence {
    sign: char,
    length: usize,
    /// The line that opened it.
    line: String,
}

/// Reads a text that grows.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkdownSplitter {
    open: OpenBlock,
    /// Where the open piece began, and how far lines were read.
    open_start: usize,
    read: usize,
    /// The last line was empty.
    is_after_blank: bool,
    /// Where the last item of the open list began.
    last_item_start: usize,
    /// What an earlier piece began.
    head: String,
    /// An empty line stands before the open piece.
    has_gap: bool,
}

impl MarkdownSplitter {
    /// Where the open piece began.
    pub(super) fn open_start(&self) -> usize {
        self.open_start
    }

    /// What has to stand before the open piece.
    pub(super) fn head(&self) -> &str {
        &self.head
    }

    /// Does an empty line stand before the open piece?
    pub(super) fn has_gap(&self) -> bool {
        self.has_gap
    }

    /// The next piece that will not change, if there is one; no line follows if the text is whole.
    pub(super) fn next_chunk(&mut self, text: &str, is_whole: bool) -> Option<StableChunk> {
        while let Some(line) = complete_line_at(text, self.read, is_whole) {
            let start = self.read;
            self.read += line.len();
            if let Some(cut) = self.read_line(line, start) {
                return Some(cut);
            }
            if self.read - self.open_start > CHUNK_BYTES_MAX {
                return Some(self.force_chunk(text));
            }
        }
        // Lines of code do not change, whatever follows.
        let is_code = matches!(self.open, OpenBlock::Code(_)) && self.read > self.open_start;
        if is_code {
            return Some(self.force_chunk(text));
        }
        if is_whole && self.open_start < text.len() {
            return Some(self.end_chunk(text.len(), false));
        }
        // One line without an end.
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
            _ => {}
        }
        if words.is_empty() {
            self.is_after_blank = true;
            // Empty lines before anything are nobody's.
            if self.open == OpenBlock::Nothing {
                (self.open_start, self.has_gap) = (self.read, true);
            }
            return None;
        }
        let is_list = matches!(self.open, OpenBlock::List { .. });
        let is_item = indent < 4 && is_list_item(words);
        let fence = (indent < 4 || is_list).then(|| CodeFence::parse_opening(words)).flatten();
        let goes_on = is_list && (is_item || indent >= 2);
        let is_after_blank = std::mem::take(&mut self.is_after_blank);
        let is_other = self.open != OpenBlock::Nothing
            && match fence.is_some() {
                true => !(is_list && indent >= 2),
                false => is_after_blank && !goes_on,
            };
        if is_other {
            // The line is read again, as the first of its piece.
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

    /// Ends the open piece; says whether an empty line follows it.
    fn end_chunk(&mut self, end: usize, has_gap_behind: bool) -> StableChunk {
        let head = std::mem::take(&mut self.head);
        let has_gap = std::mem::replace(&mut self.has_gap, has_gap_behind);
        self.open = OpenBlock::Nothing;
        (self.open_start, self.is_after_blank) = (end, false);
        StableChunk { end, head, has_gap }
    }

    /// Cuts a piece that goes on: because its lines do not change, or because it has become too long
    /// to be drawn again and again.
    fn force_chunk(&mut self, text: &str) -> StableChunk {
        let piece = text.get(self.open_start..).unwrap_or_default();
        let end = match &self.open {
            OpenBlock::List { fence: None } if self.last_item_start > self.open_start => {
                self.last_item_start
            }
            _ if self.read > self.open_start => self.read,
            _ => {
                let most = piece.floor_char_boundary(CHUNK_BYTES_MAX);
                let begin = piece.get(..most).unwrap_or_default();
                self.open_start + begin.rfind(' ').map_or(most, |at| at + 1)
            }
        };
        let (open, head) = match std::mem::take(&mut self.open) {
            OpenBlock::Code(fence) | OpenBlock::List { fence: Some(fence) } => {
                let line = fence.line.clone();
                (OpenBlock::Code(fence), line)
            }
            // A table goes on with its head, which is how it is known to be one.
            OpenBlock::Paragraph if !self.head.is_empty() => {
                (OpenBlock::Paragraph, self.head.clone())
            }
            OpenBlock::Paragraph => match parse_table_head(piece) {
                Some(head) => (OpenBlock::Paragraph, head),
                None => (OpenBlock::Nothing, String::new()),
            },
            _ => (OpenBlock::Nothing, String::new()),
        };
        let cut = self.end_chunk(end, false);
        (self.open, self.head, self.read) = (open, head, end);
        cut
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

/// The line that begins there, if it is there to its end.
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

/// The head of the table that a piece is.
fn parse_table_head(piece: &str) -> Option<String> {
    let mut lines = piece.split_inclusive('\n');
    let (head, rule) = (lines.next()?, lines.next()?);
    let is_rule = rule.contains('|') && rule.contains('-');
    let is_plain = !rule.contains(|one| !" |:-\r\n".contains(one));
    (is_rule && is_plain && head.len() < TABLE_HEAD_MAX).then(|| format!("{head}{rule}"))
}

/// A piece longer than this is cut, whatever it is: it is drawn anew with every frame.
pub(super) const CHUNK_BYTES_MAX: usize = 8 * 1024;
/// A head longer than this is not written again.
const TABLE_HEAD_MAX: usize = 1_024;
