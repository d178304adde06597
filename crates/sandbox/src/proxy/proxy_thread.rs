//! A proxy on a thread of its own, for a caller without a runtime.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use super::{Proxy, ProxyHostRules, ProxyState};

/// A proxy that runs until this is dropped. Its directory is then removed.
#[derive(Debug)]
pub struct ProxyThread {
    directory: PathBuf,
    socket: PathBuf,
    state: Arc<ProxyState>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A thread that takes longer to start has failed.
const BEGIN_MAX: Duration = Duration::from_secs(10);

impl ProxyThread {
    /// Starts it in this directory, which is created for this user only.
    ///
    /// # Errors
    ///
    /// The directory, the socket or the thread cannot be created.
    pub fn start(directory: &Path, hosts: ProxyHostRules) -> io::Result<Self> {
        create_private_directory(directory)?;
        let (begun, beginning) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let place = directory.to_owned();
        let thread = std::thread::Builder::new().name("sandbox gate".to_owned());
        let thread = thread.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return drop(begun.send(Err(error))),
            };
            runtime.block_on(async {
                match Proxy::start(&place, hosts) {
                    Ok(proxy) => {
                        let words = (proxy.socket().to_owned(), Arc::clone(&proxy.state));
                        let _ = begun.send(Ok(words));
                        let _ = stopped.await;
                    }
                    Err(error) => drop(begun.send(Err(error))),
                }
            });
        })?;
        let late = |_| io::Error::from(io::ErrorKind::TimedOut);
        let (socket, rules) = beginning.recv_timeout(BEGIN_MAX).map_err(late)??;
        let directory = directory.to_owned();
        Ok(Self { directory, socket, state: rules, stop: Some(stop), thread: Some(thread) })
    }

    /// For [`ViaProxy`](crate::SandboxNetwork::ViaProxy).
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The hosts refused since the last call, and why.
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        self.state.take_refusals()
    }
}

#[cfg(unix)]
fn create_private_directory(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().mode(0o700).create(directory)
}

impl Drop for ProxyThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread has been told to stop.
            let _ = thread.join();
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
