//! Reads the telemetry configuration from the environment variables of the reference CLI.
//!
//! Nothing is sent unless `CLAUDE_CODE_ENABLE_TELEMETRY` is on and an exporter is chosen. An
//! invalid value is ignored with a warning, together with what it configures: a run must not fail
//! because of its telemetry.

mod header_list;
mod signal_config;

use std::path::PathBuf;
use std::time::Duration;

use windlass_host::environment::{self, EnvLookup};
use windlass_host::user_directories;
use windlass_tool::GuardedCommandLine;

pub(crate) use self::header_list::HeaderList;
pub(crate) use self::signal_config::{
    ClientCertificate, OtlpProtocol, OtlpTarget, ScrapeAddress, SignalConfig, TelemetrySignal,
};
use crate::content::ContentSwitches;
use crate::metric_table::Temporality;
use crate::record::SpanContext;
use crate::trace_parent::parse_traceparent;

#[derive(Clone, Debug)]
pub struct TelemetryConfig {
    pub metrics: SignalConfig,
    pub logs: SignalConfig,
    pub traces: SignalConfig,
    pub temporality: Temporality,
    pub content: ContentSwitches,
    pub labels: LabelSwitches,
    pub resource: Vec<(String, String)>,
    pub trace: TraceConfig,
    pub process: ProcessFacts,
    /// Time limit for the end of a session to wait for collectors, all signals together.
    pub shutdown: Duration,
    /// Reports on stderr why something could not be sent.
    pub shows_errors: bool,
    pub headers_program: Option<HeadersProgram>,
}

/// Facts about the process that are not in the environment.
#[derive(Clone, Debug, Default)]
pub struct ProcessFacts {
    pub version: String,
    /// A user is at the terminal: no trace is continued from the environment.
    pub is_interactive: bool,
    /// One prompt and one answer: telemetry is flushed when the answer is complete.
    pub is_single_run: bool,
    /// Stdout carries a protocol.
    pub speaks_protocol: bool,
    /// `--continue`, not `--resume`.
    pub is_continued: bool,
    /// How the process was started, if the environment does not say.
    pub entrypoint: String,
    pub terminal: Option<String>,
    /// Files with the user's id: the reference CLI's, then ours.
    pub user_id_files: Option<(PathBuf, PathBuf)>,
}

/// Which optional attributes metrics carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelSwitches {
    pub session_id: bool,
    pub version: bool,
    pub entrypoint: bool,
    pub resource: bool,
}

#[derive(Clone, Debug, Default)]
pub struct TraceConfig {
    /// The span in which this process was started.
    pub parent: Option<SpanContext>,
    pub state: Option<String>,
    /// Sends the trace context to every model server, not only to a provider's own.
    pub goes_to_any_model: bool,
    /// Sends the trace context to MCP servers.
    pub goes_to_servers: bool,
    /// Uses the latest names of the semantic conventions for `gen_ai`.
    pub uses_latest_names: bool,
    /// Sends a span for each batch of hooks.
    pub has_hook_spans: bool,
}

/// A user's program that prints headers.
#[derive(Clone, Debug)]
pub struct HeadersProgram {
    pub command: GuardedCommandLine,
    /// How long its headers are reused.
    pub lifetime: Duration,
    pub directory: PathBuf,
}

/// Reads the environment. Returns `None` if telemetry is off, and warnings about invalid values.
pub fn read_config(
    lookup: &impl EnvLookup,
    is_managed: &dyn Fn(&str) -> bool,
    mut process: ProcessFacts,
) -> (Option<TelemetryConfig>, Vec<String>) {
    if !environment::is_switched_on(lookup, ENABLE_VARIABLE) {
        return (None, Vec::new());
    }
    let mut reader = EnvironmentReader { lookup, is_managed, warnings: Vec::new() };
    let metrics = reader.read_signal(TelemetrySignal::Metrics, &process);
    let logs = reader.read_signal(TelemetrySignal::Logs, &process);
    let has_spans = environment::is_switched_on(lookup, "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA")
        || environment::is_switched_on(lookup, "ENABLE_ENHANCED_TELEMETRY_BETA")
        || reader.has_detailed_target();
    let traces = match has_spans {
        true => reader.read_signal(TelemetrySignal::Traces, &process),
        false => SignalConfig::off(),
    };
    if [&metrics, &logs, &traces].iter().all(|signal| !signal.is_on()) {
        return (None, reader.warnings);
    }
    process.terminal = reader.text("TERM_PROGRAM").or_else(|| reader.text("TERM"));
    if let Some(entrypoint) = reader.text("CLAUDE_CODE_ENTRYPOINT") {
        process.entrypoint = entrypoint;
    }
    process.user_id_files = user_directories::claude_json_file(lookup)
        .zip(user_directories::state_directory(lookup))
        .map(|(theirs, state)| (theirs, state.join("telemetry-user")));
    let config = TelemetryConfig {
        metrics,
        logs,
        traces,
        temporality: reader.read_temporality(),
        content: ContentSwitches::read(lookup, &mut reader.warnings),
        labels: reader.read_labels(),
        resource: reader.read_resource(),
        trace: reader.read_trace(&process),
        process,
        shutdown: reader.millis("CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS", SHUTDOWN).min(SHUTDOWN_MAX),
        shows_errors: environment::is_switched_on(lookup, "CLAUDE_CODE_OTEL_DIAG_STDERR"),
        headers_program: None,
    };
    (Some(config), reader.warnings)
}

impl TelemetryConfig {
    /// Uses a program for headers. Their lifetime is read from the environment.
    pub fn set_headers_program(
        &mut self,
        command: GuardedCommandLine,
        directory: PathBuf,
        lookup: &impl EnvLookup,
    ) {
        let text = environment::read_variable(lookup, HELPER_LIFETIME_VARIABLE).ok().flatten();
        let millis = text.and_then(|text| text.parse().ok()).map(Duration::from_millis);
        let lifetime = millis.unwrap_or(HELPER_LIFETIME);
        self.headers_program = Some(HeadersProgram { command, lifetime, directory });
    }

    /// The destination of each signal, for display: without headers and secrets.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        let signals = [("metrics", &self.metrics), ("events", &self.logs), ("spans", &self.traces)];
        let shown = signals.iter().filter(|(_, signal)| signal.is_on());
        shown.map(|(name, signal)| format!("{name} to {}", signal.describe())).collect()
    }

    /// Header values that must be redacted from a session's output.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let targets = [&self.metrics, &self.logs, &self.traces];
        let targets = targets.into_iter().filter_map(|signal| signal.otlp.as_ref());
        targets.flat_map(|target| target.headers.values())
    }
}

/// Reads variables and collects warnings.
struct EnvironmentReader<'a, L> {
    lookup: &'a L,
    /// Whether the administrator set a variable.
    is_managed: &'a dyn Fn(&str) -> bool,
    warnings: Vec<String>,
}

impl<L: EnvLookup> EnvironmentReader<'_, L> {
    fn text(&self, name: &str) -> Option<String> {
        environment::read_variable(self.lookup, name).ok().flatten()
    }

    fn flag(&self, name: &str, default: bool) -> bool {
        match self.text(name).map(|text| text.to_ascii_lowercase()).as_deref() {
            Some("1" | "true" | "yes" | "on") => true,
            Some("0" | "false" | "no" | "off") => false,
            Some(_) | None => default,
        }
    }

    fn millis(&mut self, name: &str, default: Duration) -> Duration {
        let Some(text) = self.text(name) else { return default };
        match text.parse().ok().filter(|millis| *millis > 0) {
            Some(millis) => Duration::from_millis(millis),
            None => {
                self.warnings
                    .push(format!("{name} is not a number of milliseconds, and is left out"));
                default
            }
        }
    }

    fn read_temporality(&mut self) -> Temporality {
        let name = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
        match self.text(name).map(|text| text.to_ascii_lowercase()).as_deref() {
            None | Some("delta" | "lowmemory") => Temporality::Delta,
            Some("cumulative") => Temporality::Cumulative,
            Some(_) => {
                self.warnings.push(format!("{name}: give delta or cumulative; delta is used"));
                Temporality::Delta
            }
        }
    }

    fn read_labels(&self) -> LabelSwitches {
        LabelSwitches {
            session_id: self.flag("OTEL_METRICS_INCLUDE_SESSION_ID", true),
            version: self.flag("OTEL_METRICS_INCLUDE_VERSION", false),
            entrypoint: self.flag("OTEL_METRICS_INCLUDE_ENTRYPOINT", false),
            resource: self.flag("OTEL_METRICS_INCLUDE_RESOURCE_ATTRIBUTES", true),
        }
    }

    fn read_resource(&self) -> Vec<(String, String)> {
        let text = self.text("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        HeaderList::parse(&text).map(HeaderList::into_pairs).unwrap_or_default()
    }

    fn read_trace(&self, process: &ProcessFacts) -> TraceConfig {
        let is_read = !process.is_interactive;
        let parent = self.text("TRACEPARENT").filter(|_| is_read);
        let parent = parent.and_then(|text| parse_traceparent(&text));
        let opted = self.text("OTEL_SEMCONV_STABILITY_OPT_IN").unwrap_or_default();
        let base = self.text("ANTHROPIC_BASE_URL");
        let goes_to_any_model = self.flag("CLAUDE_CODE_PROPAGATE_TRACEPARENT", false);
        TraceConfig {
            // `tracestate` is meaningless without a parent.
            state: self.text("TRACESTATE").filter(|_| parent.is_some()),
            parent,
            goes_to_any_model,
            goes_to_servers: goes_to_any_model
                || base.as_deref().is_none_or(crate::propagation::is_vendor),
            has_hook_spans: self.flag("ENABLE_BETA_TRACING_DETAILED", false),
            uses_latest_names: opted.split(',').any(|word| word.trim() == LATEST_NAMES),
        }
    }
}

pub(crate) const ENABLE_VARIABLE: &str = "CLAUDE_CODE_ENABLE_TELEMETRY";
const HELPER_LIFETIME_VARIABLE: &str = "CLAUDE_CODE_OTEL_HEADERS_HELPER_DEBOUNCE_MS";
const LATEST_NAMES: &str = "gen_ai_latest_experimental";
const SHUTDOWN: Duration = Duration::from_secs(2);
/// Upper limit for `shutdown`, so that a process always ends.
const SHUTDOWN_MAX: Duration = Duration::from_secs(60);
const HELPER_LIFETIME: Duration = Duration::from_secs(29 * 60);

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn read(
        variables: &[(&str, &str)],
        managed: &[&str],
    ) -> (Option<TelemetryConfig>, Vec<String>) {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        read_config(&lookup, &|name| managed.contains(&name), ProcessFacts::default())
    }

    const ON: (&str, &str) = (ENABLE_VARIABLE, "1");
    const JSON: (&str, &str) = ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");

    #[test]
    fn nothing_is_sent_unless_it_is_asked_for() {
        let metrics = ("OTEL_METRICS_EXPORTER", "otlp");
        for off in
            [vec![], vec![ON], vec![metrics, JSON], vec![ON, ("OTEL_METRICS_EXPORTER", "none")]]
        {
            let (config, warnings) = read(&off, &[]);
            assert!(config.is_none() && warnings.is_empty(), "{off:?}: {warnings:?}");
        }
        // Spans need a switch of their own, and the protocol has no default.
        assert!(read(&[ON, JSON, ("OTEL_TRACES_EXPORTER", "otlp")], &[]).0.is_none());
        let (config, warnings) = read(&[ON, metrics], &[]);
        assert!(config.is_none() && warnings[0].contains("OTEL_EXPORTER_OTLP_PROTOCOL"));
        let (config, _) = read(&[ON, metrics, JSON], &[]);
        assert_eq!(config.unwrap().describe(), ["metrics to http://localhost:4318 (http/json)"]);
    }

    #[test]
    fn detailed_tracing_has_an_address_of_its_own() {
        let own = [ON, ("BETA_TRACING_ENDPOINT", "http://detail:1/")];
        assert!(read(&own, &[]).0.is_none());
        let own = [&own[..], &[("ENABLE_BETA_TRACING_DETAILED", "1")]].concat();
        let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "key=secret");
        let (config, warnings) = read(&[&own[..], &[headers]].concat(), &[]);
        let config = config.unwrap();
        assert!(warnings.is_empty() && !config.metrics.is_on(), "{warnings:?}");
        let (logs, traces) = (config.logs.otlp.unwrap(), config.traces.otlp.unwrap());
        assert_eq!(traces.url, "http://detail:1/v1/traces");
        assert_eq!(logs.url, "http://detail:1/v1/logs");
        assert_eq!(logs.protocol, OtlpProtocol::HttpJson);
        assert_eq!((logs.headers.iter().count(), traces.headers.iter().count()), (0, 0));
        // An exporter that was chosen stays, and an administrator's address and headers win.
        let none = [("OTEL_LOGS_EXPORTER", "none"), ("OTEL_TRACES_EXPORTER", "none")];
        assert!(read(&[&own[..], &none[..]].concat(), &[]).0.is_none());
        for managed in ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"] {
            assert!(read(&own, &[managed]).0.is_none(), "{managed}");
        }
        let (_, warnings) =
            read(&[&own[2..], &[ON, ("BETA_TRACING_ENDPOINT", "detail")]].concat(), &[]);
        assert!(warnings[0].contains("BETA_TRACING_ENDPOINT"), "{warnings:?}");
    }

    #[test]
    fn certificates_of_clients_are_those_of_the_protocol() {
        let own = [
            ("OTEL_METRICS_EXPORTER", "otlp"),
            ("OTEL_LOGS_EXPORTER", "otlp"),
            ("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "grpc"),
            ("CLAUDE_CODE_CLIENT_CERT", "/client.pem"),
            ("CLAUDE_CODE_CLIENT_KEY", "/client.key"),
            ("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE", "word-of-the-key"),
        ];
        let (config, warnings) = read(&[&[ON, JSON], &own[..]].concat(), &[]);
        let config = config.unwrap();
        let (metrics, logs) = (config.metrics.otlp.unwrap(), config.logs.otlp.unwrap());
        assert_eq!(logs.certificate, ClientCertificate::default());
        assert_eq!(metrics.certificate.certificate.as_deref(), Some("/client.pem"));
        assert_eq!(metrics.certificate.key.as_deref(), Some("/client.key"));
        let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
        assert!(warning.contains("openssl pkey") && !warning.contains("word-of"), "{warning}");
        let more = ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/own.key");
        let (config, _) = read(&[&[ON, JSON, more], &own[..]].concat(), &[]);
        let key = config.unwrap().metrics.otlp.unwrap().certificate.key;
        assert_eq!(key.as_deref(), Some("/own.key"));
    }

    #[test]
    fn addresses_and_headers_of_a_signal_go_before_the_common_ones() {
        let base = [ON, JSON, ("OTEL_METRICS_EXPORTER", "otlp"), ("OTEL_LOGS_EXPORTER", "otlp")];
        let own = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4318/base/"),
            ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://logs/own"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=1,b=two%20words"),
            ("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "b=3"),
        ];
        let (config, _) = read(&[&base[..], &own[..]].concat(), &[]);
        let config = config.unwrap();
        let (metrics, logs) = (config.metrics.otlp.unwrap(), config.logs.otlp.unwrap());
        assert_eq!(metrics.url, "http://all:4318/base/v1/metrics");
        assert_eq!(logs.url, "http://logs/own");
        let pairs = |list: &HeaderList| list.clone().into_pairs();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(pairs(&metrics.headers), [pair("a", "1"), pair("b", "two words")]);
        assert_eq!(pairs(&logs.headers), [pair("a", "1"), pair("b", "3")]);
        assert!(!format!("{metrics:?}").contains("two words"));
        // A managed endpoint or header cannot be redirected by other settings.
        let (config, _) = read(&[&base[..], &own[..]].concat(), &["OTEL_EXPORTER_OTLP_ENDPOINT"]);
        assert_eq!(config.unwrap().logs.otlp.unwrap().url, "http://all:4318/base/v1/logs");
        let (config, _) = read(&[&base[..], &own[..]].concat(), &["OTEL_EXPORTER_OTLP_HEADERS"]);
        assert_eq!(config.unwrap().logs.otlp.unwrap().url, "http://localhost:4318/v1/logs");
    }

    #[test]
    fn a_console_never_mixes_with_a_protocol() {
        let variables = [ON, ("OTEL_LOGS_EXPORTER", "console")];
        assert!(read(&variables, &[]).0.unwrap().logs.has_console);
        let lookup = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let process = ProcessFacts { speaks_protocol: true, ..ProcessFacts::default() };
        let (config, warnings) = read_config(&lookup, &|_| false, process);
        assert!(config.is_none() && warnings[0].contains("console"), "{warnings:?}");
    }
}
