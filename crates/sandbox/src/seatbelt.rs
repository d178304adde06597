//! Renders a plan as a Seatbelt profile for macOS, and checks that a profile can say it.
//!
//! Untested on macOS: none of our test machines runs it. Unit tests hold the text, not its effect;
//! the probe tries on the user's machine whether a profile is enforced.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::cell_plan::CellPlan;
use crate::plan::{SandboxNetwork, SandboxPlan};
use crate::protected_names::{
    PROTECTED_IN_GIT, WRITABLE_IN_PROTECTED, is_git_directory, list_protected_names,
};

/// What every program needs: to start others, to signal them, devices without state, and the two
/// services that answer for user names and logs. There is no network and no other service.
const BASE: &str = "(version 1)\n(deny default)\n(allow process-exec)\n(allow process-fork)\n\
    (allow process-info* (target same-sandbox))\n(allow signal (target same-sandbox))\n\
    (allow sysctl-read)\n\
    (allow mach-lookup (global-name \"com.apple.system.logger\") \
    (global-name \"com.apple.system.opendirectoryd.libinfo\"))\n(allow file-read*)\n";

const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper"];

/// What happens to the files at and below a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ProfileAccess {
    Read,
    Write,
    Hide,
}

impl ProfileAccess {
    fn operations(self) -> &'static str {
        match self {
            Self::Read => "allow file-read*",
            Self::Write => "allow file-read* file-write*",
            Self::Hide => "deny file-read* file-write*",
        }
    }
}

/// The profile of a plan: everything is readable except hidden paths, the roots are writable except
/// protected paths, and the network is off except through a local socket.
///
/// # Errors
/// A path that a profile cannot name.
pub fn render_profile(plan: &SandboxPlan) -> Result<String, String> {
    let mut text = String::from(BASE);
    push_devices(&mut text)?;
    let lists = [
        (ProfileAccess::Write, &plan.roots),
        (ProfileAccess::Write, &plan.scratch),
        (ProfileAccess::Read, &plan.readable),
        (ProfileAccess::Hide, &plan.hidden),
    ];
    push_paths(&mut text, &lists)?;
    for root in plan.roots.iter().flat_map(|root| list_names(root)) {
        for name in list_protected_names().filter(|name| !is_git_directory(name)) {
            push_rule(&mut text, "deny file-write*", "subpath", &root.join(name))?;
        }
        let (protected, writable) = WRITABLE_IN_PROTECTED;
        push_rule(&mut text, "allow file-write*", "subpath", &root.join(protected).join(writable))?;
        for inside in PROTECTED_IN_GIT {
            let path = root.join(".git").join(inside);
            push_rule(&mut text, "deny file-write*", "subpath", &path)?;
        }
        // The directory itself cannot be made, renamed or removed, but its content can be written.
        push_rule(&mut text, "deny file-write*", "literal", &root.join(".git"))?;
    }
    for path in plan.protected.iter().flat_map(|path| list_names(path)) {
        push_rule(&mut text, "deny file-write*", "subpath", &path)?;
    }
    match &plan.network {
        SandboxNetwork::Off => {}
        SandboxNetwork::ViaProxy(socket) => {
            for socket in list_names(socket) {
                push_rule(&mut text, "allow network-outbound", "literal", &socket)?;
            }
        }
        SandboxNetwork::Open => text.push_str("(allow network*)\n(allow system-socket)\n"),
    }
    push_metadata(&mut text);
    Ok(text)
}

/// The profile of a read-only cell: everything is readable except hidden paths, only its temporary
/// directory is writable, and there are no sockets.
///
/// # Errors
/// A path that a profile cannot name.
pub fn render_cell_profile(plan: &CellPlan) -> Result<String, String> {
    let mut text = String::from(BASE);
    push_devices(&mut text)?;
    let home: Vec<PathBuf> = plan.home.iter().cloned().collect();
    let temporary = [plan.temporary_directory.clone()];
    let lists = [
        (ProfileAccess::Hide, &home),
        (ProfileAccess::Read, &plan.shown),
        (ProfileAccess::Hide, &plan.hidden),
    ];
    push_paths(&mut text, &lists)?;
    for path in temporary.iter().flat_map(|path| list_names(path)) {
        push_rule(&mut text, ProfileAccess::Write.operations(), "subpath", &path)?;
    }
    push_metadata(&mut text);
    Ok(text)
}

fn push_devices(text: &mut String) -> Result<(), String> {
    DEVICES
        .iter()
        .try_for_each(|device| push_rule(text, "allow file-write*", "literal", Path::new(device)))
}

/// Rules by depth: the last rule that matches counts, so a deeper path overrides what is around it,
/// and hiding a path overrides what else is said of the same one.
fn push_paths(text: &mut String, lists: &[(ProfileAccess, &Vec<PathBuf>)]) -> Result<(), String> {
    let mut rules: Vec<(usize, ProfileAccess, PathBuf)> = Vec::new();
    for (access, paths) in lists {
        for path in paths.iter().flat_map(|path| list_names(path)) {
            rules.push((path.components().count(), *access, path));
        }
    }
    rules.sort();
    rules.dedup();
    rules
        .iter()
        .try_for_each(|(_, access, path)| push_rule(text, access.operations(), "subpath", path))
}

/// Programs find out where they are by the entries of all directories above. Names, sizes and times
/// are visible, as they are on Linux.
fn push_metadata(text: &mut String) {
    text.push_str("(allow file-read-metadata)\n");
}

/// The kernel compares resolved paths, such as `/private/tmp` for `/tmp`. A path that does not exist
/// is resolved as far as it does.
fn list_names(path: &Path) -> Vec<PathBuf> {
    let resolve = |above: &Path| {
        let below = path.strip_prefix(above).ok()?;
        let real = std::fs::canonicalize(above).ok()?;
        Some(if below.as_os_str().is_empty() { real } else { real.join(below) })
    };
    let real = path.ancestors().find_map(resolve).filter(|real| real != path);
    std::iter::once(path.to_owned()).chain(real).collect()
}

/// Text in a profile knows a few escapes only, and a rule with a changed path would match nothing.
fn push_rule(text: &mut String, what: &str, filter: &str, path: &Path) -> Result<(), String> {
    let named = path.to_str().filter(|name| !name.chars().any(char::is_control));
    let Some(name) = named.filter(|name| name.starts_with('/')) else {
        return Err(format!("a profile cannot name the path {path:?}"));
    };
    let quoted = name.replace('\\', "\\\\").replace('"', "\\\"");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "({what} ({filter} \"{quoted}\"))");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> SandboxPlan {
        let mut plan = SandboxPlan::new("/w/re\"po", None);
        plan.hidden.push("/home/u/.ssh".into());
        plan
    }

    /// The access that the last matching rule gives: what Seatbelt does with a profile.
    fn may(text: &str, operation: &str, path: &str) -> bool {
        let mut is_allowed = false;
        for line in text.lines() {
            let line = line.trim_start_matches('(');
            let (head, rest) = line.split_once('(').unwrap_or((line, ""));
            let mut words = head.trim().trim_end_matches(')').split(' ');
            let verdict = words.next() == Some("allow");
            let named = |word: &str| match word.strip_suffix('*') {
                Some(start) => operation.starts_with(start),
                None => word == operation,
            };
            if !words.any(named) {
                continue;
            }
            let (filter, value) = rest.split_once(" \"").unwrap_or(("", ""));
            let value = value.trim_end_matches([')', '"']).replace("\\\"", "\"");
            let fits = match filter {
                "subpath" => Path::new(path).starts_with(value.replace("\\\\", "\\")),
                "literal" => path == value,
                _ => true,
            };
            if fits {
                is_allowed = verdict;
            }
        }
        is_allowed
    }

    #[test]
    fn a_sandbox_writes_inside_its_roots_and_not_to_what_is_protected() {
        let mut plan = plan();
        plan.hidden.push("/home/u".into());
        plan.hidden.push("/home/u/w/.env".into());
        plan.roots.push("/home/u/w".into());
        plan.readable.push("/home/u/.cargo".into());
        plan.protected.push("/home/u/w/kept".into());
        let text = render_profile(&plan).unwrap();
        for path in
            ["/w/re\"po/a", "/home/u/w/a", "/w/re\"po/.git/index", "/home/u/w/.claude/worktrees/a"]
        {
            assert!(may(&text, "file-write-data", path), "{path}: {text}");
        }
        for path in [
            "/w/re\"po/.git/hooks/pre-commit",
            "/w/re\"po/.git",
            "/w/re\"po/.mcp.json",
            "/home/u/w/.claude/settings.json",
            "/home/u/w/kept/a",
            "/home/u/w/.env",
            "/home/u/.cargo/bin/x",
            "/home/u/x",
            "/etc/passwd",
        ] {
            assert!(!may(&text, "file-write-data", path), "{path}: {text}");
        }
        for path in ["/home/u/.ssh/id_rsa", "/home/u/notes", "/home/u/w/.env"] {
            assert!(!may(&text, "file-read-data", path), "{path}: {text}");
            assert!(may(&text, "file-read-metadata", path), "{path}: {text}");
        }
        for path in ["/home/u/w/a", "/home/u/.cargo/bin/x", "/etc/passwd"] {
            assert!(may(&text, "file-read-data", path), "{path}: {text}");
        }
    }

    #[test]
    fn a_cell_writes_to_one_directory_and_shows_what_is_shown() {
        let plan = CellPlan {
            temporary_directory: "/t/own".into(),
            home: Some("/home/u".into()),
            hidden: vec!["/home/other".into(), "/home/other/project/.env".into()],
            shown: vec!["/home/other/project".into(), "/home/u/.cargo".into()],
        };
        let text = render_cell_profile(&plan).unwrap();
        assert!(
            may(&text, "file-write-create", "/t/own/a")
                && may(&text, "file-write-data", "/dev/null")
        );
        for path in ["/home/other/project/a", "/home/u/.cargo/x", "/etc/a", "/dev/sda", "/t/b"] {
            assert!(!may(&text, "file-write-data", path), "{path}: {text}");
        }
        for (path, is_visible) in [
            ("/home/other/project/a", true),
            ("/home/other/project/.env", false),
            ("/home/other/x", false),
            ("/home/u/x", false),
            ("/home/u/.cargo/x", true),
            ("/usr/bin/x", true),
        ] {
            assert_eq!(may(&text, "file-read-data", path), is_visible, "{path}: {text}");
        }
        for what in [
            "network-outbound",
            "network-bind",
            "system-socket",
            "file-write-mode",
            "mach-register",
        ] {
            assert!(!may(&text, what, "/w/a"), "{what}: {text}");
        }
    }

    #[test]
    fn a_hostile_path_stays_inside_its_quotes() {
        let hostile = "/w/a\")) (allow default) (allow file-write* (subpath \"/";
        let mut plan = SandboxPlan::new(hostile, None);
        plan.hidden.push("/w/back\\slash\\".into());
        let text = render_profile(&plan).unwrap();
        assert!(
            !text.lines().any(|line| line.contains(" (allow default)") && !line.contains("\\\""))
        );
        for line in text.lines() {
            let bare = line.replace("\\\\", "").replace("\\\"", "");
            assert_eq!(bare.matches('"').count() % 2, 0, "{line}");
            let outside: String = bare.split('"').step_by(2).collect();
            assert_eq!(outside.matches('(').count(), outside.matches(')').count(), "{line}");
            assert!(!outside.contains("allow default"), "{line}");
        }
        assert!(text.contains("(subpath \"/w/back\\\\slash\\\\\")"), "{text}");
        for path in ["/w/new\nline", "/w/tab\t", "relative"] {
            let mut plan = plan.clone();
            plan.hidden.push(path.into());
            assert!(render_profile(&plan).is_err(), "{path:?}");
        }
        use std::os::unix::ffi::OsStringExt as _;
        let unreadable = std::ffi::OsString::from_vec(b"/w/\xff".to_vec());
        let cell = CellPlan {
            temporary_directory: "/t".into(),
            hidden: vec![unreadable.into()],
            ..CellPlan::default()
        };
        assert!(render_cell_profile(&cell).is_err(), "a path that would be changed");
    }

    #[test]
    fn a_link_is_named_with_where_it_leads() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("there")).unwrap();
        std::os::unix::fs::symlink(real.join("there"), real.join("link")).unwrap();
        let mut plan = SandboxPlan::new("/w", None);
        plan.hidden.push(real.join("link/missing"));
        let text = render_profile(&plan).unwrap();
        for name in ["link/missing", "there/missing"] {
            assert!(
                !may(&text, "file-read-data", &real.join(name).display().to_string()),
                "{name}"
            );
        }
    }

    #[test]
    fn the_network_is_off_unless_said_otherwise() {
        let mut plan = plan();
        assert!(!render_profile(&plan).unwrap().contains("network"));
        plan.network = SandboxNetwork::ViaProxy("/s/proxy".into());
        let text = render_profile(&plan).unwrap();
        assert!(text.contains("(allow network-outbound (literal \"/s/proxy\"))"));
        assert!(!text.contains("(allow network*)"));
        plan.network = SandboxNetwork::Open;
        assert!(render_profile(&plan).unwrap().contains("(allow network*)"));
    }
}
