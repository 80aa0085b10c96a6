//! What a file looks like by its first bytes: the compression around a capture, and what it may be
//! when it is no capture. The name of a file does not matter.

use crate::facts::Compression;

/// The compression that the first bytes announce.
pub(crate) fn compression(start: &[u8]) -> Compression {
    match start {
        [0x1f, 0x8b, 0x08, ..] => Compression::Gzip,
        // A Zstandard frame, or a skippable one (RFC 8878, section 3.1), as pzstd writes at the
        // beginning.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
        _ => Compression::None,
    }
}

/// How many bytes [`look`] wants to see, if there are as many.
pub(crate) const LOOK_LENGTH: usize = 512;

/// What something that is no pcap or pcapng file looks like, and what can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) what: &'static str,
    pub(crate) advice: &'static str,
}

const CONVERT: &str =
    "convert it: `editcap -F pcap FILE out.pcap` (Wireshark's editcap reads most capture formats)";
const UNPACK: &str = "unpack it first; only gzip and Zstandard are unpacked on the fly";
const NOT_A_CAPTURE: &str =
    "give the capture file itself (`tcpdump -w`, `dumpcap` and `tshark -w` write one)";

struct Signature {
    offset: usize,
    magic: &'static [u8],
    what: &'static str,
    advice: &'static str,
}

const fn sign(magic: &'static [u8], what: &'static str, advice: &'static str) -> Signature {
    Signature { offset: 0, magic, what, advice }
}

/// Formats with a magic number. Of two that fit, the first wins.
const SIGNATURES: &[Signature] = &[
    sign(b"snoop\0\0\0", "a snoop capture (Solaris)", CONVERT),
    sign(b"btsnoop\0", "a Bluetooth snoop log", "there is no IP in it to analyse"),
    sign(b"GMBU", "a Microsoft Network Monitor capture", CONVERT),
    sign(b"RTSS", "a Microsoft Network Monitor 1 capture", CONVERT),
    sign(b"TRSNIFF data", "a Network General Sniffer capture", CONVERT),
    sign(b"XCP\0", "a NetXRay or Windows Sniffer capture", CONVERT),
    sign(b"iptrace ", "an AIX iptrace capture", CONVERT),
    sign(b"\xaa\xaa\xaa\xaa", "a 5View capture", CONVERT),
    sign(b"\x7fver\0", "an EtherPeek or OmniPeek capture", CONVERT),
    sign(b"\x1c\x00\x01\xac", "an Ixia capture", CONVERT),
    sign(b"\xac\x01\x00\x1c", "an Ixia capture", CONVERT),
    sign(
        b"\xfd7zXZ\0",
        "an xz file",
        "unpack it first: `xz -dk FILE`; only gzip and Zstandard are unpacked on the fly",
    ),
    sign(
        b"BZh",
        "a bzip2 file",
        "unpack it first: `bzip2 -dk FILE`; only gzip and Zstandard are unpacked on the fly",
    ),
    sign(
        b"\x04\x22\x4d\x18",
        "an lz4 file",
        "unpack it first: `lz4 -d FILE`; only gzip and Zstandard are unpacked on the fly",
    ),
    sign(
        b"PK\x03\x04",
        "a zip archive",
        "unpack it first: `unzip FILE`; only gzip and Zstandard are unpacked on the fly",
    ),
    sign(b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", UNPACK),
    sign(b"Rar!\x1a\x07", "a RAR archive", UNPACK),
    sign(b"\x1f\x9d", "a compress (.Z) file", UNPACK),
    sign(
        b"\x1f\x8b",
        "a gzip file",
        "it is compressed twice, or by an unknown gzip method: unpack it first",
    ),
    sign(b"\x28\xb5\x2f\xfd", "a Zstandard file", "it is compressed twice: unpack it first"),
    Signature {
        offset: 257,
        magic: b"ustar",
        what: "a tar archive",
        advice: "unpack it first: `tar -xf FILE`",
    },
    sign(b"PAR1", "a Parquet table", NOT_A_CAPTURE),
    sign(b"ARROW1", "an Arrow table", NOT_A_CAPTURE),
    sign(b"SQLite format 3\0", "an SQLite database", NOT_A_CAPTURE),
    sign(b"\x7fELF", "a program", NOT_A_CAPTURE),
    sign(b"%PDF", "a PDF document", NOT_A_CAPTURE),
    sign(b"\x89PNG", "a PNG image", NOT_A_CAPTURE),
    sign(b"\xff\xfe", "UTF-16 text", NOT_A_CAPTURE),
    sign(b"\xfe\xff", "UTF-16 text", NOT_A_CAPTURE),
];

/// What the bytes look like.
pub(crate) fn look(start: &[u8]) -> Look {
    let start = &start[..start.len().min(LOOK_LENGTH)];
    if let Some(found) = SIGNATURES.iter().find(|signature| {
        start.get(signature.offset..).is_some_and(|rest| rest.starts_with(signature.magic))
    }) {
        return Look { what: found.what, advice: found.advice };
    }
    if damaged_magic(start) {
        return Look {
            what: "a pcap or pcapng file whose magic number is damaged",
            advice: "copy it again, in binary mode, from where it was captured",
        };
    }
    if start.iter().all(|byte| *byte == 0) {
        return Look {
            what: "zeros",
            advice: "the file was laid out but never written, or its beginning was lost",
        };
    }
    if is_text(start) {
        return text(start);
    }
    if is_erf(start) {
        return Look { what: "an ERF capture (Endace)", advice: CONVERT };
    }
    Look {
        what: "no format that is known here",
        advice: "`file FILE` or `capinfos FILE` may tell what it is; `editcap -F pcap FILE \
            out.pcap` converts captures",
    }
}

/// Whether three of the first four bytes are those of a capture.
fn damaged_magic(start: &[u8]) -> bool {
    const MAGICS: [u32; 4] = [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34, 0x0a0d_0d0a];
    let Some(start) = start.first_chunk::<4>() else { return false };
    let alike = |magic: [u8; 4]| magic.iter().zip(start).filter(|(a, b)| a == b).count() == 3;
    MAGICS.iter().any(|magic| alike(magic.to_le_bytes()) || alike(magic.to_be_bytes()))
}

fn is_text(start: &[u8]) -> bool {
    let printable = start
        .iter()
        .filter(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..))
        .count();
    let plain =
        start.iter().filter(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')).count();
    printable == start.len() && plain * 10 >= start.len() * 7
}

fn text(start: &[u8]) -> Look {
    let lower = start.to_ascii_lowercase();
    let lower = lower.trim_ascii_start();
    let holds = |needle: &[u8]| lower.windows(needle.len()).any(|window| window == needle);
    if holds(b"<html") || holds(b"<!doctype html") {
        return Look {
            what: "an HTML page",
            advice: "a download may have stored an error page or a login form in place of the \
                capture",
        };
    }
    if lower.starts_with(b"version https://git-lfs") {
        return Look {
            what: "a Git LFS pointer",
            advice: "fetch the file behind it: `git lfs pull`",
        };
    }
    if lower.starts_with(b"<?xml") || lower.starts_with(b"<") {
        return Look { what: "an XML file", advice: NOT_A_CAPTURE };
    }
    if lower.starts_with(b"{") || lower.starts_with(b"[") {
        return Look { what: "a JSON file", advice: NOT_A_CAPTURE };
    }
    Look {
        what: "a text file",
        advice: "printed packets cannot be analysed: save the capture itself with `tcpdump -w \
            FILE`",
    }
}

/// ERF has no magic number: a little-endian 32.32 time, a type, flags and a big-endian record
/// length must make sense.
fn is_erf(start: &[u8]) -> bool {
    const YEAR_1990: u32 = 631_152_000;
    const YEAR_2040: u32 = 2_208_988_800;
    let [_, _, _, _, a, b, c, d, kind, _, high, low, ..] = *start else { return false };
    let seconds = u32::from_le_bytes([a, b, c, d]);
    let length = u16::from_be_bytes([high, low]);
    (YEAR_1990..YEAR_2040).contains(&seconds)
        && (1..=48).contains(&(kind & 0x7f))
        && (16..=2048).contains(&length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_matter_but_first_bytes_do() {
        assert_eq!(compression(&[0x1f, 0x8b, 8, 0]), Compression::Gzip);
        assert_eq!(compression(&[0x28, 0xb5, 0x2f, 0xfd]), Compression::Zstd);
        assert_eq!(compression(&[0x50, 0x2a, 0x4d, 0x18]), Compression::Zstd);
        assert_eq!(compression(&[0xd4, 0xc3, 0xb2, 0xa1]), Compression::None);
        assert_eq!(compression(&[]), Compression::None);
    }

    #[test]
    fn strangers_are_recognised() {
        assert_eq!(look(b"snoop\0\0\0\0\0\0\x02").what, "a snoop capture (Solaris)");
        assert_eq!(look(b"  <!DOCTYPE html><html>").what, "an HTML page");
        assert_eq!(look(b"{\"a\": 1}").what, "a JSON file");
        assert_eq!(
            look("12:00:01 IP 10.0.0.1 > 10.0.0.2 – Flags [S]\n".as_bytes()).what,
            "a text file"
        );
        assert_eq!(look(b"PK\x03\x04....").what, "a zip archive");
        assert_eq!(look(&[0; 24]).what, "zeros");
        assert_eq!(
            look(&[0xd4, 0xc3, 0xb2, 0xa0, 2, 0, 4, 0]).what,
            "a pcap or pcapng file whose magic number is damaged"
        );
        assert_eq!(look(&[1, 2, 3, 4, 5, 6, 7, 8]).what, "no format that is known here");
        let mut tar = vec![b'x'; 512];
        tar[100] = 0;
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(look(&tar).what, "a tar archive");
        let erf = [0, 0, 0, 0, 0x80, 0x2f, 0x4d, 0x4b, 2, 4, 0, 0x60, 0, 0, 0, 0x4e];
        assert_eq!(look(&erf).what, "an ERF capture (Endace)");
    }
}
