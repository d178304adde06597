//! A repository whose configuration names programs: no operation runs any of them.

use std::path::Path;

use windlass_workspace::{CancelFlag, LookDepth, PackOptions, RestoreConsent};

use crate::fixture::{Fixture, run_git, set_mode};

/// Sets every option by which a repository can name a program. Each program would create a marker.
fn make_hostile(repository: &Path, marker: &Path) {
    let program = repository.join(".git/program");
    std::fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat\n", marker.display())).unwrap();
    set_mode(&program, 0o755);
    let program = program.to_str().unwrap();
    for key in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "diff.external",
        "diff.evil.textconv",
        "credential.helper",
        "gpg.program",
    ] {
        run_git(repository, &["config", key, program]);
    }
    run_git(repository, &["config", "filter.evil.required", "true"]);
    for hook in ["post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman"] {
        let hook = repository.join(".git/hooks").join(hook);
        std::fs::copy(program, &hook).unwrap();
        set_mode(&hook, 0o755);
    }
    std::fs::write(repository.join(".gitattributes"), "* filter=evil diff=evil\n").unwrap();
    std::fs::write(repository.join(".git/info/attributes"), "* filter=evil\n").unwrap();
    let include = repository.join(".git/included");
    std::fs::write(&include, format!("[core]\n\tfsmonitor = {program}\n")).unwrap();
    run_git(repository, &["config", "include.path", include.to_str().unwrap()]);
}

#[test]
fn w18_no_program_of_a_repository_runs_in_any_operation() {
    let mut fixture = Fixture::new();
    let marker = fixture.store.parent().unwrap().join("marker");
    let nested = fixture.path("nested");
    fixture.git(&["init", "-q"]);
    fixture.write("a", "one\n");
    fixture.write("nested/b", "one\n");
    run_git(&nested, &["init", "-q"]);
    for folder in [&nested, &fixture.root] {
        run_git(folder, &["add", "."]);
        run_git(folder, &["commit", "-qm", "one"]);
    }
    make_hostile(&fixture.root.clone(), &marker);
    make_hostile(&nested, &marker);
    let _ = std::fs::remove_file(&marker);

    let cancel = CancelFlag::new();
    let before = fixture.look().id;
    fixture.write("a", "two\n");
    fixture.write("nested/b", "two\n");
    fixture.write(".git/HEAD", "ref: refs/heads/other\n");
    let after = fixture.workspace().look(LookDepth::Thorough, &cancel).unwrap().id;
    fixture.workspace().changes(before, after).unwrap();
    fixture.undo(before, after);
    let place = fixture.store.parent().unwrap().join("copy");
    fixture.workspace().copy_to(after, &place, &cancel).unwrap();
    let mut pack = Vec::new();
    let packed = fixture.workspace().pack(after, &PackOptions::default(), &mut pack).unwrap();
    fixture.workspace().unpack(&mut pack.as_slice()).unwrap();
    fixture.workspace().forget(&[before, after, packed.id]).unwrap();
    let plan = fixture.workspace().plan(after, &[], &cancel).unwrap();
    fixture.workspace().carry_out(&plan, &RestoreConsent::All, &cancel).unwrap();
    assert_eq!(fixture.read("a"), "two\n");
    assert!(!marker.exists(), "a program of the repository was run");

    // Check of the test itself: git does run the programs.
    let _ = std::process::Command::new("git").arg("status").current_dir(&fixture.root).output();
    assert!(marker.exists(), "the trap is set");
}
