//! What burstiness costs per packet, on columns in memory: millions of packets per second as one
//! line of JSON.
//!
//! `cargo run --release -p trustbed-burst --example speed [MILLIONS OF PACKETS] [ROUNDS]`. The
//! measures take turns, so that whatever else the machine does falls on all of them; the median of
//! each is printed. `plain` sums both columns: what reading them costs.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a bench reads the clock, starts threads and has arguments"
)]
#![allow(clippy::print_stdout, reason = "its result")]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use std::hint::black_box;
use std::time::Instant;

use trustbed_burst::{
    Arrivals, BurstError, Drain, DropTail, Grid, Mode, Packets, Part, Plan, Sigma, Sweep, Windows,
};
use trustbed_units::{Ns, Rate, Size, Span};

const LINK: Rate = Rate(100_000_000_000);

type Measure = fn(Packets<'_>) -> Result<(), BurstError>;

const MEASURES: [(&str, Measure); 12] = [
    ("plain", plain),
    ("static", |packets| windows(static_at(LINK)?, packets)),
    ("static_odd_rate", |packets| windows(static_at(Rate(98_765_432_101))?, packets)),
    ("static_parts", |packets| parts(&[packets])),
    ("static_two_threads", two_threads),
    ("dynamic_same", |packets| windows(Mode::DynamicSame, packets)),
    ("dynamic_previous", |packets| windows(Mode::DynamicPrevious, packets)),
    ("sigma48", |packets| sigma(&rates(), packets)),
    ("sigma48_two_threads", sigma_two_threads),
    ("queue", queue),
    ("sweep_4_rates_8_buffers", sweep),
    ("plain_two_threads", plain_two_threads),
];

fn main() -> Result<(), BurstError> {
    let argument = |index, default| {
        std::env::args().nth(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (millions, rounds) = (argument(1, 16), argument(2, 7).max(1));
    let arrivals = traffic(millions * 1_000_000);
    let packets = arrivals.packets();
    let mut seconds = MEASURES.map(|_| Vec::with_capacity(rounds));
    for _ in 0..rounds {
        for ((_, measure), seconds) in MEASURES.iter().zip(&mut seconds) {
            let start = Instant::now();
            measure(packets)?;
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    let medians = seconds.map(|mut seconds| {
        seconds.sort_by(f64::total_cmp);
        seconds[rounds / 2]
    });
    let rates = MEASURES.iter().zip(medians).map(|((name, _), median)| {
        format!("\"{name}\": {:.1}", packets.len() as f64 / median / 1e6)
    });
    let rates = rates.collect::<Vec<_>>().join(", ");
    println!(
        "{{\"packets\": {}, \"rounds\": {rounds}, \"millions_of_packets_per_second\": \
         {{{rates}}}}}",
        packets.len()
    );
    Ok(())
}

/// Packets of 64 to 1463 bytes that arrive as fast as minimum-size frames do at 100 Gbit/s: every 0
/// to 13 ns.
fn traffic(packets: usize) -> Arrivals {
    let mut arrivals = Arrivals::with_capacity(packets);
    let (mut state, mut time) = (1_u64, Ns(1_700_000_000_000_000_000));
    for _ in 0..packets {
        // xorshift64 (G. Marsaglia, Journal of Statistical Software 8, 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        time = time + Span((state >> 40).cast_signed() % 14);
        arrivals.push(time, 64 + u32::try_from((state >> 20) % 1400).unwrap_or(0));
    }
    arrivals
}

#[expect(clippy::unnecessary_wraps, reason = "one type for all measures")]
fn plain(packets: Packets<'_>) -> Result<(), BurstError> {
    black_box(packets.times().iter().fold(0_i64, |sum, time| sum.wrapping_add(*time)));
    black_box(packets.bytes());
    Ok(())
}

/// What a second thread brings where memory is all that counts.
fn plain_two_threads(packets: Packets<'_>) -> Result<(), BurstError> {
    let (earlier, later) = packets.split_at(packets.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| plain(later));
        plain(earlier)?;
        other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn static_at(rate: Rate) -> Result<Mode, BurstError> {
    Ok(Mode::Static(Drain::at(rate)?))
}

fn plan(mode: Mode) -> Result<Plan, BurstError> {
    Ok(Plan { mode, grid: Grid::aligned_to_epoch(Span::from_millis(100))? })
}

fn end(packets: Packets<'_>) -> Ns {
    packets.last().unwrap_or_default()
}

fn windows(mode: Mode, packets: Packets<'_>) -> Result<(), BurstError> {
    let mut windows = Windows::new(plan(mode)?);
    windows.push(packets);
    black_box(windows.finish(end(packets)));
    Ok(())
}

fn part(packets: Packets<'_>) -> Result<Part, BurstError> {
    let mut part = Part::new(plan(static_at(LINK)?)?);
    part.push(packets);
    Ok(part)
}

fn parts(pieces: &[Packets<'_>]) -> Result<(), BurstError> {
    let mut whole = part(Packets::default())?;
    for piece in pieces {
        whole = whole.merge(part(*piece)?)?;
    }
    black_box(whole.finish(end(pieces[pieces.len() - 1])));
    Ok(())
}

fn two_threads(packets: Packets<'_>) -> Result<(), BurstError> {
    let (earlier, later) = packets.split_at(packets.len() / 2);
    let whole = std::thread::scope(|scope| {
        let other = scope.spawn(|| part(later));
        let own = part(earlier)?;
        own.merge(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?)
    })?;
    black_box(whole.finish(end(packets)));
    Ok(())
}

/// 48 rates from a hundredth of the mean to the link, as the defaults are, of three digits.
fn rates() -> Vec<Rate> {
    let all = trustbed_burst::default_rates(50e9, LINK);
    all.into_iter().take(48).collect()
}

fn sigma(rates: &[Rate], packets: Packets<'_>) -> Result<(), BurstError> {
    let mut sigma = Sigma::new(rates)?;
    sigma.push(packets);
    black_box(sigma.points());
    Ok(())
}

fn sigma_two_threads(packets: Packets<'_>) -> Result<(), BurstError> {
    let rates = rates();
    let (some, others) = rates.split_at(rates.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| sigma(others, packets));
        sigma(some, packets)?;
        other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn queue(packets: Packets<'_>) -> Result<(), BurstError> {
    let mut queue = DropTail::new(LINK, Some(Size(100_000)))?;
    queue.push(packets);
    black_box(queue.lost_packets());
    Ok(())
}

fn sweep(packets: Packets<'_>) -> Result<(), BurstError> {
    let rates = [10, 25, 40, 100].map(|gigabits| Rate(gigabits * 1_000_000_000));
    let buffers = [10, 30, 100, 300, 1000, 3000, 10_000, 30_000]
        .map(|kilobytes| Some(Size(kilobytes * 1000)));
    let mut sweep = Sweep::new(&rates, &buffers)?;
    sweep.push(packets);
    black_box(sweep.queues().len());
    Ok(())
}
