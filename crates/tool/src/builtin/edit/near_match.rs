//! Explains why a text was not found: what the model probably meant, and how it differs.

/// Larger files are not searched for near matches.
const SEARCHED_BYTES_MAX: usize = 4 * 1024 * 1024;
const SHOWN_CHARS_MAX: usize = 600;

pub(super) fn explain_missing_text(text: &str, old: &str) -> String {
    if text.len() > SEARCHED_BYTES_MAX {
        return "Read the place again and copy it exactly.".to_owned();
    }
    if let Some(bare) = strip_line_numbers(old)
        && text.contains(&bare)
    {
        return "It begins its lines with the numbers that Read shows; leave those out.".to_owned();
    }
    if differs_only_in_line_ends(text, old) {
        return "Only line ends differ: some lines of the file end in CR LF, others in LF. Replace \
                one line at a time, without its end."
            .to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    for (letters, what) in LINE_NORMALIZERS {
        if let Some(found) = find_near_match(&lines, old, *letters) {
            return format!(
                "{what} There it reads:\n{}",
                render_numbered_lines(found.lines, found.first_line_number)
            );
        }
    }
    match find_first_line(&lines, old) {
        Some((line, at)) => format!(
            "Its first line `{}` stands at line {at}, but what follows differs. Read that part \
             again.",
            truncate_text(line)
        ),
        None => "Nothing like it was found. Read the file again.".to_owned(),
    }
}

fn differs_only_in_line_ends(text: &str, old: &str) -> bool {
    let plain = |text: &str| text.replace("\r\n", "\n");
    text.contains("\r\n") && plain(text).contains(&plain(old))
}

type LineNormalizer = fn(&str) -> String;

/// From the smallest difference to the largest.
const LINE_NORMALIZERS: &[(LineNormalizer, &str)] = &[
    (normalize_punctuation, "Only quotation marks, dashes or special spaces differ."),
    (remove_whitespace, "Only spaces, tabs or line ends differ."),
    (normalize_punctuation_and_whitespace, "Only white space, quotation marks or dashes differ."),
];

struct NearMatch<'a> {
    lines: &'a [&'a str],
    first_line_number: usize,
}

/// Consecutive lines that are equal after normalization.
fn find_near_match<'a>(
    lines: &'a [&'a str],
    old: &str,
    letters: LineNormalizer,
) -> Option<NearMatch<'a>> {
    let wanted: Vec<String> = old.trim_matches('\n').lines().map(letters).collect();
    if wanted.iter().all(String::is_empty) {
        return None;
    }
    let keys: Vec<String> = lines.iter().map(|line| letters(line)).collect();
    let first = match wanted.as_slice() {
        [only] => keys.iter().position(|key| key.contains(only.as_str()))?,
        wanted => keys.windows(wanted.len()).position(|window| matches_window(window, wanted))?,
    };
    Some(NearMatch { lines: lines.get(first..first + wanted.len())?, first_line_number: first + 1 })
}

/// The first and last line of the wanted text may be parts of lines.
fn matches_window(window: &[String], wanted: &[String]) -> bool {
    let (Some((first, rest)), Some((wanted_first, wanted_rest))) =
        (window.split_first(), wanted.split_first())
    else {
        return false;
    };
    let (Some((last, middle)), Some((wanted_last, wanted_middle))) =
        (rest.split_last(), wanted_rest.split_last())
    else {
        return false;
    };
    first.ends_with(wanted_first) && last.starts_with(wanted_last) && middle == wanted_middle
}

fn normalize_punctuation(line: &str) -> String {
    let letter = |c| match c {
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '`' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2007}' | '\u{202f}' => ' ',
        c => c,
    };
    line.chars().map(letter).collect()
}

fn remove_whitespace(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace()).collect()
}

fn normalize_punctuation_and_whitespace(line: &str) -> String {
    remove_whitespace(&normalize_punctuation(line))
}

fn strip_line_numbers(old: &str) -> Option<String> {
    let bare = |line: &str| -> Option<String> {
        let (number, rest) = line.split_once('\t')?;
        let number = number.trim_start();
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| rest.to_owned())
    };
    let lines: Option<Vec<String>> = old.trim_end_matches('\n').lines().map(bare).collect();
    lines.map(|lines| lines.join("\n"))
}

fn find_first_line<'a>(lines: &[&str], old: &'a str) -> Option<(&'a str, usize)> {
    let first = old.lines().find(|line| !line.trim().is_empty())?;
    let at = lines.iter().position(|line| line.contains(first))?;
    Some((first, at + 1))
}

fn render_numbered_lines(lines: &[&str], first: usize) -> String {
    let numbered: Vec<_> =
        (first..).zip(lines).map(|(number, line)| format!("{number:>6}\t{line}")).collect();
    truncate_text(&numbered.join("\n"))
}

fn truncate_text(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text)),
        None => text.to_owned(),
    }
}
