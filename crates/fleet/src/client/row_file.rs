//! Reads the rows of a batch (CSV with a header, or one JSON object per line) and fills prompt
//! templates.

use std::collections::BTreeMap;
use std::path::Path;

pub(crate) type BatchRow = BTreeMap<String, String>;

pub(crate) fn read_rows(path: &Path) -> Result<Vec<BatchRow>, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let rows = match end {
        "jsonl" | "ndjson" => read_json_rows(&text),
        "txt" => Ok(read_repositories(&text)),
        _ => read_csv_rows(&text),
    };
    let rows = rows.map_err(|words| format!("{}: {words}", path.display()))?;
    match rows.len() {
        0 => Err(format!("{}: there are no rows", path.display())),
        count if count > ROWS_MAX => Err(format!("{}: more than {ROWS_MAX} rows", path.display())),
        _ => Ok(rows),
    }
}

/// A list of repositories: one a line, the column `repository`.
fn read_repositories(text: &str) -> Vec<BatchRow> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| BatchRow::from([("repository".to_owned(), line.to_owned())])).collect()
}

fn read_json_rows(text: &str) -> Result<Vec<BatchRow>, String> {
    let mut rows = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 1))?;
        let to_text = |value: serde_json::Value| match value {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        rows.push(object.into_iter().map(|(name, value)| (name, to_text(value))).collect());
    }
    Ok(rows)
}

fn read_csv_rows(text: &str) -> Result<Vec<BatchRow>, String> {
    let mut records = parse_csv(text)?.into_iter();
    let Some((_, header)) = records.next() else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    for (line, record) in records {
        if record.len() != header.len() {
            let found = record.len();
            let wanted = header.len();
            return Err(format!("line {line} has {found} columns, and the header has {wanted}"));
        }
        rows.push(header.iter().cloned().zip(record).collect());
    }
    Ok(rows)
}

/// Returns records with their first line number. Quoted fields may contain commas and line ends;
/// `""` is one quote.
fn parse_csv(text: &str) -> Result<Vec<(usize, Vec<String>)>, String> {
    let mut records = Vec::new();
    let mut record = Vec::new();
    let mut field = String::new();
    let (mut is_quoted, mut line, mut start) = (false, 1, 1);
    let mut characters = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if is_quoted && characters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' if is_quoted || field.is_empty() => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(std::mem::take(&mut field)),
            '\r' if !is_quoted && characters.peek() == Some(&'\n') => {}
            '\n' if !is_quoted => {
                line += 1;
                record.push(std::mem::take(&mut field));
                let full = std::mem::take(&mut record);
                if full.iter().any(|field| !field.is_empty()) {
                    records.push((start, full));
                }
                start = line;
            }
            c => {
                line += usize::from(c == '\n');
                field.push(c);
            }
        }
    }
    if is_quoted {
        return Err(format!("line {start}: a quote is not closed"));
    }
    if !field.is_empty() || !record.is_empty() {
        record.push(field);
        records.push((start, record));
    }
    Ok(records)
}

/// Fills the template with the values of a row. `{{` and `}}` are literal braces.
pub(crate) fn fill_template(template: &str, row: &BatchRow) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, after) = rest.split_at(at);
        text.push_str(before);
        if let Some(after) = after.strip_prefix("{{") {
            text.push('{');
            rest = after;
        } else if let Some(after) = after.strip_prefix("}}") {
            text.push('}');
            rest = after;
        } else if let Some((name, after)) =
            after.strip_prefix('{').and_then(|it| it.split_once('}'))
        {
            let columns = || row.keys().cloned().collect::<Vec<_>>().join(", ");
            let value = row.get(name.trim()).ok_or_else(|| {
                format!(
                    "the template names the column `{}`, and there are {}",
                    name.trim(),
                    columns()
                )
            })?;
            text.push_str(value);
            rest = after;
        } else {
            return Err("the template has a single brace; write {{ or }} for one".to_owned());
        }
    }
    text.push_str(rest);
    Ok(text)
}

const ROWS_MAX: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_templates_are_read_as_people_write_them() {
        let text = "name,why\r\n\"a, b\",\"say \"\"x\"\"\ntwice\"\n\nc,\n";
        let rows = read_csv_rows(text).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0]["name"], "a, b");
        assert_eq!(rows[0]["why"], "say \"x\"\ntwice");
        assert_eq!(fill_template("{name}: {{{why}}}", &rows[1]).unwrap(), "c: {}");
        assert!(fill_template("{none}", &rows[0]).unwrap_err().contains("name, why"));
        assert!(read_csv_rows("a,b\n1\n").unwrap_err().contains("line 2"));
        assert!(read_csv_rows("a\n\"1\n").is_err());
        assert_eq!(read_repositories("# ours\nhttps://a/b\n\n")[0]["repository"], "https://a/b");
        assert_eq!(read_json_rows("{\"a\":1}\n").unwrap()[0]["a"], "1");
    }
}
