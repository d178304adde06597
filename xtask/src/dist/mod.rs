//! `cargo xtask dist`: everything that is handed to people, from a clean clone into `target/dist`.
//!
//! The program is built once, for musl where that target can be had, and every package holds the same
//! bytes. Nothing here asks for the time or the machine's name: the same commit gives the same files.

mod archive;
mod build;
mod checksums;
mod debian;
mod image;
mod npm;
mod pages;
mod sbom;
mod wheel;
mod zip;

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::run_text;
use build::BuiltProgram;

/// What the packages are called where `windlass` is taken.
const PACKAGE_NAME: &str = "windlass-agent";
const SUMMARY: &str = "A coding agent you can leave alone";
const DESCRIPTION: &str = "Asks a model, runs the tools it wants, and stops for a reason it can name: \
                           within its limits, without losing work, in a sandbox.";

/// One thing to hand out.
struct DistPart {
    name: &'static str,
    make: fn(&DistPlan) -> Result<(), String>,
}

const PARTS: &[DistPart] = &[
    DistPart { name: "archive", make: archive::make },
    DistPart { name: "deb", make: debian::make },
    DistPart { name: "wheel", make: wheel::make },
    DistPart { name: "npm", make: npm::make },
    DistPart { name: "image", make: image::make },
    DistPart { name: "sbom", make: sbom::make },
];

/// What was asked for.
#[derive(Debug, Default)]
pub struct DistOptions {
    /// Only this part.
    pub only: Option<String>,
    /// A program that was built elsewhere.
    pub binary: Option<PathBuf>,
    /// Build the program a second time from a clone in another folder and compare.
    pub is_twice: bool,
}

impl DistOptions {
    /// Reads the words behind `cargo xtask dist`.
    ///
    /// # Errors
    ///
    /// When a word is not known; the line says which are.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match *word {
                "--only" => options.only = Some(value_of(word, rest.next())?.to_owned()),
                "--binary" => options.binary = Some(value_of(word, rest.next())?.into()),
                "--twice" => options.is_twice = true,
                other => return Err(format!("`{other}` is not known; {USAGE}")),
            }
        }
        if options.is_twice && options.binary.is_some() {
            return Err("--twice needs a program that is built here".to_owned());
        }
        let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        match &options.only {
            Some(only) if !names.contains(&only.as_str()) => {
                Err(format!("there is no part `{only}`; there are {}", names.join(", ")))
            }
            _ => Ok(options),
        }
    }
}

fn value_of<'a>(flag: &str, value: Option<&&'a str>) -> Result<&'a str, String> {
    value.copied().ok_or_else(|| format!("{flag} needs a value; {USAGE}"))
}

/// How it is called.
pub const USAGE: &str = "cargo xtask dist [--only PART] [--binary PROGRAM] [--twice]";

/// What every part needs to know.
struct DistPlan {
    root: PathBuf,
    /// Where finished files go.
    out: PathBuf,
    /// Where parts are put together; emptied at each start.
    scratch: PathBuf,
    version: String,
    /// The time of the commit, for every date in every file.
    epoch: u64,
    program: BuiltProgram,
}

impl DistPlan {
    /// A new, empty folder to put something together in.
    fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.scratch.join(name);
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }
}

/// Makes the parts and the lists of checksums.
///
/// # Errors
///
/// In one line, when a part cannot be made.
pub fn run(root: &Path, options: &DistOptions) -> Result<(), String> {
    let root = root.canonicalize().map_err(|error| error.to_string())?;
    let out = root.join("target/dist");
    let scratch = root.join("target/dist.scratch");
    let given = options.binary.as_ref().map(|path| path.canonicalize()).transpose();
    let given = given.map_err(|error| format!("--binary: {error}"))?;
    if given.is_some_and(|path| path.starts_with(&out)) {
        return Err(format!("--binary: {} is emptied first; copy it elsewhere", out.display()));
    }
    for folder in [&out, &scratch] {
        if folder.exists() && (options.only.is_none() || folder == &scratch) {
            fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let epoch = run_text(&root, "git", &["log", "-1", "--format=%ct"])?;
    let epoch = epoch.trim().parse().map_err(|_| format!("git said `{epoch}` for a time"))?;
    let program = match &options.binary {
        Some(path) => BuiltProgram::given(path, &out)?,
        None => BuiltProgram::build(&root, &out, epoch, options.is_twice)?,
    };
    let version = read_version(&root)?;
    let plan = DistPlan { root, out, scratch, version, epoch, program };
    pages::make(&plan)?;
    let wanted = |part: &&DistPart| options.only.as_deref().is_none_or(|only| only == part.name);
    for part in PARTS.iter().filter(wanted) {
        println!("dist: {}", part.name);
        (part.make)(&plan).map_err(|why| format!("{}: {why}", part.name))?;
    }
    checksums::make(&plan)?;
    println!("dist: in {}", plan.out.display());
    Ok(())
}

fn read_version(root: &Path) -> Result<String, String> {
    let text = fs::read_to_string(root.join("Cargo.toml")).map_err(|error| error.to_string())?;
    let table = text.parse::<toml::Table>().map_err(|error| error.to_string())?;
    let version = table.get("workspace").and_then(|one| one.get("package")?.get("version"));
    version
        .and_then(toml::Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| "Cargo.toml has no version".to_owned())
}
