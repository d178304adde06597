//! Options of build tools, package managers and network programs that run programs or write
//! arbitrary files.

use super::risky_options::{NO_OPTIONS, RiskyOptions};

pub(super) const TOOL_RISKY_OPTIONS: &[RiskyOptions] = &[
    RiskyOptions { program: "ssh", short: "oFE", ..NO_OPTIONS },
    RiskyOptions { program: "scp", short: "oFSDJ", ..NO_OPTIONS },
    RiskyOptions { program: "sftp", short: "oFSDbJ", ..NO_OPTIONS },
    RiskyOptions {
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
        ..NO_OPTIONS
    },
    RiskyOptions {
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
        ..NO_OPTIONS
    },
    RiskyOptions {
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
        ..NO_OPTIONS
    },
    RiskyOptions {
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
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "pnpm",
        long: &["--script-shell"],
        commands: &["exec", "dlx", "config", "create", "set"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "yarn",
        long: &["--script-shell", "--use-yarnrc"],
        commands: &["exec", "dlx", "config", "create", "node", "set", "plugin"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "bun",
        long: &["--preload", "--cwd", "--config"],
        short: "r",
        commands: &["x", "exec", "create"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "deno",
        long: &["--allow-all", "--allow-run", "--allow-ffi", "--preload", "--config"],
        short: "A",
        commands: &["eval", "install", "repl"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "node",
        long: &["--require", "--import", "--loader", "--experimental-loader"],
        short: "r",
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "cargo",
        long: &["--config"],
        short: "Z",
        commands: &["install"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "rustc",
        long: &["--sysroot"],
        short: "Z",
        words: &["linker=", "-Clinker="],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "make",
        long: &["--eval"],
        short: "E",
        words: &["SHELL=", "MAKEFLAGS=", ".SHELLFLAGS="],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "gmake",
        long: &["--eval"],
        short: "E",
        words: &["SHELL=", "MAKEFLAGS=", ".SHELLFLAGS="],
        ..NO_OPTIONS
    },
    RiskyOptions { program: "cmake", short: "PE", ..NO_OPTIONS },
    RiskyOptions {
        program: "just",
        long: &["--shell", "--shell-arg", "--command", "--edit", "--choose", "--chooser"],
        short: "c",
        ..NO_OPTIONS
    },
    RiskyOptions {
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
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "gcc",
        short: "B",
        words: &["-wrapper", "-fplugin=", "-specs=", "-specs", "@="],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "g++",
        short: "B",
        words: &["-wrapper", "-fplugin=", "-specs=", "-specs", "@="],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "cc",
        short: "B",
        words: &["-wrapper", "-fplugin=", "-specs=", "-specs", "@="],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "clang",
        short: "B",
        words: &["-fplugin=", "-load", "-Xclang", "@="],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "pytest",
        long: &["--override-ini", "--pdbcls"],
        short: "p",
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "eslint",
        long: &[
            "--rulesdir",
            "--plugin",
            "--resolve-plugins-relative-to",
            "--output-file",
            "--parser",
        ],
        short: "o",
        ..NO_OPTIONS
    },
    RiskyOptions { program: "prettier", long: &["--plugin"], ..NO_OPTIONS },
    RiskyOptions {
        program: "pip",
        long: &["--target", "--root", "--src", "--global-option", "--config-settings"],
        short: "t",
        commands: &["config", "download", "wheel"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "docker",
        long: &["--config", "--host", "--context"],
        short: "H",
        commands: &["cp", "plugin"],
        ..NO_OPTIONS
    },
    RiskyOptions { program: "podman", commands: &["cp", "machine", "unshare"], ..NO_OPTIONS },
    RiskyOptions {
        program: "kubectl",
        long: &["--kubeconfig"],
        commands: &["exec", "run", "cp", "debug", "edit", "plugin", "attach"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "gh",
        commands: &["alias", "extension", "ext", "config", "auth", "codespace"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "terraform",
        long: &["--chdir"],
        words: &["-chdir=", "-plugin-dir="],
        commands: &["console", "login"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "systemctl",
        commands: &["edit", "link", "set-environment"],
        ..NO_OPTIONS
    },
    RiskyOptions { program: "ip", words: &["exec", "-b", "-batch"], ..NO_OPTIONS },
    RiskyOptions { program: "nmap", long: &["--script", "--datadir"], short: "o", ..NO_OPTIONS },
    RiskyOptions {
        program: "jest",
        long: &[
            "--setupFiles",
            "--globalSetup",
            "--outputFile",
            "--resolver",
            "--runner",
            "--testRunner",
        ],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "gradle",
        long: &["--init-script", "--include-build"],
        short: "I",
        ..NO_OPTIONS
    },
];
