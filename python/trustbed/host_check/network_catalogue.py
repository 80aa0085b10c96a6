"""Findings about network cards, queues and sockets of a host."""

from __future__ import annotations

from trustbed.findings import Entry

_CARDS = (
    Entry(
        "machine_segments_merged",
        "info",
        "host",
        "offloads change what captures show",
        "",
        "The card, or the kernel instead of it, splits large packets after they were captured and "
        "merges small ones before. Counts come out right, but times inside of such a packet are "
        "unknown, and tools that expect packets of the wire's size are wrong.",
        "for trains and bursts: `ethtool -K INTERFACE tso off gso off gro off lro off` (undo "
        "with on); for throughput nothing",
    ),
    Entry(
        "machine_coalescing",
        "warning",
        "host",
        "interrupt coalescing is on",
        "seconds",
        "Packets that arrive within this time get nearly the same timestamp, and each waits for "
        "the last. Adaptive moderation changes it with the load, so that a delay depends on the "
        "traffic around it.",
        "`ethtool -C INTERFACE adaptive-rx off rx-usecs 0` (more interrupts: watch the processor)",
    ),
    Entry(
        "machine_pacing_ignored",
        "info",
        "host",
        "pacing requests of programs are ignored",
        "",
        "Without the queueing disciplines fq or etf the kernel accepts SO_MAX_PACING_RATE of a "
        "UDP socket, and SO_TXTIME, and does nothing: packets leave as fast as they can. TCP "
        "paces itself.",
        "`tc qdisc replace dev INTERFACE root fq` (a module of the kernel), or pace in the "
        "program, as trustbed's senders do",
    ),
    Entry(
        "machine_shaped",
        "warning",
        "host",
        "a queueing discipline changes the traffic",
        "",
        "What leaves through this interface is delayed, limited or dropped on purpose. That is "
        "part of every measurement over it.",
        "`tc -s qdisc show dev INTERFACE` shows it; `tc qdisc del dev INTERFACE root` removes it",
    ),
    Entry(
        "machine_interface_lost",
        "warning",
        "host",
        "an interface lost packets",
        "share",
        "The kernel counts packets that an interface or its queue had no room for, since it was "
        "made. Above the threshold, measured losses may be this host's own. Packets of a "
        "protocol without a listener may count as received drops.",
        "`ip -s link show dev INTERFACE`; larger rings (`ethtool -G INTERFACE rx 4096`), a "
        "faster receiver, or less else on it",
        otherwise=("info", "below {loss_share:.1%} of the packets"),
    ),
    Entry(
        "machine_interface_errors",
        "warning",
        "host",
        "an interface counted damaged packets",
        "share",
        "Damaged packets are lost packets, and mostly a matter of cable, plug or duplex.",
        "`ip -s -s link show dev INTERFACE` shows which kind; check cable, plug and `ethtool "
        "INTERFACE` (speed, duplex)",
        otherwise=("info", "below {error_share:.3%} of the packets"),
    ),
    Entry(
        "machine_allowance_exceeded",
        "warning",
        "host",
        "the cloud limited this instance's traffic",
        "packets",
        "The card counts packets that were queued or dropped because the instance went beyond "
        "what it is allowed: bandwidth, packets per second, connections. The price list was "
        "measured then.",
        "`ethtool -S INTERFACE | grep allowance` before and after; measure below the allowance, "
        "or on a larger instance",
    ),
    Entry(
        "machine_backlog_dropped",
        "warning",
        "host",
        "the kernel's backlog dropped packets",
        "packets",
        "Since boot, packets that waited for a processor to take them from the interface found "
        "no room. No capture saw them.",
        "`sysctl -w net.core.netdev_max_backlog=10000`, and spread the work (RPS: "
        "/sys/class/net/INTERFACE/queues/rx-0/rps_cpus)",
    ),
    Entry(
        "machine_small_mtu",
        "info",
        "host",
        "the MTU is smaller than Ethernet's",
        "B",
        "The largest packet here is smaller than elsewhere: segments, rates per packet and "
        "comparisons with other hosts differ by it.",
        "nothing if the network needs it (a tunnel, a cloud); else `ip link set dev INTERFACE "
        "mtu 1500`. Give all hosts of a comparison the same",
    ),
)

_SOCKETS = (
    Entry(
        "machine_tcp_memory",
        "warning",
        "host",
        "TCP's buffers stay small",
        "bytes",
        "No connection can have more in flight than its buffers hold. On a path with a larger "
        "bandwidth-delay product the buffer is measured.",
        "`sysctl -w net.ipv4.tcp_rmem='4096 131072 33554432' net.ipv4.tcp_wmem='4096 65536 "
        "33554432'`",
    ),
    Entry(
        "machine_socket_buffers",
        "info",
        "host",
        "programs may not ask for large socket buffers",
        "bytes",
        "A program that sets its buffers (iperf3 -w, UDP receivers) silently gets no more than "
        "this, and loses what arrives while it does not read.",
        "`sysctl -w net.core.rmem_max=16777216 net.core.wmem_max=16777216`",
    ),
    Entry(
        "machine_congestion_control",
        "info",
        "host",
        "the default congestion control is not cubic",
        "",
        "A program that does not choose gets this one. Results of two hosts, or with those of "
        "others, are then comparisons of congestion controls. trustbed's own transfers use cubic "
        "unless configured otherwise.",
        "choose it in every program (`iperf3 -C cubic`), or `sysctl -w "
        "net.ipv4.tcp_congestion_control=cubic`; who is not root may choose only what "
        "net.ipv4.tcp_allowed_congestion_control names",
    ),
    Entry(
        "machine_tcp_crippled",
        "warning",
        "host",
        "parts of TCP are switched off",
        "",
        "Without window scaling no window exceeds 64 KB, without SACK recovery takes a round "
        "trip per loss, without timestamps round trips are measured once per window.",
        "`sysctl -w net.ipv4.tcp_window_scaling=1 net.ipv4.tcp_sack=1 net.ipv4.tcp_timestamps=1`",
    ),
    Entry(
        "machine_tcp_remembers",
        "info",
        "host",
        "TCP caches path metrics between connections",
        "",
        "A new connection begins with the slow-start threshold and round trip that the last one "
        "to the same host left. Repetitions are not independent: a lossy one slows down the next.",
        "`sysctl -w net.ipv4.tcp_no_metrics_save=1`, or `ip tcp_metrics flush all` before each "
        "repetition",
    ),
)

NETWORK_ENTRIES = (*_CARDS, *_SOCKETS)
