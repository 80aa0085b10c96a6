"""Runs tcptrace and reads its long output."""

import ipaddress
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

COLUMNS = {
    "total packets": "packets",
    "unique bytes sent": "unique_bytes",
    "actual data pkts": "data_packets",
    "actual data bytes": "payload_bytes",
    "rexmt data pkts": "retransmitted_packets",
    "rexmt data bytes": "retransmitted_bytes",
    "RTT samples": "rtt_samples",
    "RTT min": "rtt_min_ms",
    "RTT max": "rtt_max_ms",
    "RTT avg": "rtt_mean_ms",
}
ROW = re.compile(r"^ {5}(?P<label>[^:]+): +(?P<left>\S+)( \S+)?\s+(?P=label): +(?P<right>\S+)")
HOST = re.compile(r"^\thost [a-z]+: +(?P<endpoint>\S+)$")
HEAD = re.compile(r"^TCP connection (?P<number>\d+):")


class UnreadableError(Exception):
    """tcptrace cannot read this capture; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Both directions of a connection as tcptrace printed them; [0] is sent by `endpoints[0]`."""

    endpoints: tuple[str, str]
    sides: tuple[dict[str, float], dict[str, float]]


def version() -> str:
    """What tcptrace calls itself."""
    output = subprocess.run(["tcptrace", "-v"], capture_output=True, text=True, check=False)
    found = re.search(r"version (\S+)", output.stdout + output.stderr)
    return f"tcptrace {found[1]}" if found else "tcptrace (unknown version)"


def run(path: Path) -> list[Connection]:
    """Connections of a capture, in tcptrace's numbering.

    Raises:
        UnreadableError: tcptrace does not know the format or the link type.
    """
    ended = subprocess.run(
        ["tcptrace", "-n", "-l", "-r", str(path)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if link := re.search(r"did not understand link format \((\d+)\)", ended.stdout + ended.stderr):
        raise UnreadableError(f"link type {link[1]}")
    if fault := re.search(r"PCAP error: '(.+)'", ended.stderr):
        raise UnreadableError(fault[1])
    if ended.returncode != 0 or "packets seen" not in ended.stdout:
        raise UnreadableError(_complaint(ended.stderr or ended.stdout))
    return parse(ended.stdout)


def _complaint(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:100] if lines else "no output"


def parse(text: str) -> list[Connection]:
    """Reads `tcptrace -n -l -r` output: robust against more, fewer or reordered rows."""
    found: list[Connection] = []
    hosts: list[str] = []
    left: dict[str, float] = {}
    right: dict[str, float] = {}
    for line in text.splitlines():
        if HEAD.match(line):
            hosts, left, right = [], {}, {}
        elif host := HOST.match(line):
            hosts.append(_endpoint(host["endpoint"]))
            if len(hosts) == 2:
                found.append(Connection((hosts[0], hosts[1]), (left, right)))
        elif (row := ROW.match(line)) and (name := COLUMNS.get(row["label"])):
            left.setdefault(name, _number(row["left"]))
            right.setdefault(name, _number(row["right"]))
    return found


def _endpoint(text: str) -> str:
    """The address as everybody else writes it.

    Here the groups of IPv6 addresses are padded with zeros, and a leading run of zero groups is
    abbreviated to one colon.
    """
    host, _, port = text.rpartition(":")
    if host.startswith(":") and not host.startswith("::"):
        host = f":{host}"
    try:
        return f"{ipaddress.ip_address(host)}:{port}"
    except ValueError:
        return text


def _number(text: str) -> float:
    return float("nan") if text == "NA" else float(text)
