//! What the measures cost per packet, on columns in memory.
use std::time::Instant;
use trustbed_burst::*;
use trustbed_units::*;
fn main() {
    let n = 16_000_000usize;
    let mut arrivals = Arrivals::with_capacity(n);
    let mut state = 1u64;
    let mut t = 1_700_000_000_000_000_000i64;
    for _ in 0..n {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        t += (state % 14) as i64;
        arrivals.push(Ns(t), 64 + (state >> 20) as u32 % 1400);
    }
    let p = arrivals.packets();
    for _ in 0..5 {
        let s = Instant::now();
        let a: i64 = p.times().iter().fold(0, |a, b| a.wrapping_add(*b));
        let b = p.bytes();
        let plain = s.elapsed().as_secs_f64();
        let s = Instant::now();
        let plan = Plan {
            mode: Mode::Static(Drain::at(Rate(100_000_000_000)).unwrap()),
            grid: Grid::aligned_to_epoch(Span::from_millis(100)).unwrap(),
        };
        let mut w = Windows::new(plan);
        w.push(p);
        let rows = w.finish(p.last().unwrap());
        let st = s.elapsed().as_secs_f64();
        let s = Instant::now();
        let mut w = Windows::new(Plan { mode: Mode::DynamicSame, ..plan });
        w.push(p);
        let rows2 = w.finish(p.last().unwrap());
        let dy = s.elapsed().as_secs_f64();
        let rates: Vec<Rate> = default_rates(50e9, Rate(100_000_000_000)).into_iter().take(48).collect();
        let s = Instant::now();
        let mut sg = Sigma::new(&rates).unwrap();
        sg.push(p);
        let k = sg.points();
        println!("{} sigma {:.1}", k.len(), n as f64 / s.elapsed().as_secs_f64() / 1e6);
        println!(
            "{a} {b} {} {} plain {:.1} static {:.1} dyn {:.1} M/s",
            rows.len(),
            rows2.len(),
            n as f64 / plain / 1e6,
            n as f64 / st / 1e6,
            n as f64 / dy / 1e6
        );
    }
}
