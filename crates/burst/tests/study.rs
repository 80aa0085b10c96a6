//! A study in parts is the study of the whole.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use proptest::prelude::*;
use trustbed_burst::{
    Arrivals, BinGrid, Binning, Counted, Drain, Grid, Mode, Plan, Row, Study, StudyPlan,
};
use trustbed_units::{Ns, Rate, Span};

fn plan(mode: Mode) -> StudyPlan {
    let grid = Grid::aligned_to_epoch(Span::from_micros(300)).unwrap();
    let bins = BinGrid::new(Span::from_micros(50)).unwrap();
    StudyPlan {
        windows: Some(Plan { mode, grid }),
        energy: Some((bins, Counted::Packets)),
        rates: Some(bins),
        gaps: true,
        trains: Some(Span::from_micros(20)),
    }
}

/// Everything that a study found, to be compared.
fn summary(study: Study) -> (u64, u64, Option<(Ns, Ns)>, Vec<Row>, String) {
    let Study { packets, bytes, ends, windows, energy, rates, peaks, gaps, trains } = study;
    let rest = format!(
        "{:?} {:?} {:?} {:?} {:?}",
        energy.map(Binning::finish),
        rates.map(Binning::finish),
        peaks.map(|peaks| peaks.rates()),
        gaps,
        trains.map(|trains| trains.summary()),
    );
    (packets, bytes, ends, windows.map_or(Vec::new(), |part| part.finish(Ns(0))), rest)
}

proptest! {

    #[test]
    fn parts_make_the_whole(
        gaps in prop::collection::vec((0_i64..60_000, 0_u32..1600), 0..300),
        cuts in prop::collection::vec(0_usize..300, 0..6),
        mode in 0_usize..4,
    ) {
        let link = Drain::at(Rate(40_000_000)).expect("a rate");
        let mode =
            [Mode::Static(link), Mode::DynamicSame, Mode::DynamicPrevious, Mode::DynamicSameCarry]
                [mode];
        let mut arrivals = Arrivals::new();
        let mut now = 1_000_000;
        for (gap, length) in &gaps {
            now += gap;
            arrivals.push(Ns(now), *length);
        }
        let all = arrivals.packets();
        let mut whole = Study::new(&plan(mode)).expect("a plan");
        whole.add(all).expect("in order");
        let mut cuts: Vec<usize> =
            cuts.into_iter().map(|cut| cut.min(all.len())).chain([0, all.len()]).collect();
        cuts.sort_unstable();
        let mut joined = Study::new(&plan(mode)).expect("a plan");
        for ends in cuts.windows(2) {
            let mut part = Study::new(&plan(mode)).expect("a plan");
            part.add(all.slice(ends[0]..ends[1])).expect("in order");
            joined = joined.merge(part).expect("in order");
        }
        prop_assert_eq!(summary(joined), summary(whole));
    }
}

#[test]
fn what_was_not_requested_is_not_there() {
    let study = Study::new(&StudyPlan::default()).expect("a plan");
    assert!(
        study.windows.is_none()
            && study.energy.is_none()
            && study.gaps.is_none()
            && study.trains.is_none()
    );
}

#[test]
fn packets_that_come_too_early_are_refused() {
    let mut arrivals = Arrivals::new();
    arrivals.push(Ns(5), 1);
    let mut study = Study::new(&StudyPlan::default()).expect("a plan");
    study.add(arrivals.packets()).expect("the first");
    let mut earlier = Arrivals::new();
    earlier.push(Ns(4), 1);
    study.add(earlier.packets()).expect_err("they come before");
    assert_eq!(study.packets, 1);
}
