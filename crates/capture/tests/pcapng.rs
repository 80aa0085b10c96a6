//! pcapng: sections, interfaces, clocks, every kind of block.

mod writer;

use trustbed_capture::{ByteOrder, Format};
use trustbed_units::{Ns, Span};
use writer::{Frame, Pcapng, START_NS, assert_packets, codes, frames, memory, read, read_bytes};

/// From nanoseconds to the counts of a clock.
type Count<'a> = &'a dyn Fn(i64) -> u64;

const IF_TSRESOL: u16 = 9;

fn text(code: u16, text: &str) -> (u16, Vec<u8>) {
    (code, text.as_bytes().to_vec())
}

#[test]
fn both_byte_orders() {
    let frames = frames(50);
    for big in [false, true] {
        let mut file = Pcapng::simple(big);
        file.packets(&frames);
        let (packets, facts) = read_bytes(&file.bytes);
        assert_packets(&packets, &frames, 1_000);
        let facts_of_file = &facts.files[0];
        assert_eq!(facts_of_file.format, Format::Pcapng);
        assert_eq!(facts_of_file.byte_order, if big { ByteOrder::Big } else { ByteOrder::Little });
        assert_eq!((facts_of_file.records, facts_of_file.snapped_records), (50, 17));
        assert!(facts.problems.is_empty());
    }
}

#[test]
fn any_resolution() {
    let frames = frames(40);
    let binary =
        |ns: i64, bits: u32| u64::try_from((i128::from(ns) << bits) / 1_000_000_000).unwrap();
    let decimal = |ns: i64, unit: i64| u64::try_from(ns / unit).unwrap();
    // A clock of 100 ps counts up to the year 2554; one of 1 ps would need an offset.
    let cases: [(u8, i64, Count<'_>); 7] = [
        (6, 1_000, &|ns| decimal(ns, 1_000)),
        (9, 1, &|ns| decimal(ns, 1)),
        (10, 1, &|ns| decimal(ns, 1) * 10),
        (3, 1_000_000, &|ns| decimal(ns, 1_000_000)),
        (0, 1_000_000_000, &|ns| decimal(ns, 1_000_000_000)),
        (0x94, 954, &|ns| binary(ns, 20)),
        (0x9e, 1, &|ns| binary(ns, 30)),
    ];
    for (code, resolution, count) in cases {
        let mut file = Pcapng::default();
        file.section(false, &[]);
        file.interface(1, 0, &[(IF_TSRESOL, vec![code])]);
        for frame in &frames {
            file.enhanced(0, count(frame.ts_ns), frame, &[]);
        }
        let (packets, facts) = read_bytes(&file.bytes);
        assert_eq!(facts.files[0].timestamp_resolution, Span(resolution));
        assert!(facts.problems.is_empty());
        for (packet, frame) in packets.iter().zip(&frames) {
            let late = Ns(frame.ts_ns) - packet.ts;
            assert!((0..=resolution).contains(&late.0), "resolution code {code}: off by {late:?}");
        }
        assert_eq!(packets.len(), 40);
    }
}

#[test]
fn offsets_are_added() {
    let frames = frames(10);
    for big in [false, true] {
        let mut file = Pcapng { big, ..Pcapng::default() };
        file.section(big, &[]);
        let offset = file.offset_option(START_NS / 1_000_000_000);
        file.interface(1, 0, &[(IF_TSRESOL, vec![9]), offset]);
        for frame in &frames {
            file.enhanced(0, (frame.ts_ns - START_NS).cast_unsigned(), frame, &[]);
        }
        assert_packets(&read_bytes(&file.bytes).0, &frames, 1);
    }
}

#[test]
fn interfaces_have_clocks_names_and_counters_of_their_own() {
    let frames = frames(9);
    let mut file = Pcapng::default();
    file.section(true, &[text(2, "Xeon"), text(3, "Linux 6.1"), text(4, "dumpcap")]);
    file.interface(
        1,
        96,
        &[text(2, "eth0"), text(3, "the first"), text(12, "Linux"), text(15, "e1000")],
    );
    file.interface(1, 262_144, &[text(2, "eth1"), (IF_TSRESOL, vec![9])]);
    for (i, frame) in frames.iter().enumerate() {
        let (interface, unit) = if i % 3 == 2 { (1, 1) } else { (0, 1_000) };
        file.enhanced(interface, (frame.ts_ns / unit).cast_unsigned(), frame, &[]);
    }
    file.statistics(1, &[(4, 1_000), (5, 7), (7, 2)]);
    let (packets, facts) = read_bytes(&file.bytes);
    assert_packets(&packets, &frames, 1);
    assert_eq!(
        packets.iter().map(|packet| packet.interface).collect::<Vec<_>>(),
        [0, 0, 1, 0, 0, 1, 0, 0, 1]
    );

    let of_file = &facts.files[0];
    assert_eq!(of_file.hardware.as_deref(), Some("Xeon"));
    assert_eq!(of_file.os.as_deref(), Some("Linux 6.1"));
    assert_eq!(of_file.application.as_deref(), Some("dumpcap"));
    assert_eq!((of_file.snap_length, of_file.timestamp_resolution), (262_144, Span(1_000)));
    let [first, second] = &of_file.interfaces[..] else { panic!("two interfaces") };
    assert_eq!(first.name.as_deref(), Some("eth0"));
    assert_eq!(first.description.as_deref(), Some("the first"));
    assert_eq!(first.hardware.as_deref(), Some("e1000"));
    assert_eq!(first.os.as_deref(), Some("Linux"));
    assert_eq!(
        (first.records, first.received, first.dropped, first.os_dropped),
        (6, None, None, None)
    );
    assert_eq!(
        (second.records, second.received, second.dropped, second.os_dropped),
        (3, Some(1_000), Some(7), Some(2))
    );
    assert!(facts.problems.is_empty());
}

#[test]
fn sections_start_over_with_byte_order_and_interfaces() {
    let frames = frames(30);
    let mut file = Pcapng::default();
    for (part, chunk) in frames.chunks(10).enumerate() {
        file.section(part % 2 == 1, &[]);
        file.interface(1, 0, &[text(2, if part == 2 { "wlan0" } else { "eth0" })]);
        file.packets(chunk);
        file.statistics(0, &[(4, 100), (5, 1)]);
    }
    let (packets, facts) = read_bytes(&file.bytes);
    assert_packets(&packets, &frames, 1_000);
    assert!(facts.problems.is_empty());
    let names: Vec<_> = facts.files[0]
        .interfaces
        .iter()
        .map(|interface| (interface.name.as_deref(), interface.records))
        .collect();
    assert_eq!(
        names,
        [(Some("eth0"), 20), (Some("wlan0"), 10)],
        "the same interface in the next section stays the same"
    );
    let received: Vec<_> = facts.files[0]
        .interfaces
        .iter()
        .map(|interface| (interface.received, interface.dropped))
        .collect();
    assert_eq!(
        received,
        [(Some(200), Some(2)), (Some(100), Some(1))],
        "counters of sections add up"
    );
}

#[test]
fn later_statistics_of_a_section_replace_earlier_ones() {
    let mut file = Pcapng::simple(false);
    file.statistics(0, &[(4, 10), (5, 1)]);
    file.packets(&frames(1));
    file.statistics(0, &[(4, 20)]);
    let (_, facts) = read_bytes(&file.bytes);
    let interface = &facts.files[0].interfaces[0];
    assert_eq!((interface.received, interface.dropped), (Some(20), Some(1)));
}

#[test]
fn packets_can_tell_of_losses_themselves() {
    let frames = frames(4);
    let mut file = Pcapng::simple(false);
    let drops = file.drop_option(3);
    let comment = text(1, "a comment");
    for frame in &frames[..2] {
        file.enhanced(
            0,
            (frame.ts_ns / 1_000).cast_unsigned(),
            frame,
            &[comment.clone(), drops.clone()],
        );
    }
    file.obsolete(0, 2, (frames[2].ts_ns / 1_000).cast_unsigned(), &frames[2]);
    file.obsolete(0, u16::MAX, (frames[3].ts_ns / 1_000).cast_unsigned(), &frames[3]);
    let (packets, facts) = read_bytes(&file.bytes);
    assert_packets(&packets, &frames, 1_000);
    assert_eq!(
        facts.files[0].interfaces[0].dropped,
        Some(8),
        "3 + 3 + 2, and 65,535 means unknown"
    );

    file.statistics(0, &[(5, 11)]);
    let (_, facts) = read_bytes(&file.bytes);
    assert_eq!(facts.files[0].interfaces[0].dropped, Some(11), "the host's own count goes before");
}

#[test]
fn simple_packets_take_the_time_of_the_packet_before() {
    let frames = frames(4);
    let mut file = Pcapng::default();
    file.section(false, &[]);
    file.interface(1, 64, &[]);
    file.simple_packet(&Frame { bytes: frames[0].bytes[..64].to_vec(), ..frames[0].clone() });
    file.packet(&frames[1]);
    file.simple_packet(&Frame { bytes: frames[2].bytes[..64].to_vec(), ..frames[2].clone() });
    let (packets, facts) = read_bytes(&file.bytes);
    assert_eq!(
        packets.iter().map(|packet| packet.ts).collect::<Vec<_>>(),
        [Ns(0), Ns(frames[1].ts_ns), Ns(frames[1].ts_ns)]
    );
    assert_eq!(facts.files[0].records, 3);
    assert_eq!(
        facts.files[0].first_ts,
        Some(Ns(frames[1].ts_ns)),
        "packets without a time have no part in it"
    );
    assert_eq!(codes(&facts), ["no_timestamp"], "reported once");
    assert_eq!(facts.files[0].records_without_time, 2);
    assert_eq!(packets[0].original_length, frames[0].original);
}

#[test]
fn unknown_blocks_are_passed_over() {
    let frames = frames(10);
    let mut file = Pcapng::simple(true);
    for (frame, kind) in
        frames.iter().zip([4, 10, 0xbad, 0x4000_0bad, 9, 0x8000_0001, 11, 0xff, 4, 10])
    {
        file.block(kind, b"anything at all");
        file.packet(frame);
    }
    let (packets, facts) = read_bytes(&file.bytes);
    assert_packets(&packets, &frames, 1_000);
    assert!(facts.problems.is_empty());
}

#[test]
fn packets_of_undescribed_interfaces_are_counted_but_not_measured() {
    let frames = frames(3);
    let mut file = Pcapng::simple(false);
    file.packet(&frames[0]);
    let offset = file.enhanced(5, 1, &frames[1], &[]);
    file.packet(&frames[2]);
    let (packets, facts) = read_bytes(&file.bytes);
    assert_eq!(packets.iter().map(|packet| packet.index).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(facts.files[0].records, 3);
    assert_eq!(codes(&facts), ["unknown_interface"]);
    assert_eq!((facts.problems[0].offset, facts.problems[0].record), (offset as u64, 2));
    let skip = facts.skips.iter().find(|skip| skip.records > 0).unwrap();
    assert_eq!((skip.reason.name(), skip.first_index), ("unsupported_link", Some(2)));
}

#[test]
fn interfaces_that_cannot_be_decoded_do_not_hide_those_that_can() {
    let frames = frames(4);
    let mut file = Pcapng::default();
    file.section(false, &[]);
    file.interface(127, 0, &[]);
    file.packet(&frames[0]);
    file.interface(1, 0, &[]);
    for frame in &frames[1..] {
        file.enhanced(1, (frame.ts_ns / 1_000).cast_unsigned(), frame, &[]);
    }
    let (packets, facts) = read_bytes(&file.bytes);
    assert_eq!(packets.iter().map(|packet| packet.index).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(facts.skips.iter().map(|skip| skip.records).sum::<u64>(), 1);
}

#[test]
fn times_beyond_2262_are_reported() {
    let frames = frames(2);
    let mut file = Pcapng::simple(false);
    file.enhanced(0, u64::MAX, &frames[0], &[]);
    file.packet(&frames[1]);
    let (packets, facts) = read_bytes(&file.bytes);
    assert_eq!(packets[0].ts, Ns::MAX);
    assert_eq!(codes(&facts), ["bad_timestamp"]);
}

#[test]
fn sections_of_unknown_versions_are_left_out() {
    let frames = frames(6);
    let mut file = Pcapng::simple(false);
    file.packets(&frames[..2]);
    let offset = file.section_version(false, 2, &[]);
    file.interface(1, 0, &[]);
    file.packets(&frames[2..4]);
    file.section(true, &[]);
    file.interface(1, 0, &[]);
    file.packets(&frames[4..]);
    let (packets, facts) = read_bytes(&file.bytes);
    let expected = [&frames[..2], &frames[4..]].concat();
    assert_packets(&packets, &expected, 1_000);
    assert_eq!(codes(&facts), ["bad_block"]);
    assert_eq!(facts.problems[0].offset, offset as u64);
    assert!(facts.files[0].skipped_bytes > 0);
}

#[test]
fn a_flood_of_interfaces_stays_bounded() {
    let mut file = Pcapng::default();
    file.section(false, &[]);
    for number in 0..70_000_u32 {
        file.interface(1, number, &[]);
    }
    file.packets(&frames(1));
    let (packets, facts) = read(&[memory("flood", &file.bytes)]).unwrap();
    assert_eq!(packets.len(), 1);
    assert_eq!(facts.files[0].interfaces.len(), 65_536);
    assert_eq!(facts.problems.len(), 100);
    assert_eq!(facts.problems_left_out, [("bad_block", 70_000 - 65_536 - 100)]);
}

/// Four texts of 256 bytes that become three times as long, and an option.
fn wordy() -> Vec<(u16, Vec<u8>)> {
    let mut options: Vec<_> = [2, 3, 12, 15].map(|code| (code, vec![0xff; 256])).into();
    options.push((1, vec![7; 900]));
    options
}

#[test]
fn a_flood_of_texts_of_interfaces_stays_bounded() {
    let mut file = Pcapng::default();
    file.section(false, &[]);
    let (wordy, count) = (wordy(), 6_000_u32);
    for number in 0..count {
        file.interface(1, number, &wordy);
    }
    // What needs little room still finds it.
    file.interface(1, 96, &[text(2, "eth0")]);
    file.packets(&frames(1));
    let (packets, facts) = read(&[memory("flood", &file.bytes)]).unwrap();
    assert_eq!(packets.len(), 1);
    let interfaces = &facts.files[0].interfaces;
    assert_eq!(interfaces.len(), 6_001);
    let texts = |interface: &trustbed_capture::InterfaceFacts| -> usize {
        let texts = [&interface.name, &interface.description, &interface.hardware, &interface.os];
        let options = interface.options.iter().map(|(_, value)| value.len());
        texts.into_iter().flatten().map(String::len).chain(options).sum()
    };
    let held: usize = interfaces.iter().map(texts).sum();
    assert!((15 << 20..=16 << 20).contains(&held), "{held} bytes");
    let kept = interfaces.iter().filter(|interface| texts(interface) == 3072 + 900).count();
    let bare = interfaces.iter().filter(|interface| texts(interface) == 0).count();
    assert_eq!(kept + bare, 6_000);
    assert!(interfaces.iter().zip(0..count).all(|(one, number)| one.snap_length == number));
    assert_eq!(interfaces[6_000].name.as_deref(), Some("eth0"));
    assert_eq!(facts.problems[0].code, "bad_block");
    assert_eq!(facts.problems_left_out, [("bad_block", bare as u64 - 100)]);
}

#[test]
fn an_interface_whose_texts_were_left_out_is_the_same_in_the_next_section() {
    let mut file = Pcapng::default();
    let (wordy, count) = (wordy(), 5_000_u32);
    for _ in 0..3 {
        file.section(false, &[]);
        for number in 0..count {
            file.interface(1, number, &wordy);
        }
    }
    file.packets(&frames(1));
    let (packets, facts) = read(&[memory("flood", &file.bytes)]).unwrap();
    assert_eq!((packets.len(), facts.files[0].interfaces.len()), (1, 5_000));
}
