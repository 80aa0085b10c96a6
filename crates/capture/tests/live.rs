//! Live capture, between interfaces that each test makes for itself in a network namespace.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly, and its numbers are small"
)]

mod namespace;

use std::net::UdpSocket;
use std::path::Path;

use namespace::{cable, entered, ip, run};
use trustbed_capture::{
    Counters, Direction, Frame, Input, Live, LiveError, LiveOptions, Reader, Statistics,
    WriteError, Writer,
};
use trustbed_units::{Ns, Rate, Size, Span};
use trustbed_wire::{DecodeOptions, LinkType};

/// Ethernet, IPv4 and UDP headers.
const HEADERS: u32 = 42;
const WAIT: Span = Span::from_millis(500);
/// How long frames are waited for that must come, which only bounds a failure: a processor may
/// stall for many seconds.
const PATIENCE: Span = Span::from_secs(100);

/// A frame, kept.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kept {
    ts: Ns,
    index: u64,
    length: u32,
    direction: Direction,
    bytes: Vec<u8>,
}

fn keep(frame: &Frame<'_>) -> Kept {
    let Frame { ts, index, original_length: length, marked: direction, bytes, .. } = *frame;
    Kept { ts, index, length, direction, bytes: bytes.to_vec() }
}

/// Frames until there are as many as were requested, or none for a while.
fn read(live: &mut Live, count: usize) -> Vec<Kept> {
    let mut kept = Vec::new();
    while kept.len() < count
        && live.frames(7, PATIENCE, |frame| kept.push(keep(frame))).unwrap() > 0
    {}
    kept
}

fn open(name: &str) -> Live {
    Live::open(name, LiveOptions::default()).unwrap()
}

fn sender(address: &str) -> UdpSocket {
    UdpSocket::bind(address).unwrap()
}

/// Datagrams of these payloads, to where the cable leads.
fn send(socket: &UdpSocket, to: &str, payloads: impl IntoIterator<Item = usize>) {
    for payload in payloads {
        assert_eq!(socket.send_to(&vec![0x5a; payload], to).unwrap(), payload);
    }
}

/// Sends a frame as it is.
#[expect(unsafe_code, reason = "the standard library has no packet sockets")]
fn send_raw(interface: &str, frame: &[u8]) {
    let name = std::ffi::CString::new(interface).unwrap();
    // SAFETY: a string that ends with zero; then a structure of numbers, for which zeros are legal;
    // then a pointer to the bytes of the frame and one to the address, each with its length. The
    // socket is closed once.
    unsafe {
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = u16::try_from(libc::AF_PACKET).unwrap();
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()).cast_signed();
        let socket = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0);
        let (pointer, length) =
            ((&raw const address).cast(), u32::try_from(size_of_val(&address)).unwrap());
        let sent = libc::sendto(socket, frame.as_ptr().cast(), frame.len(), 0, pointer, length);
        assert_eq!(sent, frame.len().cast_signed(), "{}", std::io::Error::last_os_error());
        libc::close(socket);
    }
}

#[test]
fn both_directions_are_distinguished() {
    if !entered("both_directions_are_distinguished") {
        return;
    }
    cable();
    let mut live = open("left");
    let (left, right) = (sender("10.0.0.1:0"), sender("10.0.1.1:0"));
    let payloads = [0, 1, 18, 100, 1_000, 1_472];
    send(&left, "10.0.0.9:9", payloads);
    send(&right, "10.0.1.9:9", payloads.into_iter().rev());
    let kept = read(&mut live, 12);
    let lengths: Vec<(Direction, u32)> =
        kept.iter().map(|frame| (frame.direction, frame.length)).collect();
    let outbound = payloads.iter().map(|payload| (Direction::Outbound, HEADERS + *payload as u32));
    let inbound =
        payloads.iter().rev().map(|payload| (Direction::Inbound, HEADERS + *payload as u32));
    assert_eq!(lengths, outbound.chain(inbound).collect::<Vec<_>>());
    for (frame, index) in kept.iter().zip(1..) {
        assert_eq!((frame.index, frame.bytes.len()), (index, frame.length.min(128) as usize));
        assert_eq!(frame.bytes[12..14], [8, 0], "an Ethernet frame with IPv4 in it");
    }
    assert!(kept.is_sorted_by_key(|frame| frame.ts));
    let statistics = live.statistics().unwrap();
    assert_eq!(statistics, Statistics { received: 12, shown: 12, ..Statistics::default() });
    assert_eq!(live.statistics().unwrap(), statistics, "asking changes nothing");
    assert_eq!(live.frames(10, Span::ZERO, |_| panic!("there is nothing more")).unwrap(), 0);
}

#[test]
fn what_is_known_is_reported() {
    if !entered("what_is_known_is_reported") {
        return;
    }
    cable();
    ip("link set left mtu 9000");
    let options = LiveOptions {
        snap_length: 0,
        ring: Size(1 << 20),
        block_timeout: Span::from_millis(10),
        ..LiveOptions::default()
    };
    let facts = Live::open("left", options).unwrap().facts();
    assert_eq!(
        (facts.name.as_str(), facts.link, facts.loopback),
        ("left", LinkType::Ethernet, false)
    );
    assert_eq!((facts.mtu, facts.speed), (Some(Size(9_000)), Some(Rate(10_000_000_000))));
    assert_eq!(
        (facts.ring, facts.block, facts.block_timeout),
        (Size(1 << 20), Size(256 << 10), Span::from_millis(10))
    );
    assert!(
        !facts.hardware_timestamps && facts.hardware_clock_ahead.is_none(),
        "a virtual interface has no clock"
    );
    let description = facts.description();
    assert_eq!((description.name.as_str(), description.snap_length), ("left", facts.snap_length));
}

#[test]
fn whole_frames_are_stored_on_request() {
    if !entered("whole_frames_are_stored_on_request") {
        return;
    }
    cable();
    let mut live =
        Live::open("right", LiveOptions { snap_length: 0, ..LiveOptions::default() }).unwrap();
    send(&sender("10.0.0.1:0"), "10.0.0.9:9", [1_472]);
    let kept = read(&mut live, 1);
    assert_eq!(
        (kept[0].length, kept[0].bytes.len(), kept[0].direction),
        (1_514, 1_514, Direction::Inbound)
    );
    assert!(kept[0].bytes[42..].iter().all(|byte| *byte == 0x5a));
}

#[test]
fn a_loopback_interface_shows_each_frame_once() {
    if !entered("a_loopback_interface_shows_each_frame_once") {
        return;
    }
    ip("link set lo up");
    let mut live = open("lo");
    assert!(live.facts().loopback);
    let (from, to) = (sender("127.0.0.1:0"), sender("127.0.0.1:0"));
    send(&from, &to.local_addr().unwrap().to_string(), [1, 2, 3, 4]);
    let kept = read(&mut live, 4);
    assert_eq!(kept.iter().map(|frame| frame.length).collect::<Vec<_>>(), [43, 44, 45, 46]);
    assert!(kept.iter().all(|frame| frame.direction == Direction::Unknown));
    assert_eq!((live.statistics().unwrap().received, live.waiting().unwrap()), (4, 0));
}

#[test]
fn a_tag_that_the_interface_took_off_is_put_back() {
    if !entered("a_tag_that_the_interface_took_off_is_put_back") {
        return;
    }
    cable();
    let (mut left, mut right) = (open("left"), open("right"));
    let frame = |payload: usize| {
        let addresses = [2, 0, 0, 0, 0, 0x99, 2, 0, 0, 0, 0, 1];
        [&addresses[..], &[0x81, 0, 0x20, 7], &[0x88, 0xb5], &vec![0x5a; payload]].concat()
    };
    let frames = [frame(100), frame(300)];
    for frame in &frames {
        send_raw("left", frame);
    }
    for (live, direction) in [(&mut left, Direction::Outbound), (&mut right, Direction::Inbound)] {
        let kept = read(live, 2);
        for (kept, frame) in kept.iter().zip(&frames) {
            assert_eq!((kept.length as usize, kept.direction), (frame.len(), direction));
            assert_eq!(kept.bytes, frame[..frame.len().min(128)]);
        }
        assert_eq!(kept.len(), 2);
    }
}

#[test]
fn what_finds_no_room_is_counted() {
    if !entered("what_finds_no_room_is_counted") {
        return;
    }
    cable();
    let mut live =
        Live::open("left", LiveOptions { ring: Size(1), ..LiveOptions::default() }).unwrap();
    assert_eq!(live.facts().ring, Size(256 << 10), "the smallest ring");
    let socket = sender("10.0.0.1:0");
    send(&socket, "10.0.0.9:9", vec![100; 10_000]);
    let full = live.statistics().unwrap();
    assert_eq!((full.received + full.dropped, full.shown), (10_000, 0));
    assert!(full.dropped > 0 && full.received > 0 && full.frozen > 0, "{full:?}");
    assert_eq!(live.waiting().unwrap(), full.received);
    let kept = read(&mut live, usize::try_from(full.received).unwrap());
    assert_eq!((kept.len() as u64, live.waiting().unwrap()), (full.received, 0));
    // There is room again.
    send(&socket, "10.0.0.9:9", [200; 3]);
    assert_eq!(read(&mut live, 3).len(), 3);
    let all = live.statistics().unwrap();
    assert_eq!(
        (all.received, all.dropped, all.shown),
        (full.received + 3, full.dropped, full.received + 3)
    );
}

#[test]
fn a_ring_goes_round() {
    if !entered("a_ring_goes_round") {
        return;
    }
    cable();
    let mut live =
        Live::open("left", LiveOptions { ring: Size(1), ..LiveOptions::default() }).unwrap();
    let socket = sender("10.0.0.1:0");
    for round in 0..20_u64 {
        send(&socket, "10.0.0.9:9", (0..300).map(|number| 100 + number % 50));
        let kept = read(&mut live, 300);
        let lengths: Vec<u32> = kept.iter().map(|frame| frame.length).collect();
        assert_eq!(lengths, (0..300).map(|number| HEADERS + 100 + number % 50).collect::<Vec<_>>());
        assert_eq!(kept[0].index, round * 300 + 1);
    }
    assert_eq!(live.statistics().unwrap().dropped, 0);
}

/// Reads until the capture fails.
fn failure(live: &mut Live) -> (usize, LiveError) {
    let mut shown = 0;
    for _ in 0..20 {
        match live.frames(100, WAIT, |_| {}) {
            Ok(more) => shown += more,
            Err(error) => return (shown, error),
        }
    }
    panic!("the capture goes on");
}

#[test]
fn a_vanished_interface_ends_the_capture() {
    if !entered("a_vanished_interface_ends_the_capture") {
        return;
    }
    cable();
    let mut live = open("left");
    send(&sender("10.0.0.1:0"), "10.0.0.9:9", [100; 5]);
    ip("link delete left");
    let (shown, error) = failure(&mut live);
    assert_eq!(shown, 5, "what came before is shown before");
    assert!(matches!(&error, LiveError::InterfaceGone { name } if name == "left"), "{error}");
    assert!(matches!(failure(&mut live), (0, LiveError::InterfaceGone { .. })), "and it stays so");
    assert_eq!(live.statistics().unwrap().received, 5);
}

#[test]
fn an_interface_that_goes_down_is_reported_and_can_come_back() {
    if !entered("an_interface_that_goes_down_is_reported_and_can_come_back") {
        return;
    }
    cable();
    let mut live = open("left");
    ip("link set left down");
    let (shown, error) = failure(&mut live);
    assert!(shown == 0 && matches!(error, LiveError::InterfaceDown { .. }), "{error}");
    assert!(matches!(
        Live::open("left", LiveOptions::default()),
        Err(LiveError::InterfaceDown { .. })
    ));
    ip("link set left up");
    ip("neigh replace 10.0.0.9 lladdr 02:00:00:00:00:99 dev left nud permanent");
    send(&sender("10.0.0.1:0"), "10.0.0.9:9", [100; 5]);
    assert_eq!(read(&mut live, 5).len(), 5);
    ip("link set left down");
    assert!(matches!(failure(&mut live), (0, LiveError::InterfaceDown { .. })));
    ip("link delete left");
    assert!(
        matches!(failure(&mut live), (0, LiveError::InterfaceGone { .. })),
        "vanished after a while"
    );
}

#[test]
fn what_cannot_be_opened_is_an_error_with_the_reason() {
    if !entered("what_cannot_be_opened_is_an_error_with_the_reason") {
        return;
    }
    cable();
    let error = Live::open("lefd", LiveOptions::default()).unwrap_err();
    assert!(
        matches!(
            &error,
            LiveError::NoSuchInterface { known, .. } if known.contains(&"left".to_owned())
        ),
        "{error}"
    );
    assert!(error.hint().contains("right"));
    for name in ["", "any", "a name that is too long for an interface", "le\0ft"] {
        assert!(
            matches!(
                Live::open(name, LiveOptions::default()),
                Err(LiveError::NoSuchInterface { .. })
            ),
            "{name}"
        );
    }
    let error = Live::open("lo", LiveOptions::default()).unwrap_err();
    assert!(
        matches!(error, LiveError::InterfaceDown { .. })
            && error.hint().contains("ip link set lo up"),
        "{error}"
    );
}

/// Runs without the right to capture: the test calls itself without capabilities.
#[test]
fn without_the_right_to_capture() {
    const INNER: &str = "TRUSTBED_TEST_WITHOUT_CAPABILITIES";
    if std::env::var_os(INNER).is_some() {
        let error = Live::open("lo", LiveOptions::default()).unwrap_err();
        assert!(matches!(error, LiveError::NotPermitted { .. }), "{error}");
        assert!(error.hint().contains("capture with a `trustbed-agent`"), "{}", error.hint());
        return;
    }
    if !entered("without_the_right_to_capture") {
        return;
    }
    // A user namespace of its own has no rights in the network namespace outside.
    let program = std::env::current_exe().unwrap();
    let line = format!(
        "{INNER}=1 unshare --user {} --exact without_the_right_to_capture",
        program.display()
    );
    run("env", &line);
}

#[test]
fn a_written_capture_equals_what_was_seen() {
    if !entered("a_written_capture_equals_what_was_seen") {
        return;
    }
    cable();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("live.pcapng");
    let mut live = open("left");
    let mut writer = Writer::create(&path, "trustbed test").unwrap();
    writer.interface(&live.facts().description()).unwrap();
    let (left, right) = (sender("10.0.0.1:0"), sender("10.0.1.1:0"));
    for payload in [10, 200, 1_000] {
        send(&left, "10.0.0.9:9", [payload]);
        send(&right, "10.0.1.9:9", [payload]);
    }
    let mut seen = Vec::new();
    while seen.len() < 6 {
        let shown = live.frames(100, PATIENCE, |frame| {
            seen.push(keep(frame));
            writer.frame(frame).unwrap();
        });
        assert!(shown.unwrap() > 0);
    }
    let Statistics { received, dropped, .. } = live.statistics().unwrap();
    writer
        .statistics(
            0,
            &Counters { start: seen[0].ts, end: seen[5].ts, received: received + dropped, dropped },
        )
        .unwrap();
    assert_eq!(writer.finish().unwrap().frames, 6);
    let mut reader = Reader::open(&[Input::Path(path)], DecodeOptions::default()).unwrap();
    let mut kept = Vec::new();
    while reader.frames(100, |frame| kept.push(keep(frame))) {}
    assert_eq!(kept, seen);
    let facts = reader.facts();
    let interface = &facts.files[0].interfaces[0];
    assert_eq!(
        (interface.name.as_deref(), interface.received, interface.dropped),
        (Some("left"), Some(6), Some(0))
    );
}

#[test]
fn a_disk_that_is_full() {
    if !entered("a_disk_that_is_full") {
        return;
    }
    run("mount", "-t tmpfs -o size=64k tmpfs /mnt");
    let path = Path::new("/mnt/full.pcapng");
    let mut writer = Writer::create(path, "trustbed test").unwrap();
    let link = LinkType::Ethernet;
    let facts = trustbed_capture::InterfaceDescription {
        name: "left".to_owned(),
        link,
        snap_length: 128,
        hardware_timestamps: false,
        speed: None,
    };
    writer.interface(&facts).unwrap();
    let bytes = [0; 100];
    let frame = |index: u64| {
        let ts = Ns(index.cast_signed());
        Frame {
            ts,
            index,
            file: 0,
            interface: 0,
            link: Some(link),
            original_length: 1_000,
            marked: Direction::Inbound,
            bytes: &bytes,
        }
    };
    let mut errors = Vec::new();
    for index in 1..=1_000 {
        errors.extend(writer.frame(&frame(index)).err());
        errors.extend(writer.flush().err());
    }
    writer
        .statistics(0, &Counters { start: Ns(1), end: Ns(1_000), received: 1_000, dropped: 0 })
        .unwrap();
    let written = writer.finish().unwrap();
    assert!(matches!(errors[..], [WriteError::Write { .. }]), "{errors:?}");
    assert!(
        written.frames > 100
            && written.frames + written.frames_left_out == 1_000
            && !written.complete
    );
    let mut reader =
        Reader::open(&[Input::Path(path.to_owned())], DecodeOptions::default()).unwrap();
    while reader.frames(1_000, |_| {}) {}
    let facts = reader.facts();
    assert!(facts.problems.is_empty(), "{:?}", facts.problems);
    assert_eq!(
        (facts.files[0].records, facts.files[0].interfaces[0].received),
        (written.frames, Some(1_000))
    );
}
