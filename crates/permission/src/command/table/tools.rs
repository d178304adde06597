//! Options of build tools, package managers and network programs that run programs or write files of
//! their own choosing.

use super::risk::{NONE, Risk};

/// The list.
pub(super) const TOOLS: &[Risk] = &[
    Risk { program: "ssh", short: "oFE", ..NONE },
    Risk { program: "scp", short: "oFSDJ", ..NONE },
    Risk { program: "sftp", short: "oFSDbJ", ..NONE },
    Risk {
        program: "rsync",
        long: &[
            "--rsh",
            "--rsync-path",
            "--log-file",
            "--write-batch",
            "--only-write-batch",
            "--password-file",
            "--daemon",
            "--config",
        ],
        short: "eM",
        ..NONE
    },
    Risk {
        program: "curl",
        long: &[
            "--config",
            "--output",
            "--output-dir",
            "--dump-header",
            "--remote-name",
            "--remote-name-all",
            "--remote-header-name",
            "--cookie-jar",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--libcurl",
            "--etag-save",
            "--hsts",
            "--alt-svc",
            "--create-dirs",
            "--engine",
            "--upload-file",
            "--unix-socket",
            "--abstract-unix-socket",
        ],
        short: "KoODcJT",
        ..NONE
    },
    Risk {
        program: "wget",
        long: &[
            "--use-askpass",
            "--execute",
            "--config",
            "--output-document",
            "--output-file",
            "--append-output",
            "--directory-prefix",
            "--save-cookies",
            "--warc-file",
            "--hsts-file",
            "--rejected-log",
            "--post-file",
            "--body-file",
            "--input-file",
        ],
        short: "eOoaPi",
        ..NONE
    },
    Risk {
        program: "npm",
        long: &[
            "--script-shell",
            "--git",
            "--node-options",
            "--globalconfig",
            "--userconfig",
            "--viewer",
            "--editor",
            "--browser",
            "--init-module",
        ],
        short: "",
        commands: &[
            "exec", "x", "config", "c", "set", "explore", "edit", "init", "create", "innit",
        ],
        ..NONE
    },
    Risk {
        program: "pnpm",
        long: &["--script-shell"],
        commands: &["exec", "dlx", "config", "create", "set"],
        ..NONE
    },
    Risk {
        program: "yarn",
        long: &["--script-shell", "--use-yarnrc"],
        commands: &["exec", "dlx", "config", "create", "node", "set", "plugin"],
        ..NONE
    },
    Risk {
        program: "bun",
        long: &["--preload", "--cwd", "--config"],
        short: "r",
        commands: &["x", "exec", "create"],
        ..NONE
    },
    Risk {
        program: "deno",
        long: &["--allow-all", "--allow-run", "--allow-ffi", "--preload", "--config"],
        short: "A",
        commands: &["eval", "install", "repl"],
        ..NONE
    },
    Risk {
        program: "node",
        long: &["--require", "--import", "--loader", "--experimental-loader"],
        short: "r",
        ..NONE
    },
    Risk { program: "cargo", long: &["--config"], short: "Z", commands: &["install"], ..NONE },
    Risk {
        program: "rustc",
        long: &["--sysroot"],
        short: "Z",
        words: &["linker=", "-Clinker="],
        ..NONE
    },
    Risk {
        program: "make",
        long: &["--eval"],
        short: "E",
        words: &["SHELL=", "MAKEFLAGS=", ".SHELLFLAGS="],
        ..NONE
    },
    Risk {
        program: "gmake",
        long: &["--eval"],
        short: "E",
        words: &["SHELL=", "MAKEFLAGS=", ".SHELLFLAGS="],
        ..NONE
    },
    Risk { program: "cmake", short: "PE", ..NONE },
    Risk {
        program: "just",
        long: &["--shell", "--shell-arg", "--command", "--edit", "--choose", "--chooser"],
        short: "c",
        ..NONE
    },
    Risk {
        program: "go",
        words: &[
            "-exec",
            "-toolexec",
            "-vettool",
            "-exec=",
            "-toolexec=",
            "-vettool=",
            "--exec",
            "--toolexec",
            "--vettool",
            "--exec=",
            "--toolexec=",
            "--vettool=",
            "-overlay",
            "-overlay=",
            "-ldflags=-extld",
        ],
        commands: &["generate", "tool"],
        ..NONE
    },
    Risk {
        program: "gcc",
        short: "B",
        words: &["-wrapper", "-fplugin=", "-specs=", "-specs", "@="],
        ..NONE
    },
    Risk {
        program: "g++",
        short: "B",
        words: &["-wrapper", "-fplugin=", "-specs=", "-specs", "@="],
        ..NONE
    },
    Risk {
        program: "cc",
        short: "B",
        words: &["-wrapper", "-fplugin=", "-specs=", "-specs", "@="],
        ..NONE
    },
    Risk { program: "clang", short: "B", words: &["-fplugin=", "-load", "-Xclang", "@="], ..NONE },
    Risk { program: "pytest", long: &["--override-ini", "--pdbcls"], short: "p", ..NONE },
    Risk {
        program: "eslint",
        long: &[
            "--rulesdir",
            "--plugin",
            "--resolve-plugins-relative-to",
            "--output-file",
            "--parser",
        ],
        short: "o",
        ..NONE
    },
    Risk { program: "prettier", long: &["--plugin"], ..NONE },
    Risk {
        program: "pip",
        long: &["--target", "--root", "--src", "--global-option", "--config-settings"],
        short: "t",
        commands: &["config", "download", "wheel"],
        ..NONE
    },
    Risk {
        program: "docker",
        long: &["--config", "--host", "--context"],
        short: "H",
        commands: &["run", "exec", "cp", "create", "plugin"],
        ..NONE
    },
    Risk {
        program: "podman",
        commands: &["run", "exec", "cp", "create", "machine", "unshare"],
        ..NONE
    },
    Risk {
        program: "kubectl",
        long: &["--kubeconfig"],
        commands: &["exec", "run", "cp", "debug", "edit", "plugin", "attach"],
        ..NONE
    },
    Risk {
        program: "gh",
        commands: &["alias", "extension", "ext", "config", "auth", "codespace"],
        ..NONE
    },
    Risk {
        program: "terraform",
        long: &["--chdir"],
        words: &["-chdir=", "-plugin-dir="],
        commands: &["console", "login"],
        ..NONE
    },
    Risk { program: "systemctl", commands: &["edit", "link", "set-environment"], ..NONE },
    Risk { program: "ip", words: &["exec", "-b", "-batch"], ..NONE },
    Risk { program: "nmap", long: &["--script", "--datadir"], short: "o", ..NONE },
    Risk {
        program: "jest",
        long: &[
            "--setupFiles",
            "--globalSetup",
            "--outputFile",
            "--resolver",
            "--runner",
            "--testRunner",
        ],
        ..NONE
    },
    Risk { program: "gradle", long: &["--init-script", "--include-build"], short: "I", ..NONE },
];
