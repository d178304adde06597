//! Maps glyph names to characters. Only names that are common in texts are known.

pub(super) fn glyph_to_text(name: &str) -> Option<String> {
    let stem = name.split('.').next().unwrap_or(name);
    let mut letters = stem.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        return Some(letter.to_string());
    }
    let code = stem.strip_prefix("uni").or_else(|| stem.strip_prefix('u'));
    let code = code.filter(|code| (4..=6).contains(&code.len()));
    if let Some(letter) =
        code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32)
    {
        return Some(letter.to_string());
    }
    if let Some((_, letters)) = GLYPH_NAMES.iter().find(|(known, _)| *known == stem) {
        return Some((*letters).to_owned());
    }
    compose_accented(stem)
}

/// Composes a letter and an accent.
fn compose_accented(name: &str) -> Option<String> {
    let letter = name.chars().next().filter(char::is_ascii_alphabetic)?;
    let mark = match name.get(1..)? {
        "acute" => '\u{301}',
        "grave" => '\u{300}',
        "circumflex" => '\u{302}',
        "dieresis" => '\u{308}',
        "tilde" => '\u{303}',
        "ring" => '\u{30a}',
        "caron" => '\u{30c}',
        "cedilla" => '\u{327}',
        _ => return None,
    };
    let plain = COMPOSED_LETTERS.iter().find(|(from, with, _)| *from == letter && *with == mark);
    Some(plain.map_or_else(|| format!("{letter}{mark}"), |(_, _, whole)| whole.to_string()))
}

const COMPOSED_LETTERS: &[(char, char, char)] = &[
    ('a', '\u{308}', 'ä'),
    ('o', '\u{308}', 'ö'),
    ('u', '\u{308}', 'ü'),
    ('A', '\u{308}', 'Ä'),
    ('O', '\u{308}', 'Ö'),
    ('U', '\u{308}', 'Ü'),
    ('e', '\u{301}', 'é'),
    ('e', '\u{300}', 'è'),
    ('a', '\u{301}', 'á'),
    ('a', '\u{300}', 'à'),
    ('c', '\u{327}', 'ç'),
    ('n', '\u{303}', 'ñ'),
    ('o', '\u{301}', 'ó'),
    ('i', '\u{301}', 'í'),
    ('u', '\u{301}', 'ú'),
    ('e', '\u{302}', 'ê'),
    ('a', '\u{302}', 'â'),
    ('o', '\u{302}', 'ô'),
    ('a', '\u{30a}', 'å'),
    ('s', '\u{30c}', 'š'),
];

const GLYPH_NAMES: &[(&str, &str)] = &[
    ("space", " "),
    ("nbspace", " "),
    ("exclam", "!"),
    ("quotedbl", "\""),
    ("numbersign", "#"),
    ("dollar", "$"),
    ("percent", "%"),
    ("ampersand", "&"),
    ("quotesingle", "'"),
    ("quoteright", "’"),
    ("quoteleft", "‘"),
    ("parenleft", "("),
    ("parenright", ")"),
    ("asterisk", "*"),
    ("plus", "+"),
    ("comma", ","),
    ("hyphen", "-"),
    ("minus", "−"),
    ("period", "."),
    ("slash", "/"),
    ("zero", "0"),
    ("one", "1"),
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("colon", ":"),
    ("semicolon", ";"),
    ("less", "<"),
    ("equal", "="),
    ("greater", ">"),
    ("question", "?"),
    ("at", "@"),
    ("bracketleft", "["),
    ("backslash", "\\"),
    ("bracketright", "]"),
    ("asciicircum", "^"),
    ("underscore", "_"),
    ("grave", "`"),
    ("braceleft", "{"),
    ("bar", "|"),
    ("braceright", "}"),
    ("asciitilde", "~"),
    ("quotedblleft", "“"),
    ("quotedblright", "”"),
    ("quotedblbase", "„"),
    ("quotesinglbase", "‚"),
    ("endash", "–"),
    ("emdash", "—"),
    ("bullet", "•"),
    ("ellipsis", "…"),
    ("dagger", "†"),
    ("section", "§"),
    ("copyright", "©"),
    ("registered", "®"),
    ("trademark", "™"),
    ("degree", "°"),
    ("fi", "fi"),
    ("fl", "fl"),
    ("ff", "ff"),
    ("ffi", "ffi"),
    ("ffl", "ffl"),
    ("germandbls", "ß"),
    ("multiply", "×"),
    ("divide", "÷"),
    ("plusminus", "±"),
    ("lessequal", "≤"),
    ("greaterequal", "≥"),
    ("notequal", "≠"),
    ("arrowright", "→"),
    ("arrowleft", "←"),
    ("periodcentered", "·"),
    ("guillemotleft", "«"),
    ("guillemotright", "»"),
    ("Euro", "€"),
    ("ae", "æ"),
    ("oe", "œ"),
    ("oslash", "ø"),
    ("dotlessi", "ı"),
    ("sterling", "£"),
];
