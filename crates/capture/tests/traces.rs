//! Real captures, where the machine has them: as many records as Wireshark's capinfos counts, and
//! no panic on those that are corrupt. `TRUSTBED_TRACES` names the directory; a directory
//! `shared/traces` beside the checkout is the default (docs/traces.md).
#![allow(clippy::unwrap_used, reason = "a test may fail loudly, and its numbers are small")]
#![expect(clippy::print_stdout, reason = "a test that cannot run says why")]

mod writer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use trustbed_capture::{CaptureFacts, Input, OpenError, Problem};
use writer::{read, read_by};

/// The directory of real captures. In continuous integration it must be there.
fn traces() -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let directory = std::env::var_os("TRUSTBED_TRACES").map_or(default, PathBuf::from);
    if directory.is_dir() {
        return Some(directory);
    }
    let reason =
        format!("skipped: there are no captures in {} (set TRUSTBED_TRACES)", directory.display());
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{reason}");
    println!("{reason}");
    None
}

fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn captures(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(directory, &mut found);
    let looks_so = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy();
        [".pcap", ".pcapng", ".cap", ".pcap.gz", ".pcapng.gz", ".dmp.gz", ".snoop.gz"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    found.retain(|path| looks_so(path));
    found.sort();
    assert!(found.len() > 200, "only {} captures in {}", found.len(), directory.display());
    found
}

/// How many packets capinfos counts, and whether it found nothing to complain about.
fn capinfos(path: &Path) -> Option<(u64, bool)> {
    let output =
        Command::new("capinfos").args(["-T", "-r", "-M", "-c"]).arg(path).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let count = printed.trim_end().rsplit('\t').next().and_then(|count| count.parse().ok());
    count.map(|count| (count, output.status.success()))
}

fn codes(facts: &CaptureFacts) -> Vec<&'static str> {
    facts.problems.iter().map(|problem| problem.code).collect()
}

/// Wireshark counts runs of zeros as empty packets; this reader says that they are no records.
/// Nothing else may differ.
fn zeros_explain(facts: &CaptureFacts, theirs: u64) -> bool {
    facts.files[0].records < theirs
        && facts.problems.iter().any(|problem| {
            problem.code == Problem::SKIPPED_BYTES && problem.detail.contains("zeros")
        })
}

#[test]
fn as_many_records_as_capinfos_counts() {
    let Some(directory) = traces() else { return };
    if Command::new("capinfos").arg("--version").output().is_err() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "capinfos is missing");
        println!("skipped: capinfos is missing");
        return;
    }
    let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
    for path in captures(&directory) {
        let theirs = capinfos(&path);
        let outcome = match (read(&[Input::Path(path.clone())]), theirs) {
            (Ok((_, facts)), Some((count, _))) if facts.files[0].records == count => "equal",
            (Ok((_, facts)), Some((count, _))) if zeros_explain(&facts, count) => "zeros",
            (Ok((_, facts)), theirs) => {
                let damaged =
                    path.starts_with(directory.join("corrupt")) || path.ends_with("test901.pcapng");
                assert!(
                    damaged && theirs.is_none_or(|(_, clean)| !clean),
                    "{}: {:?}, capinfos {theirs:?}",
                    path.display(),
                    facts.files[0]
                );
                assert!(
                    !facts.problems.is_empty(),
                    "{}: read where capinfos could not, without a word",
                    path.display()
                );
                "salvaged"
            }
            (Err(OpenError::UnsupportedLink { .. }), _) => "link type",
            (Err(OpenError::WrongMagic { .. }), Some(_))
                if path.extension().is_some_and(|end| end == "gz") =>
            {
                "other format"
            }
            (Err(OpenError::Empty { .. }), Some((0, _))) => "empty",
            (Err(_), None) => "unreadable",
            (Err(error), Some(theirs)) => panic!("{error}, and capinfos counts {theirs:?}"),
        };
        *outcomes.entry(outcome).or_default() += 1;
    }
    println!("{outcomes:?}");
    assert!(outcomes["equal"] > 200);
    assert_eq!(outcomes.get("other format"), Some(&1), "the one snoop file");
}

#[test]
fn corrupt_captures_end_without_panic_however_they_are_read() {
    let Some(directory) = traces() else { return };
    let mut found = Vec::new();
    walk(&directory.join("corrupt"), &mut found);
    assert!(found.len() > 50);
    for path in found {
        let input = Input::Path(path.clone());
        let Ok((packets, facts)) = read(std::slice::from_ref(&input)) else { continue };
        let bytes = std::fs::read(&path).unwrap();
        let again = read_by(&[writer::memory("again", &writer::gzip(&[&bytes]))], 1).unwrap();
        assert!(again.0 == packets, "{}", path.display());
        assert_eq!(codes(&again.1), codes(&facts), "{}", path.display());
    }
}

#[test]
fn both_ends_of_real_transfers_are_refused() {
    let Some(directory) = traces() else { return };
    let pairs = [
        ("awb_probe_1500B.receiver_snap128.pcap", "awb_probe_1500B.sender_snap128.pcap"),
        ("awb_probe_80B.receiver.pcap", "awb_probe_80B.sender.pcap"),
        (
            "iperf3_vm_mptcp_redundant.client_snap128.pcap",
            "iperf3_vm_mptcp_redundant.server_snap128.pcap",
        ),
        ("iperf3_vm_tcp.client_snap128.pcapng", "iperf3_vm_tcp.server_snap128.pcapng"),
    ];
    for (one, other) in pairs {
        let inputs = [one, other].map(|name| Input::Path(directory.join("pairs").join(name)));
        assert!(matches!(read(&inputs), Err(OpenError::SamePackets { .. })), "{one} and {other}");
    }
}
