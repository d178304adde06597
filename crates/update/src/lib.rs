//! `windlass update`: a newer version beside the old one, and then one rename.
//!
//! Only copies that `install.sh` put into a folder of versions are changed. Any other belongs to a package
//! manager, whose command is printed. Nothing here runs unless it is asked for, and nothing that was
//! downloaded runs before its size and checksum are right.

mod download;
mod installation;
mod manifest;
mod release_version;
mod versions_folder;

use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;

use download::ReleaseServer;
pub use installation::Installation;
use release_version::ReleaseVersion;
use versions_folder::VersionsFolder;

/// Where releases are, in the form of a project's release page on GitHub.
pub const RELEASES_VARIABLE: &str = "WINDLASS_RELEASES_URL";
/// Set by administrators who update by other means.
const SWITCH_VARIABLE: &str = "DISABLE_UPDATES";

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct UpdateOptions {
    /// Only say whether there is a newer version.
    pub is_check: bool,
    /// This version instead of the newest.
    pub version: Option<String>,
}

/// Returns what to print.
///
/// # Errors
///
/// When this copy is not ours to change, when the release cannot be had whole, or when the disk refuses.
/// The installed version is untouched then.
pub async fn run(
    options: UpdateOptions,
    running: &str,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    if lookup(SWITCH_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0") {
        return Err(CommandError::failure(format!("updates are switched off ({SWITCH_VARIABLE})")));
    }
    let running = ReleaseVersion::parse(running).map_err(CommandError::failure)?;
    let wanted = options.version.as_deref().map(ReleaseVersion::parse).transpose();
    let wanted = wanted.map_err(CommandError::usage)?;
    let installation = Installation::find(lookup);
    let folder = match installation {
        Installation::VersionsFolder(folder) => VersionsFolder::new(folder),
        Installation::Debian
        | Installation::Npm
        | Installation::PythonTool(_)
        | Installation::Python
        | Installation::Cargo
        | Installation::Checkout
        | Installation::Image
        | Installation::Unknown(_) => return Err(CommandError::failure(installation.describe())),
    };
    if let Some(wanted) = wanted.as_ref().filter(|wanted| folder.has(wanted) && !options.is_check) {
        let _lock = folder.lock()?;
        folder.switch_to(wanted)?;
        return Ok(format!("{running} → {wanted}, which was already installed\n"));
    }
    let server = ReleaseServer::find(lookup)?;
    let release = server.fetch_manifest(wanted.as_ref()).await?;
    if wanted.is_none() && release.version <= running {
        return Ok(format!("{running} is up to date\n"));
    }
    if options.is_check {
        return Ok(format!(
            "{} is available, this is {running}; to update: windlass update\n",
            release.version
        ));
    }
    let _lock = folder.lock()?;
    let begun = folder.begin()?;
    server.download(&release, &begun.packed_file()).await?;
    begun.unpack()?;
    begun.check_version(&release.version).await?;
    folder.keep(&begun, &release.version)?;
    folder.switch_to(&release.version)?;
    Ok(format!("{running} → {}; to go back: windlass update {running}\n", release.version))
}
