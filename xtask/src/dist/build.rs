//! The program itself: static where the musl target can be had, and with no path of this machine in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use super::pages::copy;
use crate::program::{has, run_bytes, run_text, run_with};

const MUSL_COMPILER: &str = "musl-gcc";

/// A program that is ready to be packed.
pub(super) struct BuiltProgram {
    pub(super) path: PathBuf,
    pub(super) architecture: Architecture,
    pub(super) is_static: bool,
}

/// Who calls this processor what.
#[derive(Clone, Copy)]
pub(super) struct Architecture {
    pub(super) rust: &'static str,
    pub(super) debian: &'static str,
    pub(super) node: &'static str,
}

const ARCHITECTURES: &[Architecture] = &[
    Architecture { rust: "x86_64", debian: "amd64", node: "x64" },
    Architecture { rust: "aarch64", debian: "arm64", node: "arm64" },
];

fn this_architecture() -> Result<Architecture, String> {
    let here = std::env::consts::ARCH;
    let found = ARCHITECTURES.iter().find(|one| one.rust == here);
    found.copied().ok_or_else(|| format!("no packages are made for {here}"))
}

impl BuiltProgram {
    /// One that somebody built before.
    pub(super) fn given(given: &Path, out: &Path) -> Result<Self, String> {
        let path = out.join("windlass");
        copy(given, &path)?;
        let is_static = is_static(&path)?;
        Ok(Self { path, architecture: this_architecture()?, is_static })
    }

    /// Builds it; if asked for, a second time from a clean clone in another folder, at the same moment. Two
    /// builds that differ are an error.
    pub(super) fn build(
        root: &Path,
        out: &Path,
        epoch: u64,
        is_twice: bool,
    ) -> Result<Self, String> {
        let architecture = this_architecture()?;
        let target = choose_target(root, architecture);
        let target = target.as_str();
        let clone = if is_twice { Some(clone_again(root)?) } else { None };
        let (built, again) = thread::scope(|scope| {
            let start = |clone| scope.spawn(move || compile(clone, target, epoch));
            let again = clone.as_deref().map(start);
            (compile(root, target, epoch), again.map(thread::ScopedJoinHandle::join))
        });
        let path = out.join("windlass");
        copy(&built?, &path)?;
        if let Some(again) = again {
            let again = again.map_err(|_| "the second build panicked".to_owned())??;
            compare(&path, &again)?;
        }
        let is_static = is_static(&path)?;
        Ok(Self { path, architecture, is_static })
    }
}

/// The commit as others get it; a clone of the same commit is kept, and with it what was built. Its `target` lies where the first build's does, seen from the sources, so that
/// only the folder above both is another.
fn clone_again(root: &Path) -> Result<PathBuf, String> {
    if !run_text(root, "git", &["status", "--porcelain"])?.is_empty() {
        return Err("--twice builds the commit again, and there are changes beside it".to_owned());
    }
    let clone = root.join("target/dist.again");
    let state = |folder: &Path| -> Result<_, String> {
        let changes = run_text(folder, "git", &["status", "--porcelain"])?;
        Ok(changes + &run_text(folder, "git", &["rev-parse", "HEAD"])?)
    };
    if clone.join(".git").exists() && state(&clone)? == state(root)? {
        return Ok(clone);
    }
    if clone.exists() {
        fs::remove_dir_all(&clone).map_err(|error| format!("{}: {error}", clone.display()))?;
    }
    run_with(root, "git", &["clone", "--quiet", "--no-hardlinks", ".", "target/dist.again"], &[])?;
    Ok(clone)
}

fn compare(first: &Path, again: &Path) -> Result<(), String> {
    let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    match read(first)? == read(again)? {
        true => {
            println!("dist: two builds, equal bytes");
            Ok(())
        }
        false => Err(format!("{} and {} differ", again.display(), first.display())),
    }
}

/// musl, or in one line why not.
fn choose_target(root: &Path, architecture: Architecture) -> String {
    let musl = format!("{}-unknown-linux-musl", architecture.rust);
    let installed = run_text(root, "rustup", &["target", "list", "--installed"]);
    let is_there = || {
        installed.is_ok_and(|list| list.lines().any(|line| line == musl))
            || run_with(root, "rustup", &["target", "add", &musl], &[]).is_ok()
    };
    if !cfg!(target_os = "linux") {
        return format!("{}-apple-darwin", architecture.rust);
    }
    let why = match has(MUSL_COMPILER) {
        false => "musl-tools is not installed",
        true if is_there() => return musl,
        true => "the musl target cannot be had",
    };
    println!(
        "dist: {why}; the program is built for glibc and runs only with this version or newer"
    );
    format!("{}-unknown-linux-gnu", architecture.rust)
}

fn compile(root: &Path, target: &str, epoch: u64) -> Result<PathBuf, String> {
    let cargo_home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
        .map_err(|_| "neither CARGO_HOME nor HOME is set".to_owned())?;
    // No path of this machine, and the same text wherever it is built.
    let sysroot = run_text(root, "rustc", &["--print", "sysroot"])?;
    let flags = [
        format!("--remap-path-prefix={cargo_home}=/cargo"),
        format!("--remap-path-prefix={}=/src", root.display()),
        format!("--remap-path-prefix={}=/rust", sysroot.trim()),
    ]
    .join("\u{1f}");
    let c_flags =
        format!("-ffile-prefix-map={cargo_home}=/cargo -ffile-prefix-map={}=/src", root.display());
    let folder = root.join("target");
    let folder_text = folder.to_string_lossy();
    let epoch = epoch.to_string();
    let compiler = format!("CC_{}", target.replace('-', "_"));
    let mut variables = vec![
        ("CARGO_ENCODED_RUSTFLAGS", flags.as_str()),
        ("CARGO_TARGET_DIR", &folder_text),
        ("CARGO_INCREMENTAL", "0"),
        ("SOURCE_DATE_EPOCH", &epoch),
        ("CFLAGS", &c_flags),
    ];
    if target.ends_with("-musl") {
        variables.push((&compiler, MUSL_COMPILER));
    }
    let mut words =
        vec!["build", "--locked", "--release", "--package", "windlass", "--target", target];
    if has("cargo-auditable") {
        words.insert(0, "auditable");
    } else {
        println!(
            "dist: cargo-auditable is not installed; the list of dependencies is only in the SBOM"
        );
    }
    run_with(root, "cargo", &words, &variables)?;
    Ok(folder.join(target).join("release/windlass"))
}

/// Whether the program needs no library of the system.
fn is_static(path: &Path) -> Result<bool, String> {
    let folder = path.parent().unwrap_or(path);
    if !has("readelf") {
        return Ok(false);
    }
    let text = run_bytes(folder, "readelf", &["-dW", &path.to_string_lossy()])?;
    Ok(!String::from_utf8_lossy(&text).contains("(NEEDED)"))
}
