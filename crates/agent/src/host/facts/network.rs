//! TCP and socket settings of this network namespace: congestion control, buffer limits, cached
//! metrics.

use serde::Serialize;

use super::reading::HostReader;

/// Settings of the network stack. Memory is least, default and most, as TCP's sysctls have it.
#[derive(Debug, Serialize)]
pub(super) struct Network {
    congestion_control: Option<String>,
    congestion_controls: Option<Vec<String>>,
    congestion_controls_for_users: Option<Vec<String>>,
    tcp_receive_memory_bytes: Option<[u64; 3]>,
    tcp_send_memory_bytes: Option<[u64; 3]>,
    receive_buffer_most_bytes: Option<u64>,
    send_buffer_most_bytes: Option<u64>,
    device_backlog_packets: Option<u64>,
    default_qdisc: Option<String>,
    tcp_window_scaling: Option<u8>,
    tcp_timestamps: Option<u8>,
    tcp_selective_acknowledgements: Option<u8>,
    tcp_ecn: Option<u8>,
    /// Whether a connection begins with what an earlier one to the same host learned.
    tcp_remembers_paths: Option<bool>,
    tcp_slow_start_after_idle: Option<u8>,
}

impl Network {
    pub(super) fn look(reader: &mut HostReader) -> Self {
        let forgets = reader
            .number::<u8>("network.tcp_remembers_paths", "/proc/sys/net/ipv4/tcp_no_metrics_save");
        let mut tcp = |name: &str, file: &str| {
            reader.number::<u8>(&format!("network.{name}"), &format!("/proc/sys/net/ipv4/{file}"))
        };
        let [scaling, timestamps, selective, ecn, slow_start] = [
            ("tcp_window_scaling", "tcp_window_scaling"),
            ("tcp_timestamps", "tcp_timestamps"),
            ("tcp_selective_acknowledgements", "tcp_sack"),
            ("tcp_ecn", "tcp_ecn"),
            ("tcp_slow_start_after_idle", "tcp_slow_start_after_idle"),
        ]
        .map(|(name, file)| tcp(name, file));
        Self {
            congestion_control: reader
                .read("network.congestion_control", "/proc/sys/net/ipv4/tcp_congestion_control"),
            congestion_controls: reader.words(
                "network.congestion_controls",
                "/proc/sys/net/ipv4/tcp_available_congestion_control",
            ),
            congestion_controls_for_users: reader.words(
                "network.congestion_controls_for_users",
                "/proc/sys/net/ipv4/tcp_allowed_congestion_control",
            ),
            tcp_receive_memory_bytes: three(
                reader,
                "network.tcp_receive_memory_bytes",
                "/proc/sys/net/ipv4/tcp_rmem",
            ),
            tcp_send_memory_bytes: three(
                reader,
                "network.tcp_send_memory_bytes",
                "/proc/sys/net/ipv4/tcp_wmem",
            ),
            receive_buffer_most_bytes: reader
                .number("network.receive_buffer_most_bytes", "/proc/sys/net/core/rmem_max"),
            send_buffer_most_bytes: reader
                .number("network.send_buffer_most_bytes", "/proc/sys/net/core/wmem_max"),
            device_backlog_packets: reader
                .number("network.device_backlog_packets", "/proc/sys/net/core/netdev_max_backlog"),
            default_qdisc: reader.read("network.default_qdisc", "/proc/sys/net/core/default_qdisc"),
            tcp_window_scaling: scaling,
            tcp_timestamps: timestamps,
            tcp_selective_acknowledgements: selective,
            tcp_ecn: ecn,
            tcp_remembers_paths: forgets.map(|forgets| forgets == 0),
            tcp_slow_start_after_idle: slow_start,
        }
    }
}

/// Three numbers in a file, or a note.
fn three(reader: &mut HostReader, what: &str, path: &str) -> Option<[u64; 3]> {
    let numbers = |text: &str| {
        text.split_whitespace().map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>()
    };
    reader.parsed(what, path, |text| numbers(text)?.try_into().ok())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn memory_is_three_numbers_or_unknown() {
        let directory = tempfile::tempdir().unwrap();
        let mut reader = HostReader::below(directory.path());
        fs::write(directory.path().join("good"), "4096\t131072\t33554432\n").unwrap();
        assert_eq!(three(&mut reader, "good", "/good"), Some([4096, 131_072, 33_554_432]));
        for nonsense in ["4096 131072", "1 2 3 4", "a b c", "-1 2 3", ""] {
            fs::write(directory.path().join("bad"), nonsense).unwrap();
            assert_eq!(three(&mut reader, "bad", "/bad"), None, "{nonsense}");
        }
        assert_eq!(reader.unavailable.len(), 5);
    }
}
