//! A port inside the network namespace that forwards to the proxy's socket outside.
//!
//! Programs use proxies over TCP, but only files can be shared with the namespace. This process
//! runs beside the command, forwards in both directions, and ends with it.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::creation_supervisor;
use super::entry_arguments::EntryArguments;
use super::restricted_process::set_environment;
use crate::linux::process_limits::set_limits;

/// Each uses two threads.
const CONNECTIONS_MAX: usize = 64;

/// Opens the port, runs the command with its address, and returns how it ended.
pub(super) fn run_with_proxy_bridge(entry: &EntryArguments) -> Result<i32, String> {
    let (Some(socket), Some((program, arguments))) = (&entry.socket, entry.command.split_first())
    else {
        return Err("no socket or no command".into());
    };
    if let Some(limits) = &entry.limits {
        set_limits(limits, 0)?;
    }
    let no_port = |error: io::Error| format!("no port for the proxy: {error}");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(no_port)?;
    let port = listener.local_addr().map_err(no_port)?.port();
    let socket: Arc<Path> = socket.as_path().into();
    std::thread::Builder::new()
        .name("bridge".into())
        .spawn(move || serve(&listener, &socket))
        .map_err(|error| format!("no thread for the proxy: {error}"))?;
    let address = format!("http://127.0.0.1:{port}");
    let mut command = Command::new(program);
    command.args(arguments);
    set_environment(&mut command, entry);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
    {
        command.env(name, &address);
    }
    for name in ["NO_PROXY", "no_proxy"] {
        command.env(name, "localhost,127.0.0.1,::1");
    }
    creation_supervisor::run(command, entry)
        .map_err(|error| format!("`{}` cannot be started: {error}", program.display()))
}

fn serve(listener: &TcpListener, socket: &Arc<Path>) {
    let open = Arc::new(AtomicUsize::new(0));
    for inside in listener.incoming().flatten() {
        if open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let socket = Arc::clone(socket);
        let open = Arc::clone(&open);
        let carried = std::thread::Builder::new().spawn(move || {
            // A broken connection is closed, which the client notices.
            let _ = copy_both_ways(inside, &socket);
            open.fetch_sub(1, Ordering::Relaxed);
        });
        drop(carried);
    }
}

fn copy_both_ways(mut inside: TcpStream, socket: &Path) -> io::Result<()> {
    let mut outside = UnixStream::connect(socket)?;
    let mut from_outside = outside.try_clone()?;
    let mut to_inside = inside.try_clone()?;
    let back = std::thread::Builder::new().spawn(move || {
        let _ = io::copy(&mut from_outside, &mut to_inside);
        let _ = to_inside.shutdown(Shutdown::Write);
    })?;
    let _ = io::copy(&mut inside, &mut outside);
    let _ = outside.shutdown(Shutdown::Write);
    // The other direction ends when the proxy closes it, within a limited time.
    let _ = back.join();
    Ok(())
}
