//! How long it takes to take a packet through a link or a network, in virtual time: `cargo run
//! --release -p trustbed-emulate --example speed`.
//!
//! Each is done several times, and the fastest counts: whatever else the machine does can only make
//! it slower.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures")]
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use trustbed_emulate::{
    AccessDescription, Description, DumbbellDescription, HostDescription, Link, LinkDescription,
    Network, Offered, QueueDescription, Topology,
};
use trustbed_units::Ns;

const PACKETS: u32 = 400_000;
const ROUNDS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    // A packet of 1000 bytes takes 400 µs.
    let constant = LinkDescription {
        rate_bits_per_second: Some(20_000_000),
        delay_ns: Some(10_000_000),
        ..Default::default()
    };
    let drop_tail = QueueDescription::DropTail { limit_packets: Some(50), limit_bytes: None };
    let codel: QueueDescription = serde_json::from_str(r#"{"kind": "codel"}"#)?;
    let red: QueueDescription =
        serde_json::from_str(r#"{"kind": "red", "minimum_packets": 5, "maximum_packets": 15}"#)?;
    let lossy = serde_json::from_str(
        r#"{"rate_bits_per_second": 20000000, "delay_ns": 10000000, "jitter": {"kind": "normal",
            "deviation_ns": 1000000, "keep_order": false},
            "loss": {"kind": "gilbert_elliott", "good_to_bad": 0.01, "bad_to_good": 0.3},
            "duplicate": {"probability": 0.01}}"#,
    )?;
    for (name, queue, gap) in [
        ("drop-tail", drop_tail, 400_000),
        ("drop-tail, twice the rate", drop_tail, 200_000),
        ("CoDel", codel, 400_000),
        ("CoDel, twice the rate", codel, 200_000),
        ("RED, twice the rate", red, 200_000),
    ] {
        bare(name, &LinkDescription { queue: Some(queue), ..constant.clone() }, gap)?;
    }
    bare("jitter, loss, copies", &lossy, 400_000)?;
    let trace = serde_json::from_str(
        r#"{"rate_trace": {"opportunities_ms": [1, 1, 2, 3, 3, 3, 7]}, "delay_ns": 10000000}"#,
    )?;
    bare("trace", &trace, 800_000)?;
    let gigabit = LinkDescription {
        rate_bits_per_second: Some(1_000_000_000),
        delay_ns: Some(1_000_000),
        ..Default::default()
    };
    network(
        "one pipe each way",
        &Description::bare_link(
            [host("a", 0, 1), host("b", 1, 1)],
            constant.clone(),
            constant.clone(),
        ),
        1,
        400_000,
    )?;
    let side = |name, side| HostDescription {
        access: Some(AccessDescription {
            router: None,
            up: gigabit.clone(),
            down: gigabit.clone(),
            each: Vec::new(),
        }),
        ..host(name, side, 500)
    };
    let dumbbell = DumbbellDescription {
        left: vec![side("a", 0)],
        right: vec![side("b", 1)],
        up: gigabit.clone(),
        down: gigabit.clone(),
    };
    network(
        "dumbbell of 1000 addresses with access pipes",
        &Description { dumbbell: Some(dumbbell), ..Default::default() },
        500,
        10_000,
    )?;
    Ok(())
}

fn host(name: &str, side: u8, addresses: u16) -> HostDescription {
    HostDescription {
        name: name.to_owned(),
        addresses: (0..addresses).map(|number| address(side, number)).collect(),
        access: None,
    }
}

fn address(side: u8, number: u16) -> IpAddr {
    let [high, low] = number.to_be_bytes();
    Ipv4Addr::new(10, side, high, low).into()
}

fn bare(name: &str, description: &LinkDescription, gap: i64) -> Result<(), Box<dyn Error>> {
    report(&format!("link, {name}"), || through_link(description, gap))
}

fn through_link(description: &LinkDescription, gap: i64) -> Result<(f64, u32), Box<dyn Error>> {
    let mut link = Link::new(description, 1)?;
    let mut out = 0_u32;
    let begun = Instant::now();
    for packet in 0..PACKETS {
        let now = Ns(i64::from(packet) * gap);
        out += u32::from(link.offer(now, 1000, packet).is_some());
        while link.next_wakeup().is_some_and(|due| due <= now) {
            out += u32::from(link.poll(now).is_some());
        }
    }
    Ok((begun.elapsed().as_secs_f64(), out))
}

fn network(
    name: &str,
    description: &Description,
    addresses: u16,
    gap: i64,
) -> Result<(), Box<dyn Error>> {
    let topology = Topology::new(description)?;
    report(&format!("network, {name}"), || through_network(&topology, addresses, gap))
}

fn through_network(
    topology: &Topology,
    addresses: u16,
    gap: i64,
) -> Result<(f64, u32), Box<dyn Error>> {
    let mut network = Network::new(topology, 1, ())?;
    let (mut out, mut random) = (0, 1_u32);
    let begun = Instant::now();
    for packet in 0..PACKETS {
        let now = Ns(i64::from(packet) * gap);
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [high, low] = [random >> 16, random & 0xffff]
            .map(|part| u16::try_from(part).unwrap_or(0) % addresses);
        network.offer(
            now,
            Offered {
                host: 0,
                source: address(0, high),
                destination: address(1, low),
                length: 1000,
                payload: packet,
            },
        )?;
        while network.next_due().is_some_and(|due| due <= now) {
            if let Some(departure) = network.take_due(now) {
                network.sent(departure.ticket, now);
                out += 1;
            }
        }
    }
    Ok((begun.elapsed().as_secs_f64(), out))
}

/// Runs it so many times: seconds and packets that came out.
fn report(
    name: &str,
    mut run: impl FnMut() -> Result<(f64, u32), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let (mut fastest, mut out) = (f64::INFINITY, 0);
    for _ in 0..ROUNDS {
        let (seconds, came) = run()?;
        fastest = fastest.min(seconds);
        out = came;
    }
    println!(
        "{name:60} {:6.0} ns/packet ({out} of {PACKETS} came out)",
        fastest * 1e9 / f64::from(PACKETS)
    );
    Ok(())
}
