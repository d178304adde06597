//! Files outside the roots, by every road.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::world::{Backend, World, everyone, everywhere};

fn content(world: &World) -> String {
    fs::read_to_string(world.outside.join("file")).unwrap_or_else(|_| "gone".into())
}

#[test]
fn nothing_outside_the_roots_is_changed() {
    everywhere(|world| {
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
            world.attack(script, |world| content(world) != "before");
        }
        for script in
            ["echo x > $OUT/new", "mkdir $OUT/new", "ln -s /etc $OUT/new", "mkfifo $OUT/new"]
        {
            world.attack(script, |world| world.outside.join("new").symlink_metadata().is_ok());
        }
    });
}

#[test]
fn modes_owners_and_times_outside_stay() {
    everywhere(|world| {
        let mode =
            |world: &World| fs::metadata(world.outside.join("file")).unwrap().permissions().mode();
        world.attack("chmod 777 $OUT/file", |world| mode(world) & 0o777 == 0o777);
        world.attack("perl -e 'open(F, \"<\", \"$ENV{OUT}/file\"); chmod 0777, *F'", |world| {
            mode(world) & 0o777 == 0o777
        });
        world.attack("touch -d 2001-02-03 $OUT/file", |world| {
            fs::metadata(world.outside.join("file")).unwrap().mtime() < 1_000_000_000
        });
    });
}

#[test]
fn secrets_cannot_be_read() {
    everywhere(|world| {
        let home = world.outside.clone();
        fs::create_dir_all(home.join(".ssh")).unwrap();
        fs::create_dir_all(home.join(".config")).unwrap();
        fs::write(home.join(".ssh/id"), "key-in-a-directory").unwrap();
        fs::write(home.join(".netrc"), "key-in-a-file").unwrap();
        fs::write(home.join("plain"), "nothing special").unwrap();
        std::os::unix::fs::symlink(home.join(".ssh"), world.project.join("link")).unwrap();
        world.give(&home);
        let script = "cd /; cat $OUT/.ssh/id $OUT/.netrc $OUT/../project/link/id $OUT/plain
            cat /proc/1/root$OUT/.ssh/id /proc/self/root$OUT/.netrc
            ln $OUT/.netrc $OUT/../project/mine; cat $OUT/../project/mine
            mkdir -p $OUT/../project/d; cp -r $OUT/.ssh $OUT/../project/d; cat $OUT/../project/d/*/*";
        let home = home.to_str().unwrap().to_owned();
        let free = world.free(script);
        assert!(free.stdout.contains("key-in-a-directory"), "{free:?}");
        assert!(free.stdout.contains("key-in-a-file"), "{free:?}");
        fs::remove_dir_all(world.project.join("d")).unwrap();
        fs::remove_file(world.project.join("mine")).unwrap();
        let world = world.with(&["--home", &home]);
        let held = world.run(script);
        assert!(!held.stdout.contains("key-in"), "{}: {held:?}", world.name());
        assert!(held.stdout.contains("nothing special"), "{}: {held:?}", world.name());
    });
}

/// What is written to a place that is kept out of sight fails, and does not vanish with the call.
#[test]
fn nothing_is_written_where_nothing_is_kept() {
    everyone(Backend::Bubblewrap, |world| {
        let home = world.outside.clone();
        fs::create_dir_all(home.join(".ssh")).unwrap();
        world.give(&home);
        let home = home.to_str().unwrap().to_owned();
        let world = world.with(&["--home", &home]);
        for place in ["$OUT/.ssh/new", "$OUT/new", "/run/new"] {
            let held = world.run(&format!("echo x > {place} && echo written"));
            assert!(!held.stdout.contains("written"), "{}: {place}: {held:?}", world.name());
            let is_told = held.stderr.contains("Read-only") || held.stderr.contains("denied");
            assert!(is_told, "{}: {place}: {held:?}", world.name());
        }
        let scratch = world.run("echo x > /tmp/new && cat /tmp/new");
        assert_eq!(scratch.stdout, "x\n", "{}", world.name());
    });
}

#[test]
fn a_directory_left_open_by_whoever_started_us_is_no_way_out() {
    everywhere(|world| {
        let script = "echo x > /proc/self/fd/9/file";
        let free = world.free(&format!("exec 9<$OUT; {script}"));
        assert_eq!(content(&world), "x\n", "{free:?}");
        fs::write(world.outside.join("file"), "before").unwrap();
        let inner = world.sandboxed(&["/bin/bash", "-c", script]);
        let runner = inner.get_program().to_owned();
        let arguments: Vec<_> = inner.get_args().map(ToOwned::to_owned).collect();
        let mut command = std::process::Command::new("/bin/bash");
        command.args(["-c", "exec 9<$OUT; exec \"$@\"", "bash"]).arg(runner).args(arguments);
        command.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(&world.project).stdin(std::process::Stdio::null());
        let ended = world.end(command.spawn().unwrap());
        assert_eq!(content(&world), "before", "{}: {ended:?}", world.name());
    });
}
