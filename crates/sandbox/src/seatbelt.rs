//! Renders a plan as a Seatbelt profile for macOS.
//!
//! Untested: none of our test machines runs macOS. Unit tests only check the text, not its effect,
//! so the product does not start commands with it.

use std::fmt::Write as _;
use std::path::Path;

use crate::cell_plan::CellPlan;
use crate::plan::{SandboxNetwork, SandboxPlan};
use crate::protected_names::{is_git_directory, list_protected_names};

/// The profile of a plan: everything is readable except hidden paths, the roots are writable except
/// protected paths, and the network is off except through a local socket.
#[must_use]
pub fn render_profile(plan: &SandboxPlan) -> String {
    let mut text = String::from(
        "(version 1)\n(deny default)\n(allow process*)\n(allow signal (target same-sandbox))\n\
         (allow sysctl-read)\n(allow mach-lookup (global-name \"com.apple.system.logger\"))\n\
         (allow file-read*)\n(allow file-write* (literal \"/dev/null\") (literal \"/dev/zero\"))\n",
    );
    for root in plan.roots.iter().chain(&plan.scratch) {
        push_rule(&mut text, "allow file-write*", "subpath", root);
    }
    for root in &plan.roots {
        for name in list_protected_names() {
            if !is_git_directory(name) {
                push_rule(&mut text, "deny file-write*", "subpath", &root.join(name));
            }
        }
        for inside in crate::protected_names::PROTECTED_IN_GIT {
            push_rule(&mut text, "deny file-write*", "subpath", &root.join(".git").join(inside));
        }
        // The directory itself cannot be renamed or removed, but its content can be written.
        push_rule(&mut text, "deny file-write-unlink", "literal", &root.join(".git"));
    }
    for path in &plan.protected {
        push_rule(&mut text, "deny file-write*", "subpath", path);
    }
    for path in &plan.hidden {
        push_rule(&mut text, "deny file-read* file-write*", "subpath", path);
    }
    match &plan.network {
        SandboxNetwork::Off => {}
        SandboxNetwork::ViaProxy(socket) => {
            push_rule(&mut text, "allow network-outbound", "literal", socket);
        }
        SandboxNetwork::Open => text.push_str("(allow network*)\n"),
    }
    text
}

/// The profile of a read-only cell: everything is readable except hidden paths, only its temporary
/// directory is writable, and there are no sockets.
#[must_use]
pub fn render_cell_profile(plan: &CellPlan) -> String {
    let mut text = String::from(
        "(version 1)\n(deny default)\n(allow process*)\n(allow signal (target same-sandbox))\n\
         (allow sysctl-read)\n(allow file-read*)\n\
         (allow file-write* (literal \"/dev/null\") (literal \"/dev/zero\"))\n",
    );
    push_rule(&mut text, "allow file-write*", "subpath", &plan.temporary_directory);
    for path in plan.home.iter().chain(&plan.hidden) {
        push_rule(&mut text, "deny file-read* file-write*", "subpath", path);
    }
    // The last matching rule applies.
    for path in &plan.shown {
        push_rule(&mut text, "allow file-read*", "subpath", path);
        for hidden in plan.hidden.iter().filter(|hidden| hidden.starts_with(path)) {
            push_rule(&mut text, "deny file-read* file-write*", "subpath", hidden);
        }
    }
    text
}

fn push_rule(text: &mut String, what: &str, filter: &str, path: &Path) {
    let quoted = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "({what} ({filter} \"{quoted}\"))");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> SandboxPlan {
        let mut plan = SandboxPlan::new("/w/re\"po", None);
        plan.hidden.push("/home/u/.ssh".into());
        plan
    }

    #[test]
    fn later_rules_take_back_what_earlier_ones_gave() {
        let text = render_profile(&plan());
        let at = |piece: &str| text.find(piece).unwrap_or_else(|| panic!("no {piece} in {text}"));
        let root = at("(allow file-write* (subpath \"/w/re\\\"po\"))");
        assert!(root < at("(deny file-write* (subpath \"/w/re\\\"po/.git/hooks\"))"));
        assert!(root < at("(deny file-write* (subpath \"/w/re\\\"po/.mcp.json\"))"));
        assert!(root < at("(deny file-write-unlink (literal \"/w/re\\\"po/.git\"))"));
        assert!(
            at("(allow file-read*)")
                < at("(deny file-read* file-write* (subpath \"/home/u/.ssh\"))")
        );
        assert!(!text.contains("(deny file-write* (subpath \"/w/re\\\"po/.git\"))"));
    }

    #[test]
    fn a_cell_writes_to_one_directory_and_shows_what_is_shown() {
        let plan = CellPlan {
            temporary_directory: "/t/own".into(),
            home: Some("/home/u".into()),
            hidden: vec!["/home/other".into(), "/home/other/project/.env".into()],
            shown: vec!["/home/other/project".into(), "/home/u/.cargo".into()],
        };
        let text = render_cell_profile(&plan);
        assert_eq!(text.matches("(allow file-write* (subpath").count(), 1);
        let shown = text.find("(allow file-read* (subpath \"/home/other/project\"))").unwrap();
        let hidden = "(deny file-read* file-write* (subpath \"/home/other/project/.env\"))";
        assert!(text.find("/home/other\"").unwrap() < shown && shown < text.rfind(hidden).unwrap());
        assert!(!text.contains("network"));
        let home = text.find("(deny file-read* file-write* (subpath \"/home/u\"))").unwrap();
        assert!(home < text.find("(allow file-read* (subpath \"/home/u/.cargo\"))").unwrap());
    }

    #[test]
    fn the_network_is_off_unless_said_otherwise() {
        let mut plan = plan();
        assert!(!render_profile(&plan).contains("network"));
        plan.network = SandboxNetwork::ViaProxy("/s/proxy".into());
        assert!(render_profile(&plan).contains("(allow network-outbound (literal \"/s/proxy\"))"));
        assert!(!render_profile(&plan).contains("(allow network*)"));
        plan.network = SandboxNetwork::Open;
        assert!(render_profile(&plan).contains("(allow network*)"));
    }
}
