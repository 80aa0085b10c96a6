//! Runs a test once more in a network namespace of its own, where it may make interfaces and
//! capture.
//!
//! The outer run starts the same test with `unshare`; the environment marks the inner one.
//! Where namespaces are not permitted the test reports so and ends; in continuous integration that
//! is a failure.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]
#![allow(clippy::print_stdout, reason = "a test that cannot run says why")]

use std::process::Command;

const INSIDE: &str = "TRUSTBED_TEST_INSIDE_NAMESPACE";

/// True in the inner run. The outer run comes back with false when the inner one has succeeded.
pub(crate) fn entered(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let Some(namespaces) = namespaces() else { return false };
    let program = std::env::current_exe().unwrap();
    let mut inner = Command::new("unshare");
    inner
        .args(namespaces)
        .arg(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1");
    let output = inner.output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "inside the namespace:\n{printed}"
    );
    false
}

/// The options with which `unshare` makes namespaces here: without rights, or else with those of
/// root.
fn namespaces() -> Option<&'static [&'static str]> {
    const UNSHARE: [&[&str]; 2] =
        [&["--user", "--map-root-user", "--net", "--mount"], &["--net", "--mount"]];
    let mut reason = String::new();
    for arguments in UNSHARE {
        let veth = ["ip", "link", "add", "a0", "type", "veth", "peer", "name", "a1"];
        match Command::new("unshare").args(arguments).args(veth).output() {
            Ok(output) if output.status.success() => return Some(arguments),
            Ok(output) => reason.push_str(&String::from_utf8_lossy(&output.stderr)),
            Err(error) => reason.push_str(&error.to_string()),
        }
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "no network namespaces: {reason}");
    println!("skipped: no network namespaces with veth: {reason}");
    None
}

/// Runs `ip` with the words of a line.
pub(crate) fn ip(line: &str) {
    run("ip", line);
}

/// Runs a program with the words of a line.
pub(crate) fn run(program: &str, line: &str) {
    let output = Command::new(program).args(line.split_whitespace()).output().unwrap();
    assert!(
        output.status.success(),
        "{program} {line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Two interfaces joined by a cable, up and silent. What is sent to 10.0.0.9 leaves by `left`, to
/// 10.0.1.9 by `right`.
pub(crate) fn cable() {
    ip("link add left address 02:00:00:00:00:01 type veth peer name right address \
         02:00:00:00:00:02");
    for (interface, address, neighbour) in
        [("left", "10.0.0.1/24", "10.0.0.9"), ("right", "10.0.1.1/24", "10.0.1.9")]
    {
        ip(&format!("link set {interface} addrgenmode none arp off multicast off"));
        ip(&format!("address add {address} dev {interface}"));
        ip(&format!("link set {interface} up"));
        ip(&format!(
            "neigh replace {neighbour} lladdr 02:00:00:00:00:99 dev {interface} nud permanent"
        ));
    }
}
