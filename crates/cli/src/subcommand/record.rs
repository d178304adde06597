//! `windlass record`: stands between a command and a real model server, passes everything on, and
//! writes it down, scrubbed. `windlass rehearse --cassette` plays it again.
//!
//! One provider is recorded at a time: the address of every other stays as it is, so that no key
//! ever goes to another provider than its own.

use windlass_rehearsal::cassette::Summary;
use windlass_rehearsal::{RecordOptions, Recorder};
use windlass_vocabulary::Wire;

use super::{child, scene};
use crate::args::RecordArgs;
use crate::choice;
use crate::config::Config;
use crate::environment::Lookup;
use crate::exit::Exit;
use crate::front::beside;
use crate::front::output::{Output, Target};
use crate::front::unless_signalled;
use crate::front::words::count;
use crate::refusal::{Refusal, one_line};
use crate::server;
use crate::signals::Signals;

/// Records until told to stop, or until the command has ended.
pub(crate) async fn run(
    args: RecordArgs,
    lookup: impl Lookup + Copy + Send + 'static,
) -> Result<Exit, Refusal> {
    let config = Config::load(&lookup)?;
    let name = match &args.provider {
        Some(name) => choice::provider(name, &config)?,
        None => choice::default_provider(&config),
    };
    let provider = config.providers.get(&name).cloned().unwrap_or_default();
    let upstream = match &args.upstream {
        Some(url) => server::without_version(url, provider.wire.unwrap_or(Wire::AnthropicMessages)),
        None => server::base_url(&name, &config, &lookup)?,
    };
    let mut signals = Signals::listen()?;
    let kept = {
        let (name, upstream, config) = (name.clone(), upstream.clone(), config.clone());
        let look = move || Ok(server::kept_key(&name, &upstream, &config, &lookup));
        match beside(&mut signals, look).await? {
            Ok(kept) => kept,
            Err(signal) => return Ok(signal.exit()),
        }
    };
    let mut scrub = scene::scrub(&config, &lookup);
    if let Some(key) = &kept {
        scrub = scrub.secret(key);
    }
    let mut options = RecordOptions::new(upstream, &args.out).scrub(scrub);
    options.port = args.port;
    let recorder = Recorder::start(options)
        .await
        .map_err(|error| Refusal::usage(format!("{error}; see windlass record --help")))?;
    let url = recorder.url();
    let exit = match child::command(&args.command) {
        Some(mut command) => {
            scene::lead(&mut command, &provider, &url);
            // A key of the key ring is for the real address alone; here it only passes through.
            if let (Some(variable), Some(key)) = (provider.key_env.first(), kept) {
                command.env(variable, key);
            }
            child::run(command, &mut signals, std::future::pending()).await?
        }
        None => {
            let mut output = Output::new(Target::Stdout);
            let exports = scene::exports(&provider, &url).join(" ");
            let _ = output.write(format!(
                "Recording {name} at {url}. Ctrl-C ends it. In another terminal:\nexport {exports}\n"
            ));
            let signal = signals.next().await;
            let _ = unless_signalled(&mut signals, output.finish()).await;
            signal.exit()
        }
    };
    let summary = recorder.finished().await;
    let mut output = Output::new(Target::Stderr);
    // If nobody reads it, the recording is there all the same.
    let _ = output.write(told(&summary, &args));
    let _ = unless_signalled(&mut signals, output.finish()).await;
    Ok(exit)
}

fn told(summary: &Summary, args: &RecordArgs) -> String {
    let Summary { exchanges, bytes, scrubbed, unrecorded, reasons } = summary;
    let place = args.out.display();
    let mut text = match exchanges {
        0 => format!(
            "windlass: nothing was recorded in {place}; if the command asked another provider, name \
             it with --provider\n"
        ),
        _ => format!(
            "windlass: recorded {exchanges} exchanges in {place}, {} bytes, {scrubbed} values \
             replaced; read them before you pass them on\n",
            count(*bytes)
        ),
    };
    for reason in reasons {
        text.push_str(&format!("windlass: not recorded: {}\n", one_line(&reason.to_string())));
    }
    let more = unrecorded.saturating_sub(reasons.len());
    if more > 0 {
        text.push_str(&format!("windlass: and {more} more were not recorded\n"));
    }
    text
}
