"""The programs themselves, on loopback: what they print today is what is read."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.patience import PATIENCE, wait_until
from trustbed.workload import prepare, read
from trustbed.workload.tools import Tables

BODY = bytes(4096)
LOOPBACK = "127.0.0.1"


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    """A server of one object."""
    server = ThreadingHTTPServer((LOOPBACK, 0), Answer)
    server.daemon_threads = True
    server.handle_error = lambda request, client_address: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


def run(directory: Path, *command: str) -> Tables:
    """Prepares, runs and reads a command."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    prepared = prepare(command, directory)
    assert prepared is not None
    ended = subprocess.run(
        prepared.command, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    files = {name: path.read_text(encoding="utf-8") for name, path in prepared.files.items()}
    return read(prepared.tool, stdout=ended.stdout, stderr=ended.stderr, files=files)


def test_ab(tmp_path: Path, port: int) -> None:
    found = run(tmp_path, "ab", "-n", "60", "-c", "2", f"http://{LOOPBACK}:{port}/")
    summary = found["summary"].to_pylist()[0]
    assert (summary["requests"], summary["failed_requests"], summary["document_bytes"]) == (
        60,
        0,
        4096,
    )
    assert (found["requests"].num_rows, found["times"].num_rows, found["percentiles"].num_rows) == (
        60,
        4,
        101,
    )
    assert found["percentiles"]["response_ns"].null_count == 0


def test_wrk(tmp_path: Path, port: int) -> None:
    found = run(tmp_path, "wrk", "-t1", "-c1", "-d2s", f"http://{LOOPBACK}:{port}/")
    summary = found["summary"].to_pylist()[0]
    assert summary["requests"] > 0
    assert summary["latency_max_ns"] >= summary["latency_mean_ns"] > 0
    assert found["percentiles"]["share"].to_pylist() == [0.5, 0.75, 0.9, 0.99]


def test_httperf(tmp_path: Path, port: int) -> None:
    found = run(tmp_path, "httperf", "--server", LOOPBACK, "--port", str(port), "--num-conns", "20")
    summary = found["summary"].to_pylist()[0]
    assert (summary["replies"], summary["errors"], summary["status_2xx"]) == (20, 0, 20)


def test_curl(tmp_path: Path, port: int) -> None:
    found = run(tmp_path, "curl", f"http://{LOOPBACK}:{port}/", "--output", str(tmp_path / "body"))
    row = found["requests"].to_pylist()[0]
    assert (row["status"], row["bytes"], row["error"]) == (200, 4096, None)
    assert 0 < row["first_byte_ns"] <= row["response_ns"] <= row["total_ns"]


def test_iperf3(tmp_path: Path) -> None:
    if shutil.which("iperf3") is None:
        pytest.skip("iperf3 is not installed")
    with socket.create_server((LOOPBACK, 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        ["iperf3", "-s", "-1", "-B", LOOPBACK, "-p", str(port)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        wait_until_listening(port)
        # With a rate: of a run that is over in a millisecond iperf3's server may not have counted
        # anything yet.
        found = run(tmp_path, "iperf3", "-c", LOOPBACK, "-p", str(port), "-n", "10M", "-b", "80M")
        summary = found["summary"].to_pylist()[0]
        assert 0 < summary["received_bytes"] <= summary["sent_bytes"]
        assert 10 << 20 <= summary["sent_bytes"] < 15 << 20
        assert found["intervals"].num_rows >= 1
    finally:
        server.kill()
        server.communicate()


def wait_until_listening(port: int) -> None:
    """Looks into the kernel's table of sockets.

    A trial connection would be taken for the client.
    """
    wanted = f":{port:04X} 00000000:0000 0A"
    wait_until(
        lambda: wanted in Path("/proc/net/tcp").read_text(encoding="ascii"),
        f"a listener at port {port}",
    )
