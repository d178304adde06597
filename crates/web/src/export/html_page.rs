//! Renders the page as one file with style, script and data inline, and a policy that forbids any
//! request.

use std::io;

use serde_json::Value;

use crate::assets::load_asset_text;
use crate::content_hash::sha256_base64;

pub(super) fn render_page(data: &Value) -> io::Result<String> {
    let (page, style, script) =
        (load_asset_text("index.html")?, load_asset_text("style.css")?, load_asset_text("app.js")?);
    // Neither may contain a tag that ends its own element.
    if style.to_ascii_lowercase().contains("</style") || contains_script_end(&script) {
        return Err(io::Error::other(
            "the page contains text that would end its own style or script",
        ));
    }
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; \
         base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'",
        sha256_base64(script.as_bytes()),
        sha256_base64(style.as_bytes())
    );
    let policy = format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">");
    let data = escape_json(&data.to_string());
    let mut lines = Vec::new();
    let mut found = 0;
    for line in page.lines() {
        if line.contains("rel=\"icon\"") {
            continue;
        }
        if line.contains("charset=") {
            lines.push(format!("{line}\n{policy}"));
        } else if line.contains("href=\"/style.css\"") {
            found += 1;
            lines.push(format!("<style>{style}</style>"));
        } else if line.contains("src=\"/app.js\"") {
            found += 1;
            lines.push(format!(
                "<script type=\"application/json\" id=\"windlass-data\">{data}</script>\n\
                 <script type=\"module\">{script}</script>"
            ));
        } else {
            lines.push(line.to_owned());
        }
    }
    match found {
        2 => Ok(lines.join("\n") + "\n"),
        _ => Err(io::Error::other("the page does not name its style and its script as expected")),
    }
}

fn contains_script_end(script: &str) -> bool {
    let script = script.to_ascii_lowercase();
    script.contains("</script") || script.contains("<!--")
}

/// Escapes JSON so that it cannot end the element around it.
fn escape_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            c => safe.push(c),
        }
    }
    safe
}
