//! Files outside the roots, by every road.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::sandbox_fixture::{Backend, SandboxFixture, everyone, everywhere};

fn content(fixture: &SandboxFixture) -> String {
    fs::read_to_string(fixture.outside.join("file")).unwrap_or_else(|_| "gone".into())
}

#[test]
fn nothing_outside_the_roots_is_changed() {
    everywhere(|fixture| {
        for script in [
            "echo x >> $OUT/file",
            ": > $OUT/file",
            "rm -f $OUT/file",
            "mv $OUT/file taken",
            "mv $OUT/file $OUT/renamed",
            "ln -s $OUT link; echo x > link/file",
            "ln $OUT/file hard && echo x >> hard",
            "cd / && cd $OUT && echo x > file",
            "echo x > ../outside/file",
            "echo x > /proc/self/cwd/../outside/file",
            "echo x > /proc/self/root$OUT/file",
            "perl -e 'truncate(\"$ENV{OUT}/file\", 2)'",
            "echo evil > new; mv -f new $OUT/file",
            "perl -e 'open(D, \"+<\", \"$ENV{OUT}/file\") and print D \"x\"'",
        ] {
            fixture.attack(script, |fixture| content(fixture) != "before");
        }
        for script in
            ["echo x > $OUT/new", "mkdir $OUT/new", "ln -s /etc $OUT/new", "mkfifo $OUT/new"]
        {
            fixture
                .attack(script, |fixture| fixture.outside.join("new").symlink_metadata().is_ok());
        }
    });
}

#[test]
fn modes_owners_and_times_outside_stay() {
    everywhere(|fixture| {
        let mode = |fixture: &SandboxFixture| {
            fs::metadata(fixture.outside.join("file")).unwrap().permissions().mode()
        };
        fixture.attack("chmod 777 $OUT/file", |fixture| mode(fixture) & 0o777 == 0o777);
        fixture.attack("perl -e 'open(F, \"<\", \"$ENV{OUT}/file\"); chmod 0777, *F'", |fixture| {
            mode(fixture) & 0o777 == 0o777
        });
        fixture.attack("touch -d 2001-02-03 $OUT/file", |fixture| {
            fs::metadata(fixture.outside.join("file")).unwrap().mtime() < 1_000_000_000
        });
    });
}

#[test]
fn secrets_cannot_be_read() {
    everywhere(|fixture| {
        let home = fixture.outside.clone();
        fs::create_dir_all(home.join(".ssh")).unwrap();
        fs::create_dir_all(home.join(".config")).unwrap();
        fs::write(home.join(".ssh/id"), "key-in-a-directory").unwrap();
        fs::write(home.join(".netrc"), "key-in-a-file").unwrap();
        fs::write(home.join("plain"), "nothing special").unwrap();
        std::os::unix::fs::symlink(home.join(".ssh"), fixture.project.join("link")).unwrap();
        fixture.give(&home);
        let script = "cd /; cat $OUT/.ssh/id $OUT/.netrc $OUT/../project/link/id $OUT/plain
            cat /proc/1/root$OUT/.ssh/id /proc/self/root$OUT/.netrc
            ln $OUT/.netrc $OUT/../project/mine; cat $OUT/../project/mine
            mkdir -p $OUT/../project/d; cp -r $OUT/.ssh $OUT/../project/d; cat $OUT/../project/d/*/*";
        let home = home.to_str().unwrap().to_owned();
        let free = fixture.free(script);
        assert!(free.stdout.contains("key-in-a-directory"), "{free:?}");
        assert!(free.stdout.contains("key-in-a-file"), "{free:?}");
        fs::remove_dir_all(fixture.project.join("d")).unwrap();
        fs::remove_file(fixture.project.join("mine")).unwrap();
        let fixture = fixture.with(&["--home", &home]);
        let held = fixture.run(script);
        assert!(!held.stdout.contains("key-in"), "{}: {held:?}", fixture.name());
        assert!(held.stdout.contains("nothing special"), "{}: {held:?}", fixture.name());
    });
}

/// A second name for a secret inside the project does not show it.
#[test]
fn a_hard_link_to_a_secret_is_hidden() {
    everyone(Backend::Bubblewrap, |fixture| {
        let home = fixture.outside.clone();
        fs::create_dir_all(home.join(".ssh")).unwrap();
        fs::create_dir_all(fixture.project.join("deep/er")).unwrap();
        fs::write(home.join(".ssh/id"), "key-in-a-directory").unwrap();
        fs::write(home.join(".netrc"), "key-in-a-file").unwrap();
        fs::write(fixture.project.join("own"), "mine").unwrap();
        fs::hard_link(home.join(".ssh/id"), fixture.project.join("deep/er/one")).unwrap();
        fs::hard_link(home.join(".netrc"), fixture.project.join("two")).unwrap();
        fs::hard_link(fixture.project.join("own"), fixture.project.join("other")).unwrap();
        fixture.give(&home);
        fixture.give(&fixture.project.clone());
        let home = home.to_str().unwrap().to_owned();
        let fixture = fixture.with(&["--home", &home]);
        let held = fixture.run("cat deep/er/one two other");
        assert_eq!(held.stdout, "mine", "{}: {held:?}", fixture.name());
    });
}

/// What is written to a place that is kept out of sight fails, and does not vanish with the call.
#[test]
fn nothing_is_written_where_nothing_is_kept() {
    everyone(Backend::Bubblewrap, |fixture| {
        let home = fixture.outside.clone();
        fs::create_dir_all(home.join(".ssh")).unwrap();
        fixture.give(&home);
        let home = home.to_str().unwrap().to_owned();
        let fixture = fixture.with(&["--home", &home]);
        for place in ["$OUT/.ssh/new", "$OUT/new", "/run/new"] {
            let held = fixture.run(&format!("echo x > {place} && echo written"));
            assert!(!held.stdout.contains("written"), "{}: {place}: {held:?}", fixture.name());
            let is_told = held.stderr.contains("Read-only") || held.stderr.contains("denied");
            assert!(is_told, "{}: {place}: {held:?}", fixture.name());
        }
        let scratch = fixture.run("echo x > /tmp/new && cat /tmp/new");
        assert_eq!(scratch.stdout, "x\n", "{}", fixture.name());
    });
}

#[test]
fn a_directory_left_open_by_whoever_started_us_is_no_way_out() {
    everywhere(|fixture| {
        let script = "echo x > /proc/self/fd/9/file";
        let free = fixture.free(&format!("exec 9<$OUT; {script}"));
        assert_eq!(content(&fixture), "x\n", "{free:?}");
        fs::write(fixture.outside.join("file"), "before").unwrap();
        let inner = fixture.sandboxed(&["/bin/bash", "-c", script]);
        let runner = inner.get_program().to_owned();
        let arguments: Vec<_> = inner.get_args().map(ToOwned::to_owned).collect();
        let mut command = std::process::Command::new("/bin/bash");
        command.args(["-c", "exec 9<$OUT; exec \"$@\"", "bash"]).arg(runner).args(arguments);
        command.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(&fixture.project).stdin(std::process::Stdio::null());
        let ended = fixture.end(command.spawn().unwrap());
        assert_eq!(content(&fixture), "before", "{}: {ended:?}", fixture.name());
    });
}
