//! Shows paths as people say them: below the project without it, below the home folder with `~`.

use windlass_host::environment::process_environment;

/// The folders that need not be shown.
#[derive(Default)]
pub(crate) struct ShownPaths {
    /// With a slash at the end, and its replacement.
    roots: Vec<(String, &'static str)>,
}

impl ShownPaths {
    pub(crate) fn new(project: Option<&str>) -> Self {
        let home = process_environment("HOME").and_then(|home| home.into_string().ok());
        Self::from_folders(project, home.as_deref())
    }

    fn from_folders(project: Option<&str>, home: Option<&str>) -> Self {
        // The project is below the home folder more often than the other way round.
        let folders = [(project, ""), (home, "~/")];
        let roots = folders.into_iter().filter_map(|(folder, short)| {
            let folder = folder?.trim_end_matches('/');
            (folder.len() > 1 && folder.starts_with('/')).then(|| (format!("{folder}/"), short))
        });
        Self { roots: roots.collect() }
    }

    pub(crate) fn shorten(&self, text: &str) -> String {
        let mut shown = text.to_owned();
        for (root, short) in &self.roots {
            shown = replace_root(&shown, root, short);
        }
        shown
    }
}

/// Only at the start of a path: `/srv/a/` in `/mnt/srv/a/b` is another folder.
fn replace_root(text: &str, root: &str, short: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(root) {
        shown.push_str(before);
        let is_inside = |last: char| last.is_alphanumeric() || "/._-~".contains(last);
        let is_path_start = !shown.ends_with(is_inside);
        shown.push_str(if is_path_start { short } else { root });
        rest = after;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lose_the_folders_that_everybody_knows() {
        let paths = ShownPaths::from_folders(Some("/home/ann/app"), Some("/home/ann/"));
        for (text, shown) in [
            ("Read /home/ann/app/src/lib.rs", "Read src/lib.rs"),
            ("cp /home/ann/app/a /home/ann/b", "cp a ~/b"),
            ("\"/home/ann/app/a b\"", "\"a b\""),
            ("/mnt/home/ann/app/a", "/mnt/home/ann/app/a"),
            ("/home/anna/x and /home/ann", "/home/anna/x and /home/ann"),
            ("rule in /home/ann/.claude/settings.json:3", "rule in ~/.claude/settings.json:3"),
        ] {
            assert_eq!(paths.shorten(text), shown);
        }
        assert_eq!(ShownPaths::from_folders(None, Some("")).shorten("/a/b"), "/a/b");
        assert_eq!(ShownPaths::from_folders(Some("/"), None).shorten("/a/b"), "/a/b");
    }
}
