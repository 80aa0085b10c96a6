//! How fast chains are built and walked: millions of calls per second on one core, as one line of
//! JSON.
//!
//! `cargo run --release -p trustbed-calls --example speed [MILLIONS OF CALLS] [ROUNDS]`. The
//! measures take turns, so that whatever else the machine does falls on all of them; the median of
//! each is printed. The calls are those of a server: requests of a dozen calls in a handful of
//! variants, of an alphabet of sixty.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a bench reads the clock and has arguments"
)]
#![allow(clippy::print_stdout, reason = "its result")]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use std::hint::black_box;
use std::time::Instant;

use trustbed_calls::{CallsError, Chain, Chains, Order};

fn main() -> Result<(), CallsError> {
    let argument = |index, default| {
        std::env::args().nth(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (millions, rounds): (usize, usize) = (argument(1, 8), argument(2, 7).max(1));
    let calls = server(millions * 1_000_000);
    let orders = (1..=4).map(Order::new).collect::<Result<Vec<_>, _>>()?;
    let mut chains = Vec::new();
    for order in &orders {
        let mut chain = Chain::new(*order);
        chain.add(&calls)?;
        chains.push(chain);
    }
    let names = orders
        .iter()
        .map(|order| order.calls())
        .flat_map(|n| ["building", "walking"].map(|what| format!("{what}_order_{n}")));
    let names: Vec<String> = names.chain(["building_orders_1_to_4".to_owned()]).collect();
    let mut seconds = vec![Vec::with_capacity(rounds); names.len()];
    for _ in 0..rounds {
        let mut taken = seconds.iter_mut();
        let mut measure = |run: &mut dyn FnMut() -> Result<(), CallsError>| {
            let start = Instant::now();
            run()?;
            if let Some(seconds) = taken.next() {
                seconds.push(start.elapsed().as_secs_f64());
            }
            Ok(())
        };
        for (order, chain) in orders.iter().zip(&chains) {
            measure(&mut || {
                let mut chain = Chain::new(*order);
                chain.add(black_box(&calls))?;
                black_box(chain.len());
                Ok(())
            })?;
            measure(&mut || {
                black_box(chain.walk(black_box(&calls)));
                Ok(())
            })?;
        }
        measure(&mut || {
            let mut all = Chains::new(orders[3]);
            all.push(black_box(&calls))?;
            black_box(all.calls());
            Ok(())
        })?;
    }
    let rates = names.iter().zip(seconds).map(|(name, mut seconds)| {
        seconds.sort_by(f64::total_cmp);
        format!("\"{name}\": {:.1}", calls.len() as f64 / seconds[rounds / 2] / 1e6)
    });
    let rates = rates.collect::<Vec<_>>().join(", ");
    println!(
        "{{\"calls\": {}, \"rounds\": {rounds}, \"transitions_of_order_4\": {}, \
         \"millions_of_calls_per_second\": {{{rates}}}}}",
        calls.len(),
        chains[3].len()
    );
    Ok(())
}

/// Requests one after another; one call in 64 is any other.
fn server(calls: usize) -> Vec<u16> {
    const REQUESTS: [&[u16]; 4] = [
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        &[0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10],
        &[0, 11, 1, 2, 3, 4, 12, 6, 7, 13, 8, 9],
        &[0, 1, 2, 2, 2, 3, 14, 15, 16, 7, 9, 10],
    ];
    let mut found = Vec::with_capacity(calls + 16);
    let mut state = 1_u64;
    while found.len() < calls {
        // xorshift64 (G. Marsaglia, Journal of Statistical Software 8, 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        for (call, bits) in REQUESTS[(state & 3) as usize].iter().zip(0..) {
            let other = (state >> (bits * 4)).is_multiple_of(64);
            let any = u16::try_from(state >> 40 & 31).unwrap_or(0) + 20;
            found.push(if other { any } else { *call });
        }
    }
    found.truncate(calls);
    found
}
