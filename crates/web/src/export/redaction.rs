//! Redacts an export, and lists what was removed: kinds, counts and places, never the values.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde_json::{Value, json};
use windlass_host::environment::process_environment;
use windlass_redaction::{TextRedactor, is_secret_name, is_secret_value};

use super::cut_secrets::CutSecrets;
use crate::markdown_nodes::parse_markdown_nodes;
use crate::server::query::encode_percent;

pub(crate) struct ExportRedactor {
    secrets: TextRedactor,
    cut_secrets: CutSecrets,
    /// Paths to replace and their placeholders, longest first.
    paths: Vec<(String, &'static str)>,
    redacts_paths: bool,
    taken: BTreeMap<&'static str, (u64, Vec<String>)>,
}

impl ExportRedactor {
    pub(crate) fn new(redacts_paths: bool, project: Option<&str>) -> Self {
        let known = std::env::vars().filter(|(name, _)| is_secret_variable(name));
        let secrets = TextRedactor::new(known.map(|(_, value)| value.trim().to_owned()));
        let home = process_environment("HOME").and_then(|home| home.into_string().ok());
        let folders = [(project.map(str::to_owned), "<project>"), (home, "<home>")];
        let folders = folders.into_iter().filter(|_| redacts_paths);
        let mut paths: Vec<(String, &'static str)> = folders
            .filter_map(|(folder, name)| Some((folder?, name)))
            .flat_map(|(folder, name)| {
                list_path_forms(&folder).into_iter().map(move |path| (path, name))
            })
            .collect();
        paths.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        let mut cut_secrets = CutSecrets::default();
        // Only a part of one may stand in the journal.
        secrets.known_secrets().for_each(|known| cut_secrets.learn_unseen(known));
        Self { secrets, cut_secrets, paths, redacts_paths, taken: BTreeMap::new() }
    }

    /// Learns the secrets of a journal file, so that cut texts that show only their beginning can
    /// be redacted.
    pub(crate) fn learn_journal_file(&mut self, path: &Path) -> io::Result<()> {
        for line in BufReader::new(std::fs::File::open(path)?).split(b'\n') {
            let line = line?;
            match serde_json::from_slice(&line) {
                Ok(value) => self.learn_value(&value),
                // Parts of a damaged line may still be shown.
                Err(_) => self.learn_text(&String::from_utf8_lossy(&line)),
            }
        }
        Ok(())
    }

    fn learn_value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.learn_text(text),
            Value::Array(values) => values.iter().for_each(|value| self.learn_value(value)),
            Value::Object(fields) => {
                for name in list_secret_fields(fields) {
                    if let Some(Value::String(secret)) = fields.get(&name) {
                        self.cut_secrets.learn(secret);
                    }
                }
                fields.values().for_each(|value| self.learn_value(value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn learn_text(&mut self, text: &str) {
        for secret in self.secrets.find_secrets(text) {
            self.cut_secrets.learn(secret);
        }
        // The input of a call is JSON inside a string.
        if text.starts_with(['{', '['])
            && let Ok(value) = serde_json::from_str(text)
        {
            self.learn_value(&value);
        }
    }

    pub(crate) fn redact_text(&mut self, text: &str, place: &str) -> String {
        let (clean, kinds) = self.secrets.redact(text);
        let mut clean = clean.into_owned();
        for kind in kinds {
            self.note(kind.name(), 1, place);
        }
        if let Some((cleaner, count)) = self.cut_secrets.redact(&clean) {
            clean = cleaner;
            self.note("part of a key", count, place);
        }
        if self.redacts_paths {
            let mut count = 0;
            for (path, name) in &self.paths {
                count += clean.matches(path.as_str()).count();
                clean = clean.replace(path.as_str(), name);
            }
            count += replace_home_folders(&mut clean);
            self.note("path", u64::try_from(count).unwrap_or(u64::MAX), place);
        }
        clean
    }

    /// Redacts every string in a value, including field names.
    pub(crate) fn redact_value(&mut self, value: &mut Value, place: &str) {
        match value {
            Value::String(text) => *text = self.redact_text(text, place),
            Value::Array(values) => {
                self.redact_diff_lines(values, place);
                for value in values {
                    self.redact_value(value, place);
                }
            }
            Value::Object(fields) => {
                if fields.get("cut") == Some(&Value::Bool(true))
                    && let Some(Value::String(text)) = fields.get_mut("text")
                {
                    drop_last_word(text);
                }
                let place = describe_place(fields, place);
                for name in list_secret_fields(fields) {
                    fields.insert(name, Value::from(REDACTED));
                    self.note("key", 1, &place);
                }
                let has_nodes = fields.contains_key("text") && fields.remove("nodes").is_some();
                for (name, mut value) in std::mem::take(fields) {
                    self.redact_value(&mut value, &place);
                    fields.insert(self.redact_text(&name, &place), value);
                }
                // The nodes may split a key at Markdown markup, so they are parsed again from the
                // redacted text.
                if let Some(Value::String(text)) = fields.get("text").filter(|_| has_nodes) {
                    let nodes = Value::from(parse_markdown_nodes(text));
                    fields.insert("nodes".to_owned(), nodes);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// A key of several lines is found only in consecutive lines of a hunk: in all of them, and in
    /// the added or the removed ones alone.
    fn redact_diff_lines(&mut self, lines: &mut [Value], place: &str) {
        if lines.is_empty() || !lines.iter().all(|line| read_diff_line(line).is_some()) {
            return;
        }
        for wanted in [Some("+"), Some("-"), None] {
            let is_wanted = |line: &&mut Value| {
                let mark = read_diff_line(line).map(|(mark, _)| mark);
                wanted.is_none() || mark == wanted
            };
            let mut picked: Vec<&mut Value> = lines.iter_mut().filter(is_wanted).collect();
            let texts: Vec<String> = picked
                .iter()
                .filter_map(|line| read_diff_line(line))
                .map(|(_, text)| text.to_owned())
                .collect();
            let clean = self.redact_text(&texts.join("\n"), place);
            let clean: Vec<&str> = clean.split('\n').collect();
            let same = |(own, new): &(&String, &&str)| own.as_str() == **new;
            let before = texts.iter().zip(&clean).take_while(same).count();
            let rest = texts.len().min(clean.len()) - before;
            let after =
                texts.iter().rev().zip(clean.iter().rev()).take(rest).take_while(same).count();
            let mut fill = clean.get(before..clean.len() - after).unwrap_or_default().iter();
            let changed = picked.len().saturating_sub(before + after);
            // The number of lines stays the same: removed ones become empty.
            for line in picked.iter_mut().skip(before).take(changed) {
                if let Some(text) = line.get_mut(1) {
                    *text = Value::from(fill.next().copied().unwrap_or_default());
                }
            }
        }
    }

    fn note(&mut self, kind: &'static str, count: u64, place: &str) {
        if count == 0 {
            return;
        }
        let (sum, places) = self.taken.entry(kind).or_default();
        *sum += count;
        if places.len() < PLACES_MAX && !places.iter().any(|own| own == place) {
            places.push(place.to_owned());
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let taken = self.taken.iter();
        taken
            .map(|(kind, (count, places))| json!({"kind": kind, "count": count, "places": places}))
            .collect()
    }

    /// The message for the user, who should check the file before sharing it.
    pub(crate) fn describe(&self, file: &Path) -> String {
        let mut text = format!("Written to {}, readable by you alone.\n", file.display());
        if self.taken.is_empty() {
            text.push_str("Nothing was taken out. ");
        }
        for (kind, (count, places)) in &self.taken {
            let noun = if *count == 1 { "place" } else { "places" };
            text.push_str(&format!("Taken out: {kind}, {count} {noun} ({}).\n", places.join(", ")));
        }
        text.push_str(
            "Look through it before you share it: only what is known or shaped like a key is found.\n",
        );
        text
    }
}

/// Mark and text of a hunk's line, which has the form `["+", "text"]`.
fn read_diff_line(line: &Value) -> Option<(&str, &str)> {
    match line.as_array()?.as_slice() {
        [Value::String(mark), Value::String(text)] if matches!(mark.as_str(), " " | "+" | "-") => {
            Some((mark, text))
        }
        _ => None,
    }
}

/// The fields whose names say that their texts are secret, and the value of a pair such as
/// `{"name": "API_KEY", "value": "…"}`.
fn list_secret_fields(fields: &serde_json::Map<String, Value>) -> Vec<String> {
    let is_secret = |value: &Value| value.as_str().is_some_and(is_secret_value);
    let named = ["name", "key"].iter().filter_map(|field| fields.get(*field)?.as_str());
    let is_pair = named.into_iter().any(is_secret_name);
    let found = fields.iter().filter(|(name, value)| {
        is_secret(value) && (is_secret_name(name) || is_pair && name.as_str() == "value")
    });
    found.map(|(name, _)| name.clone()).collect()
}

/// Drops the last word of a cut text, since half a key matches no pattern.
fn drop_last_word(text: &mut String) {
    let end = text.trim_end_matches(|c: char| !c.is_whitespace()).len();
    if text.len() - end <= LAST_WORD_MAX {
        text.truncate(end);
    } else {
        text.truncate(text.floor_char_boundary(text.len() - LAST_WORD_MAX));
    }
}

/// `item 7 (call)` if the value is an item, else `place`.
fn describe_place(fields: &serde_json::Map<String, Value>, place: &str) -> String {
    let number = fields.get("n").and_then(Value::as_u64);
    match (number, fields.get("kind").and_then(Value::as_str)) {
        (Some(n), Some(kind)) => format!("item {n} ({kind})"),
        _ => place.to_owned(),
    }
}

/// The spellings of a folder: as it is, by its real path, in an address, and as folders of
/// sessions are named after it.
fn list_path_forms(folder: &str) -> Vec<String> {
    let folder = folder.trim_end_matches('/');
    if folder.is_empty() {
        return Vec::new();
    }
    let real = std::fs::canonicalize(folder)
        .ok()
        .and_then(|real| real.into_os_string().into_string().ok());
    let mut all = Vec::new();
    for path in [Some(folder.to_owned()), real].into_iter().flatten() {
        let encoded = encode_percent(&path);
        for address in [encoded.replace("%2F", "/"), encoded] {
            all.push(address.replace('+', "%20"));
            all.push(address);
        }
        let is_kept = |c: char| c.is_ascii_alphanumeric();
        let dashed: String = path.chars().map(|c| if is_kept(c) { c } else { '-' }).collect();
        // The name of a folder at the top is a word in other text, too.
        all.extend(Some(dashed).filter(|dashed| dashed.matches('-').count() > 1));
        all.push(path);
    }
    all.sort();
    all.dedup();
    all
}

/// Replaces `/home/name` and `/Users/name` of any user. Returns the number of replacements.
fn replace_home_folders(text: &mut String) -> usize {
    let mut count = 0;
    for root in ["/home/", "/Users/", "\\Users\\", "\\\\Users\\\\"] {
        let mut from = 0;
        while let Some(found) = text.get(from..).and_then(|rest| rest.find(root)) {
            let start = from + found;
            let rest = text.get(start + root.len()..).unwrap_or_default();
            let name = rest.len()
                - rest.trim_start_matches(|c: char| c.is_alphanumeric() || "._-".contains(c)).len();
            if name == 0 {
                from = start + root.len();
                continue;
            }
            text.replace_range(start..start + root.len() + name, "<home>");
            count += 1;
            from = start + "<home>".len();
        }
    }
    count
}

/// Whether a variable of this name holds a secret.
fn is_secret_variable(name: &str) -> bool {
    is_secret_name(&name.to_ascii_uppercase())
}

const REDACTED: &str = "[redacted]";
const PLACES_MAX: usize = 20;
const LAST_WORD_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_names_and_cut_ends_are_cleaned_and_counted() {
        let mut redactor = ExportRedactor::new(true, Some("/srv/secret-project"));
        let key = format!("ghp{}", "_0123456789abcdefghijABCDEFGHIJ");
        let mut value = json!({
            "n": 7, "kind": "call", "text": "x ghp_0123", "cut": true,
            "deep": [{"result": format!("key {key} in /srv/secret-project/a and /home/ann/b")}],
            (key): 1,
        });
        redactor.redact_value(&mut value, "items");
        let text = value.to_string();
        assert!(!text.contains("ghp_") && !text.contains("ann"), "{text}");
        assert!(text.contains("<project>/a") && text.contains("<home>/b"), "{text}");
        let taken = redactor.to_json().to_string();
        assert!(taken.contains(r#""kind":"key""#) && taken.contains("item 7 (call)"), "{taken}");
        assert!(!taken.contains("ghp_"), "{taken}");
    }

    #[test]
    fn paths_go_however_they_are_written() {
        let mut redactor = ExportRedactor::new(true, Some("/srv/my work/secret-project"));
        for text in [
            "/srv/my work/secret-project/a",
            "file:///srv/my%20work/secret-project/a",
            "%2Fsrv%2Fmy+work%2Fsecret-project%2Fa",
            "~/.claude/projects/-srv-my-work-secret-project/a.jsonl",
            "C:\\Users\\secret-project\\a",
            r#""C:\\Users\\secret-project""#,
        ] {
            let clean = redactor.redact_text(text, "text");
            assert!(!clean.contains("secret") && clean.contains('<'), "{text}: {clean}");
        }
        assert_eq!(redactor.redact_text("-srv- /srv", "text"), "-srv- /srv");
    }

    #[test]
    fn values_are_found_by_the_names_of_their_fields() {
        let mut redactor = ExportRedactor::new(false, None);
        let mut value = json!({
            "input": {"aws_secret_access_key": "wJalrXUtnFEMI0123", "password": "open-sesame", "user": "ann"},
            "env": [{"name": "DB_PASSWORD", "value": "hunter2hunter2"}, {"name": "MODE", "value": "production"}],
            "input_tokens": 12345678, "token": "$TOKEN_OF_ANN", "text": "DB_TOKEN=abc12345\nuser=ann",
        });
        redactor.redact_value(&mut value, "items");
        let text = value.to_string();
        for secret in ["wJalr", "sesame", "hunter2", "abc12345"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        for kept in ["ann", "MODE", "production", "12345678", "$TOKEN_OF_ANN", "DB_TOKEN="] {
            assert!(text.contains(kept), "{kept} in {text}");
        }
    }

    #[test]
    fn half_a_key_is_found_in_labels_and_in_markdown() {
        let mut redactor = ExportRedactor::new(false, None);
        let key = format!("ghp{}", "_0123456789abcdefghijABCDEFGHIJ");
        let input = json!({"command": format!("curl -H {key}")}).to_string();
        redactor.learn_value(&json!({"items": [{"event": {"input": input}}]}));
        let text = format!("so *{}", &key[..20]);
        let mut value = json!({
            "text": text, "cut": true, "nodes": parse_markdown_nodes(&text),
            "title": format!("curl -H {}…", &key[..16]), "words": format!("{} did not run", &key[..9]),
        });
        redactor.redact_value(&mut value, "items");
        let text = value.to_string();
        assert!(!text.contains("ghp") && text.contains("did not run"), "{text}");
        assert!(redactor.to_json().to_string().contains("part of a key"));
    }

    #[test]
    fn a_key_of_several_lines_is_found_in_the_lines_of_a_hunk() {
        let [begin, end] = ["BEGIN", "END"].map(|word| format!("-----{word} PRIVATE KEY-----"));
        let line = |mark: &str, text: &str| json!([mark, text]);
        let mut hunk = json!({"old_start": 1, "lines": [
            line(" ", "above"), line("-", "gone"), line("+", &begin), line("+", "MIIEvQIBADANBgkq"),
            line("-", "also gone"), line("+", "hkiG9w0BAQEFAASC"), line("+", &end), line(" ", "below"),
        ]});
        ExportRedactor::new(false, None).redact_value(&mut hunk, "diff");
        let text = hunk.to_string();
        assert!(!text.contains("MIIEvQ") && !text.contains("hkiG9w"), "{text}");
        for kept in ["above", "gone", "also gone", "below"] {
            assert!(text.contains(kept), "{text}");
        }
        assert_eq!(hunk["lines"].as_array().map(Vec::len), Some(8), "{text}");
    }
}
