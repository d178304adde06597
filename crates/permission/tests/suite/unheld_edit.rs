//! Edits and reads that nothing confines: symlinks that a line moves, copies or writes through.

use std::path::Path;

use serde_json::json;
use windlass_permission::decide::decide_with_file_system;
use windlass_permission::{
    CellSupport, PathEntry, PermissionDecision, Policy, PriorDecision, VirtualTree,
};
use windlass_vocabulary::{EffectClass, PermissionMode};

use crate::case::{call, inspection, policy};

/// A stranger's tree: links to files of the home in `d` and `s`, and one in `deep/er` that leads out only
/// from further up.
fn tree() -> VirtualTree {
    let mut tree = VirtualTree::new(Some("/home/u".into()));
    for file in ["x", "y", "a/x", "a/y", "e/z", "old/f"] {
        tree.insert(&Path::new("/w/repo").join(file), PathEntry::File);
    }
    for (link, target) in [
        ("d/x", "/home/u/.bashrc"),
        ("s/l", "/home/u/.ssh/id_rsa"),
        ("deep/er/l", "../../inner"),
        ("in/x", "../y"),
    ] {
        tree.insert(&Path::new("/w/repo").join(link), PathEntry::Symlink(target.into()));
    }
    tree
}

fn allows(policy: &Policy, command: &str) -> bool {
    let call = call("Bash", &json!({ "command": command }));
    let facts = inspection(EffectClass::Effect);
    let decided = decide_with_file_system(policy, call, &facts, PriorDecision::None, &tree());
    matches!(decided, PermissionDecision::Allow(_))
}

const REACH_OUT: &[&str] = &[
    "cp x d",
    "cp x y d/",
    "cp a/* d",
    "cp -r a/. d",
    "cp -rT a d",
    "cp -t d x",
    "cp --target-directory=d x",
    "cp -td x",
    "cp -r a d",
    "for f in x y; do cp $f d; done",
    "mv s t && cat t/l",
    "cp -r s t; cat t/l",
    "cp -a s/. . && cat l",
    "mv s/* . && head l",
    "mv d t && touch t/x",
    "mv d t; echo evil > t/x",
    "mv d t; sed -i s/a/b/ t/x",
    "mv d t; cp x t/x",
    "mv s t; cd t && cat l",
    "mv s t; mv t/l k; cat k",
    "mv s t; cat < t/l",
    "mv deep/er/l k && cat k",
    "(mv s t); cat t/*",
    "cat t/l & mv s t",
];

const HARMLESS: &[&str] = &[
    "cp x e",
    "cp x y e/",
    "cp a/* e",
    "cp x new && cat new",
    "cp x in",
    "cp --preserve=mode x new",
    "mv x y",
    "mv x e && cat e/x",
    "mv s t",
    "mv s t && cat x",
    "cp -r s t",
    "cp -r a new && rm x",
    "mkdir -p n/m && cp x n/m && cat n/m/x",
    "touch n && cat n",
    "mv old/f old/g && cat old/g",
    "rm -r d && mkdir d && cp x d/new",
    "mv x d",
];

#[test]
fn without_a_cell_no_edit_writes_or_reads_through_a_link_that_was_not_judged() {
    let policy = Policy { cell: CellSupport::Missing, ..policy(PermissionMode::AcceptEdits, &[]) };
    for command in REACH_OUT {
        assert!(!allows(&policy, command), "{command}");
    }
    for command in HARMLESS {
        assert!(allows(&policy, command), "{command}");
    }
}

/// With a cell the edits of the mode are held, unless a rule frees the line.
#[test]
fn beside_a_ruled_part_no_edit_writes_through_a_link_that_was_not_judged() {
    let ruled = policy(PermissionMode::AcceptEdits, &["+Bash(make:*)"]);
    let ruled = Policy { cell: CellSupport::Available, ..ruled };
    for command in ["cp x d", "cp -r a/. d", "mv d t; echo evil > t/x", "mv d t && touch t/x"] {
        assert!(allows(&ruled, command), "{command}");
        let line = format!("make; {command}");
        assert!(!allows(&ruled, &line), "{line}");
    }
    for command in HARMLESS {
        let line = format!("make && {command}");
        assert!(allows(&ruled, &line), "{line}");
    }
}

#[test]
fn without_a_cell_a_ruled_move_brings_no_link_to_what_runs_unasked() {
    let rules = ["+Bash(mv:*)", "+Bash(cp:*)"];
    let ruled = Policy { cell: CellSupport::Missing, ..policy(PermissionMode::Default, &rules) };
    for command in ["mv s t && cat t/l", "cp -a s/. . ; cat l", "mv s t; cat < t/l"] {
        assert!(!allows(&ruled, command), "{command}");
    }
    for command in ["mv s t", "cp -r a e", "mv s t && cat x", "cp x new && cat new"] {
        assert!(allows(&ruled, command), "{command}");
    }
}

/// A file named like an option is one where a pattern stands for it.
#[test]
fn without_a_cell_no_file_name_acts_as_an_option() {
    let mut tree = tree();
    for file in ["--files0-from=k", "n/a", "n/-r"] {
        tree.insert(&Path::new("/w/repo").join(file), PathEntry::File);
    }
    let without = Policy { cell: CellSupport::Missing, ..policy(PermissionMode::Default, &[]) };
    let allows = |command: &str| {
        let call = call("Bash", &json!({ "command": command }));
        let facts = inspection(EffectClass::Effect);
        let decided = decide_with_file_system(&without, call, &facts, PriorDecision::None, &tree);
        matches!(decided, PermissionDecision::Allow(_))
    };
    for command in ["wc *files*", "wc -l *from*", "cd n && grep x *", "du ?-files0-*"] {
        assert!(!allows(command), "{command}");
    }
    for command in ["wc -l n/*", "wc -l ./*x*", "cat y* x*"] {
        assert!(allows(command), "{command}");
    }
}

/// `diff` reads the file of the same name in a directory, wherever it leads.
#[test]
fn without_a_cell_directories_are_not_compared_unasked() {
    let without = Policy { cell: CellSupport::Missing, ..policy(PermissionMode::Default, &[]) };
    let with = Policy { cell: CellSupport::Available, ..without.clone() };
    for command in ["diff a d", "diff x d", "diff d x", "diff --from-file=x d", "diff -u a/ d/"] {
        assert!(!allows(&without, command), "{command}");
        assert!(allows(&with, command), "{command}");
    }
    for command in ["diff x y", "diff -u x a/x", "diff <(sort x) <(sort y)", "cat x | diff - y"] {
        assert!(allows(&without, command), "{command}");
    }
}

/// Under another name no rule would speak of it.
#[test]
fn no_directory_takes_a_denied_file_along() {
    use CellSupport::{Available, Missing};
    let deny = ["-Read(deep/er/key)", "-Edit(old/f)"];
    let ruled = ["+Bash(mv:*)", "+Bash(cp:*)", "+Bash(rm:*)", deny[0], deny[1]];
    for (cell, command, by_mode, by_rule) in [
        (Available, "mv deep t", false, false),
        (Available, "mv deep/er t", false, false),
        (Available, "mv -t e deep", false, false),
        (Available, "mv dee* e", false, false),
        (Available, "mv old t", false, false),
        (Available, "rm -r old", false, false),
        (Available, "rm -r deep", true, true),
        // The sandbox of an edit hides it.
        (Available, "cp -r deep t", true, false),
        (Missing, "cp -r deep t", false, false),
        (Missing, "mv deep t", false, false),
        (Available, "mv a t", true, true),
        (Available, "mv x deep/", true, true),
        (Missing, "cp -r a t", true, true),
        (Available, "rm -r a", true, true),
    ] {
        let edits = Policy { cell, ..policy(PermissionMode::AcceptEdits, &deny) };
        assert_eq!(allows(&edits, command), by_mode, "{cell:?} {command}");
        let rules = Policy { cell, ..policy(PermissionMode::Default, &ruled) };
        assert_eq!(allows(&rules, command), by_rule, "{cell:?} {command} with rules");
    }
    let bare = Policy { cell: Available, ..policy(PermissionMode::AcceptEdits, &["-Read(.env)"]) };
    assert!(!allows(&bare, "mv a t") && allows(&bare, "mv x t") && allows(&bare, "rm -r a"));
}
