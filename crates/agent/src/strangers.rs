//! What strangers can send to the agent's ports, as far as it is read before anything is decided:
//! bytes in, numbers out. Fuzz targets and tests call this; the agent calls what it calls.
//!
//! STAMP packets are read by `trustbed-probe`.

use crate::control::{Kind, Order, packed, read_frame};
use crate::http::{Framing, Target, read_head, read_request};
use crate::tcp::pairs::{Answer, Header};

/// The header of a data connection as it would be written; none where the bytes are none.
pub fn header(bytes: &[u8; 64]) -> Option<[u8; 64]> {
    Header::read(bytes).ok().map(|header| header.write())
}

/// The answer to a data connection, likewise.
pub fn answer(bytes: &[u8; 64]) -> Option<[u8; 64]> {
    Answer::read(bytes).ok().map(|answer| answer.write())
}

/// A request to the server of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Bytes of its head.
    pub head_bytes: usize,
    /// Bytes of content behind it.
    pub content_bytes: u64,
    /// Whether another may follow on the connection.
    pub keeps: bool,
    /// The size of the requested object; none where it is refused.
    pub object_bytes: Option<u64>,
}

/// The request that a connection begins with; none while more must come.
pub fn request(bytes: &[u8]) -> Option<Request> {
    read_request(bytes).map(|request| Request {
        head_bytes: request.head,
        content_bytes: request.content,
        keeps: request.keep,
        object_bytes: match request.target {
            Target::Object { bytes } => Some(bytes),
            Target::Refused(_) => None,
        },
    })
}

/// An answer of a server of objects that is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotUnderstood;

/// The answer that a connection begins with, whose content comes in pieces of so many bytes: the
/// bytes of its head, its content as far as it is there, and whether that is all of it. None while
/// more of the head must come.
///
/// # Errors
/// It is no answer.
pub fn response(
    bytes: &[u8],
    piece: usize,
) -> Result<Option<(usize, Vec<u8>, bool)>, NotUnderstood> {
    let Some(head) = read_head(bytes).map_err(|_| NotUnderstood)? else { return Ok(None) };
    let rest = bytes.get(head.length..).unwrap_or_default();
    let mut content = Vec::new();
    let whole = match head.framing {
        Framing::Length(length) => {
            let here = usize::try_from(length).unwrap_or(usize::MAX).min(rest.len());
            content.extend_from_slice(rest.get(..here).unwrap_or_default());
            here as u64 == length
        }
        Framing::Chunked(mut chunks) => {
            let mut done = false;
            for part in rest.chunks(piece.max(1)) {
                done = chunks
                    .take(part, |data| content.extend_from_slice(data))
                    .map_err(|_| NotUnderstood)?;
            }
            done
        }
        Framing::Close => {
            content.extend_from_slice(rest);
            false
        }
    };
    Ok(Some((head.length, content, whole)))
}

/// A frame of a control channel as it would be written; whether it orders a command, and can.
pub type ControlFrame = (Vec<u8>, Option<bool>);

/// The frames of a control channel up to the first that is none or not whole, and whether the
/// channel ends with an error there.
pub fn control_frames(mut bytes: &[u8]) -> (Vec<ControlFrame>, bool) {
    let mut frames = Vec::new();
    loop {
        match read_frame(&mut bytes) {
            Ok(Some(frame)) => {
                let order = (frame.kind == Kind::Open).then(|| Order::read(&frame.content).is_ok());
                let written = packed(frame.channel, frame.kind, &frame.content).unwrap_or_default();
                frames.push((written, order));
            }
            Ok(None) => return (frames, false),
            Err(_) => return (frames, true),
        }
    }
}
