//! TCP options: the common layouts, the malformed ones, and those that mean nothing where they
//! stand.

mod frames;

use frames::{TCP, TIMESTAMP, concat, decode_record, ipv4, record, tcp_with_flags};
use trustbed_wire::{Bits, LinkType, Options, TcpFlags};

const ACK: u8 = TcpFlags::ACK;
const SYN: u8 = TcpFlags::SYN;

/// The timestamps and other options of a segment with this option area, padded with end-of-options.
#[expect(clippy::expect_used, reason = "a helper of tests, which may fail loudly")]
fn read(flags: u8, area: &[u8]) -> (Option<(u32, u32)>, Option<Options>) {
    let mut area = area.to_vec();
    area.resize(area.len().next_multiple_of(4), 0);
    let bytes = ipv4(TCP, &tcp_with_flags(flags, &area, b"payload"));
    let (packet, options) = decode_record(&record(LinkType::Raw, &bytes), false).expect("decodes");
    assert_eq!(packet.payload, 7, "options never change the payload");
    (packet.bits.any(Bits::TIMESTAMP).then_some((packet.tsval, packet.tsecr)), options)
}

#[expect(clippy::expect_used, reason = "a helper of tests, which may fail loudly")]
fn blocks(blocks: &[(u32, u32)]) -> Vec<u8> {
    let length = u8::try_from(2 + 8 * blocks.len()).expect("short");
    let edges: Vec<u8> = blocks
        .iter()
        .flat_map(|(left, right)| [left.to_be_bytes(), right.to_be_bytes()].concat())
        .collect();
    concat(&[&[5, length], &edges])
}

#[expect(clippy::unnecessary_wraps, reason = "it is compared with options")]
fn sacked(count: u8, edges: [(u32, u32); 4]) -> Option<Options> {
    Some(Options { sack: edges, sack_count: count, ..Options::default() })
}

#[test]
fn the_usual_syn() {
    let area = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 77, 0, 0, 0, 0, 1, 3, 3, 7];
    let expected = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        ..Options::default()
    };
    assert_eq!(read(SYN, &area), (Some((77, 0)), Some(expected)));
    assert_eq!(read(SYN | ACK, &area), (Some((77, 0)), Some(expected)));
}

#[test]
fn syn_options_mean_nothing_elsewhere() {
    assert_eq!(read(ACK, &[2, 4, 5, 0xb4, 4, 2, 1, 3, 3, 7]), (None, None));
}

#[test]
fn a_window_scale_above_fourteen_counts_as_fourteen() {
    assert_eq!(read(SYN, &[3, 3, 14]).1.and_then(|options| options.window_scale), Some(14));
    assert_eq!(read(SYN, &[3, 3, 15]).1.and_then(|options| options.window_scale), Some(14));
    assert_eq!(read(SYN, &[3, 3, 255]).1.and_then(|options| options.window_scale), Some(14));
    assert_eq!(read(SYN, &[3, 3, 0]).1.and_then(|options| options.window_scale), Some(0));
}

#[test]
fn timestamps_aligned_and_not() {
    assert_eq!(read(ACK, &TIMESTAMP), (Some((77, 55)), None));
    assert_eq!(read(ACK, &TIMESTAMP[2..]), (Some((77, 55)), None));
    assert_eq!(read(ACK, &concat(&[&[1], &TIMESTAMP[2..]])), (Some((77, 55)), None));
}

#[test]
fn one_to_four_sack_blocks() {
    let edges = [(10, 20), (30, 40), (50, 60), (70, 80)];
    let none = (0, 0);
    assert_eq!(
        read(ACK, &concat(&[&[1, 1], &blocks(&edges[..1])])),
        (None, sacked(1, [edges[0], none, none, none]))
    );
    assert_eq!(
        read(ACK, &concat(&[&TIMESTAMP, &[1, 1], &blocks(&edges[..1])])).1,
        sacked(1, [edges[0], none, none, none])
    );
    assert_eq!(
        read(ACK, &concat(&[&TIMESTAMP, &[1, 1], &blocks(&edges[..2])])).1,
        sacked(2, [edges[0], edges[1], none, none])
    );
    assert_eq!(
        read(ACK, &concat(&[&TIMESTAMP, &[1, 1], &blocks(&edges[..3])])),
        (Some((77, 55)), sacked(3, [edges[0], edges[1], edges[2], none]))
    );
    assert_eq!(read(ACK, &concat(&[&[1, 1], &blocks(&edges)])), (None, sacked(4, edges)));
}

#[test]
fn malformed_options_are_passed_over_by_their_length() {
    let timestamp = &TIMESTAMP[2..];
    let mss = |area: &[u8]| read(SYN, area).1.and_then(|options| options.mss);
    assert_eq!(
        mss(&[2, 3, 5, 2, 4, 5, 0xb4]),
        Some(1460),
        "an MSS of three bytes, and one of four"
    );
    assert_eq!(mss(&[2, 4, 0, 0]), None, "a segment size of nothing");
    assert_eq!(mss(&[30, 6, 1, 2, 3, 4, 2, 4, 5, 0xb4]), Some(1460), "an unknown kind in front");
    assert_eq!(mss(&[0, 2, 4, 5, 0xb4]), None, "behind the end of the options");
    assert_eq!(mss(&[30, 0, 2, 4, 5, 0xb4]), None, "a length of 0 ends the reading");
    assert_eq!(mss(&[30, 1, 2, 4, 5, 0xb4]), None, "a length of 1 ends the reading");
    assert_eq!(mss(&[30, 9, 2, 4, 5, 0xb4]), None, "a length beyond the area ends the reading");
    assert_eq!(
        read(ACK, &concat(&[&[5, 2], timestamp])),
        (Some((77, 55)), None),
        "SACK without blocks"
    );
    assert_eq!(
        read(ACK, &concat(&[&[5, 6, 0, 0, 0, 1], timestamp])),
        (Some((77, 55)), None),
        "half a SACK block"
    );
    assert_eq!(
        read(ACK, &concat(&[&[8, 9, 0, 0, 0, 0, 0, 0, 0], timestamp])),
        (Some((77, 55)), None),
        "a short timestamp"
    );
    assert_eq!(
        read(ACK, &concat(&[&TIMESTAMP, &[1, 1, 5, 11, 0, 0, 0, 1, 0, 0, 0, 2]])),
        (Some((77, 55)), None),
        "SACK past the end"
    );
}

#[test]
fn the_last_of_two_equal_options_counts() {
    assert_eq!(
        read(ACK, &concat(&[&TIMESTAMP, &[1, 1, 8, 10, 0, 0, 0, 78, 0, 0, 0, 56]])).0,
        Some((78, 56))
    );
    let two = concat(&[&blocks(&[(1, 2), (3, 4)]), &blocks(&[(5, 6)])]);
    assert_eq!(read(ACK, &two).1, sacked(1, [(5, 6), (0, 0), (0, 0), (0, 0)]));
}

/// An option of Multipath TCP of this subtype and length, the rest of it zero.
#[expect(clippy::cast_possible_truncation, reason = "options are short")]
fn multipath(subtype: u8, length: usize) -> Vec<u8> {
    let mut option = vec![0; length];
    (option[0], option[1], option[2]) = (30, length as u8, subtype << 4 | 1);
    option
}

#[test]
fn multipath_tcp_is_recognised_by_the_options_that_each_segment_may_carry() {
    let is_read = |flags: u8, subtype: u8, length: usize| {
        read(flags, &multipath(subtype, length)).1.is_some_and(|options| options.multipath)
    };
    let (capable, join, dss) = (0, 1, 2);
    for (flags, subtype, lengths) in [
        (SYN, capable, vec![4, 12]),
        (SYN, join, vec![12]),
        (SYN, dss, vec![]),
        (SYN | ACK, capable, vec![12]),
        (SYN | ACK, join, vec![16]),
        (SYN | ACK, dss, vec![]),
        (ACK, capable, vec![]),
        (ACK, join, vec![]),
        (ACK, dss, (4..=28).collect()),
        (ACK, 3, vec![]),
    ] {
        let found: Vec<usize> =
            (3..=40).filter(|length| is_read(flags, subtype, *length)).collect();
        assert_eq!(found, lengths, "flags {flags}, subtype {subtype}");
    }
}

#[test]
fn multipath_tcp_among_other_options() {
    let expected = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        multipath: true,
        ..Options::default()
    };
    let usual = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 77, 0, 0, 0, 0, 1, 3, 3, 7];
    assert_eq!(read(SYN, &concat(&[&usual, &multipath(0, 4)])), (Some((77, 0)), Some(expected)));
    let used = Some(Options { multipath: true, ..Options::default() });
    assert_eq!(read(ACK, &concat(&[&TIMESTAMP, &multipath(2, 20)])), (Some((77, 55)), used));
    assert_eq!(
        read(ACK, &concat(&[&TIMESTAMP, &multipath(3, 8), &multipath(2, 8)])),
        (Some((77, 55)), used),
        "an address and DSS"
    );
    assert_eq!(
        read(ACK, &concat(&[&multipath(2, 8), &multipath(3, 8)])).1,
        used,
        "the second takes nothing back"
    );
    assert_eq!(read(SYN, &[30, 2, 1, 1]), (None, None), "without a subtype");
    assert_eq!(read(SYN, &[1, 30, 4, 0]), (None, None), "a length beyond the area");
}

#[test]
fn all_eight_flags_come_through() {
    let bytes = ipv4(TCP, &tcp_with_flags(0xff, &[], &[]));
    let (packet, _) = decode_record(&record(LinkType::Raw, &bytes), false).expect("decodes");
    assert_eq!(packet.flags, TcpFlags(0xff));
}
