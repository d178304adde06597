//! `windlass view`: binds the socket, prints the address, opens the browser, and serves until a
//! signal.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use windlass_assembly::options::RunOptions;
use windlass_assembly::session::session_lookup::find_session_here;
use windlass_host::command_error::CommandError;
use windlass_host::environment::process_environment;
use windlass_host::exit::Exit;
use windlass_host::signals::SignalListener;

use super::Viewer;
use crate::browser_launch::RedirectFile;
use crate::router::ViewRouter;
use crate::server::access_token::AccessToken;
use crate::server::request_guard::RequestGuard;
use crate::server::{BrowserServer, bind_loopback};

#[derive(Clone, Debug)]
pub struct ViewOptions {
    /// The session to show first, by id or name.
    pub session: Option<String>,
    /// 0 lets the system choose.
    pub port: u16,
    pub opens_browser: bool,
    /// Options to open sessions with; `None` for a read-only viewer.
    pub acting: Option<RunOptions>,
    /// Reads the page from this folder, for work on it.
    pub assets: Option<PathBuf>,
}

pub async fn run_viewer(
    options: ViewOptions,
    mut signals: SignalListener,
) -> Result<Exit, CommandError> {
    let ViewOptions { session, port, opens_browser, acting, assets } = options;
    let session = match session {
        Some(wanted) => Some(find_session_here(Some(&wanted), &process_environment)?.summary.id),
        None => None,
    };
    let listener = bind_loopback(port).await.map_err(|error| {
        CommandError::failure(format!(
            "port {port} of 127.0.0.1 cannot be used: {error}; leave --port out"
        ))
    })?;
    let bound = listener.local_addr().map_err(|error| CommandError::failure(error.to_string()))?;
    let token = AccessToken::generate()
        .ok_or_else(|| CommandError::failure("the system gives no random bytes for a token"))?;
    let mut address = format!("http://127.0.0.1:{}/#token={}", bound.port(), token.as_str());
    if let Some(session) = &session {
        address.push_str(&format!("&session={session}"));
    }
    let viewer = Arc::new(Viewer::open(assets, acting, session)?);
    let guard = RequestGuard::new(bound.port(), token);
    let router = Arc::new(ViewRouter { viewer: Arc::clone(&viewer) });
    let server = BrowserServer::new(listener, guard, router);
    print_address(&address);
    let redirect = if opens_browser { open_browser(&address) } else { None };
    let exit = tokio::select! {
        () = server.run() => Exit::SUCCESS,
        // A signal is the normal way to end the viewer.
        _ = signals.next() => Exit::SUCCESS,
    };
    drop(redirect);
    viewer.open_sessions.close_all().await;
    Ok(exit)
}

/// The address goes to stdout only, because it contains the token.
fn print_address(address: &str) {
    let mut out = std::io::stdout();
    // Continues if stdout is closed: the browser may still open.
    let _ = writeln!(out, "{address}").and_then(|()| out.flush());
    let _ = writeln!(
        std::io::stderr(),
        "Only this user can open it, with this address. Ctrl-C ends the viewer."
    );
}

fn open_browser(address: &str) -> Option<RedirectFile> {
    let parent =
        process_environment("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    let redirect = RedirectFile::create(&parent.unwrap_or_else(std::env::temp_dir), address);
    let opened = redirect.and_then(|redirect| redirect.open().map(|child| (redirect, child)));
    match opened {
        Ok((redirect, mut child)) => {
            // Waits for the child on another thread, so that it does not remain as a zombie.
            std::thread::spawn(move || child.wait());
            Some(redirect)
        }
        Err(_) => {
            let _ = writeln!(std::io::stderr(), "No browser could be started; open the address.");
            None
        }
    }
}
