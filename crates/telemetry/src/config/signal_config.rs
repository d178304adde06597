//! Reads where one signal is sent.

use std::time::Duration;

use windlass_host::environment::EnvLookup;

use super::header_list::HeaderList;
use super::{EnvironmentReader, ProcessFacts};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TelemetrySignal {
    Metrics,
    Logs,
    Traces,
}

impl TelemetrySignal {
    pub(crate) const ALL: [Self; 3] = [Self::Metrics, Self::Logs, Self::Traces];

    /// As in variable names.
    fn word(self) -> &'static str {
        match self {
            Self::Metrics => "METRICS",
            Self::Logs => "LOGS",
            Self::Traces => "TRACES",
        }
    }

    /// The path of OTLP over HTTP.
    #[must_use]
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Metrics => "/v1/metrics",
            Self::Logs => "/v1/logs",
            Self::Traces => "/v1/traces",
        }
    }

    #[must_use]
    pub(crate) fn grpc_path(self) -> &'static str {
        match self {
            Self::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
            Self::Logs => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
            Self::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        }
    }
}

/// The destinations and the interval of one signal.
#[derive(Clone, Debug, Default)]
pub struct SignalConfig {
    pub otlp: Option<OtlpTarget>,
    pub has_console: bool,
    /// Where a Prometheus server scrapes the counters.
    pub scraped_at: Option<ScrapeAddress>,
    pub interval: Duration,
}

impl SignalConfig {
    #[must_use]
    pub fn off() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn is_on(&self) -> bool {
        self.otlp.is_some() || self.has_console || self.scraped_at.is_some()
    }

    pub(super) fn describe(&self) -> String {
        let otlp = self.otlp.iter().map(|target| {
            let address = target.base.split_once("://").map_or("", |(_, rest)| rest);
            let scheme = target.base.split_once("://").map_or("http", |(scheme, _)| scheme);
            // The part before an `@` may contain a password.
            let address = address.rsplit('@').next().unwrap_or(address);
            format!("{scheme}://{address} ({})", target.protocol.name())
        });
        let console = self.has_console.then(|| "standard error".to_owned());
        let scraped = self.scraped_at.as_ref().map(|address| {
            format!("a server that asks http://{}/metrics (prometheus)", address.describe())
        });
        otlp.chain(console).chain(scraped).collect::<Vec<_>>().join(" and ")
    }
}

/// The address that a Prometheus server scrapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScrapeAddress {
    pub host: String,
    /// 0 lets the system choose.
    pub port: u16,
}

impl ScrapeAddress {
    pub(crate) fn describe(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtlpProtocol {
    Grpc,
    HttpJson,
    HttpProtobuf,
}

impl OtlpProtocol {
    fn parse(word: &str) -> Option<Self> {
        [Self::Grpc, Self::HttpJson, Self::HttpProtobuf].into_iter().find(|it| it.name() == word)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::HttpJson => "http/json",
            Self::HttpProtobuf => "http/protobuf",
        }
    }
}

/// A collector for one signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpTarget {
    pub protocol: OtlpProtocol,
    /// As configured, for display.
    pub base: String,
    /// The URL of requests.
    pub url: String,
    pub headers: HeaderList,
    /// For one request, including its response.
    pub timeout: Duration,
    pub certificate: ClientCertificate,
}

/// Paths of PEM files: trusted certificates, and the client's certificate and key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientCertificate {
    pub trusted: Option<String>,
    pub certificate: Option<String>,
    pub key: Option<String>,
}

/// The default of the OpenTelemetry specification.
const SCRAPE_PORT_DEFAULT: u16 = 9464;

impl<L: EnvLookup> EnvironmentReader<'_, L> {
    pub(super) fn read_signal(
        &mut self,
        signal: TelemetrySignal,
        process: &ProcessFacts,
    ) -> SignalConfig {
        let variable = format!("OTEL_{}_EXPORTER", signal.word());
        let interval = match signal {
            TelemetrySignal::Metrics => {
                self.millis("OTEL_METRIC_EXPORT_INTERVAL", Duration::from_secs(60))
            }
            TelemetrySignal::Logs => {
                self.millis("OTEL_LOGS_EXPORT_INTERVAL", Duration::from_secs(5))
            }
            TelemetrySignal::Traces => {
                self.millis("OTEL_TRACES_EXPORT_INTERVAL", Duration::from_secs(5))
            }
        };
        let mut config = SignalConfig { interval, ..SignalConfig::default() };
        let list = self.text(&variable).unwrap_or_default();
        for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "otlp" => config.otlp = self.read_target(signal),
                "console" if process.speaks_protocol || process.is_interactive => {
                    self.warnings.push(format!(
                        "{variable}: console is left out, because the output belongs to the \
                         {}; use otlp",
                        if process.is_interactive { "screen" } else { "protocol" }
                    ));
                }
                "console" => config.has_console = true,
                "prometheus" if signal == TelemetrySignal::Metrics => {
                    config.scraped_at = Some(self.read_scrape_address());
                }
                "none" => {}
                _ => self.warnings.push(format!(
                    "{variable}: there is no exporter `{word}`; give otlp, console or none"
                )),
            }
        }
        if list.trim().is_empty() && signal != TelemetrySignal::Metrics {
            config.otlp = self.read_detailed_target(signal);
        }
        config
    }

    fn read_scrape_address(&mut self) -> ScrapeAddress {
        let host = self.text("OTEL_EXPORTER_PROMETHEUS_HOST");
        let variable = "OTEL_EXPORTER_PROMETHEUS_PORT";
        let written = self.text(variable);
        let port = written.as_ref().map(|text| text.parse::<u16>());
        if let Some(Err(_)) = port {
            self.warnings.push(format!("{variable} is not a port; {SCRAPE_PORT_DEFAULT} is used"));
        }
        ScrapeAddress {
            host: host.unwrap_or_else(|| "127.0.0.1".to_owned()),
            port: port.and_then(Result::ok).unwrap_or(SCRAPE_PORT_DEFAULT),
        }
    }

    /// Whether spans and events in detail go to an address of their own.
    pub(super) fn has_detailed_target(&self) -> bool {
        self.flag("ENABLE_BETA_TRACING_DETAILED", false) && self.text(DETAILED_ENDPOINT).is_some()
    }

    /// Headers are meant for another address, so they are not sent to this one.
    fn read_detailed_target(&mut self, signal: TelemetrySignal) -> Option<OtlpTarget> {
        let own = |what: &str| format!("OTEL_EXPORTER_OTLP_{}_{what}", signal.word());
        let address = own("ENDPOINT");
        let headers = own("HEADERS");
        let managed = [ENDPOINT, &address, "OTEL_EXPORTER_OTLP_HEADERS", &headers];
        let is_managed = |name: &str| (self.is_managed)(name);
        let is_overruled = managed.into_iter().any(is_managed) && !is_managed(DETAILED_ENDPOINT);
        if !self.has_detailed_target() || is_overruled {
            return None;
        }
        let base = self.text(DETAILED_ENDPOINT)?;
        let url = format!("{}{}", base.trim_end_matches('/'), signal.path());
        let certificate = self.read_certificate(signal, OtlpProtocol::HttpJson);
        self.is_address(DETAILED_ENDPOINT, &url, signal).then_some(OtlpTarget {
            protocol: OtlpProtocol::HttpJson,
            base,
            url,
            headers: HeaderList::default(),
            timeout: REQUEST_MAX,
            certificate,
        })
    }

    /// Warns if not.
    fn is_address(&mut self, variable: &str, url: &str, signal: TelemetrySignal) -> bool {
        let is_address = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
        if !is_address {
            self.warnings.push(format!(
                "{variable} is not an address that starts with http:// or https://; {} are not sent",
                signal.word().to_ascii_lowercase()
            ));
        }
        is_address
    }

    /// Over http, what the reference CLI shows to every server counts too.
    fn read_certificate(
        &mut self,
        signal: TelemetrySignal,
        protocol: OtlpProtocol,
    ) -> ClientCertificate {
        let find = |what: &str, of_http: Option<&str>| {
            let own = format!("OTEL_EXPORTER_OTLP_{}_{what}", signal.word());
            let names = [own, format!("OTEL_EXPORTER_OTLP_{what}")];
            let of_http = of_http.filter(|_| protocol != OtlpProtocol::Grpc);
            let found = names.iter().find_map(|name| self.text(name));
            found.or_else(|| of_http.and_then(|name| self.text(name)))
        };
        let certificate = ClientCertificate {
            trusted: find("CERTIFICATE", None),
            certificate: find("CLIENT_CERTIFICATE", Some("CLAUDE_CODE_CLIENT_CERT")),
            key: find("CLIENT_KEY", Some("CLAUDE_CODE_CLIENT_KEY")),
        };
        if certificate.key.is_some() && self.text(PASSPHRASE).is_some() {
            let warning = format!(
                "{PASSPHRASE} is left out: keys with a passphrase are not supported; write one without \
                 by `openssl pkey -in KEY -out PLAIN` and name that"
            );
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        certificate
    }

    fn read_target(&mut self, signal: TelemetrySignal) -> Option<OtlpTarget> {
        let own = |what: &str| format!("OTEL_EXPORTER_OTLP_{}_{what}", signal.word());
        let both = |what: &str| [own(what), format!("OTEL_EXPORTER_OTLP_{what}")];
        let protocol = both("PROTOCOL").iter().find_map(|name| self.text(name));
        let Some(protocol) = protocol.as_deref().and_then(OtlpProtocol::parse) else {
            self.warnings.push(format!(
                "OTEL_EXPORTER_OTLP_PROTOCOL is {}; give grpc, http/json or http/protobuf: until \
                 then {} are not sent",
                if protocol.is_some() { "unknown" } else { "not set" },
                signal.word().to_ascii_lowercase()
            ));
            return None;
        };
        let (base, url) = self.read_address(signal, protocol);
        if !self.is_address(ENDPOINT, &url, signal) {
            return None;
        }
        let mut headers = HeaderList::default();
        for name in both("HEADERS").iter().rev() {
            match HeaderList::parse(&self.text(name).unwrap_or_default()) {
                Some(list) => headers = headers.merge(list),
                // The value is not repeated, since it may be a secret.
                None => self.warnings.push(format!(
                    "{name} is not a list of name=value, separated by commas, and is left out"
                )),
            }
        }
        let certificate = self.read_certificate(signal, protocol);
        let [own_timeout, timeout] = both("TIMEOUT");
        let timeout = self.millis(&timeout, REQUEST_MAX);
        let timeout = self.millis(&own_timeout, timeout).min(REQUEST_MAX);
        Some(OtlpTarget { protocol, base, url, headers, timeout, certificate })
    }

    /// The address as configured, and the URL of requests. If the administrator sets an endpoint or
    /// headers, no other settings can redirect them.
    fn read_address(&self, signal: TelemetrySignal, protocol: OtlpProtocol) -> (String, String) {
        let own_name = format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", signal.word());
        let own_headers = format!("OTEL_EXPORTER_OTLP_{}_HEADERS", signal.word());
        let is_managed = |name: &str| (self.is_managed)(name);
        let has_managed_headers =
            is_managed("OTEL_EXPORTER_OTLP_HEADERS") || is_managed(&own_headers);
        let may_say = |name: &str| is_managed(name) || !has_managed_headers;
        let common = self.text(ENDPOINT).filter(|_| may_say(ENDPOINT));
        let may_say_own = may_say(&own_name) && (is_managed(&own_name) || !is_managed(ENDPOINT));
        let own = self.text(&own_name).filter(|_| may_say_own);
        match (protocol, own) {
            (OtlpProtocol::Grpc, own) => {
                let base = own.or(common).unwrap_or_else(|| "http://localhost:4317".to_owned());
                let base = if base.contains("://") { base } else { format!("http://{base}") };
                let url = format!("{}{}", base.trim_end_matches('/'), signal.grpc_path());
                (base, url)
            }
            (OtlpProtocol::HttpJson | OtlpProtocol::HttpProtobuf, Some(own)) => (own.clone(), own),
            (OtlpProtocol::HttpJson | OtlpProtocol::HttpProtobuf, None) => {
                let base = common.unwrap_or_else(|| "http://localhost:4318".to_owned());
                let url = format!("{}{}", base.trim_end_matches('/'), signal.path());
                (base, url)
            }
        }
    }
}

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const DETAILED_ENDPOINT: &str = "BETA_TRACING_ENDPOINT";
const PASSPHRASE: &str = "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE";
/// Upper limit for the request timeout.
const REQUEST_MAX: Duration = Duration::from_secs(10);
