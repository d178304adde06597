//! The package for Debian and Ubuntu, put together by `dpkg-deb` alone.

use std::fs;

use super::pages::{LICENCES, completions_folder, copy, files_of, manual_folder, set_mode, write};
use super::{DESCRIPTION, DistPlan, SUMMARY};
use crate::program::{has, run_bytes, run_text, run_with};

/// The oldest C library that the program was ever seen to run with, where it is not static.
const GLIBC: &str = "libc6 (>= 2.34), libgcc-s1";

pub(super) fn make(plan: &DistPlan) -> Result<(), String> {
    if !has("dpkg-deb") {
        println!("dist: no .deb: dpkg-deb is not installed");
        return Ok(());
    }
    let root = plan.folder("deb")?;
    let arch = plan.program.architecture.debian;
    copy(&plan.program.path, &root.join("usr/bin/windlass"))?;
    set_mode(&root.join("usr/bin/windlass"), 0o755)?;
    let completions = completions_folder(plan);
    for (file, to) in [
        ("windlass.bash", "usr/share/bash-completion/completions/windlass"),
        ("_windlass", "usr/share/zsh/vendor-completions/_windlass"),
        ("windlass.fish", "usr/share/fish/vendor_completions.d/windlass.fish"),
    ] {
        copy(&completions.join(file), &root.join(to))?;
    }
    for page in files_of(&manual_folder(plan))? {
        let packed = run_bytes(&plan.root, "gzip", &["-n9c", &page.to_string_lossy()])?;
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        let folder = root.join("usr/share/man/man1");
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        fs::write(folder.join(format!("{name}.gz")), packed).map_err(|error| error.to_string())?;
    }
    let documents = root.join("usr/share/doc/windlass");
    write(&documents.join("copyright"), &copyright(plan)?)?;
    let changelog = plan.scratch.join("changelog");
    let date = format!("@{}", plan.epoch);
    let date = run_text(&plan.root, "date", &["--utc", "--rfc-email", "--date", &date])?;
    write(
        &changelog,
        &format!(
            "windlass ({}) unstable; urgency=medium\n\n  * See CHANGELOG.md of the source.\n\n \
         -- Windlass <windlass@localhost>  {}\n",
            plan.version,
            date.trim()
        ),
    )?;
    let packed = run_bytes(&plan.root, "gzip", &["-n9c", &changelog.to_string_lossy()])?;
    fs::write(documents.join("changelog.gz"), packed).map_err(|error| error.to_string())?;
    write(&root.join("DEBIAN/control"), &control(plan, installed_kilobytes(&root)?))?;
    let file = plan.out.join(format!("windlass_{}_{arch}.deb", plan.version));
    let words = ["--root-owner-group", "-Zxz", "--build", "deb", &file.to_string_lossy()];
    let epoch = plan.epoch.to_string();
    run_with(&plan.scratch, "chmod", &["-R", "u=rwX,go=rX", "deb"], &[])?;
    run_with(&plan.scratch, "dpkg-deb", &words, &[("SOURCE_DATE_EPOCH", &epoch)])
}

fn control(plan: &DistPlan, kilobytes: u64) -> String {
    let depends = match plan.program.is_static {
        true => String::new(),
        false => format!("Depends: {GLIBC}\n"),
    };
    format!(
        "Package: windlass\nVersion: {}\nArchitecture: {}\nMaintainer: Windlass <windlass@localhost>\n\
         Installed-Size: {kilobytes}\n{depends}Recommends: git, bubblewrap, ca-certificates\n\
         Suggests: ripgrep\nSection: devel\nPriority: optional\nDescription: {}\n {}\n",
        plan.version,
        plan.program.architecture.debian,
        SUMMARY.to_lowercase().trim_start_matches("a "),
        DESCRIPTION.replace(": ", ":\n "),
    )
}

fn installed_kilobytes(root: &std::path::Path) -> Result<u64, String> {
    let text = run_text(root, "du", &["-sk", "--apparent-size", "."])?;
    let number = text.split_whitespace().next().and_then(|word| word.parse().ok());
    number.ok_or_else(|| format!("du said `{text}`"))
}

/// The shorter licence whole; Debian has the other.
fn copyright(plan: &DistPlan) -> Result<String, String> {
    let mut text = "Copyright: the authors of Windlass\nLicense: MIT or Apache-2.0, at your choice.\n\
                    On Debian systems the Apache licence is also in /usr/share/common-licenses/Apache-2.0.\n"
        .to_owned();
    for name in LICENCES.iter().take(1) {
        text.push('\n');
        text.push_str(
            &fs::read_to_string(plan.root.join(name)).map_err(|error| error.to_string())?,
        );
    }
    Ok(text)
}
