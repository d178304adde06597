//! Encrypted connections: a trusted certificate works, any other is refused for good.

use std::path::Path;

use windlass_rehearsal::ScriptedAnswer as Says;
use windlass_vocabulary::{FailureKind, Terminal};

use crate::fixture::{FixtureOptions, assert_ended, block_on, ended, rehearse, tls};

#[test]
fn trust_decides() {
    if let Some(directory) = tls::trusting("tls::trust_decides") {
        block_on(ask_both(&directory));
    }
}

async fn ask_both(directory: &Path) {
    for (name, terminal) in [("known", Terminal::Completed), ("unknown", Terminal::ModelError)] {
        let rehearsal = rehearse([Says::text("in confidence")]).await;
        let url = encrypted(directory, name, rehearsal.address()).await;
        // Retries are on: a certificate that is not trusted must not use them.
        let (session, mut notices) = FixtureOptions::default().builder(&url).start().unwrap();
        session.submit("psst").unwrap();
        let (ending, _) = ended(&mut notices).await;
        assert_ended(&ending, terminal);
        let kind = ending.failure.as_ref().map(|failure| failure.kind);
        let expected = (name == "unknown").then_some(FailureKind::Misconfigured);
        assert_eq!(kind, expected);
        assert_eq!(rehearsal.request_count(), usize::from(name == "known"));
    }
}

/// Speaks TLS with the certificate of this name and passes on what it hears.
async fn encrypted(directory: &Path, name: &str, to: std::net::SocketAddr) -> String {
    let acceptor = tls::acceptor(directory, name, &[]);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not trust us hangs up in the middle of the greeting.
            if let Ok(mut client) = acceptor.accept(stream).await {
                let mut server = tokio::net::TcpStream::connect(to).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            }
        }
    });
    url
}
