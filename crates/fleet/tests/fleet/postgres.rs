//! A PostgreSQL server for one test: in a temporary folder, on a free loopback port, stopped at the
//! end.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub(crate) struct TestPostgres {
    folder: TempDir,
    bin: PathBuf,
    port: u16,
}

impl TestPostgres {
    /// Starts a server; `None` if PostgreSQL is not installed and `WINDLASS_ALL_TESTS` is not set.
    pub(crate) fn start() -> Option<Self> {
        let Some(bin) = find_bin() else {
            assert!(
                std::env::var_os("WINDLASS_ALL_TESTS").is_none(),
                "PostgreSQL is not installed; install the package `postgresql`"
            );
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let mut server = Self { folder, bin, port: 0 };
        // PostgreSQL refuses to run as root, so its files belong to the user it runs as.
        if is_root() {
            let owned = Command::new("chown").arg("postgres").arg(server.folder.path()).status();
            assert!(owned.unwrap().success());
        }
        let data = server.data();
        server.run("initdb", &["-D", text(&data), "-A", "trust", "-U", "windlass", "-N"]);
        let settings = "listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\n\
             max_connections = 200\nfsync = off\nautovacuum = off\n";
        server.append("postgresql.conf", settings);
        server.start_on_a_free_port();
        let port = server.port.to_string();
        server.run("createdb", &["-h", "127.0.0.1", "-p", &port, "-U", "windlass", "w"]);
        Some(server)
    }

    /// A free port may be taken before the server binds it, so several are tried.
    fn start_on_a_free_port(&mut self) {
        for _ in 1..STARTS_MAX {
            self.port = find_free_port();
            // The last line of the setting wins.
            self.append("postgresql.conf", &format!("port = {}\n", self.port));
            if self.try_start_server().is_ok() {
                return;
            }
        }
        self.start_server();
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://windlass@127.0.0.1:{}/w", self.port)
    }

    /// The URL of the same database through a link.
    pub(crate) fn url_through(&self, address: SocketAddr) -> String {
        format!("postgres://windlass@{address}/w")
    }

    /// Makes the server also listen on another address of this host.
    pub(crate) fn listen_also_at(&self, host: &str) {
        self.stop_server();
        self.append("postgresql.conf", &format!("listen_addresses = '127.0.0.1,{host}'\n"));
        self.append("pg_hba.conf", &format!("host all all {host}/24 trust\n"));
        self.start_server();
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn start_server(&self) {
        let log = self.folder.path().join("log");
        self.try_start_server().unwrap_or_else(|errors| {
            panic!("{errors}{}", std::fs::read_to_string(log).unwrap_or_default())
        });
    }

    fn try_start_server(&self) -> Result<String, String> {
        let log = self.folder.path().join("log");
        let data = self.data();
        self.try_run("pg_ctl", &["-D", text(&data), "-l", text(&log), "-w", "-t", "60", "start"])
    }

    /// Stops the server in immediate mode, without a clean shutdown.
    pub(crate) fn stop_server(&self) {
        let data = self.data();
        self.run("pg_ctl", &["-D", text(&data), "-m", "immediate", "-w", "-t", "60", "stop"]);
    }

    /// Runs one statement. Returns rows as lines with `|` between columns.
    pub(crate) fn query(&self, statement: &str) -> String {
        self.try_query(statement).unwrap_or_else(|problem| panic!("{problem}"))
    }

    /// The same; the error if it fails.
    pub(crate) fn try_query(&self, statement: &str) -> Result<String, String> {
        let port = self.port.to_string();
        let arguments =
            ["-h", "127.0.0.1", "-p", &port, "-U", "windlass", "-d", "w", "-Atqc", statement];
        Ok(self.try_run("psql", &arguments)?.trim_end().to_owned())
    }

    /// From now on the user must give a password, which is `secret`.
    pub(crate) fn require_password(&self) {
        self.query("alter user windlass password 'secret'");
        let all = "host all all 127.0.0.1/32 scram-sha-256\n";
        std::fs::write(self.data().join("pg_hba.conf"), all).unwrap();
        self.stop_server();
        self.start_server();
    }

    /// Repeats a query until the result is `wanted`.
    pub(crate) fn wait_for(&self, statement: &str, wanted: &str) {
        let began = Instant::now();
        loop {
            let found = self.query(statement);
            if found == wanted {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{statement}: {found:?}, not {wanted:?}");
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn append(&self, name: &str, lines: &str) {
        let path = self.data().join(name);
        let mut all = std::fs::read_to_string(&path).unwrap();
        all.push_str(lines);
        std::fs::write(&path, all).unwrap();
    }

    fn run(&self, program: &str, arguments: &[&str]) -> String {
        self.try_run(program, arguments).unwrap_or_else(|problem| panic!("{problem}"))
    }

    fn try_run(&self, program: &str, arguments: &[&str]) -> Result<String, String> {
        let path = self.bin.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
            command
        } else {
            Command::new(path)
        };
        // The server inherits and keeps stderr open: a file instead of a pipe, whose end would
        // never come.
        let errors = self.folder.path().join(format!("{program}.errors"));
        let errors_file = std::fs::File::create(&errors).unwrap();
        let output = self.folder.path().join(format!("{program}.output"));
        let output_file = std::fs::File::create(&output).unwrap();
        let status = command
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(output_file)
            .stderr(errors_file)
            .status()
            .unwrap();
        let errors = std::fs::read_to_string(errors).unwrap_or_default();
        match status.success() {
            true => Ok(std::fs::read_to_string(output).unwrap_or_default()),
            false => Err(format!("{program} {arguments:?}: {errors}")),
        }
    }
}

impl Drop for TestPostgres {
    fn drop(&mut self) {
        if self.data().join("postmaster.pid").exists() {
            self.stop_server();
        }
    }
}

/// Below the ephemeral ports, one of which could be taken by the time the server starts or
/// restarts. The start depends on the process, and each search begins after the previous one.
fn find_free_port() -> u16 {
    static LOOKS: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id() % 200 * 100 + LOOKS.fetch_add(1, Ordering::Relaxed);
    (0..20_000_u32)
        .map(|step| u16::try_from(10_000 + (start + step) % 20_000).unwrap())
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .unwrap()
}

fn find_bin() -> Option<PathBuf> {
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .filter(|bin| bin.join("initdb").is_file())
        .collect();
    versions.sort();
    versions.pop()
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);
/// Another process may take the port that was just found.
const STARTS_MAX: usize = 5;
