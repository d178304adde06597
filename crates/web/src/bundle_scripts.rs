//! Bundles the scripts of `order.txt` in that order, without imports and `export` keywords. The
//! scripts follow rules that make this possible on text: imports and exports start at the beginning
//! of a line, and no two files have a top-level name in common.

use std::io;
use std::path::Path;

pub(crate) fn bundle_scripts(assets: &Path) -> io::Result<String> {
    let order = std::fs::read_to_string(assets.join("order.txt"))?;
    let mut bundle = String::new();
    for name in order.lines().map(str::trim).filter(|name| !name.is_empty()) {
        let text = std::fs::read_to_string(assets.join(name))
            .map_err(|error| io::Error::other(format!("{name} of order.txt: {error}")))?;
        for line in text.lines().filter(|line| !line.starts_with("import ")) {
            bundle.push_str(line.strip_prefix("export ").unwrap_or(line));
            bundle.push('\n');
        }
    }
    Ok(bundle)
}
