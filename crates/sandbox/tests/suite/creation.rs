//! Creating names: protected ones never exist, not even for a moment, and all others are created as
//! without a sandbox.
//!
//! A guard outside moves protected names aside at once and reports it, so a run that reports nothing
//! has made none.

use std::fs;

use crate::sandbox_fixture::{Backend, everyone};

#[test]
fn no_call_creates_a_protected_name() {
    everyone(Backend::Bubblewrap, |fixture| {
        fs::write(fixture.project.join("there"), "evil").unwrap();
        fs::create_dir_all(fixture.project.join("tree/below")).unwrap();
        fixture.give(&fixture.project.clone());
        let perl = |call: &str| format!("perl -e '{call} and exit 0; exit 1'");
        let exchange =
            format!("syscall({}, -100, \"t\", -100, \".npmrc\", 2) == 0", libc::SYS_renameat2);
        let unnamed = format!(
            "my $f = syscall({open}, -100, \".\", {flags}, 0600); \
             my $p = \"/proc/self/fd/$f\"; syscall({link}, -100, $p, -100, \".npmrc\", 0x400) == 0",
            open = libc::SYS_openat,
            link = libc::SYS_linkat,
            flags = libc::O_TMPFILE | libc::O_RDWR,
        );
        let attacks = [
            "echo evil > .npmrc".to_owned(),
            "echo evil > \"$PWD/tree/../.npmrc\"".to_owned(),
            "ln -s .npmrc to; echo evil > to".to_owned(),
            "ln -s tree/../../project/.npmrc far; echo evil > far".to_owned(),
            "cp there .npmrc".to_owned(),
            "mv t .npmrc".to_owned(),
            "ln there .npmrc".to_owned(),
            "ln -s there .npmrc".to_owned(),
            "mkdir .npmrc".to_owned(),
            "mkfifo .npmrc".to_owned(),
            "cd tree/below && mv ../../t ../../.bashrc".to_owned(),
            "mv tree .husky".to_owned(),
            "mkdir -p .husky/_".to_owned(),
            "exec 7< .; echo evil > /proc/self/fd/7/.npmrc".to_owned(),
            "exec 7< .; cd /; echo evil > /dev/fd/7/.npmrc".to_owned(),
            perl("rename \"t\", \".yarnrc.yml\""),
            perl(&exchange),
            perl(&unnamed),
        ];
        for attack in &attacks {
            fs::write(fixture.project.join("t"), "evil").unwrap();
            fixture.give(&fixture.project.join("t"));
            let ended = fixture.run(attack);
            let name = fixture.name();
            assert_ne!(ended.code, Some(0), "{name}: {attack}: {ended:?}");
            assert!(!ended.stderr.contains("taken back"), "{name}: {attack}: {ended:?}");
            for made in [".npmrc", ".bashrc", ".husky", ".yarnrc.yml"] {
                let made = fixture.project.join(made);
                assert!(made.symlink_metadata().is_err(), "{name}: {attack}: {ended:?}");
            }
        }
    });
}

/// Another process exchanges the path between two reads of it: by us, and by the kernel.
#[test]
fn a_path_that_is_exchanged_creates_no_protected_name() {
    everyone(Backend::Bubblewrap, |fixture| {
        // The file is mapped, so what is written to it changes the path in memory.
        let script = format!(
            "$| = 1; open(my $file, '+>', 'path') or die; syswrite($file, \"harmless\\0\" . \"\\0\" x 4087);
             my $child = fork();
             if (!$child) {{ while (1) {{ for my $name (\".npmrc\\0\\0\\0\", \"harmless\\0\") {{
                 sysseek($file, 0, 0); syswrite($file, $name) }} }} }}
             my $address = syscall({map}, 0, 4096, 1, 1, fileno($file), 0);
             my ($made, $refused) = (0, 0);
             for (1 .. 4000) {{
                 my $opened = syscall({open}, -100, $address, {flags}, 0644);
                 if ($opened >= 0) {{ $made++; syscall({close}, $opened); unlink 'harmless' }}
                 elsif ($! == 30) {{ $refused++ }}
             }}
             kill 9, $child; print $made > 0 && $refused > 0 ? 'both' : \"$made $refused\"",
            map = libc::SYS_mmap,
            open = libc::SYS_openat,
            close = libc::SYS_close,
            flags = libc::O_CREAT | libc::O_WRONLY,
        );
        fs::write(fixture.project.join("race.pl"), script).unwrap();
        fixture.give(&fixture.project.clone());
        let ended = fixture.run("perl race.pl");
        let name = fixture.name();
        assert_eq!(ended.stdout, "both", "{name}: {ended:?}");
        assert!(!ended.stderr.contains("taken back"), "{name}: {ended:?}");
        assert!(!fixture.project.join(".npmrc").exists(), "{name}: {ended:?}");
    });
}

/// The supervisor is the parent of the command, with the same user.
#[test]
fn the_supervisor_is_not_reached_from_inside() {
    everyone(Backend::Bubblewrap, |fixture| {
        let ended = fixture.run(
            "cat /proc/$PPID/comm; head -c 1 /proc/$PPID/maps && echo HOLE
             exec 3<> /proc/$PPID/mem && echo HOLE; readlink /proc/$PPID/fd/0 && echo HOLE
             echo x > /proc/$PPID/cwd/planted && echo HOLE
             (setsid mkdir late &); until [ -d late ]; do read -t 0.01 x <> <(:); done",
        );
        let name = fixture.name();
        assert!(ended.stdout.starts_with("windlass-sandbo"), "{name}: {ended:?}");
        assert!(!ended.stdout.contains("HOLE"), "{name}: {ended:?}");
        assert!(!fixture.project.join("planted").exists(), "{name}: {ended:?}");
        assert!(fixture.project.join("late").exists(), "{name}: {ended:?}");
    });
}

#[test]
fn other_names_are_created_as_without_a_sandbox() {
    let script = "
        show() { stat -c '%n %a %F %h' \"$@\"; }
        umask 027; echo one > file; mkdir dir; mkdir -m 1777 open; mkfifo -m 600 pipe; show file dir open pipe
        umask 0; echo two > dir/bare; mkdir -p dir/a/b/; show dir/bare dir/a/b; umask 022
        ln file hard; ln -s file soft; ln -s missing dangling; echo three > dangling; show file soft missing
        ln -s dir way; echo four > way/inside; cat dir/inside; mv way/inside way/../moved; cat moved
        mv dir/ renamed/; show renamed; mv renamed dir; cp -a dir copy; show copy/bare
        mkdir dir; mkdir nowhere/x; echo x > nowhere/x; echo x > dir; ln file hard; mv file dir/a/b/c/d
        mv dir file; mv -T file dir; mkdir ''; set -C; echo x > file; set +C; cat file
        printf 'a\\nb\\n' | tee listed | sort -r; sed -i s/one/ONE/ file; cat file hard
        cat <<< here; cd dir; rm -r ../dir; echo gone > x; cd ..
        echo in > /tmp/t; mkdir /tmp/d; mv /tmp/t /tmp/d/u; cat /tmp/d/u; mv /tmp/d/u back; cat back; rm -r /tmp/d
        echo out > /dev/stdout | cat; echo null > /dev/null; exec 5> fifth; echo five >&5; cat fifth
        perl -e 'use Fcntl; sysopen(F, \"ro\", O_WRONLY|O_CREAT|O_EXCL, 0400) and syswrite(F, \"6\\n\"); print -s \"ro\", \"\\n\";
                 sysopen(G, \"ro\", O_WRONLY|O_CREAT|O_EXCL) or print $!, \"\\n\"; sysopen(H, \"soft\", O_CREAT|O_NOFOLLOW) or print $!, \"\\n\"'
        for n in {1..20}; do echo 'echo ran' > run$n; chmod +x run$n; ./run$n; rm run$n; done
        (exec 9>&-; echo closed >&9); touch 'a b' $'new\\nline' é; ls -1 | head -40; bash -c 'kill -TERM $$'; echo $?; exit 3";
    everyone(Backend::Bubblewrap, |fixture| {
        let free = {
            let other =
                crate::sandbox_fixture::SandboxFixture::new(fixture.backend, fixture.person);
            other.free(script)
        };
        let held = fixture.run(script);
        let name = fixture.name();
        let plain = |text: &str| text.replace("/bin/bash: ", "bash: ");
        assert_eq!(held.stdout, free.stdout, "{name}: {}", held.stderr);
        assert_eq!(plain(&held.stderr), plain(&free.stderr), "{name}");
        assert_eq!((held.code, free.code), (Some(3), Some(3)), "{name}");
    });
}
