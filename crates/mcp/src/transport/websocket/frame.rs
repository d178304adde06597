//! Frames of WebSocket (RFC 6455): a client masks what it writes, and reads what is not masked.

use ring::rand::{SecureRandom, SystemRandom};
use tokio::io::{AsyncRead, AsyncReadExt};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl FrameKind {
    fn code(self) -> u8 {
        match self {
            Self::Continuation => 0,
            Self::Text => 1,
            Self::Binary => 2,
            Self::Close => 8,
            Self::Ping => 9,
            Self::Pong => 10,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        [Self::Continuation, Self::Text, Self::Binary, Self::Close, Self::Ping, Self::Pong]
            .into_iter()
            .find(|kind| kind.code() == code)
    }

    fn is_control(self) -> bool {
        self.code() >= 8
    }
}

/// What a server sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReceivedMessage {
    /// A whole message, of as many frames as it took.
    Data(Vec<u8>),
    /// To be answered with the same bytes.
    Ping(Vec<u8>),
    Close,
}

/// Why no more can be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FrameError {
    Gone,
    TooLong,
    /// The server breaks the rules of the protocol.
    Violation(&'static str),
}

impl From<std::io::Error> for FrameError {
    fn from(_: std::io::Error) -> Self {
        Self::Gone
    }
}

pub(super) struct MessageReader<R> {
    stream: R,
    /// The frames so far of a message that is not whole.
    partial: Option<Vec<u8>>,
    bytes_max: usize,
}

impl<R: AsyncRead + Unpin> MessageReader<R> {
    pub(super) fn new(stream: R, bytes_max: usize) -> Self {
        Self { stream, partial: None, bytes_max }
    }

    /// Not cancel-safe: a message that was read in part is lost.
    pub(super) async fn next(&mut self) -> Result<ReceivedMessage, FrameError> {
        loop {
            let head = self.read_head().await?;
            let mut partial = match (head.kind, self.partial.take()) {
                (FrameKind::Close, _) => return Ok(ReceivedMessage::Close),
                (FrameKind::Ping | FrameKind::Pong, partial) => {
                    self.partial = partial;
                    let bytes = self.read_payload(head.length, Vec::new()).await?;
                    match head.kind {
                        FrameKind::Ping => return Ok(ReceivedMessage::Ping(bytes)),
                        FrameKind::Continuation
                        | FrameKind::Text
                        | FrameKind::Binary
                        | FrameKind::Close
                        | FrameKind::Pong => continue,
                    }
                }
                (FrameKind::Text | FrameKind::Binary, None) => Vec::new(),
                (FrameKind::Continuation, Some(partial)) => partial,
                (FrameKind::Text | FrameKind::Binary, Some(_))
                | (FrameKind::Continuation, None) => {
                    return Err(FrameError::Violation("its messages are mixed up"));
                }
            };
            partial = self.read_payload(head.length, partial).await?;
            match head.is_last {
                true => return Ok(ReceivedMessage::Data(partial)),
                false => self.partial = Some(partial),
            }
        }
    }

    async fn read_head(&mut self) -> Result<FrameHead, FrameError> {
        let [first, second] = [self.stream.read_u8().await?, self.stream.read_u8().await?];
        if first & RESERVED_BITS != 0 {
            return Err(FrameError::Violation("it uses an extension that was not asked for"));
        }
        if second & MASK_BIT != 0 {
            return Err(FrameError::Violation("its frames are masked"));
        }
        let kind = FrameKind::from_code(first & 0x0f);
        let kind = kind.ok_or(FrameError::Violation("it sends frames of an unknown kind"))?;
        let is_last = first & LAST_BIT != 0;
        let length = match second {
            126 => u64::from(self.stream.read_u16().await?),
            127 => self.stream.read_u64().await?,
            length => u64::from(length),
        };
        if kind.is_control() && (length > CONTROL_BYTES_MAX || !is_last) {
            return Err(FrameError::Violation("a control frame is too long"));
        }
        Ok(FrameHead { kind, is_last, length })
    }

    /// Reads the bytes of a frame behind those of the frames before it. What was announced is not
    /// reserved before it comes.
    async fn read_payload(
        &mut self,
        length: u64,
        mut bytes: Vec<u8>,
    ) -> Result<Vec<u8>, FrameError> {
        let before = bytes.len();
        let length = usize::try_from(length).map_err(|_| FrameError::TooLong)?;
        if before.saturating_add(length) > self.bytes_max {
            return Err(FrameError::TooLong);
        }
        let mut part = (&mut self.stream).take(length as u64);
        part.read_to_end(&mut bytes).await?;
        match bytes.len() - before == length {
            true => Ok(bytes),
            false => Err(FrameError::Gone),
        }
    }
}

#[derive(Debug)]
struct FrameHead {
    kind: FrameKind,
    is_last: bool,
    length: u64,
}

/// A whole message as one frame. `None` if the system has no random numbers for its mask.
pub(super) fn encode_frame(kind: FrameKind, payload: &[u8]) -> Option<Vec<u8>> {
    let mut mask = [0; 4];
    SystemRandom::new().fill(&mut mask).ok()?;
    let mut frame = Vec::with_capacity(payload.len() + HEAD_BYTES_MAX);
    frame.push(LAST_BIT | kind.code());
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(short), _) if short < 126 => frame.push(MASK_BIT | short),
        (_, Ok(length)) => {
            frame.push(MASK_BIT | 126);
            frame.extend_from_slice(&length.to_be_bytes());
        }
        (_, Err(_)) => {
            frame.push(MASK_BIT | 127);
            frame.extend_from_slice(&(payload.len() as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    Some(frame)
}

const LAST_BIT: u8 = 0x80;
const RESERVED_BITS: u8 = 0x70;
const MASK_BIT: u8 = 0x80;
const CONTROL_BYTES_MAX: u64 = 125;
const HEAD_BYTES_MAX: usize = 14;

#[cfg(test)]
mod tests {
    use super::*;

    /// All messages of these bytes, and why there is no more.
    async fn read_all(bytes: &[u8]) -> (Vec<ReceivedMessage>, FrameError) {
        let mut reader = MessageReader::new(bytes, 300);
        let mut messages = Vec::new();
        loop {
            match reader.next().await {
                Ok(message) => messages.push(message),
                Err(error) => return (messages, error),
            }
        }
    }

    #[tokio::test]
    async fn frames_become_messages_and_pings_may_come_between() {
        let mut bytes = vec![0x01, 2, b'a', b'b', 0x89, 1, b'p', 0x8a, 0, 0x80, 1, b'c'];
        bytes.extend([0x82, 126, 0, 200]);
        bytes.extend([b'x'; 200]);
        bytes.extend([0x88, 0]);
        let (messages, error) = read_all(&bytes).await;
        let expected = [
            ReceivedMessage::Ping(b"p".to_vec()),
            ReceivedMessage::Data(b"abc".to_vec()),
            ReceivedMessage::Data(vec![b'x'; 200]),
            ReceivedMessage::Close,
        ];
        assert_eq!(messages, expected);
        assert_eq!(error, FrameError::Gone);
    }

    #[tokio::test]
    async fn what_breaks_the_rules_is_refused_before_it_is_read() {
        let violation = |bytes: &'static [u8]| async move { read_all(bytes).await.1 };
        assert_eq!(violation(&[0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0]).await, FrameError::TooLong);
        assert_eq!(
            violation(&[0x81, 127, 255, 255, 255, 255, 255, 255, 255, 255]).await,
            FrameError::TooLong
        );
        assert_eq!(violation(&[0x01, 126, 1, 0]).await, FrameError::Gone);
        for bytes in [
            &[0xc1, 0][..],
            &[0x81, 0x80],
            &[0x83, 0],
            &[0x80, 0],
            &[0x01, 0, 0x01, 0],
            &[0x89, 126, 0, 126],
            &[0x09, 0],
        ] {
            let error = read_all(bytes).await.1;
            assert!(matches!(error, FrameError::Violation(_)), "{bytes:?}: {error:?}");
        }
    }

    #[test]
    fn lengths_are_written_in_the_shortest_way() {
        for (length, head) in [(0, 2), (125, 2), (126, 4), (65_535, 4), (65_536, 10)] {
            let frame = encode_frame(FrameKind::Text, &vec![b'x'; length]).unwrap();
            assert_eq!(frame.len(), head + 4 + length);
            let mask = &frame[head..head + 4];
            let payload = frame[head + 4..].iter().zip(mask.iter().cycle());
            assert!(payload.map(|(byte, mask)| byte ^ mask).all(|byte| byte == b'x'));
        }
    }
}
