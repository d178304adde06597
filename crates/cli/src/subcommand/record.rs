//! `windlass record`: a proxy between a command and a real model server that records the traffic, scrubbed.
//! `windlass rehearse --cassette` replays it.
//!
//! Records one provider at a time: the addresses of the others stay, so that no key goes to a provider
//! other than its own.

use windlass_rehearsal::cassette::RecordSummary;
use windlass_rehearsal::{RecordOptions, Recorder};
use windlass_vocabulary::WireFormat;

use super::provider_redirect;
use crate::args::RecordArgs;
use crate::words;
use windlass_host::child_command;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::human_format::{format_count, format_counted};
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;
use windlass_host::signals::SignalListener;
use windlass_host::signals::await_unless_signalled;
use windlass_host::signals::run_blocking_unless_signalled;
use windlass_provider::config::Config;
use windlass_provider::model_choice;
use windlass_provider::{base_url, endpoint};
use windlass_stream_json::output_writer::{OutputTarget, OutputWriter};

/// Records until a signal arrives or the command ends.
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
    let keyring_key = {
        let name = name.clone();
        let upstream = upstream.clone();
        let config = config.clone();
        let read_key = move || Ok(endpoint::read_keyring_key(&name, &upstream, &config, &lookup));
        match run_blocking_unless_signalled(&mut signals, read_key).await? {
            Ok(keyring_key) => keyring_key,
            Err(signal) => return Ok(signal.exit()),
        }
    };
    let mut scrub = provider_redirect::build_scrub_options(&config, &lookup);
    if let Some(key) = &keyring_key {
        scrub = scrub.with_secret(key);
    }
    let mut options = RecordOptions::new(upstream, &args.out).with_scrub(scrub);
    options.port = args.port;
    let recorder = Recorder::start(options)
        .await
        .map_err(|error| CommandError::usage(words::describe_unstarted_recorder(&error)))?;
    let url = recorder.url();
    let exit = match child_command::build_command(&args.command) {
        Some(mut command) => {
            provider_redirect::redirect_provider(&mut command, &provider, &url);
            // The recorder forwards a key of the key ring to the address that it belongs to.
            if let (Some(variable), Some(key)) = (provider.key_env.first(), keyring_key) {
                command.env(variable, key);
            }
            child_command::run(command, &mut signals, std::future::pending()).await?
        }
        None => {
            let mut output = OutputWriter::new(OutputTarget::Stdout);
            let exports = provider_redirect::build_exports(&provider, &url).join(" ");
            let _ = output.write(words::introduce_recorder(&name, &url, &exports));
            let signal = signals.next().await;
            let _ = await_unless_signalled(&mut signals, output.finish()).await;
            signal.exit()
        }
    };
    let summary = recorder.finish().await;
    let mut output = OutputWriter::new(OutputTarget::Stderr);
    // A closed standard error does not affect the recording.
    let _ = output.write(render_summary(&summary, &args));
    let _ = await_unless_signalled(&mut signals, output.finish()).await;
    Ok(exit)
}

fn render_summary(summary: &RecordSummary, args: &RecordArgs) -> String {
    let RecordSummary { exchanges, bytes, scrubbed, unrecorded, reasons } = summary;
    let directory = args.out.display();
    let mut lines = match exchanges {
        0 => vec![words::describe_nothing_recorded(&directory)],
        _ => vec![words::describe_recorded(
            &format_counted(*exchanges, "exchange"),
            &directory,
            &format_count(*bytes),
            &format_counted(*scrubbed, "value"),
        )],
    };
    for reason in reasons {
        lines.push(words::describe_unrecorded(&to_single_line(&reason.to_string())));
    }
    let more = unrecorded.saturating_sub(reasons.len());
    if more > 0 {
        lines.push(words::describe_more_unrecorded(&more));
    }
    lines.iter().map(|line| format!("windlass: {line}\n")).collect()
}
