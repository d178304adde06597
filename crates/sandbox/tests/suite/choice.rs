//! Which backend is taken, and what is said about it.

use crate::sandbox_fixture::{Backend, SandboxFixture, people};

/// Runs the runner as another user, without a backend of choice.
fn any(
    fixture: &SandboxFixture,
    before: &[&str],
    options: &[&str],
) -> crate::sandbox_fixture::Ended {
    let mut command = match before {
        [] => fixture.as_person(&fixture.runner),
        [first, rest @ ..] => {
            let mut command = fixture.as_person(std::path::Path::new(first));
            command.args(rest).arg(&fixture.runner);
            command
        }
    };
    command.args(["run", "--report", "yes", "--env", "PATH", "--write"]).arg(&fixture.project);
    command.args(options).args(["--", "/bin/bash", "-c", "echo ran; echo x > /etc/sandbox-test"]);
    fixture.end(command.spawn().unwrap())
}

#[test]
fn bubblewrap_comes_first_and_landlock_where_it_is_missing_or_forbidden() {
    for person in people() {
        let fixture = SandboxFixture::new(Backend::Bubblewrap, person);
        let first = any(&fixture, &[], &[]);
        assert!(first.stderr.contains("Sandbox: bubblewrap"), "{first:?}");
        assert_eq!(first.stdout, "ran\n", "{first:?}");
        let missing = any(&fixture, &[], &["--bubblewrap", "/nonexistent/bwrap"]);
        assert!(missing.stderr.contains("Sandbox: Landlock"), "{missing:?}");
        assert!(missing.stderr.contains("`/nonexistent/bwrap` does not exist"), "{missing:?}");
        assert_eq!(missing.stdout, "ran\n", "{missing:?}");
        let broken = any(&fixture, &[], &["--bubblewrap", "/bin/false"]);
        assert!(broken.stderr.contains("does not work"), "{broken:?}");
        assert_eq!(broken.stdout, "ran\n", "{broken:?}");
        // In a namespace that may have none below it, and without the rights of its root.
        let forbidden = any(
            &fixture,
            &[
                "/usr/bin/unshare",
                "--user",
                "--map-root-user",
                "/bin/bash",
                "-c",
                "echo 0 > /proc/sys/user/max_user_namespaces || exit 9
               exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs \"$@\"",
                "bash",
            ],
            &[],
        );
        assert!(forbidden.stderr.contains("Sandbox: Landlock"), "{forbidden:?}");
        assert!(
            forbidden.stderr.contains("Bubblewrap is there but does not work"),
            "{forbidden:?}"
        );
        assert_eq!(forbidden.stdout, "ran\n", "{forbidden:?}");
    }
}

#[test]
fn inside_another_sandbox_it_still_holds_and_says_what_is_missing() {
    for person in people() {
        let fixture = SandboxFixture::new(Backend::Bubblewrap, person);
        let place = fixture.project.parent().unwrap().to_str().unwrap().to_owned();
        let nested = any(
            &fixture,
            &[
                "/usr/bin/bwrap",
                "--unshare-user",
                "--unshare-pid",
                "--ro-bind",
                "/",
                "/",
                "--dev",
                "/dev",
                "--proc",
                "/proc",
                "--tmpfs",
                "/tmp",
                "--bind",
                &place,
                &place,
                "--",
            ],
            &[],
        );
        assert!(nested.stdout == "ran\n", "{nested:?}");
        let is_full = nested.stderr.lines().any(|line| line.starts_with("Sandbox: bubblewrap"))
            && !nested.stderr.contains("A fresh `/proc` is refused");
        let is_said = nested.stderr.contains("A fresh `/proc` is refused")
            || nested.stderr.contains("Sandbox: Landlock");
        assert!(is_full || is_said, "{nested:?}");
        assert!(!std::path::Path::new("/etc/sandbox-test").exists());
    }
}

#[test]
fn a_required_sandbox_that_cannot_start_is_an_error_with_the_reason() {
    for person in people() {
        let fixture = SandboxFixture::new(Backend::Landlock, person);
        let script = "--backend bubblewrap --bubblewrap /nonexistent/bwrap";
        let options: Vec<&str> = script.split(' ').collect();
        let ended = any(&fixture, &[], &options);
        assert_eq!(ended.code, Some(125), "{ended:?}");
        assert_eq!(ended.stdout, "", "it ran: {ended:?}");
        assert!(ended.stderr.contains("There is no sandbox on this machine"), "{ended:?}");
        let neither = any(&fixture, &[], &["--bubblewrap", "/bin/false", "--entry", "/bin/false"]);
        assert_eq!(neither.code, Some(125), "{neither:?}");
        assert_eq!(neither.stdout, "", "it ran: {neither:?}");
    }
}

#[test]
fn what_a_backend_cannot_hold_is_refused() {
    for person in people() {
        for (options, words) in [
            (&["--network", "/nonexistent/socket"][..], "needs bubblewrap"),
            (&["--hide", "PROJECT/secret"], "cannot hide"),
            (&["--write", "/"], "would leave nothing to hold"),
            (&["--write", "relative"], "not an absolute path"),
            (&["--write", "/nonexistent/directory"], "No such file"),
        ] {
            let fixture = SandboxFixture::new(Backend::Landlock, person);
            std::fs::write(fixture.project.join("secret"), "s").unwrap();
            let project = fixture.project.to_str().unwrap();
            let options: Vec<String> =
                options.iter().map(|option| option.replace("PROJECT", project)).collect();
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let ended = fixture.with(&options).run("echo ran");
            assert_eq!(ended.stdout, "", "it ran: {ended:?}");
            assert!(ended.stderr.contains(words), "{words}: {ended:?}");
        }
    }
}
