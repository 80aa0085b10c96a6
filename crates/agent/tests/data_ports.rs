//! Admission to the data ports of a round of connection pairs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod agent;
mod rounds;

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use agent::{PATIENCE, number};
use rounds::{
    Header, answer, closes, connect, is_refused, moment, pair, rate, receiver, refused, reset,
    rows, sender,
};
use serde_json::{Value, json};

#[test]
fn uninvited_connections_are_refused_with_a_reason_and_affect_no_others() {
    let connections = json!([pair(0, 1000, 200_000), pair(1, 1000, 200_000)].concat());
    let (mut receiver, to) = receiver(&connections, &json!({}));
    let kept = Header::data(1, 200_000).connect(&to["data"]);
    let wrong = [
        (Header { nonce: 1, ..Header::probe(0, 1000) }, "probe"),
        (Header { round: 8, ..Header::probe(0, 1000) }, "probe"),
        (Header::probe(2, 1000), "probe"),
        (Header::probe(0, 1001), "probe"),
        (Header::probe(0, 1000), "data"),
        (Header { role: 3, ..Header::probe(0, 1000) }, "probe"),
        // This one is under way.
        (Header::data(1, 200_000), "data"),
    ];
    for (header, port) in wrong {
        assert!(is_refused(header.connect(&to[port])));
    }
    let mut version = Header::probe(0, 1000).bytes();
    version[9] = 9;
    for garbage in [
        version.as_slice(),
        &[0; 64],
        &[0xff; 5000],
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: internet-scanner/1.0\r\n\r\n",
    ] {
        let mut stream = connect(&to["probe"]);
        stream.write_all(garbage).unwrap();
        assert!(is_refused(stream));
    }
    let mut cut = connect(&to["probe"]);
    cut.write_all(&Header::probe(0, 1000).bytes()[..63]).unwrap();
    cut.shutdown(Shutdown::Write).unwrap();
    assert!(is_refused(cut));
    let silent = connect(&to["data"]);
    // Those who belong here come through, the one that was there before too.
    let rest: Value = connections.as_array().unwrap()[..3].to_vec().into();
    let mut sender = sender(&to, &rest, &json!({}));
    assert_eq!(closes(&sender.report()), ["complete"; 3]);
    (&kept).write_all(&vec![1; 200_000]).unwrap();
    kept.shutdown(Shutdown::Write).unwrap();
    assert_eq!(answer(&kept), (1, 200_000));
    let got = receiver.report();
    assert_eq!(
        (sender.exit_code(), receiver.exit_code(), closes(&got)),
        (0, 0, vec!["complete"; 4])
    );
    let expected = json!({"other_nonce": 1, "other_round": 1, "not_declared": 1, "other_size": 1,
        "other_port": 1, "second": 1,
                          "meaningless_header": 1, "other_version": 1, "not_a_header": 3,
                          "cut_header": 1, "no_header": 1});
    assert_eq!(refused(&got), expected);
    assert!(is_refused(silent));
}

#[test]
fn another_peer_is_refused_whatever_its_header() {
    let connections = json!([{"pair": 0, "role": "data", "bytes": 5}]);
    let (receiver, to) = receiver(&connections, &json!({"peer": "127.0.0.2"}));
    assert_eq!(to["probe"], Value::Null, "a role that no connection has has no port");
    // From 127.0.0.1.
    assert!(is_refused(Header::data(0, 5).connect(&to["data"])));
    let sent = sender(&to, &connections, &json!({"from": "127.0.0.2"})).report();
    let got = receiver.report();
    assert_eq!(
        (closes(&sent), closes(&got), refused(&got)),
        (vec!["complete"], vec!["complete"], json!({"other_peer": 1}))
    );
    assert!(rows(&got)[0]["peer"].as_str().unwrap().starts_with("127.0.0.2:"));
}

#[test]
fn the_receiver_judges() {
    let declared = |pair| json!({"pair": pair, "role": "data", "bytes": 1000});
    let connections = Value::from((0..4).map(declared).collect::<Vec<_>>());
    let (mut receiver, to) = receiver(&connections, &json!({}));
    let open = |pair, bytes: usize| {
        let mut stream = Header::data(pair, 1000).connect(&to["data"]);
        stream.write_all(&vec![1; bytes]).unwrap();
        stream
    };
    let whole = open(0, 1000);
    whole.shutdown(Shutdown::Write).unwrap();
    assert_eq!(answer(&whole), (1, 1000));
    let short = open(1, 999);
    short.shutdown(Shutdown::Write).unwrap();
    assert_eq!(answer(&short), (2, 999));
    assert_eq!(answer(&open(2, 1001)), (3, 1000));
    reset(open(3, 500));
    let got = receiver.report();
    assert_eq!(
        (receiver.exit_code(), closes(&got)),
        (0, vec!["complete", "too_short", "too_long", "reset"])
    );
    assert_eq!((&got["partial"], &got["time_is_over"]), (&json!(true), &json!(false)));
    let [whole, short, long, broken] = rows(&got).as_slice() else { panic!("{got}") };
    assert_eq!(whole["failed"], json!(false));
    for (row, why) in
        [(short, "ended 1 bytes before"), (long, "more than 1000 bytes"), (broken, "reset")]
    {
        assert_eq!(row["failed"], json!(true));
        assert!(row["failure"].as_str().unwrap().contains(why), "{row}");
    }
    // Partial metrics stay.
    assert_eq!(number(&short["payload_bytes"]), 999);
    assert!(
        rate(short, "app_bytes_per_second") > 0.0
            && short["tcp"].is_object()
            && moment(short, "result_ns") > 0
    );
    assert_eq!(broken["result_ns"], Value::Null);
}

#[test]
fn a_complete_connection_that_does_not_end_in_time_has_failed() {
    let connections = json!([{"pair": 0, "role": "data", "bytes": 1000}]);
    let (receiver, to) = receiver(&connections, &json!({"transfer_timeout_ns": 200_000_000_u64}));
    let mut late = Header::data(0, 1000).connect(&to["data"]);
    late.write_all(&[1; 1000]).unwrap();
    assert_eq!(answer(&late), (4, 1000));
    let got = receiver.report();
    assert_eq!(
        (closes(&got), &got["partial"], &got["time_is_over"]),
        (vec!["timed_out"], &json!(true), &json!(false))
    );
    assert!(
        rows(&got)[0]["failure"]
            .as_str()
            .unwrap()
            .contains("not complete within transfer_timeout_ns"),
        "{got}"
    );
}

#[test]
fn a_flood_does_not_keep_declared_connections_out() {
    let connections = json!(pair(0, 16 << 10, 500_000));
    let (receiver, to) = receiver(&connections, &json!({"header_timeout_ns": 60_000_000_000_u64}));
    // More than may wait, each with half a header and no intention to send the rest.
    let half = &Header::data(0, 500_000).bytes()[..32];
    let flood: Vec<TcpStream> = (0..600)
        .map(|number| {
            let mut stream = connect(&to[if number % 3 == 0 { "data" } else { "probe" }]);
            // Who had to go already notices here.
            let _ = stream.write_all(half);
            stream
        })
        .collect();
    let sent = sender(&to, &connections, &json!({})).report();
    let got = receiver.report();
    assert_eq!((closes(&sent), closes(&got)), (vec!["complete"; 2], vec!["complete"; 2]));
    // The oldest had to go while others came, the rest when the ports closed.
    let (pushed_out, silent) =
        (number(&got["refused"]["pushed_out"]), number(&got["refused"]["no_header"]));
    assert!(silent <= 256 && pushed_out + silent == 600, "{}", got["refused"]);
    assert!(flood.into_iter().all(is_refused));
}

#[test]
fn a_slow_header_is_refused_and_blocks_no_others() {
    let connections = json!(pair(0, 1000, 1000));
    let (receiver, to) = receiver(&connections, &json!({"header_timeout_ns": 2_000_000_000_u64}));
    let slow = connect(&to["probe"]);
    let header = Header::probe(0, 1000).bytes();
    // Byte by byte, longer than permitted: in the middle it is over.
    let begun = Instant::now();
    let sent = header.iter().take_while(|byte| {
        std::thread::sleep(Duration::from_millis(50));
        (&slow).write_all(&[**byte]).is_ok()
    });
    assert!(sent.count() < 64 || is_refused(slow), "after {:?}", begun.elapsed());
    assert_eq!(closes(&sender(&to, &connections, &json!({})).report()), ["complete"; 2]);
    assert_eq!(refused(&receiver.report()), json!({"no_header": 1}));
}

#[test]
fn ports_close_when_every_declared_connection_was_admitted() {
    let connections = json!([{"pair": 0, "role": "data", "bytes": 1000}]);
    let (receiver, to) = receiver(&connections, &json!({}));
    let mut stream = Header::data(0, 1000).connect(&to["data"]);
    let until = Instant::now() + PATIENCE;
    while TcpStream::connect(to["data"].as_str().unwrap()).is_ok() {
        assert!(Instant::now() < until, "the port stays open");
        std::thread::sleep(Duration::from_millis(10));
    }
    // And the connection goes on.
    stream.write_all(&[1; 1000]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!((answer(&stream), closes(&receiver.report())), ((1, 1000), vec!["complete"]));
}
