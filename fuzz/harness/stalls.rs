//! What must hold for stalls of hosts, whatever their transfers did. The fuzz target `stalls` calls
//! this with bytes that libFuzzer makes up; the test `fuzz_corpus` of the crate `analyze` calls it
//! with those in `fuzz/corpus`.

use trustbed_analyze::{Pause, Silence, Trail, TransferId, host_overlap, host_stalls};
use trustbed_units::{Ns, Span};

/// Bytes of one transfer.
const RECORD: usize = 12;
const TENTH: i64 = 100_000_000;

/// A transfer of one of four hosts with three silences, as an analysis gives them: two seconds long at
/// least, one behind the other. `late` is a clock that stepped.
fn trail(bytes: &[u8], connection: u64) -> Trail {
    let tenths = |at: usize| i64::from(u16::from_be_bytes([bytes[at], bytes[at + 1]])) * TENTH;
    let late = if bytes[0] & 0x80 == 0 { 0 } else { 1 << 60 };
    let first = late + tenths(1);
    let mut at = first;
    let silences: Vec<Silence> = bytes[5..11]
        .chunks_exact(2)
        .map(|pair| {
            let from = at + i64::from(pair[0]) * TENTH;
            at = from + (20 + i64::from(pair[1])) * TENTH;
            Silence { from: Ns(from), to: Ns(at), pending: pair[1] & 1 == 0 }
        })
        .collect();
    Trail {
        host: [bytes[0] % 4; 16],
        transfer: TransferId { connection, by_responder: bytes[0] & 4 == 0 },
        first: Ns(first),
        last: Ns(first + tenths(3)),
        pauses: silences.iter().map(|one| Pause { from: one.from, to: one.to }).collect(),
        silences,
        rtt_base: (bytes[11] > 0).then_some(Span(i64::from(bytes[11]) * 1_000_000)),
    }
}

/// Transfers in either order have the same stalls, in order, each of most of the active ones.
pub fn stalls(data: &[u8]) {
    let mut trails: Vec<Trail> =
        data.chunks_exact(RECORD).zip(1..).map(|(bytes, number)| trail(bytes, number)).collect();
    let (found, overlaps) = (host_stalls(&trails), host_overlap(&trails));
    for stall in &found {
        assert!(stall.to - stall.from >= Span::from_secs(2), "{stall:?}");
        assert!(stall.active >= 2 && stall.transfers.len() <= stall.active, "{stall:?}");
    }
    assert!(
        found.windows(2).all(|pair| {
            (pair[0].host, pair[0].from) < (pair[1].host, pair[1].from)
                && (pair[0].host != pair[1].host || pair[0].to <= pair[1].from)
        }),
        "one behind the other: {found:?}"
    );
    assert!(overlaps.iter().all(|(_, share)| (0.0..=1.0).contains(share)), "{overlaps:?}");
    trails.reverse();
    assert_eq!(host_stalls(&trails), found, "in whichever order transfers come");
}
