//! The usual paths of keys. No mode opens them, whatever the working directories are: reading them
//! asks, and commands that run unasked do not see them.
//!
//! Names only: a path that does not exist needs no protection, and nothing is opened here. Credentials
//! of package managers are in the list although their programs use them: without network access
//! they need no key, and with it the user should be asked.

use std::path::{Path, PathBuf};

/// Relative to the home directory.
const HOME_SECRETS: &[&str] = &[
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
    ".cache/huggingface/stored_tokens",
    ".cache/BraveSoftware",
    ".cache/chromium",
    ".cache/google-chrome",
    ".cache/mozilla",
    ".cache/thunderbird",
    ".config/fish/fish_variables",
    ".dotnet/corefx",
    ".ivy2/.credentials",
    ".julia/servers",
    ".local/share/uv/credentials",
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

/// Keys of the machine, which only root can read anyway.
pub const SYSTEM_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/var/lib/sss/secrets",
    "/var/run/secrets",
    "/run/secrets",
    "/run/credentials",
];

/// The usual paths of keys in a home directory.
#[must_use]
pub fn list_home_secrets(home: &Path) -> Vec<PathBuf> {
    HOME_SECRETS.iter().map(|name| home.join(name)).collect()
}

/// The path in the list that is or contains this one. Names are compared without regard to case,
/// because some file systems do so.
pub(crate) fn find_secret_place(path: &Path, homes: &[PathBuf]) -> Option<PathBuf> {
    if let Some(place) = SYSTEM_SECRETS.iter().find(|place| path.starts_with(place)) {
        return Some(PathBuf::from(place));
    }
    let usual = find_usual_home(path);
    homes.iter().map(PathBuf::as_path).chain(usual.as_deref()).find_map(|home| {
        let rest = path.strip_prefix(home).ok()?.to_str()?;
        if !rest.starts_with('.') {
            return None;
        }
        let rest = rest.to_lowercase();
        let is_place = |place: &&&str| Path::new(&rest).starts_with(place);
        HOME_SECRETS.iter().find(is_place).map(|place| home.join(place))
    })
}

/// Is something of the list at or below this path?
pub(crate) fn holds_secrets(path: &Path, homes: &[PathBuf]) -> bool {
    let is_above = |home: &PathBuf| {
        home.starts_with(path)
            || path.starts_with(home)
                && HOME_SECRETS.iter().any(|place| home.join(place).starts_with(path))
    };
    homes.iter().any(is_above) || SYSTEM_SECRETS.iter().any(|it| Path::new(it).starts_with(path))
}

/// The home directory of another user that a path leads into, by its spelling.
fn find_usual_home(path: &Path) -> Option<PathBuf> {
    if path.starts_with("/root") {
        return Some(PathBuf::from("/root"));
    }
    let is_parent = |parent: &&&str| path.starts_with(parent);
    let parent = ["/home", "/Users"].iter().find(is_parent)?;
    let name = path.strip_prefix(parent).ok()?.components().next()?;
    Some(Path::new(parent).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_by_name_in_every_home() {
        let homes = [PathBuf::from("/data/me")];
        for (path, place) in [
            ("/data/me/.ssh", Some("/data/me/.ssh")),
            ("/data/me/.SSH/id_rsa", Some("/data/me/.ssh")),
            ("/home/other/.config/gh/hosts.yml", Some("/home/other/.config/gh")),
            ("/Users/other/.netrc", Some("/Users/other/.netrc")),
            ("/etc/shadow", Some("/etc/shadow")),
            ("/data/me/.sshd", None),
            ("/data/me/w/.ssh/id_rsa", None),
            ("/data/other/.netrc", None),
            ("/etc/passwd", None),
        ] {
            let found = find_secret_place(Path::new(path), &homes);
            assert_eq!(found.as_deref(), place.map(Path::new), "{path}");
        }
        for (path, is_above) in [
            ("/", true),
            ("/data", true),
            ("/data/me", true),
            ("/data/me/.config", true),
            ("/etc", true),
            ("/data/me/w", false),
            ("/usr", false),
        ] {
            assert_eq!(holds_secrets(Path::new(path), &homes), is_above, "{path}");
        }
    }
}
