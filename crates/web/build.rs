//! Packs the page into four files: the scripts of `assets/order.txt` are bundled, and each file is
//! compressed, so that neither the build nor the program needs anything outside this folder.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    let missing = |name: &str| io::Error::other(format!("cargo does not say {name}"));
    let root = std::env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| missing("where we are"))?;
    let out = std::env::var_os("OUT_DIR").ok_or_else(|| missing("where to write"))?;
    let (assets, out) = (PathBuf::from(root).join("assets"), PathBuf::from(out));
    println!("cargo:rerun-if-changed=assets");
    println!("cargo:rerun-if-changed=src/bundle_scripts.rs");
    let scripts = bundle_scripts::bundle_scripts(&assets)?;
    write_compressed(&out.join("app.js.gz"), scripts.as_bytes())?;
    for name in ["index.html", "style.css", "icon.svg"] {
        let bytes = std::fs::read(assets.join(name))?;
        write_compressed(&out.join(format!("{name}.gz")), &bytes)?;
    }
    Ok(())
}

#[path = "src/bundle_scripts.rs"]
mod bundle_scripts;

fn write_compressed(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    std::fs::write(path, encoder.finish()?)
}
