//! The container image from `deploy/Dockerfile`, as an archive that every engine loads. Where its base
//! cannot be pulled, the image holds the program alone, for others to copy it from.

use super::DistPlan;
use super::pages::{copy, set_mode};
use crate::program::{has, run_text, run_with};

const DOCKERFILE: &str = "deploy/Dockerfile";
/// Works without a daemon and without rights over the machine's namespaces.
const VARIABLES: &[(&str, &str)] = &[("STORAGE_DRIVER", "vfs"), ("BUILDAH_ISOLATION", "chroot")];

pub(super) fn make(plan: &DistPlan) -> Result<(), String> {
    if !has("buildah") {
        println!("dist: no image: buildah is not installed");
        return Ok(());
    }
    if !plan.program.is_static {
        println!("dist: no image: the program needs the libraries of this machine");
        return Ok(());
    }
    let folder = plan.folder("image")?;
    copy(&plan.program.path, &folder.join("windlass"))?;
    set_mode(&folder.join("windlass"), 0o755)?;
    copy(&plan.root.join(DOCKERFILE), &folder.join("Dockerfile"))?;
    let tag = format!("localhost/windlass:{}", plan.version);
    let epoch = plan.epoch.to_string();
    let build = |stage: &str| {
        let words =
            ["bud", "--quiet", "--timestamp", &epoch, "--target", stage, "--tag", &tag, "."];
        run_with(&folder, "buildah", &words, VARIABLES)
    };
    if build("agent").is_err() {
        println!("dist: the base image cannot be pulled; the image has only the program in it");
        build("program")?;
    }
    let arch = plan.program.architecture.debian;
    let file = plan.out.join(format!("windlass-{}-{arch}.oci.tar", plan.version));
    let to = format!("oci-archive:{}:{tag}", file.display());
    run_with(&folder, "buildah", &["push", "--quiet", &tag, &to], VARIABLES)?;
    let listed = run_text(&folder, "tar", &["-tf", &file.to_string_lossy()])?;
    match listed.contains("index.json") {
        true => Ok(()),
        false => Err("the archive has no index".to_owned()),
    }
}
