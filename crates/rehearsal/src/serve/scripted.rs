//! The script as a host: what `respond` decides is sent here.

use std::io;

use super::host::{After, Host, Line};
use super::http::{self, Request};
use super::perform::Performer;
use super::respond::{Response, respond};
use super::stage::Stage;

impl Host for Stage {
    const NAME: &'static str = "rehearsal";

    async fn answer(&self, request: Request, line: &mut Line) -> io::Result<After> {
        match respond(self, &request) {
            Response::Whole { status, mut headers, body } => {
                headers.push(("content-length".to_owned(), body.len().to_string()));
                let mut bytes = http::response_head(status, &headers);
                bytes.extend_from_slice(&body);
                Performer::new(line, bytes).perform(Vec::new()).await
            }
            Response::Acts { mut headers, acts } => {
                headers.push(("transfer-encoding".to_owned(), "chunked".to_owned()));
                let head = http::response_head(200, &headers);
                Performer::new(line, head).perform(acts).await
            }
            Response::Drop { reset } => {
                if reset {
                    line.stream.set_zero_linger()?;
                }
                Ok(After::Close)
            }
        }
    }
}
