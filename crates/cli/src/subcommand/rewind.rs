//! `windlass rewind`: takes a session back to one of its prompts.

use std::path::Path;

use windlass_assembly::report::rewind::{rewind_exit, rewind_journal, undo_rewind};
use windlass_assembly::session::session_lookup::{find_rewound_session, find_session_here};
use windlass_assembly::slash_command::RewindArguments;
use windlass_driver::rewind::{OverwriteChoice, RewindOptions, RewindScope};
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;

use crate::args::RewindArgs;

pub(crate) fn run(
    args: &RewindArgs,
    lookup: &impl EnvLookup,
) -> Result<(String, Exit), CommandError> {
    let arguments = RewindArguments {
        to: args.to.clone(),
        scope: RewindScope { conversation: !args.files, files: !args.conversation },
        options: RewindOptions { dry_run: args.dry_run, overwrite: choose_overwrite(args)? },
    };
    let wanted = args.session.as_deref();
    let (text, object) = if args.undo {
        let listed = find_rewound_session(wanted, lookup)?;
        undo_rewind(&listed.path, &arguments, lookup)?
    } else {
        let listed = find_session_here(wanted, lookup)?;
        rewind_journal(&listed.path, &listed.summary.id, &arguments, lookup)?
    };
    let exit = rewind_exit(&object);
    Ok((if args.json { format!("{object}\n") } else { text }, exit))
}

fn choose_overwrite(args: &RewindArgs) -> Result<OverwriteChoice, CommandError> {
    if args.overwrite {
        return Ok(OverwriteChoice::All);
    }
    if args.overwrite_file.is_empty() {
        return Ok(if args.skip_changed { OverwriteChoice::Skip } else { OverwriteChoice::Refuse });
    }
    let mut files = Vec::new();
    for path in &args.overwrite_file {
        let absolute = std::path::absolute(path);
        files.push(absolute.map_err(|error| CommandError::failure(error.to_string()))?);
        // The folder may be called by a link.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize();
        files.extend(folder.ok().zip(path.file_name()).map(|(folder, name)| folder.join(name)));
    }
    Ok(OverwriteChoice::Files(files))
}
