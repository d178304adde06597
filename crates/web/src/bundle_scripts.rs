//! One script out of many: the files of `order.txt`, one after another, without what only separate
//! files need. The page keeps to rules that make this a matter of text: imports and exports stand at the
//! beginning of a line, and no two files share a name at their top.

use std::io;
use std::path::Path;

/// The scripts of this folder as one.
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
