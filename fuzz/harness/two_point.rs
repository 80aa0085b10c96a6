//! What must hold for two captures of the same connections, whatever stands in them. The fuzz
//! target `two_point` calls this with bytes that libFuzzer makes up; the test `fuzz_corpus` of the
//! crate `two_point` calls it with those in `fuzz/corpus`.

use trustbed_flow::FlowKey;
use trustbed_two_point::{Capture, Direction, Fates, Frame, Join, JoinLimits, Relation, Sketch};
use trustbed_units::{Ns, Span};

/// Bytes of one frame.
const RECORD: usize = 10;

/// A frame of one of sixteen connections; few fingerprints, so that frames are found again, and
/// found where they are not the same.
fn frame(bytes: &[u8], now: &mut i64) -> Frame {
    let short = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    *now = now.saturating_add(match bytes[1] % 16 {
        0 => i64::from(short(2)) * 1_000_000_000,
        1 => i64::MAX / 64,
        _ => i64::from(short(2)) * 1_000,
    });
    let payload = u32::from(short(4));
    Frame {
        at: Ns(*now),
        fingerprint: u64::from(short(6)).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        key: FlowKey {
            low: [1; 16],
            high: [2; 16],
            low_port: u16::from(bytes[0] >> 4),
            high_port: 80,
            protocol: 6,
        },
        direction: usize::from(bytes[0] & 1),
        seq: u32::from(short(8)) << (bytes[1] >> 4),
        ack: (bytes[0] & 2 != 0).then(|| u32::from(short(4)) << (bytes[1] >> 4)),
        payload,
        length: payload + u32::from(bytes[0] & 4 != 0),
        opens: bytes[0] & 4 != 0,
    }
}

/// Every frame is counted once at most, and nothing waits beyond its limit.
pub fn two_point(data: &[u8]) {
    let mut seen: [Vec<Frame>; 2] = [Vec::new(), Vec::new()];
    let mut now = [0; 2];
    for bytes in data.chunks_exact(RECORD) {
        let end = usize::from(bytes[0] & 8 != 0);
        let one = frame(bytes, &mut now[end]);
        seen[end].push(one);
    }
    let mut sketches = [Sketch::default(), Sketch::default()];
    for (sketch, frames) in sketches.iter_mut().zip(&seen) {
        for frame in frames {
            sketch.on_frame(frame);
        }
    }
    let matches = sketches[0].matches(&sketches[1]);
    for relation in [Relation::of(&matches), Relation::stated(&matches, Span::ZERO)] {
        let Ok(relation) = relation else { continue };
        join(&seen, relation);
    }
}

fn join(seen: &[Vec<Frame>; 2], relation: Relation) {
    let limits = JoinLimits {
        waiting: 8,
        waiting_total: 24,
        outstanding_total: 24,
        connections: 4,
        ..Default::default()
    };
    let mut all: Vec<(Capture, &Frame)> = [Capture::First, Capture::Second]
        .into_iter()
        .zip(seen)
        .flat_map(|(end, frames)| frames.iter().map(move |frame| (end, frame)))
        .collect();
    all.sort_by_key(|(end, frame)| relation.by_first(*end, frame.at));
    let mut join = Join::new(relation, &limits);
    let mut directions: Vec<Direction> = Vec::new();
    for (end, frame) in all {
        join.on_frame(end, frame);
        directions.append(&mut join.take());
    }
    directions.append(&mut join.finish());
    let facts = join.facts();
    assert!(facts.most_outstanding <= 25, "{} wait for acknowledgements", facts.most_outstanding);
    assert_eq!(facts.frames.map(usize::try_from), seen.each_ref().map(|one| Ok(one.len())));
    let counted: u64 = directions
        .iter()
        .map(|one| {
            // Frames here are alike by their fingerprint alone, also where one has payload and the
            // other has none.
            let both = |of: fn(&Fates) -> u64| of(&one.data) + of(&one.no_payload);
            // Every frame that was sent has one fate; what arrived alone is missed or indeterminate.
            let known = both(|fates| fates.delivered) + both(|fates| fates.lost);
            let (sent, indeterminate) =
                (both(|fates| fates.sent), both(|fates| fates.indeterminate));
            assert!(known <= sent && sent <= known + indeterminate, "{one:?}");
            known + indeterminate + both(|fates| fates.missed)
        })
        .sum();
    assert!(counted <= facts.frames.iter().sum(), "no frame is counted twice");
}
