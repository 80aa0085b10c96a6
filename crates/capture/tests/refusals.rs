//! What cannot be opened: one clear error, with a hint that can be acted on.
#![allow(clippy::expect_used, reason = "a test may fail loudly, and its numbers are small")]

mod writer;

use std::path::Path;

use trustbed_capture::{Input, OpenError, Reader};
use trustbed_wire::DecodeOptions;
use writer::{Pcap, Pcapng, frames, gzip, memory, zstd};

fn refusal(input: Input) -> OpenError {
    Reader::open(&[input], DecodeOptions::default()).expect_err("this should have been refused")
}

fn refused(bytes: &[u8]) -> OpenError {
    refusal(memory("x.pcap", bytes))
}

/// Errors are sentences that name the file; hints are never empty.
fn assert_contains(error: &OpenError, words: &str) {
    assert!(error.to_string().contains(words), "{error}");
    assert!(error.hint().len() > 10);
}

#[test]
fn nothing() {
    let error = Reader::open(&[], DecodeOptions::default()).unwrap_err();
    assert!(matches!(error, OpenError::NoInput));
    assert!(!error.hint().is_empty());
}

#[test]
fn missing_files_directories_and_unreadable_ones() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing.pcap");
    let error = refusal(Input::Path(missing.clone()));
    assert!(matches!(&error, OpenError::NotFound { path } if *path == missing));
    assert_contains(&error, "missing.pcap: there is no such file");

    let error = refusal(Input::Path(directory.path().to_owned()));
    assert!(matches!(&error, OpenError::Directory { .. }));
    assert_contains(&error, "is a directory");
    assert!(error.hint().contains("*.pcap"));

    let through_a_file = directory.path().join("file").join("capture.pcap");
    std::fs::write(directory.path().join("file"), b"x").unwrap();
    let error = refusal(Input::Path(through_a_file));
    assert!(matches!(&error, OpenError::Unreadable { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn files_of_others() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secret.pcap");
    std::fs::write(&path, Pcap::MICROS.file(&frames(1))).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    if std::fs::File::open(&path).is_ok() {
        // Root reads everything; the message of such a refusal is tested all the same.
        let source = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        assert!(OpenError::Unreadable { path, source }.hint().contains("sudo"));
        return;
    }
    let error = refusal(Input::Path(path));
    assert_contains(&error, "cannot be read");
    assert!(error.hint().contains("sudo"));
}

#[test]
fn nothing_in_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("empty.pcap");
    std::fs::write(&path, b"").unwrap();
    for error in
        [refusal(Input::Path(path)), refused(b""), refused(&gzip(&[b""])), refused(&zstd(&[b""]))]
    {
        assert!(matches!(error, OpenError::Empty { .. }), "{error}");
        assert_contains(&error, "is empty");
    }
}

#[test]
fn cut_file_headers() {
    let pcap = Pcap::MICROS.header();
    for length in 4..24 {
        assert!(matches!(
            refused(&pcap[..length]),
            OpenError::TruncatedHeader { needed: 24, found, .. } if found == length
        ));
    }
    let pcapng = Pcapng::simple(false).bytes;
    for length in 4..28 {
        assert!(
            matches!(
                refused(&pcapng[..length]),
                OpenError::TruncatedHeader { needed: 28, found, .. } if found == length
            ),
            "{length}"
        );
    }
    assert_contains(&refused(&pcap[..13]), "13 of 24 bytes");
}

#[test]
fn strangers_are_named() {
    let cases: [(&[u8], &str, &str); 9] = [
        (
            b"12:00:01.123 IP 10.0.0.1.5201 > 10.0.0.2.4433: Flags [S], seq 1\n",
            "a text file",
            "tcpdump -w",
        ),
        (b"<!DOCTYPE html>\n<html><body>Not found</body></html>", "an HTML page", "download"),
        (b"{\"packets\": []}", "a JSON file", "capture file itself"),
        (b"snoop\0\0\0\0\0\0\x02\0\0\0\x04", "snoop", "editcap -F pcap"),
        (b"PK\x03\x04\x14\0\0\0\x08\0", "zip", "unzip"),
        (b"\xfd7zXZ\0\0\x04", "xz", "xz -dk"),
        (b"BZh91AY&SY", "bzip2", "bzip2 -dk"),
        (b"\0\0\0\0\0\0\0\0", "zeros", "never written"),
        (b"\x01\x02\x03\x04\x05\x06\x07\x08", "no format that is known", "capinfos"),
    ];
    for (bytes, looks_like, advice) in cases {
        let error = refused(bytes);
        assert!(matches!(error, OpenError::WrongMagic { .. }));
        assert_contains(&error, looks_like);
        assert!(error.hint().contains(advice), "{}", error.hint());
        // What is inside counts, not the wrapping.
        assert_contains(&refused(&gzip(&[bytes])), looks_like);
    }
    assert_contains(&refused(&gzip(&[&gzip(&[&Pcap::MICROS.file(&frames(2))])])), "a gzip file");
}

#[test]
fn unknown_versions() {
    let error = refused(&Pcap { version: (3, 1), ..Pcap::MICROS }.header());
    assert!(matches!(error, OpenError::UnsupportedVersion { major: 3, minor: 1, offset: 4, .. }));
    assert_contains(&error, "version 3.1 of pcap");

    let mut file = Pcapng::default();
    file.section_version(true, 7, &[]);
    assert_contains(&refused(&file.bytes), "version 7.0 of pcapng");

    let mut file = Pcapng::simple(false).bytes;
    file[9] = 0;
    let error = refused(&file);
    assert!(matches!(error, OpenError::BadHeader { offset: 8, .. }));
    assert_contains(&error, "byte-order magic");
}

#[test]
fn link_types_that_cannot_be_decoded() {
    let error = refused(&Pcap { link: 127, ..Pcap::MICROS }.file(&frames(3)));
    assert!(
        matches!(&error, OpenError::UnsupportedLink { links, offset: 20, .. } if *links == [127])
    );
    assert_contains(&error, "127 (IEEE 802.11 with radiotap header)");

    let mut file = Pcapng::default();
    file.section(false, &[]);
    file.interface(105, 0, &[]);
    file.interface(999, 0, &[]);
    file.packets(&frames(3));
    let error = refused(&file.bytes);
    assert!(
        matches!(
            &error,
            OpenError::UnsupportedLink { links, offset: 36, .. } if *links == [105, 999]
        ),
        "{error}"
    );
    assert_contains(&error, "105 (IEEE 802.11), 999");
}

#[test]
fn damaged_compression() {
    let mut bytes = gzip(&[&Pcap::MICROS.file(&frames(3))]);
    bytes.truncate(12);
    let error = refused(&bytes);
    assert!(matches!(error, OpenError::Decompression { .. }), "{error}");
    assert_contains(&error, "gzip");
    let error = refused(&[0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff, 0xff, 0xff, 0xff]);
    assert!(matches!(error, OpenError::Decompression { .. }), "{error}");
}

#[test]
fn one_bad_file_among_good_ones_is_named() {
    let good = memory("good.pcap", &Pcap::MICROS.file(&frames(3)));
    let error = Reader::open(
        &[good, memory("bad.pcap", b"text that is no capture")],
        DecodeOptions::default(),
    )
    .unwrap_err();
    assert!(matches!(error, OpenError::WrongMagic { path, .. } if path == Path::new("bad.pcap")));
}
