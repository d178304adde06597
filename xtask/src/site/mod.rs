//! `cargo xtask site`: the pages of `docs` as a site with search, by mdBook.
//!
//! The table of contents is made from `docs/README.md`, the index by task, so that there is one order and
//! no second list to keep. Decisions follow their own index. What no index names comes last.

mod links;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::program::{has, run_with};
use crate::tidy::RepositoryTree;
pub use links::find_dead_links;

const INDEX: &str = "docs/README.md";

/// Writes the site to `target/site`.
///
/// # Errors
///
/// When mdBook is not there or refuses a page, or a link leads nowhere.
pub fn run(root: &Path) -> Result<(), String> {
    if !has("mdbook") {
        return Err("mdbook is not installed: cargo install mdbook".to_owned());
    }
    let tree = RepositoryTree::read(root)?;
    let source = root.join("target/site.source");
    if source.exists() {
        fs::remove_dir_all(&source).map_err(|error| error.to_string())?;
    }
    // Pictures too, which the tree does not hold.
    run_with(root, "cp", &["-R", "docs", "target/site.source"], &[])?;
    for file in tree.files_below("docs").filter(|file| file.path.ends_with(".md")) {
        let path = source.join(file.path.trim_start_matches("docs/"));
        // mdBook gives the page of a folder this name, and does not tell the links to it.
        let text = file.text.replace("README.md)", "index.md)");
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    fs::write(source.join("SUMMARY.md"), render_contents(&tree))
        .map_err(|error| error.to_string())?;
    run_with(&source, "mdbook", &["build", "--dest-dir", "../site"], &[])?;
    let site = root.join("target/site");
    for file in ["index.html", "searchindex.js"] {
        if !holds_file_like(&site, file) {
            return Err(format!("mdbook wrote no {file}"));
        }
    }
    let dead = find_dead_links(&site)?;
    match dead.is_empty() {
        true => {
            println!("site: in target/site, every link leads somewhere");
            Ok(())
        }
        false => Err(dead.join("\n")),
    }
}

/// mdBook puts a hash into some names.
fn holds_file_like(folder: &Path, name: &str) -> bool {
    let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
    fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with(stem) && name.ends_with(extension)
    })
}

/// The table of contents for mdBook: every page of `docs`, once.
#[must_use]
pub fn render_contents(tree: &RepositoryTree) -> String {
    let mut contents = "# Contents\n\n[Documentation](README.md)\n".to_owned();
    let mut listed = BTreeSet::from([INDEX.to_owned()]);
    let index = tree.file(INDEX).map_or("", |file| file.text.as_str());
    for line in index.lines() {
        if let Some(section) = line.strip_prefix("| **").and_then(|rest| rest.split("**").next()) {
            contents.push_str(&format!("\n# {section}\n\n"));
        }
        for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            add_page(&mut contents, &mut listed, tree, &format!("docs/{target}"), "");
            if target == "decisions/README.md" {
                let pages =
                    tree.files_below("docs/decisions").filter(|file| file.path.ends_with(".md"));
                for page in pages {
                    add_page(&mut contents, &mut listed, tree, &page.path, "    ");
                }
            }
        }
    }
    let rest = tree.files_below("docs").filter(|file| file.path.ends_with(".md"));
    let rest: Vec<_> = rest.filter(|file| !listed.contains(&file.path)).collect();
    if !rest.is_empty() {
        contents.push_str("\n# More\n\n");
    }
    for file in rest {
        add_page(&mut contents, &mut listed, tree, &file.path, "");
    }
    contents
}

fn add_page(
    contents: &mut String,
    listed: &mut BTreeSet<String>,
    tree: &RepositoryTree,
    path: &str,
    indent: &str,
) {
    let page = tree.file(path).filter(|file| file.path.ends_with(".md"));
    let Some(page) = page.filter(|_| listed.insert(path.to_owned())) else {
        return;
    };
    let title = page.text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(path);
    contents.push_str(&format!("{indent}- [{title}]({})\n", path.trim_start_matches("docs/")));
}
