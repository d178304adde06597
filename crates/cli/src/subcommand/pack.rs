//! `windlass pack` and `windlass unpack`: a session in one file.

use std::path::PathBuf;

use serde_json::json;
use windlass_assembly::session::session_lookup::find_session_here;
use windlass_assembly::session::session_pack::{pack_session, unpack_session};
use windlass_host::command_error::CommandError;
use windlass_host::display::human_format::{format_count, format_counted};
use windlass_host::environment::EnvLookup;

use crate::args::{PackArgs, UnpackArgs};
use crate::words;

pub(crate) fn run_pack(args: &PackArgs, lookup: &impl EnvLookup) -> Result<String, CommandError> {
    let listed = find_session_here(args.session.as_deref(), lookup)?;
    let id = &listed.summary.id;
    let file = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{id}.windlass")));
    let packed = pack_session(&listed, &file, !args.no_files, lookup)?;
    if args.json {
        let object = json!({
            "session_id": id, "file": packed.file, "bytes": packed.bytes,
            "session_files": packed.session_files,
            "contents": packed.workspace.as_ref().map(|packed| packed.contents),
            "left_out": packed.workspace.as_ref().map(|packed| &packed.refused),
        });
        return Ok(format!("{object}\n"));
    }
    let kib = format_count(packed.bytes.div_ceil(1_024));
    let files = match &packed.workspace {
        Some(packed) => words::describe_packed_contents(&format_count(packed.contents)),
        None => words::PACKED_WITHOUT_FILES.to_owned(),
    };
    let refused = packed.workspace.map(|packed| packed.refused).unwrap_or_default();
    let left_out = match refused.is_empty() {
        true => String::new(),
        false => words::describe_left_out_files(&refused.join(", ")),
    };
    Ok(words::describe_packed(id, &files, &packed.file.display(), &kib) + &left_out)
}

pub(crate) fn run_unpack(
    args: &UnpackArgs,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let unpacked = unpack_session(&args.file, args.into.as_deref(), lookup)?;
    let directory = unpacked.directory.display();
    let files = unpacked.copied.as_ref().map_or(0, |copied| copied.files);
    if args.json {
        let object = json!({
            "session_id": unpacked.id, "directory": unpacked.directory, "files": files,
        });
        return Ok(format!("{object}\n"));
    }
    let next = words::describe_resume_in(&directory, &unpacked.id);
    Ok(words::describe_unpacked(&unpacked.id, &format_counted(files, "file"))
        + &words::describe_next_command(&next))
}
