//! Rounds of connection pairs over loopback, and uninvited clients: shared by two test files.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agent::{Agent, PATIENCE};

pub const NONCE: &str = "00112233445566778899aabbccddeeff";
pub const ROUND: u64 = 7;

pub fn merged(mut base: Value, more: &Value) -> Value {
    base.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    base
}

pub fn pair(pair: u32, probe_bytes: u64, data_bytes: u64) -> Vec<Value> {
    vec![
        json!({"pair": pair, "role": "probe", "bytes": probe_bytes}),
        json!({"pair": pair, "role": "data", "bytes": data_bytes}),
    ]
}

pub fn three_pairs(probe_bytes: u64, data_bytes: u64) -> Value {
    (0..3).flat_map(|number| pair(number, probe_bytes, data_bytes)).collect()
}

/// A receiver that has started, and where it listens.
pub fn receiver(connections: &Value, more: &Value) -> (Agent, Value) {
    let base = json!({"role": "receive", "listen": "127.0.0.1", "peer": "127.0.0.1",
        "round": ROUND, "nonce": NONCE,
                      "connections": connections});
    let mut receiver = Agent::begin("pairs", &merged(base, more));
    receiver.start();
    let to = receiver.ready["listening"].clone();
    (receiver, to)
}

pub fn send_configuration(to: &Value, connections: &Value, more: &Value) -> Value {
    let base = json!({"role": "send", "from": "127.0.0.1", "to": to, "round": ROUND,
        "nonce": NONCE, "connections": connections});
    merged(base, more)
}

pub fn sender(to: &Value, connections: &Value, more: &Value) -> Agent {
    let mut sender = Agent::begin("pairs", &send_configuration(to, connections, more));
    sender.start();
    sender
}

/// A header as the verb's documentation has it.
pub struct Header {
    pub round: u64,
    pub pair: u32,
    pub role: u8,
    pub bytes: u64,
    pub nonce: u128,
}

impl Header {
    pub fn probe(pair: u32, bytes: u64) -> Self {
        Self { round: ROUND, pair, role: 1, bytes, nonce: u128::from_str_radix(NONCE, 16).unwrap() }
    }

    pub fn data(pair: u32, bytes: u64) -> Self {
        Self { role: 2, ..Self::probe(pair, bytes) }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"TBPAIRS\0\0\x01".to_vec();
        bytes.extend([self.role, 0]);
        bytes.extend(self.pair.to_be_bytes());
        bytes.extend(self.round.to_be_bytes());
        bytes.extend(self.bytes.to_be_bytes());
        bytes.extend(self.nonce.to_be_bytes());
        bytes.resize(64, 0);
        bytes
    }

    /// Connects and writes this, unless it is refused before that: then reading shows it.
    pub fn connect(&self, to: &Value) -> TcpStream {
        let mut stream = connect(to);
        if let Err(error) = stream.write_all(&self.bytes()) {
            assert!(
                matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
                "{error}"
            );
        }
        stream
    }
}

pub fn connect(to: &Value) -> TcpStream {
    let stream = TcpStream::connect(to.as_str().unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// The other side closes without a word.
pub fn is_refused(mut stream: TcpStream) -> bool {
    match stream.read(&mut [0; 1]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

/// What a receiver answers: how it ended, and how many bytes came.
pub fn answer(mut stream: &TcpStream) -> (u8, u64) {
    let mut bytes = [0; 64];
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes[..8], b"TBANSWR\0");
    (bytes[11], u64::from_be_bytes(bytes[24..32].try_into().unwrap()))
}

pub fn reset(stream: TcpStream) {
    // What is dropped with bytes that were not read is reset by the kernel; so is what does not
    // linger.
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
}

pub fn rows(report: &Value) -> &Vec<Value> {
    report["connections"].as_array().unwrap()
}

pub fn closes(report: &Value) -> Vec<&str> {
    rows(report).iter().map(|row| row["close"].as_str().unwrap()).collect()
}

pub fn wait_for_progress(agent: &Agent, is_there: impl Fn(&Value) -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_there(&agent.next()) {
        assert!(Instant::now() < until, "it gets nowhere");
    }
}

pub fn moment(row: &Value, name: &str) -> i64 {
    row[name].as_i64().unwrap_or_else(|| panic!("{name} of {row}"))
}

pub fn rate(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name} of {row}"))
}

/// The counts of refused connections that are not 0.
pub fn refused(report: &Value) -> Value {
    let counted = report["refused"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, count)| count.as_u64().is_some_and(|count| count > 0));
    counted
        .map(|(reason, count)| (reason.clone(), count.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
