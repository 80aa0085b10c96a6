//! What must hold for measures of bursts, whatever packets come. The fuzz target `burst` calls this
//! with bytes that libFuzzer makes up; the test `fuzz_corpus` of the crate `burst` calls it with
//! those in `fuzz/corpus`.

use trustbed_burst::{
    Arrivals, BinGrid, Counted, Drain, DropTail, Grid, Mode, Packets, Plan, Sigma, Study, StudyPlan,
};
use trustbed_units::{Ns, Rate, Size, Span};

/// Bytes of one packet.
const RECORD: usize = 5;

fn arrivals(data: &[u8]) -> Arrivals {
    let mut arrivals = Arrivals::default();
    let mut now: i64 = 1_767_225_600_000_000_000;
    for bytes in data.chunks_exact(RECORD) {
        let passed = i64::from(u16::from_be_bytes([bytes[1], bytes[2]]));
        now = now.saturating_add(match bytes[0] % 32 {
            0 => passed << 40,
            1 => -passed * 1_000_000,
            2 => i64::MAX / 8,
            3 => passed * 1_000_000,
            4..=15 => 0,
            _ => passed * 100,
        });
        let length = u32::from(u16::from_be_bytes([bytes[3], bytes[4]]));
        arrivals.push(Ns(now), if bytes[0] & 128 == 0 { length } else { length << 16 });
    }
    arrivals
}

fn plan(first: u8, drain: Drain) -> Option<StudyPlan> {
    let grid = Grid::aligned_to_epoch(Span::from_millis(1 << (first % 8))).ok()?;
    let mode = match first >> 6 {
        0 => Mode::Static(drain),
        1 => Mode::DynamicSame,
        2 => Mode::DynamicPrevious,
        _ => Mode::DynamicSameCarry,
    };
    let bins = BinGrid::new(Span::from_millis(1)).ok()?;
    let counted = if first & 32 == 0 { Counted::Bytes } else { Counted::Packets };
    Some(StudyPlan {
        windows: Some(Plan { mode, grid }),
        energy: Some((bins, counted)),
        rates: Some(bins),
        gaps: true,
        trains: Some(Span::from_millis(1)),
    })
}

/// A whole is the sum of its parts, and a queue loses what it says.
pub fn burst(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    let arrivals = arrivals(rest);
    let packets = arrivals.packets();
    let rate = Rate(u64::from(first) << 16 | 1);
    let Some(plan) = Drain::at(rate).ok().and_then(|drain| plan(first, drain)) else { return };
    let cut = usize::from(first) % (packets.len() + 1);
    let (before, after) = packets.split_at(cut);
    let (whole, parts) = (study(&plan, packets), study(&plan, before));
    let merged = parts.and_then(|before| before.merge(study(&plan, after)?).ok());
    if let (Some(whole), Some(merged)) = (whole, merged) {
        assert_eq!(
            (whole.packets, whole.bytes, whole.ends),
            (merged.packets, merged.bytes, merged.ends),
            "the parts are the whole"
        );
        if let (Some(one), Some(other), Some(end)) = (whole.windows, merged.windows, packets.last())
        {
            assert_eq!(one.finish(end).len(), other.finish(end).len(), "windows");
        }
    }
    queue(packets, rate, Size(u64::from(first) << 8));
    if let Ok(mut sigma) = Sigma::new(&[rate]) {
        sigma.push(packets);
        assert_eq!(sigma.points().len(), 1);
    }
}

fn study(plan: &StudyPlan, packets: Packets<'_>) -> Option<Study> {
    let mut study = Study::new(plan).ok()?;
    study.add(packets).ok()?;
    Some(study)
}

fn queue(packets: Packets<'_>, rate: Rate, buffer: Size) {
    let Ok(mut queue) = DropTail::new(rate, Some(buffer)) else { return };
    let mut lost = Vec::new();
    queue.push_each(packets, &mut |number| lost.push(number));
    assert!(lost.is_sorted() && lost.last().is_none_or(|&last| last < packets.len() as u64));
    for share in [queue.loss_of_packets(), queue.loss_of_bytes()].into_iter().flatten() {
        assert!((0.0..=1.0).contains(&share), "{share}");
    }
    assert_eq!(queue.loss_of_packets().is_some_and(|share| share > 0.0), !lost.is_empty());
}
