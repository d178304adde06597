//! One table of texts and keys: `|` is the cursor before and after.

use windlass_tui::composer::Composer;
use windlass_tui::composer::vim::{Vim, VimKeyOutcome};
use windlass_tui::input::{InputKey, Shortcut};

/// Types keys as a person would; `⎋` is Escape, `®` Ctrl-R.
fn type_keys(before: &str, keys: &str) -> String {
    let mut vim = Vim::default();
    let mut composer = Composer::default();
    let place = before.find('|').unwrap_or(before.len());
    composer.insert(&before.replacen('|', "", 1));
    vim.handle_key(InputKey::Escape, &mut composer);
    composer.set_cursor(place);
    for key in keys.chars() {
        let key = match key {
            '⎋' => InputKey::Escape,
            '®' => InputKey::Shortcut(Shortcut::SearchHistory),
            letter => InputKey::Char(letter),
        };
        let outcome = vim.handle_key(key, &mut composer);
        if let VimKeyOutcome::Key(InputKey::Char(letter)) = outcome {
            composer.insert(letter.encode_utf8(&mut [0; 4]));
        } else {
            assert_eq!(outcome, VimKeyOutcome::Handled, "no vim key");
        }
    }
    let mut text = composer.text().to_owned();
    text.insert(composer.cursor_offset(), '|');
    text
}

#[test]
fn fingers_find_what_they_know() {
    for (before, keys, after) in CASES {
        assert_eq!(type_keys(before, keys), *after, "{before:?} {keys}");
    }
}

/// With any keys, the cursor is at a character boundary and nothing panics.
#[test]
fn any_keys_leave_a_text_and_a_place_in_it() {
    let keys = "hjklwbeWBE0^$gGfFtT;,%dcyxXsSDCYrJ~pPuioaIAOvV.123\"'()[]{}BW⎋®z";
    let keys: Vec<char> = keys.chars().collect();
    let mut seed = 7_u64;
    for text in ["", "one", "日本 (語)\n\n e\u{301} \"q\"\n", "a\nb"] {
        for _ in 0..300 {
            let mut sequence = String::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = usize::try_from(seed >> 33).unwrap_or(0) % keys.len();
                sequence.push(keys[at]);
            }
            let mut vim = Vim::default();
            let mut composer = Composer::default();
            composer.insert(text);
            vim.handle_key(InputKey::Escape, &mut composer);
            for key in sequence.chars() {
                let key = match key {
                    '⎋' => InputKey::Escape,
                    '®' => InputKey::Shortcut(Shortcut::SearchHistory),
                    letter => InputKey::Char(letter),
                };
                if let VimKeyOutcome::Key(InputKey::Char(letter)) =
                    vim.handle_key(key, &mut composer)
                {
                    composer.insert(letter.encode_utf8(&mut [0; 4]));
                }
                let place = composer.cursor_offset();
                assert!(composer.text().is_char_boundary(place), "{text:?} {sequence}");
                let _ = vim.selected_range(&composer);
            }
        }
    }
}

const CASES: &[(&str, &str, &str)] = &[
    // Motions.
    ("|one two", "w", "one |two"),
    ("|a.b c", "w", "a|.b c"),
    ("|a.b c", "W", "a.b |c"),
    ("|one two three", "2w", "one two |three"),
    ("one two |three", "b", "one |two three"),
    ("one two |three", "2b", "|one two three"),
    ("|one two", "e", "on|e two"),
    ("|one two", "ee", "one tw|o"),
    ("  one |two", "0", "|  one two"),
    ("  one |two", "^", "  |one two"),
    ("|one two", "$", "one tw|o"),
    ("one\ntwo\n|three", "gg", "|one\ntwo\nthree"),
    ("|one\ntwo\nthree", "G", "one\ntwo\n|three"),
    ("|one\ntwo\nthree", "2G", "one\n|two\nthree"),
    ("|one\ntwo", "j", "one\n|two"),
    ("one\nt|wo", "k", "o|ne\ntwo"),
    ("|abcabc", "fc", "ab|cabc"),
    ("|abcabc", "2fc", "abcab|c"),
    ("|abcabc", "tc", "a|bcabc"),
    ("abcab|c", "Fa", "abc|abc"),
    ("abcab|c", "Ta", "abca|bc"),
    ("|abcabc", "fc;", "abcab|c"),
    ("|abcabc", "fc;,", "ab|cabc"),
    ("|f(a[1], b)", "%", "f(a[1], b|)"),
    ("f(a[1], b|)", "%", "f|(a[1], b)"),
    ("|日本 語", "w", "日本 |語"),
    ("|e\u{301}x", "l", "e\u{301}|x"),
    ("|ab", "9l", "a|b"),
    // Operators with motions, counts on both sides.
    ("|one two three", "dw", "|two three"),
    ("|one two three", "2dw", "|three"),
    ("|one two three", "d2w", "|three"),
    ("one |two three", "db", "|two three"),
    ("|one two", "de", "| two"),
    ("one |two three", "d$", "one| "),
    ("one |two", "D", "one| "),
    ("one |two", "d0", "|two"),
    ("|one two", "cwsix⎋", "si|x two"),
    ("one |two", "Csix⎋", "one si|x"),
    ("|a(b)c", "dfb", "|)c"),
    ("|a(b)c", "dtb", "|b)c"),
    ("a|(b)c", "d%", "a|c"),
    ("|one\ntwo\nthree", "dj", "|three"),
    ("one\ntwo\n|three", "dk", "|one"),
    ("one\n|two\nthree", "dG", "|one"),
    ("one\n|two\nthree", "dgg", "|three"),
    ("one |two\nthree", "dw", "one| \nthree"),
    // Text objects.
    ("one t|wo three", "diw", "one | three"),
    ("one t|wo three", "daw", "one |three"),
    ("one t|wo", "daw", "on|e"),
    ("say \"he|llo you\" now", "ci\"hi⎋", "say \"h|i\" now"),
    ("say \"he|llo you\" now", "da\"", "say | now"),
    ("f(a, |(b), c)", "ci(x⎋", "f(a, (|x), c)"),
    ("f(a, |b, c)", "di(", "f(|)"),
    ("f(a, |b, c)", "dab", "|f"),
    ("{ a|b }", "diB", "{|}"),
    ("x['a|b']", "di'", "x['|']"),
    ("x[a|b]", "di]", "x[|]"),
    // Single keys.
    ("o|ne", "x", "o|e"),
    ("o|ne", "X", "|ne"),
    ("|one", "2x", "|e"),
    ("on|e", "x", "o|n"),
    ("o|ne", "rX", "o|Xe"),
    ("|one", "2rx", "x|xe"),
    ("|oNe", "3~", "On|E"),
    ("|one\n  two", "J", "one| two"),
    ("|a\nb\nc", "3J", "a b| c"),
    ("|one", "sX⎋", "|Xne"),
    ("one\nt|wo", "Sx⎋", "one\n|x"),
    // Lines, and what was taken.
    ("one\nt|wo\nthree", "dd", "one\n|three"),
    ("one\n|two", "dd", "|one"),
    ("|one\ntwo\nthree", "2dd", "|three"),
    ("one\nt|wo\nthree", "ccx⎋", "one\n|x\nthree"),
    ("|one\ntwo", "yyp", "one\n|one\ntwo"),
    ("|one\ntwo", "yyjP", "one\n|one\ntwo"),
    ("|one\ntwo", "ddp", "two\n|one"),
    ("|one two", "yiwwP", "one on|etwo"),
    ("|ab", "xp", "b|a"),
    ("|ab", "x3p", "baa|a"),
    // Beginning to type.
    ("o|ne", "ix⎋", "o|xne"),
    ("o|ne", "ax⎋", "on|xe"),
    ("  o|ne", "Ix⎋", "  |xone"),
    ("o|ne", "Ax⎋", "one|x"),
    ("one|\ntwo", "ox⎋", "one\n|x\ntwo"),
    ("one\nt|wo", "Ox⎋", "one\n|x\ntwo"),
    // Undo, redo, repeat.
    ("|one two", "dwu", "|one two"),
    ("|one two three", "dwdwuu®", "|two three"),
    ("|one two three", "dw.", "|three"),
    ("|one two", "cwx⎋w.", "x |x"),
    ("|one two", "ix⎋u", "|one two"),
    ("|a\nb", "Ax⎋j.", "ax\nb|x"),
    ("|aaaa", "x..", "|a"),
    // A selection.
    ("|one two", "vex", "| two"),
    ("|one two", "vlly$p", "one twoon|e"),
    ("one\nt|wo\nthree", "Vjd", "|one"),
    ("o|ne two", "viwcx⎋", "|x two"),
    ("|one", "v⎋x", "|ne"),
    ("|abc", "vl~", "|ABc"),
    // What means nothing changes nothing.
    ("o|ne", "dq", "o|ne"),
    ("o|ne", "fz", "o|ne"),
    ("o|ne", "di(", "o|ne"),
    ("o|ne", "d⎋x", "o|e"),
];
