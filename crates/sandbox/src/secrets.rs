//! Usual paths of keys. Hidden from sandboxed commands, with or without a rule.
//!
//! Names only: a path that does not exist needs no hiding, and nothing is opened here. Credentials
//! of package managers are in the list although their programs use them: without network access
//! they need no key, and with it the user should be asked.

use std::path::{Path, PathBuf};

/// Relative to the home directory.
const OF_HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".config/sops",
    ".config/age",
    ".config/rclone",
    ".config/windlass",
    ".config/containers/auth.json",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".local/share/pass",
    ".password-store",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".thunderbird",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".config/git/credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".cache/huggingface/token",
    ".gradle/gradle.properties",
    ".local/state/windlass",
    ".cache/windlass",
    ".gem/credentials",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".boto",
    ".s3cfg",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
];

/// Relative to the home directory: programs, libraries, caches, and git's settings. Anything else
/// there may contain a token.
const TOOLCHAINS: &[&str] = &[
    ".asdf",
    ".bun",
    ".cabal",
    ".cache",
    ".cargo",
    ".config/fish",
    ".config/git",
    ".conda",
    ".deno",
    ".dotnet",
    ".elan",
    ".fnm",
    ".ghcup",
    ".gitconfig",
    ".go",
    ".gradle",
    ".ivy2",
    ".julia",
    ".jenv",
    ".juliaup",
    ".local/bin",
    ".local/include",
    ".local/lib",
    ".local/lib64",
    ".local/opt",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pnpm",
    ".local/share/pypoetry",
    ".local/share/rtx",
    ".local/share/uv",
    ".local/share/virtualenvs",
    ".m2/repository",
    ".miniconda3",
    ".mix",
    ".nix-profile",
    ".node-gyp",
    ".npm",
    ".npm-global",
    ".nuget/packages",
    ".nvm",
    ".nvs",
    ".opam",
    ".pnpm-store",
    ".poetry/bin",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".stack",
    ".swiftpm",
    ".volta",
    ".yarn",
    ".zvm",
    "anaconda3",
    "bin",
    "go",
    "miniconda3",
    "miniforge3",
    "sdk",
];

/// What a sandboxed command can see of a home directory; the paths need not exist.
#[must_use]
pub fn list_home_toolchains(home: &Path) -> Vec<PathBuf> {
    TOOLCHAINS.iter().map(|name| home.join(name)).collect()
}

/// The usual paths of keys in a home directory.
#[must_use]
pub fn list_home_secrets(home: &Path) -> Vec<PathBuf> {
    OF_HOME.iter().map(|name| home.join(name)).collect()
}
