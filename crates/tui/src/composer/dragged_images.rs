//! Terminals turn images that are dragged in into a paste of their paths, quoted in various ways.
//! Whether the files exist is not checked here.

use percent_encoding::percent_decode_str;

/// Empty, unless the paste consists of image paths and nothing else.
pub(crate) fn parse_image_paths(pasted: &str) -> Vec<String> {
    if pasted.len() > PASTE_MAX {
        return Vec::new();
    }
    let text = pasted.trim();
    let words = split_shell_words(text);
    let paths: Vec<String> = words.iter().filter_map(|word| parse_image_path(word)).collect();
    if paths.len() == words.len() {
        return paths;
    }
    // Some terminals quote nothing: then the whole paste is one path.
    let is_bare = !text.contains(['\n', '\\', '\'', '"']);
    parse_image_path(text).filter(|_| is_bare).into_iter().collect()
}

/// Splits like a shell, as far as terminals quote.
fn split_shell_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (sign, Some(open)) if sign == open => quote = None,
            ('\\', None | Some('"')) => word.extend(letters.next()),
            ('\'' | '"', None) => quote = Some(letter),
            (blank, None) if blank.is_whitespace() => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            (letter, _) => word.push(letter),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

fn parse_image_path(word: &str) -> Option<String> {
    let path = match word.strip_prefix("file://") {
        Some(rest) => {
            // Not every terminal encodes a `%` of the name: an invalid escape stays unchanged.
            let encoded = percent_decode_str(rest.strip_prefix("localhost").unwrap_or(rest));
            encoded.decode_utf8().ok()?.into_owned()
        }
        None => word.to_owned(),
    };
    let (_, end) = path.rsplit_once('.')?;
    let is_image = IMAGE_EXTENSIONS.iter().any(|known| end.eq_ignore_ascii_case(known));
    let is_path = path.starts_with(['/', '~', '.']) && path.len() < PATH_MAX;
    // A quote in the path would end the mention.
    let is_plain = !path.contains(['\n', '"']);
    (is_image && is_path && is_plain).then_some(path)
}

const IMAGE_EXTENSIONS: &[&str] = &["png", "jpg", "jpeg", "gif", "webp"];
const PATH_MAX: usize = 1_000;
const PASTE_MAX: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terminals_write_for_an_image_is_its_path() {
        let cases: &[(&str, &[&str])] = &[
            ("/home/me/cat.png", &["/home/me/cat.png"]),
            ("'/home/me/cat.png' ", &["/home/me/cat.png"]),
            ("/home/me/my cat.JPG", &["/home/me/my cat.JPG"]),
            ("/home/me/my\\ cat\\ \\(1\\).png", &["/home/me/my cat (1).png"]),
            ("\"/home/me/my cat.png\"", &["/home/me/my cat.png"]),
            ("'/a/it'\\''s.png'", &["/a/it's.png"]),
            ("file:///home/me/my%20cat.png\n", &["/home/me/my cat.png"]),
            ("file://localhost/a/%C3%A9.webp", &["/a/é.webp"]),
            ("/a/1.png /a/2.gif", &["/a/1.png", "/a/2.gif"]),
            ("'/a b/1.png' '/a b/2.png'", &["/a b/1.png", "/a b/2.png"]),
            ("file:///a/1.png\nfile:///a/2.png\n", &["/a/1.png", "/a/2.png"]),
            ("look at /a/1.png", &[]),
            ("/a/1.png is nice", &[]),
            ("/a/notes.txt", &[]),
            ("file:///a/%zz.png", &["/a/%zz.png"]),
            ("file:///a/%FF.png", &[]),
            ("words and words.png", &[]),
            ("", &[]),
        ];
        for (pasted, paths) in cases {
            assert_eq!(parse_image_paths(pasted), *paths, "{pasted}");
        }
    }
}
