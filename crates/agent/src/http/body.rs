//! The content of a response: its length, and where it ends (RFC 9112, section 6).

use super::{length, lists};

/// The longest line that begins a chunk.
const LONGEST_LINE: usize = 1024;

/// How a response delimits its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Framing {
    /// After so many bytes.
    Length(u64),
    /// After a last chunk.
    Chunked(Chunks),
    /// With the connection.
    Close,
}

/// Why an answer cannot be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotUnderstood;

/// The head of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Bytes of the head.
    pub(crate) length: usize,
    pub(crate) framing: Framing,
    /// Whether another request may follow on the connection.
    pub(crate) keep: bool,
}

/// Reads the head of an answer to a GET; none when it is not complete.
pub(crate) fn read_head(bytes: &[u8]) -> Result<Option<Head>, NotUnderstood> {
    let mut fields = [httparse::EMPTY_HEADER; super::MOST_FIELDS];
    let mut parsed = httparse::Response::new(&mut fields);
    let head = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) if bytes.len() < super::LONGEST_HEAD => return Ok(None),
        _ => return Err(NotUnderstood),
    };
    let named = |name: &'static str| {
        parsed.headers.iter().filter(move |field| field.name.eq_ignore_ascii_case(name))
    };
    let status = parsed.code.ok_or(NotUnderstood)?;
    let closes = named("connection").any(|field| lists(field.value, "close"));
    let keeps = named("connection").any(|field| lists(field.value, "keep-alive"));
    let keep = !closes && (parsed.version == Some(1) || keeps);
    let mut lengths = named("content-length").map(|field| length(field.value).ok_or(NotUnderstood));
    let framing = if status < 200 || status == 204 || status == 304 {
        Framing::Length(0)
    } else if named("transfer-encoding").any(|field| lists(field.value, "chunked")) {
        Framing::Chunked(Chunks::default())
    } else if let Some(first) = lengths.next() {
        let first = first?;
        if lengths.any(|other| other != Ok(first)) {
            return Err(NotUnderstood);
        }
        Framing::Length(first)
    } else {
        Framing::Close
    };
    let keep = keep && framing != Framing::Close;
    Ok(Some(Head { status, length: head, framing, keep }))
}

/// The state of reading chunked content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Chunks {
    state: Chunk,
    /// An incomplete line.
    line: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Chunk {
    #[default]
    Size,
    Data(u64),
    AfterData,
    Trailer,
    Done,
}

impl Chunks {
    /// Takes the next bytes, and hands the content among them to `see`. True once the last chunk
    /// has come.
    pub(crate) fn take(
        &mut self,
        mut bytes: &[u8],
        mut see: impl FnMut(&[u8]),
    ) -> Result<bool, NotUnderstood> {
        while !bytes.is_empty() && self.state != Chunk::Done {
            if let Chunk::Data(left) = self.state {
                let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                let (data, rest) = bytes.split_at(here);
                see(data);
                bytes = rest;
                let left = left - here as u64;
                self.state = if left == 0 { Chunk::AfterData } else { Chunk::Data(left) };
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
                self.line.extend_from_slice(bytes);
                bytes = &[];
                if self.line.len() > LONGEST_LINE {
                    return Err(NotUnderstood);
                }
                continue;
            };
            let (line, rest) = bytes.split_at(end + 1);
            self.line.extend_from_slice(line);
            bytes = rest;
            if self.line.len() > LONGEST_LINE {
                return Err(NotUnderstood);
            }
            self.on_line()?;
            self.line.clear();
        }
        Ok(self.state == Chunk::Done)
    }

    fn on_line(&mut self) -> Result<(), NotUnderstood> {
        let line = self.line.trim_ascii();
        self.state = match self.state {
            Chunk::Size => {
                let digits =
                    line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
                let text = std::str::from_utf8(digits).map_err(|_| NotUnderstood)?;
                match u64::from_str_radix(text, 16).map_err(|_| NotUnderstood)? {
                    0 => Chunk::Trailer,
                    size => Chunk::Data(size),
                }
            }
            Chunk::AfterData if line.is_empty() => Chunk::Size,
            Chunk::Trailer if line.is_empty() => Chunk::Done,
            Chunk::Trailer => Chunk::Trailer,
            Chunk::AfterData | Chunk::Data(_) | Chunk::Done => return Err(NotUnderstood),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Head {
        read_head(text.as_bytes()).expect("an answer").expect("a whole head")
    }

    #[test]
    fn the_end_of_the_content_is_known() {
        let answer = head("HTTP/1.1 200 OK\r\nContent-Length: 42\r\n\r\n");
        assert_eq!((answer.status, answer.framing, answer.keep), (200, Framing::Length(42), true));
        assert_eq!(
            head("HTTP/1.1 304 Not Modified\r\nContent-Length: 42\r\n\r\n").framing,
            Framing::Length(0)
        );
        let until_close = head("HTTP/1.1 200 OK\r\n\r\n");
        assert_eq!((until_close.framing, until_close.keep), (Framing::Close, false));
        assert!(!head("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n").keep);
        assert!(!head("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n").keep);
        assert_eq!(read_head(b"HTTP/1.1 200"), Ok(None));
        for wrong in [
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "SSH-2.0\r\n\r\n",
        ] {
            assert_eq!(read_head(wrong.as_bytes()), Err(NotUnderstood));
        }
    }

    #[test]
    fn chunks_are_joined_wherever_reads_split_them() {
        let text = b"4\r\nwiki\r\n6;name=value\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\n\
            Trailer: x\r\n\r\n";
        for piece in [1, 2, 3, 7, text.len()] {
            let (mut chunks, mut content, mut done) = (Chunks::default(), Vec::new(), false);
            for part in text.chunks(piece) {
                assert!(!done);
                done =
                    chunks.take(part, |data| content.extend_from_slice(data)).expect("well formed");
            }
            assert_eq!((done, content.as_slice()), (true, &b"wikipedia in \r\n\r\nchunks."[..]));
        }
        assert_eq!(Chunks::default().take(b"x\r\n", |_| ()), Err(NotUnderstood));
        assert_eq!(Chunks::default().take(b"1\r\nab\r\n", |_| ()), Err(NotUnderstood));
        assert_eq!(Chunks::default().take(&[b'1'; 2000], |_| ()), Err(NotUnderstood));
    }
}
