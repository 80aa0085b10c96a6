//! Why an input cannot be opened at all. What goes wrong later is a [`crate::Problem`]: what could
//! be read stays read.

use std::io;
use std::path::PathBuf;

use crate::facts::{Compression, Format};

/// Why a capture cannot be opened. [`OpenError::hint`] states what can be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No input was given.
    #[error("no capture was given")]
    NoInput,
    /// There is no such file.
    #[error("{}: there is no such file", path.display())]
    NotFound {
        /// The path as given.
        path: PathBuf,
    },
    /// The path is a directory.
    #[error("{}: is a directory", path.display())]
    Directory {
        /// The path as given.
        path: PathBuf,
    },
    /// The operating system refuses to open or read the file.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// What the operating system reports.
        source: io::Error,
    },
    /// There is nothing in the file.
    #[error("{}: is empty", path.display())]
    Empty {
        /// The path as given.
        path: PathBuf,
        /// What the nothing was wrapped in.
        compression: Compression,
    },
    /// The file is not a capture in a format that is read here.
    #[error(
        "{}: is not a pcap or pcapng file: it begins with {found} and looks like {looks_like}",
        path.display()
    )]
    WrongMagic {
        /// The path as given.
        path: PathBuf,
        /// The first bytes, in hexadecimal.
        found: String,
        /// What the bytes look like.
        looks_like: &'static str,
        /// What can be done about it.
        advice: &'static str,
    },
    /// The file ends within its first header.
    #[error("{}: the file header is cut off: {found} of {needed} bytes are there", path.display())]
    TruncatedHeader {
        /// The path as given.
        path: PathBuf,
        /// Bytes of the header.
        needed: usize,
        /// Bytes of the file.
        found: usize,
    },
    /// The file header contradicts itself.
    #[error(
        "{}: the {} file header at byte {offset} is damaged: {detail}",
        path.display(),
        format.name()
    )]
    BadHeader {
        /// The path as given.
        path: PathBuf,
        /// The format that the magic number announced.
        format: Format,
        /// Where, in bytes.
        offset: u64,
        /// What was found.
        detail: String,
    },
    /// The file declares a version of its format that is not known.
    #[error(
        "{}: version {major}.{minor} of {} (at byte {offset}) is not supported",
        path.display(),
        format.name()
    )]
    UnsupportedVersion {
        /// The path as given.
        path: PathBuf,
        /// The format.
        format: Format,
        /// Where the version is, in bytes.
        offset: u64,
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// No interface of the file has a link type that can be decoded.
    #[error(
        "{}: link type {}, at byte {offset}, is not supported",
        path.display(),
        link_names(links)
    )]
    UnsupportedLink {
        /// The path as given.
        path: PathBuf,
        /// Where the first link type is, in bytes.
        offset: u64,
        /// The link types of the interfaces, by their LINKTYPE_ numbers.
        links: Vec<u32>,
    },
    /// Decompression fails before the first packet.
    #[error("{}: cannot be decompressed ({}): {source}", path.display(), compression.name())]
    Decompression {
        /// The path as given.
        path: PathBuf,
        /// The compression that the first bytes announced.
        compression: Compression,
        /// What the decompressor reports.
        source: io::Error,
    },
    /// The same file, or standard input, was given twice.
    #[error("{}: is given more than once", path.display())]
    Repeated {
        /// The path as given.
        path: PathBuf,
    },
    /// Two files hold the same packets.
    #[error(
        "{} and {} hold the same packets: {common} of {compared} compared packets are in both",
        first.display(),
        second.display()
    )]
    SamePackets {
        /// One of the files.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// How many packets are in both.
        common: usize,
        /// How many packets of the smaller file were compared.
        compared: usize,
    },
}

impl OpenError {
    /// What can be done: one sentence without a full stop.
    pub fn hint(&self) -> String {
        match self {
            Self::NoInput => "name a pcap or pcapng file, or `-` for standard input".to_owned(),
            Self::NotFound { .. } => "check the spelling and the directory you are in".to_owned(),
            Self::Directory { path } => format!(
                "name the files in it: `{}/*.pcap`",
                path.display().to_string().trim_end_matches('/')
            ),
            Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "captures are often written by root: `sudo chown $USER FILE`, or pipe it in: `sudo \
                 cat FILE | trustbed analyze -`"
                    .to_owned()
            }
            Self::Unreadable { .. } => "copy the file to a local disk and try again".to_owned(),
            Self::Empty { compression: Compression::None, .. } => {
                "the capture may not have been started or not been flushed: stop it with Ctrl-C, \
                 not with kill -9, or write with `tcpdump -U`"
                    .to_owned()
            }
            Self::Empty { .. } => {
                "what was compressed was empty: look for the capture itself".to_owned()
            }
            Self::WrongMagic { advice, .. } => (*advice).to_owned(),
            Self::TruncatedHeader { .. } => "the capture was interrupted before anything was \
                written, or the copy is incomplete"
                .to_owned(),
            Self::BadHeader { .. } => {
                "copy the file again in binary mode; `capinfos FILE` may tell more".to_owned()
            }
            Self::UnsupportedVersion { .. } => {
                "rewrite it: `editcap -F pcap FILE out.pcap`".to_owned()
            }
            Self::UnsupportedLink { .. } => {
                "capture on an Ethernet, Linux cooked (`-i any`), raw IP or loopback interface; \
                 nothing else is decoded"
                    .to_owned()
            }
            Self::Decompression { .. } => {
                "the file is damaged or was not copied completely: `gzip \
                -t FILE` or `zstd -t FILE` checks it"
                    .to_owned()
            }
            Self::Repeated { .. } => "give every file once".to_owned(),
            Self::SamePackets { .. } => {
                "these look like both ends of one transfer: say which is which, `trustbed analyze \
                 --sender FILE --receiver FILE`"
                    .to_owned()
            }
        }
    }
}

/// Numbers with their names, as in "105 (IEEE 802.11) and 127 (IEEE 802.11 with radiotap header)".
fn link_names(links: &[u32]) -> String {
    let named: Vec<String> = links
        .iter()
        .map(|number| {
            link_name(*number)
                .map_or_else(|| number.to_string(), |name| format!("{number} ({name})"))
        })
        .collect();
    named.join(", ")
}

/// The names of link types that people meet and that are not decoded (tcpdump.org, LINKTYPE_
/// registry).
fn link_name(number: u32) -> Option<&'static str> {
    Some(match number {
        6 => "IEEE 802.5 token ring",
        8 => "SLIP",
        10 => "FDDI",
        51 => "PPPoE",
        100 | 11 => "ATM RFC 1483",
        104 => "Cisco HDLC",
        105 => "IEEE 802.11",
        107 => "frame relay",
        119 => "IEEE 802.11 with Prism header",
        127 => "IEEE 802.11 with radiotap header",
        147..=162 => "private use",
        163 => "IEEE 802.11 with AVS header",
        187 | 201 | 251 | 256 => "Bluetooth",
        189 | 220 | 249 => "USB",
        192 => "PPI",
        195 | 215 | 230 | 283 => "IEEE 802.15.4",
        203 => "LAPD",
        227 => "CAN",
        239 => "Linux netfilter log",
        247 => "InfiniBand",
        253 => "Linux netlink",
        271 => "vsock",
        _ => return None,
    })
}
