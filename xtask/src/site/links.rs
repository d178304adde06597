//! Whether every link of a site leads to a file of it, and to a place in that file. Links to other hosts are
//! left alone: what others serve is no property of ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A line for each link that leads nowhere.
///
/// # Errors
///
/// When the folder cannot be read.
pub fn find_dead_links(site: &Path) -> Result<Vec<String>, String> {
    let mut files = BTreeMap::new();
    read_files(site, Path::new(""), &mut files)?;
    let places: BTreeMap<&PathBuf, BTreeSet<&str>> = files
        .iter()
        .map(|(path, text)| (path, attributes(text, " id=\"").into_iter().collect()))
        .collect();
    let mut dead = Vec::new();
    for (path, text) in &files {
        // All pages on one, with links as they were on each; and a page for addresses that do not exist.
        if path == Path::new("print.html") || path == Path::new("404.html") {
            continue;
        }
        for link in [attributes(text, " href=\""), attributes(text, " src=\"")].concat() {
            if link.contains(':') || link.starts_with("//") {
                continue;
            }
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                _ => resolve(path.parent().unwrap_or(Path::new("")), file),
            };
            let is_alive = places
                .get(&target)
                .is_some_and(|places| place.is_empty() || places.contains(place));
            if !is_alive {
                dead.push(format!("{} links to {link}", path.display()));
            }
        }
    }
    Ok(dead)
}

/// Every file, with its text where it is a page.
fn read_files(
    site: &Path,
    below: &Path,
    files: &mut BTreeMap<PathBuf, String>,
) -> Result<(), String> {
    let folder = site.join(below);
    let entries = fs::read_dir(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    for entry in entries.flatten() {
        let path = below.join(entry.file_name());
        if entry.path().is_dir() {
            read_files(site, &path, files)?;
            continue;
        }
        let is_page = path.extension().is_some_and(|extension| extension == "html");
        let text = if is_page { fs::read_to_string(entry.path()) } else { Ok(String::new()) };
        files.insert(path, text.map_err(|why| format!("{}: {why}", entry.path().display()))?);
    }
    Ok(())
}

fn attributes<'a>(text: &'a str, opening: &str) -> Vec<&'a str> {
    text.split(opening).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

fn resolve(folder: &Path, file: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in folder.join(file).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    path
}
