//! Records a rehearsal: plays a script, stands a recorder before it, and waits for an end of input.
//!
//! ```text
//! cargo run -p windlass-rehearsal --example record -- SCRIPT.toml FOLDER
//! ```
//!
//! The address it prints is the one to send requests to. This is how the cassettes of this
//! repository were made; with a real server, give its address to the recorder instead.

use std::error::Error;
use std::io::Write as _;

use windlass_rehearsal::{RecordOptions, Recorder, Rehearsal, RehearsalOptions, Script};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(script), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("two arguments are needed: the script and the folder to record into".into());
    };
    let script = Script::parse(&std::fs::read_to_string(script)?)?;
    let rehearsal = Rehearsal::start_blocking(script, RehearsalOptions::default())?;
    let recorder = Recorder::start_blocking(RecordOptions::new(rehearsal.url(), folder))?;
    println!("{}", recorder.url());
    std::io::stdout().flush()?;
    std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink())?;
    let summary = recorder.finish_blocking();
    println!("{} exchanges, {} bytes", summary.exchanges, summary.bytes);
    for unrecorded in summary.reasons {
        println!("not recorded: {unrecorded}");
    }
    Ok(())
}
