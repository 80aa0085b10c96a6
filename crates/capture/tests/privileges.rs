//! What a process can still do once it has given up its privileges. The filter holds for all
//! threads of a process: this file is one test.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;

use trustbed_capture::give_up_privileges;

#[test]
fn programs_and_connections_end_and_threads_files_and_listening_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let early = TcpStream::connect(address).unwrap();
    assert!(Command::new("true").status().unwrap().success());

    give_up_privileges(None).unwrap();

    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].trim().to_owned()
    };
    assert_eq!((field("NoNewPrivs:"), field("Seccomp:")), ("1".to_owned(), "2".to_owned()));
    assert_eq!(u64::from_str_radix(&field("CapPrm:"), 16), Ok(0));

    let refused = Command::new("true").status().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::PermissionDenied);

    let path = directory.path().join("more");
    let accepted = std::thread::spawn(move || {
        std::fs::write(&path, "more").unwrap();
        // Every thread is bound by it, also one that comes later.
        let refused = Command::new("true").status().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        listener.accept().unwrap().1
    });
    assert_eq!(accepted.join().unwrap(), early.local_addr().unwrap());
    UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&[1], address).unwrap();
}
