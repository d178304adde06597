//! Two npm packages: the program for one platform, and a launcher that depends on it. Nothing is
//! downloaded after the installation.

use serde_json::json;

use super::archive::pack;
use super::pages::{LICENCES, copy, set_mode, write};
use crate::json::put;

use super::{DistPlan, PACKAGE_NAME, SUMMARY};

const LAUNCHER: &str = include_str!("launcher.js");

pub(super) fn make(plan: &DistPlan) -> Result<(), String> {
    let os = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    let cpu = plan.program.architecture.node;
    let platform = format!("{PACKAGE_NAME}-{os}-{cpu}");
    let version = &plan.version;

    let folder = plan.folder(&format!("npm/{platform}"))?;
    let inside = folder.join("package");
    copy(&plan.program.path, &inside.join("windlass"))?;
    set_mode(&inside.join("windlass"), 0o755)?;
    let mut facts = json!({
        "name": platform, "version": version, "license": "MIT OR Apache-2.0",
        "description": format!("{SUMMARY}: the program for {os} on {cpu}"),
        "os": [os], "cpu": [cpu], "preferUnplugged": true,
    });
    if os == "linux" && !plan.program.is_static {
        put(&mut facts, "libc", json!(["glibc"]));
    }
    write(&inside.join("package.json"), &format!("{facts:#}\n"))?;
    finish(plan, &platform)?;

    let inside = plan.folder(&format!("npm/{PACKAGE_NAME}"))?.join("package");
    let launcher = LAUNCHER.replace("PACKAGE_NAME", PACKAGE_NAME);
    write(&inside.join("bin/windlass.js"), &launcher)?;
    set_mode(&inside.join("bin/windlass.js"), 0o755)?;
    copy(&plan.root.join("README.md"), &inside.join("README.md"))?;
    let facts = json!({
        "name": PACKAGE_NAME, "version": version, "license": "MIT OR Apache-2.0",
        "description": SUMMARY, "bin": {"windlass": "bin/windlass.js"},
        "engines": {"node": ">=16"}, "optionalDependencies": {platform: version},
    });
    write(&inside.join("package.json"), &format!("{facts:#}\n"))?;
    finish(plan, PACKAGE_NAME)
}

fn finish(plan: &DistPlan, name: &str) -> Result<(), String> {
    let folder = plan.scratch.join("npm").join(name);
    for licence in LICENCES {
        copy(&plan.root.join(licence), &folder.join("package").join(licence))?;
    }
    pack(plan, &folder, "package", &plan.out.join(format!("{name}-{}.tgz", plan.version)))
}
