//! The fast path and the slow path decode alike, over generated frames of every shape, cut, padded
//! and damaged; and no bytes whatever make either of them panic.

mod frames;

use frames::{TCP, UDP, concat, decode_records, sixteen};
use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_units::Ns;
use trustbed_wire::{Bits, LinkType, Record};

const LINKS: [LinkType; 8] = [
    LinkType::Ethernet,
    LinkType::Ppp,
    LinkType::LinuxCooked,
    LinkType::LinuxCooked2,
    LinkType::Raw,
    LinkType::Ipv4,
    LinkType::Ipv6,
    LinkType::Loopback,
];

fn link() -> impl Strategy<Value = LinkType> {
    prop_oneof![3 => Just(LinkType::Ethernet), 4 => proptest::sample::select(&LINKS[..])]
}

/// One option, well formed or not.
fn option() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        1 => Just(vec![0]),
        1 => Just(vec![0, 2]),
        3 => Just(vec![1]),
        3 => any::<[u8; 8]>().prop_map(|values| concat(&[&[8, 10], &values])),
        3 => (1_u8..5, any::<[u8; 32]>()).prop_map(|(count, edges)| {
            concat(&[&[5, 2 + 8 * count], &edges[..usize::from(count) * 8]])
        }),
        1 => any::<[u8; 2]>().prop_map(|size| concat(&[&[2, 4], &size])),
        1 => any::<u8>().prop_map(|shift| vec![3, 3, shift]),
        1 => Just(vec![4, 2]),
        1 => (any::<[u8; 26]>(), 3_u8..29, 0_u8..4).prop_map(|(rest, length, subtype)| {
            concat(&[&[30, length, subtype << 4], &rest[..usize::from(length) - 3]])
        }),
        1 => (any::<u8>(), 0_u8..12).prop_map(|(kind, length)| {
            concat(&[&[kind, length], &vec![9; usize::from(length.saturating_sub(2))]])
        }),
    ]
}

/// The option area of a segment: the common layouts often, anything sometimes.
fn options() -> impl Strategy<Value = Vec<u8>> {
    let aligned = any::<[u8; 8]>().prop_map(|values| concat(&[&[1, 1, 8, 10], &values]));
    let sack = (1_u8..4, any::<[u8; 32]>());
    let aligned_sack = (aligned.clone(), sack).prop_map(|(aligned, (count, edges))| {
        concat(&[&aligned, &[1, 1, 5, 2 + 8 * count], &edges[..usize::from(count) * 8]])
    });
    let listed = vec(option(), 0..8).prop_map(|options| {
        let mut area = options.concat();
        area.truncate(40);
        area.resize(area.len().next_multiple_of(4), 0);
        area
    });
    prop_oneof![
        2 => Just(Vec::new()),
        3 => aligned,
        2 => aligned_sack,
        3 => listed,
        1 => vec(any::<u8>(), 40),
    ]
}

fn tcp() -> impl Strategy<Value = Vec<u8>> {
    let offset = prop_oneof![9 => Just(None), 1 => (0_u8..16).prop_map(Some)];
    (any::<[u8; 12]>(), offset, any::<[u8; 7]>(), options(), 0_usize..50).prop_map(
        |(start, offset, end, options, payload)| {
            let offset =
                offset.unwrap_or_else(|| u8::try_from(5 + options.len() / 4).unwrap_or(15));
            concat(&[&start, &[offset << 4], &end, &options, &vec![0x55; payload]])
        },
    )
}

/// A datagram, sometimes with a tunnel's port or a length that lies.
fn udp() -> impl Strategy<Value = Vec<u8>> {
    let port =
        prop_oneof![3 => any::<u16>(), 2 => proptest::sample::select(&[4789_u16, 8472, 6081][..])];
    let length = prop_oneof![
        5 => Just(None),
        1 => (0_u16..80).prop_map(Some),
        1 => (6_u16..10).prop_map(Some),
    ];
    (port, length, vec(any::<u8>(), 0..60)).prop_map(|(port, length, payload)| {
        let length = length.map_or(sixteen(8 + payload.len()), u16::to_be_bytes);
        concat(&[&[0x9c, 0x40], &port.to_be_bytes(), &length, &[0xbe, 0xef], &payload])
    })
}

/// GRE of every kind that is opened, and some that are not, around something or other.
fn gre() -> impl Strategy<Value = Vec<u8>> {
    let kind = proptest::sample::select(
        &[0x0800_u16, 0x86dd, 0x6558, 0x88be, 0x22eb, 0x8200, 0x83f0, 0x8847, 0x9000, 0x0806][..],
    );
    let segment = vec(any::<u8>(), 20..60).prop_map(|mut segment| {
        segment[12] = 0x50;
        concat(&[&[0x45, 0], &sixteen(20 + segment.len()), &[0; 4], &[64, TCP], &[9; 10], &segment])
    });
    let qos = any::<bool>();
    (kind, proptest::sample::select(&[0_u8, 0x20, 0x10, 0x30, 0xb0, 0x40][..]), segment, qos)
        .prop_map(|(kind, flags, ip, qos)| {
            let fields = [0x80, 0x20, 0x10].iter().filter(|flag| flags & **flag != 0).count();
            let snap = concat(&[&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &ip]);
            let inside = match kind {
                0x6558 => concat(&[&[2; 12], &[8, 0], &ip]),
                0x88be if flags & 0x10 == 0 => concat(&[&[2; 12], &[8, 0], &ip]),
                0x88be => concat(&[&[0x10; 8], &[2; 12], &[8, 0], &ip]),
                0x22eb => concat(&[&[0x20; 10], &[8, 0], &ip]),
                0x8200 | 0x83f0 if qos => concat(&[&[0x88, 1], &[0; 24], &snap]),
                0x8200 | 0x83f0 => concat(&[&[0x08, 2], &[0; 22], &snap]),
                0x8847 => concat(&[&[0, 1, 1, 64], &ip]),
                _ => ip,
            };
            concat(&[&[flags, 0], &kind.to_be_bytes(), &vec![7; 4 * fields], &inside])
        })
}

fn transport() -> impl Strategy<Value = (u8, Vec<u8>)> {
    let other = proptest::sample::select(&[1_u8, 4, 41, 44, 47, 50, 51, 58, 60][..]);
    prop_oneof![
        6 => tcp().prop_map(|bytes| (TCP, bytes)),
        2 => udp().prop_map(|bytes| (UDP, bytes)),
        1 => gre().prop_map(|bytes| (47, bytes)),
        1 => (other, vec(any::<u8>(), 0..60)),
    ]
}

/// A stated length: the right one, none, or any other.
fn stated(right: usize) -> impl Strategy<Value = u16> {
    let right = u16::try_from(right).unwrap_or(u16::MAX);
    prop_oneof![12 => Just(right), 1 => Just(0), 2 => 0..=right, 1 => any::<u16>()]
}

fn ipv4() -> impl Strategy<Value = Vec<u8>> {
    let words = prop_oneof![9 => Just(0_usize), 1 => 1_usize..11];
    let fragment = prop_oneof![
        4 => Just(0x4000_u16),
        2 => Just(0),
        1 => Just(0x2000),
        2 => 0_u16..4,
        1 => any::<u16>(),
    ];
    (words, fragment, transport(), any::<u8>(), 0_u8..2).prop_flat_map(
        |(words, fragment, (protocol, payload), class, id)| {
            stated(20 + 4 * words + payload.len()).prop_map(move |total| {
                let version = 0x45 + u8::try_from(words).unwrap_or(0);
                let ([a, b], [c, d]) = (total.to_be_bytes(), fragment.to_be_bytes());
                let fixed = [
                    version, class, a, b, 0, id, c, d, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
                ];
                concat(&[&fixed, &vec![1; 4 * words], &payload])
            })
        },
    )
}

/// Zero to three extension headers in front of the transport header.
fn chain() -> impl Strategy<Value = (u8, Vec<u8>)> {
    let header = prop_oneof![
        (proptest::sample::select(&[0_u8, 43, 60][..]), 0_u8..3).prop_map(|(kind, words)| (
            kind,
            concat(&[&[0, words], &vec![0; 6 + 8 * usize::from(words)]])
        )),
        (0_u16..40).prop_map(|field| (44, concat(&[&[0, 0], &field.to_be_bytes(), &[0, 0, 0, 1]]))),
        any::<u32>().prop_map(|jumbo| (0, concat(&[&[0, 0, 0xc2, 4], &jumbo.to_be_bytes()]))),
        Just((51, concat(&[&[0, 4], &[0; 22]]))),
    ];
    (prop_oneof![3 => vec(header.clone(), 0..1), 2 => vec(header, 1..4)], transport()).prop_map(
        |(headers, (protocol, payload))| {
            headers.into_iter().rev().fold(
                (protocol, payload),
                |(next, behind), (kind, mut header)| {
                    header[0] = next;
                    (kind, concat(&[&header, &behind]))
                },
            )
        },
    )
}

fn ipv6() -> impl Strategy<Value = Vec<u8>> {
    (chain(), any::<u8>()).prop_flat_map(|((next, payload), class)| {
        stated(payload.len()).prop_map(move |length| {
            let start = [0x60 | class >> 4, class << 4, 0, 0];
            concat(&[
                &start,
                &length.to_be_bytes(),
                &[next, 64],
                &[0x20; 16],
                &[0x30; 16],
                &payload,
            ])
        })
    })
}

/// A link header in front of `ip`, with what may stand between.
fn framed(link: LinkType, ip: &[u8], tags: &[[u8; 2]], oddity: u8) -> Vec<u8> {
    let version = ip.first().map_or(4, |first| first >> 4);
    let mut ether_type: [u8; 2] = if version == 6 { [0x86, 0xdd] } else { [8, 0] };
    let mut behind = ip.to_vec();
    match oddity {
        0 => (ether_type, behind) = ([0x88, 0x47], concat(&[&[0, 1, 0, 64], &[0, 1, 1, 64], ip])),
        1 => (ether_type, behind) = ([0x88, 0x64], concat(&[&[0x11, 0, 0, 1, 0, 0, 0, 0x21], ip])),
        2 => {
            (ether_type, behind) = ([0, 60], concat(&[&[0xaa, 0xaa, 3, 0, 0, 0], &ether_type, ip]));
        }
        3 => ether_type = [8, 6],
        5 => (ether_type, behind) = ([0x92, 0], concat(&[&[0, 1, 8, 0], ip])),
        _ => (),
    }
    for (tag, kind) in tags.iter().zip([[0x81, 0], [0x88, 0xa8], [0x91, 0], [0x81, 0]]) {
        behind = concat(&[tag, &ether_type, &behind]);
        ether_type = kind;
    }
    match link {
        LinkType::Ethernet => concat(&[&[2; 12], &ether_type, &behind]),
        LinkType::LinuxCooked => concat(&[
            &[0, 4, if oddity == 4 { 3 } else { 0 }, 56, 0, 6],
            &[2; 8],
            &ether_type,
            &behind,
        ]),
        LinkType::LinuxCooked2 => concat(&[
            &ether_type,
            &[0; 6],
            &[if oddity == 4 { 3 } else { 0 }, 56],
            &[0; 10],
            &behind,
        ]),
        LinkType::Ppp => {
            let protocol = if version == 6 { 0x57 } else { 0x21 };
            let header: &[u8] = match oddity {
                0 => &[0, 0x21, 0x45],
                1 => &[2, 0x81, 0, 1, 1, 64],
                2 => &[protocol],
                3 => &[0xff, 3, protocol],
                4 => &[0x8f, 0, 0x81, 0, 0, 7, 8, 0],
                5 => &[0xc0, protocol],
                6..12 => &[0xff, 3, 0, protocol],
                _ => &[0, protocol],
            };
            concat(&[header, ip])
        }
        LinkType::Raw | LinkType::Ipv4 | LinkType::Ipv6 => ip.to_vec(),
        LinkType::Loopback => concat(&[&[if version == 6 { 30 } else { 2 }, 0, 0, 0], ip]),
    }
}

/// One record's bytes and length on the wire.
#[derive(Debug, Clone)]
struct Generated {
    link: LinkType,
    bytes: Vec<u8>,
    original_length: u32,
}

fn generated() -> impl Strategy<Value = Generated> {
    let ip = prop_oneof![3 => ipv4(), 2 => ipv6()];
    let byte = (any::<prop::sample::Index>(), any::<u8>());
    let damage = prop_oneof![4 => vec(byte.clone(), 0..1), 1 => vec(byte, 1..4)];
    let padding = prop_oneof![2 => Just(0_usize), 1 => 0_usize..20];
    let cut = prop_oneof![3 => Just(None), 2 => any::<prop::sample::Index>().prop_map(Some)];
    // The length on the wire: what was captured, what there was, or anything.
    let wire = prop_oneof![3 => Just(0_u8), 3 => Just(1), 1 => Just(2)];
    (link(), ip, vec(any::<[u8; 2]>(), 0..4), 0_u8..20, damage, padding, cut, wire, any::<u32>())
        .prop_map(|(link, ip, tags, oddity, damage, padding, cut, wire, anything)| {
            let mut bytes = framed(link, &ip, &tags, oddity);
            bytes.resize(bytes.len() + padding, 0);
            let whole = u32::try_from(bytes.len()).unwrap_or(0);
            for (position, value) in damage {
                let position = position.index(bytes.len());
                bytes[position] = value;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len() + 1));
            }
            let captured = u32::try_from(bytes.len()).unwrap_or(0);
            let original_length = [captured, whole, anything % 200_000][usize::from(wire)];
            Generated { link, bytes, original_length }
        })
}

/// Decodes all records by one decoder both ways, which must agree, and checks what holds for every
/// packet.
fn twins_agree(records: &[Generated], inner: bool) {
    let records: Vec<Record<'_>> = records
        .iter()
        .zip(1..)
        .map(|(generated, index)| Record {
            ts: Ns(i64::try_from(index).unwrap_or(0) * 1_000_000),
            index,
            link: generated.link,
            interface: 0,
            original_length: generated.original_length,
            bytes: &generated.bytes,
        })
        .collect();
    for (record, decoded) in records.iter().zip(decode_records(&records, inner)) {
        let Ok((packet, _)) = decoded else { continue };
        assert!(packet.protocol == TCP || packet.protocol == UDP);
        assert_eq!((packet.ts, packet.index), (record.ts, record.index));
        assert!(inner || !packet.bits.any(Bits::INNER));
        assert!(
            packet.bits.any(Bits::INNER)
                || packet.original_length
                    == record.original_length.max(u32::try_from(record.bytes.len()).unwrap_or(0))
        );
        if !packet.bits.any(Bits::LENGTH_BEYOND_FRAME) {
            assert!(packet.payload + u32::from(packet.header_length) <= packet.original_length);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16_000))]

    #[test]
    fn generated_frames_decode_alike(records in vec(generated(), 1..5), inner: bool) {
        twins_agree(&records, inner);
    }

    #[test]
    fn random_bytes_never_panic(
        link in proptest::sample::select(&LINKS[..]),
        bytes in vec(any::<u8>(), 0..200),
        original_length: u32,
        inner: bool,
    ) {
        twins_agree(&[Generated { link, bytes, original_length }], inner);
    }

    /// Random bytes that get past the link layer more often than pure chance lets them.
    #[test]
    fn random_bytes_behind_a_link_header_never_panic(
        link in proptest::sample::select(&LINKS[..]),
        version in prop_oneof![Just(0x45_u8), Just(0x60), Just(0x4f)],
        protocol in proptest::sample::select(&[0_u8, 4, 6, 17, 41, 43, 44, 47, 51, 60][..]),
        mut ip in vec(any::<u8>(), 10..160),
        original_length in 0_u32..200,
        inner: bool,
    ) {
        ip[0] = version;
        ip[if version == 0x60 { 6 } else { 9 }] = protocol;
        let bytes = framed(link, &ip, &[], 9);
        twins_agree(&[Generated { link, bytes, original_length }], inner);
    }
}
