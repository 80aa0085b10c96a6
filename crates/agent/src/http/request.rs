//! Parses requests, and chooses the status of those that cannot be served.

use super::{LONGEST_HEAD, MOST_FIELDS, length, lists};

/// A request, as far as it concerns the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) target: Target,
    /// Whether only the head of the answer is requested.
    pub(crate) head_only: bool,
    /// Whether another request may follow on the connection.
    pub(crate) keep: bool,
    /// Whether the client uses HTTP/1.0, which needs `Connection: keep-alive`.
    pub(crate) old: bool,
    /// Bytes of its head.
    pub(crate) head: usize,
    /// Bytes of content that follow the head and are thrown away.
    pub(crate) content: u64,
}

/// What is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// An object of so many bytes.
    Object { bytes: u64 },
    /// Nothing that there is.
    Refused(Status),
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    BadRequest,
    NotFound,
    MethodNotAllowed,
    TooLarge,
    NotImplemented,
}

impl Status {
    /// Number and phrase (RFC 9110, section 15).
    pub(crate) const fn line(self) -> &'static str {
        match self {
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::TooLarge => "431 Request Header Fields Too Large",
            Self::NotImplemented => "501 Not Implemented",
        }
    }
}

/// Parses the head of a request; none when it is incomplete. After a refusal without a known end of
/// the message, the connection closes.
pub(crate) fn read(bytes: &[u8]) -> Option<Request> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    let head = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST_HEAD => return None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Some(refuse(Status::TooLarge, bytes.len()));
        }
        Err(_) => return Some(refuse(Status::BadRequest, bytes.len())),
    };
    Some(judge(&parsed, head))
}

fn refuse(status: Status, head: usize) -> Request {
    Request {
        target: Target::Refused(status),
        head_only: false,
        keep: false,
        old: false,
        head,
        content: 0,
    }
}

fn judge(parsed: &httparse::Request<'_, '_>, head: usize) -> Request {
    let old = parsed.version == Some(0);
    let named = |name: &'static str| {
        parsed.headers.iter().filter(move |field| field.name.eq_ignore_ascii_case(name))
    };
    let closes = named("connection").any(|field| lists(field.value, "close"));
    let keeps = named("connection").any(|field| lists(field.value, "keep-alive"));
    let lengths: Vec<Option<u64>> =
        named("content-length").map(|field| length(field.value)).collect();
    let unclear = lengths.iter().any(|one| one.is_none() || Some(one) != lengths.first());
    if unclear || (!old && named("host").count() != 1) {
        return refuse(Status::BadRequest, head);
    }
    if named("transfer-encoding").next().is_some() {
        return refuse(Status::NotImplemented, head);
    }
    let content = lengths.first().copied().flatten().unwrap_or(0);
    let target = match (parsed.method, parsed.path.map(object)) {
        (Some("GET" | "HEAD"), Some(Some(bytes))) => Target::Object { bytes },
        (Some("GET" | "HEAD"), _) => Target::Refused(Status::NotFound),
        _ => Target::Refused(Status::MethodNotAllowed),
    };
    Request {
        target,
        head_only: parsed.method == Some("HEAD"),
        keep: !closes && (!old || keeps),
        old,
        head,
        content,
    }
}

/// The size of the object that a path names: `/bytes/N`, also as an absolute URL, whatever its
/// query.
fn object(target: &str) -> Option<u64> {
    let path = target
        .strip_prefix("http://")
        .map_or(target, |rest| rest.find('/').map_or("/", |at| rest.split_at(at).1));
    let path = path.split(['?', '#']).next().unwrap_or_default();
    length(path.strip_prefix("/bytes/")?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Request {
        read(text.as_bytes()).expect("a whole head")
    }

    #[test]
    fn objects_are_named_by_their_size() {
        let request = parsed("GET /bytes/4096 HTTP/1.1\r\nHost: far\r\n\r\nGET");
        assert_eq!(
            request,
            Request {
                target: Target::Object { bytes: 4096 },
                head_only: false,
                keep: true,
                old: false,
                head: 39,
                content: 0
            }
        );
        assert_eq!(object("http://far:8080/bytes/17?again=1"), Some(17));
        for wrong in [
            "/",
            "/bytes/",
            "/bytes/-1",
            "/bytes/1x",
            "http://far",
            "*",
            "/bytes/99999999999999999999",
        ] {
            assert_eq!(object(wrong), None);
        }
        let head = parsed("HEAD /bytes/0 HTTP/1.1\r\nhost:\r\n\r\n");
        assert_eq!((head.target, head.head_only), (Target::Object { bytes: 0 }, true));
    }

    #[test]
    fn connections_persist_as_both_versions_of_http_define() {
        let keep = |text: &str| parsed(text).keep;
        assert!(keep("GET /bytes/1 HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(!keep("GET /bytes/1 HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n"));
        assert!(!keep("GET /bytes/1 HTTP/1.0\r\n\r\n"));
        assert!(keep("GET /bytes/1 HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
    }

    #[test]
    fn unsupported_requests_are_refused() {
        let refused = |text: &str| match parsed(text).target {
            Target::Refused(status) => status,
            Target::Object { .. } => panic!("{text} was answered"),
        };
        assert_eq!(refused("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), Status::NotFound);
        assert_eq!(
            refused("POST /bytes/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"),
            Status::MethodNotAllowed
        );
        assert_eq!(refused("GET /bytes/1 HTTP/1.1\r\n\r\n"), Status::BadRequest);
        assert_eq!(
            refused(
                "GET /bytes/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n"
            ),
            Status::BadRequest
        );
        assert_eq!(
            refused("GET /bytes/1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"),
            Status::NotImplemented
        );
        assert_eq!(refused("hello\r\n\r\n"), Status::BadRequest);
        let long = format!("GET /bytes/1 HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(LONGEST_HEAD));
        assert_eq!(refused(&long), Status::TooLarge);
        assert_eq!(read(b"GET /bytes/1 HT"), None);
    }

    #[test]
    fn request_content_is_measured_and_skipped() {
        let request = parsed("POST /bytes/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
        assert_eq!((request.content, request.keep), (3, true));
    }
}
