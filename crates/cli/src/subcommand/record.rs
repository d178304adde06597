//! `windlass record`: stands between a command and a real model server, passes everything on, and
//! writes it down, scrubbed. `windlass rehearse --cassette` plays it again.
//!
//! One provider is recorded at a time: the address of every other stays as it is, so that no key
//! ever goes to another provider than its own.

use windlass_rehearsal::cassette::RecordSummary;
use windlass_rehearsal::{RecordOptions, Recorder};
use windlass_vocabulary::WireFormat;

use super::{child_command, provider_redirect};
use crate::args::RecordArgs;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::human_format::format_count;
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;
use windlass_host::signals::SignalListener;
use windlass_host::signals::await_unless_signalled;
use windlass_host::signals::run_blocking_unless_signalled;
use windlass_provider::config::Config;
use windlass_provider::model_choice;
use windlass_provider::{base_url, endpoint};
use windlass_stream_json::output_writer::{OutputTarget, OutputWriter};

/// Records until told to stop, or until the command has ended.
pub(crate) async fn run(
    args: RecordArgs,
    lookup: impl EnvLookup + Copy + Send + 'static,
) -> Result<Exit, CommandError> {
    let config = Config::load(&lookup)?;
    let name = match &args.provider {
        Some(name) => model_choice::check_provider_name(name, &config)?,
        None => model_choice::default_provider(&config),
    };
    let provider = config.providers.get(&name).cloned().unwrap_or_default();
    let upstream = match &args.upstream {
        Some(url) => {
            base_url::strip_version(url, provider.wire.unwrap_or(WireFormat::AnthropicMessages))
        }
        None => base_url::resolve_base_url(&name, &config, &lookup)?,
    };
    let mut signals = SignalListener::listen()?;
    let kept = {
        let (name, upstream, config) = (name.clone(), upstream.clone(), config.clone());
        let look = move || Ok(endpoint::read_keyring_key(&name, &upstream, &config, &lookup));
        match run_blocking_unless_signalled(&mut signals, look).await? {
            Ok(kept) => kept,
            Err(signal) => return Ok(signal.exit()),
        }
    };
    let mut scrub = provider_redirect::build_scrub_options(&config, &lookup);
    if let Some(key) = &kept {
        scrub = scrub.with_secret(key);
    }
    let mut options = RecordOptions::new(upstream, &args.out).with_scrub(scrub);
    options.port = args.port;
    let recorder = Recorder::start(options)
        .await
        .map_err(|error| CommandError::usage(format!("{error}; see windlass record --help")))?;
    let url = recorder.url();
    let exit = match child_command::build_command(&args.command) {
        Some(mut command) => {
            provider_redirect::redirect_provider(&mut command, &provider, &url);
            // A key of the key ring is for the real address alone; here it only passes through.
            if let (Some(variable), Some(key)) = (provider.key_env.first(), kept) {
                command.env(variable, key);
            }
            child_command::run(command, &mut signals, std::future::pending()).await?
        }
        None => {
            let mut output = OutputWriter::new(OutputTarget::Stdout);
            let exports = provider_redirect::build_exports(&provider, &url).join(" ");
            let _ = output.write(format!(
                "Recording {name} at {url}. Ctrl-C ends it. In another terminal:\nexport {exports}\n"
            ));
            let signal = signals.next().await;
            let _ = await_unless_signalled(&mut signals, output.finish()).await;
            signal.exit()
        }
    };
    let summary = recorder.finish().await;
    let mut output = OutputWriter::new(OutputTarget::Stderr);
    // If nobody reads it, the recording is there all the same.
    let _ = output.write(render_summary(&summary, &args));
    let _ = await_unless_signalled(&mut signals, output.finish()).await;
    Ok(exit)
}

fn render_summary(summary: &RecordSummary, args: &RecordArgs) -> String {
    let RecordSummary { exchanges, bytes, scrubbed, unrecorded, reasons } = summary;
    let place = args.out.display();
    let mut text = match exchanges {
        0 => format!(
            "windlass: nothing was recorded in {place}; if the command asked another provider, name \
             it with --provider\n"
        ),
        _ => format!(
            "windlass: recorded {exchanges} exchanges in {place}, {} bytes, {scrubbed} values \
             replaced; read them before you pass them on\n",
            format_count(*bytes)
        ),
    };
    for reason in reasons {
        text.push_str(&format!(
            "windlass: not recorded: {}\n",
            to_single_line(&reason.to_string())
        ));
    }
    let more = unrecorded.saturating_sub(reasons.len());
    if more > 0 {
        text.push_str(&format!("windlass: and {more} more were not recorded\n"));
    }
    text
}
