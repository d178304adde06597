//! How this copy came here, by where it lies. Only a folder of versions is ours to change; whatever else
//! was put here by a package manager, and a copy that changes behind its back breaks at the next upgrade.

use std::path::{Path, PathBuf};

use windlass_host::environment::EnvLookup;

use crate::release_version::ReleaseVersion;

/// Set in the image, where no path tells.
const IMAGE_VARIABLE: &str = "WINDLASS_IMAGE";

/// Who installed this copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installation {
    /// `install.sh`, in this folder.
    VersionsFolder(PathBuf),
    /// The package of Debian and Ubuntu.
    Debian,
    /// An npm package.
    Npm,
    /// A Python package in its own environment, by the tool that made it.
    PythonTool(&'static str),
    /// A Python package.
    Python,
    /// `cargo install`.
    Cargo,
    /// A build in a checkout.
    Checkout,
    /// A container image.
    Image,
    /// By hand.
    Unknown(PathBuf),
}

impl Installation {
    pub fn find(lookup: &impl EnvLookup) -> Self {
        let is_image = lookup(IMAGE_VARIABLE).is_some_and(|value| !value.is_empty());
        match std::env::current_exe().and_then(|path| path.canonicalize()) {
            Ok(_) if is_image => Self::Image,
            Ok(path) => Self::from_path(&path),
            Err(_) => Self::Unknown(PathBuf::from("windlass")),
        }
    }

    fn from_path(program: &Path) -> Self {
        let parts: Vec<_> =
            program.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        let has = |name: &str| parts.iter().any(|part| part == name);
        let has_pair = |first: &str, second: &str| {
            parts.windows(2).any(|pair| matches!(pair, [a, b] if a == first && b == second))
        };
        if let Some(folder) = find_versions_folder(program) {
            return Self::VersionsFolder(folder);
        }
        if has("node_modules") {
            return Self::Npm;
        }
        if has_pair("pipx", "venvs") {
            return Self::PythonTool("pipx upgrade windlass-agent");
        }
        if has_pair("uv", "tools") {
            return Self::PythonTool("uv tool upgrade windlass-agent");
        }
        if is_python_script(program) {
            return Self::Python;
        }
        if has_pair(".cargo", "bin") {
            return Self::Cargo;
        }
        if has("target") && (has("debug") || has("release")) {
            return Self::Checkout;
        }
        let is_listed = Path::new("/var/lib/dpkg/info/windlass.list").exists();
        if program == Path::new("/usr/bin/windlass") && is_listed {
            return Self::Debian;
        }
        Self::Unknown(program.to_owned())
    }

    /// Why it is not updated here, and what to do instead.
    pub fn describe(&self) -> String {
        let (who, command) = match self {
            Self::VersionsFolder(_) => ("install.sh", "windlass update"),
            Self::Debian => ("dpkg", "sudo apt-get install --only-upgrade windlass"),
            Self::Npm => ("npm", "npm install -g windlass-agent@latest"),
            Self::PythonTool(command) => ("a tool for Python packages", *command),
            Self::Python => ("pip", "pip install --upgrade windlass-agent"),
            Self::Cargo => ("cargo", "git pull && cargo install --locked --path crates/cli"),
            Self::Checkout => ("a build in a checkout", "git pull && cargo build --release"),
            Self::Image => ("a container image", "pull the newer image and start it"),
            Self::Unknown(path) => {
                return format!(
                    "{} was not installed by install.sh, so it is left alone; update it the way you installed it",
                    path.display()
                );
            }
        };
        format!("this copy comes from {who}; to update it: {command}")
    }
}

/// `…/versions/1.2.3/windlass`, with `…/versions/current` beside it.
fn find_versions_folder(program: &Path) -> Option<PathBuf> {
    let version = program.parent()?;
    ReleaseVersion::parse(&version.file_name()?.to_string_lossy()).ok()?;
    let folder = version.parent().filter(|folder| folder.ends_with("windlass/versions"))?;
    folder.join("current").is_symlink().then(|| folder.to_owned())
}

/// `prefix/bin/windlass` with `prefix/lib/python3.x/site-packages/windlass_agent-….dist-info`.
fn is_python_script(program: &Path) -> bool {
    let Some(prefix) = program.parent().and_then(Path::parent) else {
        return false;
    };
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let packages = |python: &Path| {
        ["site-packages", "dist-packages"].map(|name| python.join(name)).into_iter()
    };
    entries(&prefix.join("lib"))
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
        .flat_map(|python| packages(&python.path()))
        .flat_map(|folder| entries(&folder).collect::<Vec<_>>())
        .any(|entry| entry.file_name().to_string_lossy().starts_with("windlass_agent-"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test says no")]
mod tests {
    use super::*;

    #[test]
    fn the_path_tells_who_installed_it() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let versions = root.join("windlass/versions");
        std::fs::create_dir_all(versions.join("1.2.3")).unwrap();
        let program = versions.join("1.2.3/windlass");
        // Without the link it only looks like one.
        assert!(matches!(Installation::from_path(&program), Installation::Unknown(_)));
        std::os::unix::fs::symlink("1.2.3", versions.join("current")).unwrap();
        assert_eq!(Installation::from_path(&program), Installation::VersionsFolder(versions));
        let packages = root.join("env/lib/python3.11/site-packages/windlass_agent-0.1.0.dist-info");
        std::fs::create_dir_all(packages).unwrap();
        assert_eq!(Installation::from_path(&root.join("env/bin/windlass")), Installation::Python);
        for (path, expected) in [
            ("/usr/lib/node_modules/windlass-agent-linux-x64/windlass", Installation::Npm),
            ("/home/a/.cargo/bin/windlass", Installation::Cargo),
            ("/home/a/src/target/release/windlass", Installation::Checkout),
            ("/opt/windlass", Installation::Unknown("/opt/windlass".into())),
        ] {
            let found = Installation::from_path(Path::new(path));
            assert_eq!(found, expected);
            assert!(found.describe().lines().count() == 1);
        }
        let tool = "/home/a/.local/share/uv/tools/windlass-agent/bin/windlass";
        assert!(Installation::from_path(Path::new(tool)).describe().contains("uv tool upgrade"));
    }
}
