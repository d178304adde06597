//! gRPC framing of a request, and the status of its response.

use http::HeaderMap;
use http_body_util::BodyExt;
use reqwest::Response;

use super::http_client::ANSWER_BYTES_MAX;
use super::send_result::SendResult;

/// Prepends a zero byte (uncompressed) and the message length.
pub(super) fn frame(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut framed = Vec::with_capacity(message.len() + 5);
    framed.push(0);
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(message);
    framed
}

/// The status is in the trailers, or in the headers if the response has no body.
pub(super) async fn read_status(response: Response) -> SendResult {
    if !response.status().is_success() {
        return SendResult::from_status(response.status().as_u16(), None);
    }
    if let Some(status) = parse_status(response.headers()) {
        return SendResult::from_grpc_status(status);
    }
    let mut body = http::Response::<reqwest::Body>::from(response).into_body();
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => {
                read += frame.data_ref().map_or(0, |data| data.len());
                if let Some(status) = frame.trailers_ref().and_then(parse_status) {
                    return SendResult::from_grpc_status(status);
                }
                if read > ANSWER_BYTES_MAX {
                    return SendResult::Refused { why: "the answer is too long".to_owned() };
                }
            }
            Err(_) => return SendResult::retry("the answer was cut off"),
        }
    }
    SendResult::retry("the answer has no grpc status")
}

fn parse_status(headers: &HeaderMap) -> Option<u32> {
    headers.get("grpc-status")?.to_str().ok()?.parse().ok()
}
