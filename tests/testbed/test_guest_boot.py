"""Guests that are booted: their network, their commands and agents, their end.

Skipped where QEMU or a kernel for guests is missing.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from tests.testbed.conftest import BEGIN, TRUSTBED, Machine, Terminal
from trustbed.testbed import TestbedError
from trustbed.testbed.qemu import accelerator, kernel

pytestmark = pytest.mark.timeout(900)
BOOTED = 4 * PATIENCE
"""How long a program may take that boots guests, where every instruction of theirs is emulated."""

GUEST = (
    BEGIN
    + """
from trustbed.scenario.guests import Guest
from trustbed.agent.client import AgentError

def planned(nic="virtio-net", **more):
    guest = Guest(nic=nic, accelerator="tcg", **more)
    client = Host(name="client", addresses=("10.77.0.1",), congestion_control="reno", guest=guest)
    return plan([client, Host(name="server", addresses=("10.77.0.2",))])

def emulated(testbed):
    hosts = [
        {"name": veth.host.name, "addresses": list(veth.host.addresses)}
        for veth in testbed.plan.veths
    ]
    link = {"rate_bits_per_second": 50_000_000, "delay_ns": 5_000_000}
    pipes = [
        {"name": "up", "from": "client", "to": "server", **link},
        {"name": "down", "from": "server", "to": "client", **link},
    ]
    links = testbed.plan.emulator({"hosts": hosts, "pipes": pipes}, seed=1)
    agent = testbed.start_agent("emulate", links, where="net")
    agent.begin()
    return agent
"""
)
"""What every program of a test here begins with."""

TRANSFER = (
    GUEST
    + """
nic, offloads, directory = sys.argv[1:]
guest = planned(nic, offloads=offloads == "True")
with Testbed(guest, consoles=__import__("pathlib").Path(directory)) as testbed:
    emulator = emulated(testbed)
    def capture(name, interface, where):
        path = f"{directory}/{name}.pcapng"
        options = {"interface": interface, "path": path, "snap_length": 100}
        return testbed.start_agent("capture", options, where=where)
    inside = capture("inside", "eth0", "client")
    outside = capture("outside", testbed.plan.veth("client").port, "net")
    receiving = {"role": "receive", "listen": ["10.77.0.2:5001"]}
    receiver = testbed.start_agent("bulk", receiving, where="server")
    for agent in (inside, outside, receiver):
        agent.begin()
    sending = {
        "role": "send", "to": "10.77.0.2:5001", "bytes": 1_000_000,
        "tcp": {"congestion_control": None},
    }
    sender = testbed.start_agent("bulk", sending, where="client")
    sender.begin(at_ns=time.time_ns() + 50_000_000)
    report = sender.report(100)
    captured = [agent.stop() for agent in (inside, outside)]
    links_report = emulator.stop()
    missing = None
    try:
        testbed.run("client", ["nginx"], seconds=100)
    except TestbedError as error:
        missing = [error.message, error.hint]
    failed = None
    try:
        options = {"interface": "eth9", "path": f"{directory}/none.pcapng"}
        testbed.start_agent("capture", options, where="client")
    except AgentError as error:
        failed = error.message
    print(json.dumps({
        "transfer": report["transfers"][0],
        "frames": [capture["frames"] for capture in captured],
        "dropped": [pipe["dropped"] for pipe in links_report["pipes"]],
        "facts": testbed.guest("client").facts(),
        "codes": [
            testbed.run("client", ["sh", "-c", f"exit {code}"], seconds=100).returncode
            for code in (0, 3)
        ],
        "system": testbed.run("client", ["uname", "-r"], seconds=100).stdout.strip(),
        "mtu": testbed.run(
            "client", ["cat", "/sys/class/net/eth0/mtu"], seconds=100
        ).stdout.strip(),
        "listens": [testbed.listens("client", 99), testbed.listens("server", 5001)],
        "missing": missing,
        "failed": failed,
    }))
"""
)


@pytest.fixture(scope="session")
def core() -> kernel.Kernel:
    """A kernel for guests, and the QEMU that runs it."""
    try:
        accelerator.check_program("virtio-net")
        return kernel.ready()
    except TestbedError as error:
        pytest.skip(f"{error.message}: {error.hint}")


@pytest.fixture
def runner(machine: Machine, core: kernel.Kernel) -> Machine:
    """A machine on which guests can run."""
    if not Path("/dev/net/tun").exists():
        pytest.skip("no /dev/net/tun")
    machine.patience = BOOTED
    return machine


@pytest.mark.parametrize(
    ("nic", "offloads"), [("virtio-net", True), ("virtio-net", False), ("e1000", True)]
)
def test_a_transfer_out_of_a_guest(
    runner: Machine, core: kernel.Kernel, nic: str, offloads: bool, tmp_path: Path
) -> None:
    found: dict[str, Any] = runner.python(TRANSFER, nic, str(offloads), str(tmp_path))
    assert found["transfer"]["outcome"] == "complete"
    assert found["transfer"]["congestion_control"] == "reno", "as the route sets it"
    # A guest whose processor is withheld may take a packet for lost; what is lost is known to the
    # emulator.
    assert all(dropped.keys() <= {"inside"} for dropped in found["dropped"]), found["dropped"]
    assert found["system"] == core.release, "its own kernel, not this machine's"
    assert (found["codes"], found["mtu"], found["listens"]) == ([0, 3], "1500", [False, True])
    facts = found["facts"]
    assert (facts["nic"], facts["accelerator"], facts["kernel"]) == (nic, "tcg", core.release)
    assert facts["clock_at_boot"]["error_ns"] > 0
    assert (
        abs(facts["clock_at_boot"]["ahead_ns"]) < 50_000_000 + facts["clock_at_boot"]["error_ns"]
    ), "set, whatever it was before"
    assert found["missing"][0] == "nginx is not on the guest client"
    assert "busybox" in found["missing"][1]
    assert found["failed"].startswith("capture on client:")
    # 1 MB needs 691 frames of 1448 bytes: what the guest hands to its card as one is cut before the
    # end of its link.
    assert found["frames"][1] > 691
    assert _longest(tmp_path / "outside.pcapng") <= 1514
    assert (_longest(tmp_path / "inside.pcapng") > 1514) is offloads
    assert (tmp_path / "inside.pcapng").stat().st_size > 1000
    assert (tmp_path / "client.console").exists()
    assert runner.namespaces() == []


def _longest(file: Path) -> int:
    """The longest frame of a capture."""
    longest = 0
    content = file.read_bytes()
    at = 0
    while at < len(content):
        kind, length = (
            int.from_bytes(content[at + offset : at + offset + 4], "little") for offset in (0, 4)
        )
        if kind == 6:  # an enhanced packet block
            longest = max(longest, int.from_bytes(content[at + 24 : at + 28], "little"))
        at += length
    return longest


def _console(hint: str) -> Path:
    """The stored log of a console."""
    _, label, name = hint.partition("its console's log: ")
    assert label
    return Path(name)


def test_two_guests_side_by_side_are_gone_with_their_owner(runner: Machine) -> None:
    code = """
guest = Guest(accelerator="tcg")
guests = [
    Host(name="client", addresses=("10.77.0.1",), guest=guest),
    Host(name="server", addresses=("10.77.0.2",), guest=guest),
]
with Testbed(plan(guests)) as testbed:
    emulator = emulated(testbed)
    ping = ["ping", "-c", "1", "-W", "100", "10.77.0.2"]
    code = testbed.run("client", ping, seconds=120).returncode
    print(json.dumps([code, testbed.guest("client").pid, testbed.guest("server").pid]), flush=True)
    time.sleep(600)
"""
    owner = runner.start(sys.executable, "-c", GUEST + code)
    assert owner.stdout is not None
    reached, *pids = json.loads(owner.stdout.readline())
    assert reached == 0
    assert len(set(pids)) == 2
    for pid in pids:
        assert "qemu" in Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    runner.trustbed("testbed", "clean")
    for pid in pids:
        assert not Path(f"/proc/{pid}").exists()
    assert (runner.namespaces(), runner.records()) == ([], [])


def test_a_guest_has_the_programs_of_its_image(runner: Machine, tmp_path: Path) -> None:
    image = tmp_path / "image"
    for name in ("bin", "lib", "lib64"):
        (image / "usr" / name).mkdir(parents=True)
        (image / name).symlink_to(f"usr/{name}")
    program = shutil.which("env")
    assert program is not None
    told = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    libraries = [word for word in told.split() if word.startswith("/")]
    for file in (program, *libraries):
        target = image / Path(file).relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(file).resolve(), target)
    code = """
with Testbed(planned(image=sys.argv[1])) as testbed:
    run = lambda *words: testbed.run("client", list(words), seconds=100).stdout
    print(json.dumps([run("env", "--version"), run("uname", "-s"), run("ls", "/usr/bin")]))
"""
    version, system, programs = runner.python(GUEST + code, str(image))
    assert "coreutils" in version, "its own, not busybox's"
    assert system == "Linux\n", "what it lacks is busybox's"
    assert programs == "env\n"


def test_a_kernel_that_does_not_boot_is_an_error_with_its_console(
    runner: Machine, core: kernel.Kernel, tmp_path: Path
) -> None:
    directory = tmp_path / "trustbed" / "guests" / f"{kernel.LAYOUT}-odd"
    shutil.copytree(core.directory, directory)
    (directory / "kernel").write_bytes(b"no kernel" * 1000)
    code = f"""
os.environ["XDG_CACHE_HOME"] = {str(tmp_path)!r}
try:
    with Testbed(planned()) as testbed:
        pass
except TestbedError as error:
    print(json.dumps([error.message, error.hint]))
"""
    message, hint = runner.python(GUEST + code)
    assert message.startswith("the guest client ")
    _console(hint).unlink()
    assert runner.namespaces() == []


def test_a_guest_that_hangs_is_given_up(runner: Machine) -> None:
    code = """
from trustbed.testbed import qemu
wait, pids = qemu.Guest.wait_until_ready, []
def impatient(guest):
    pids.append(guest.pid)
    os.kill(guest.pid, 19)
    wait(guest, 1.0)
qemu.Guest.wait_until_ready = impatient
try:
    with Testbed(planned()) as testbed:
        pass
except TestbedError as error:
    print(json.dumps([error.message, error.hint, *pids]))
"""
    message, hint, pid = runner.python(GUEST + code)
    assert "did not boot within" in message
    _console(hint).unlink()
    assert runner.namespaces() == []
    assert not Path(f"/proc/{pid}").exists()


def test_a_command_in_a_guest_from_the_shell(runner: Machine) -> None:
    words = ["shell", "--guest", "e1000", "--rate", "50Mbit/s", "--delay", "5ms", "--json", "--"]
    ended = runner.trustbed(
        *words, "sh", "-c", "ping -c 2 -W 100 $TRUSTBED_PEER; uname -n; exit 4", check=False
    )
    assert ended.returncode == 4, ended.stderr
    assert "2 packets received" in ended.stdout
    assert json.loads(ended.stdout.splitlines()[-1])["emulator"]["delivered_packets"] == 4


def test_a_person_in_front_of_a_guest(
    runner: Machine, terminal: Callable[[Machine, Sequence[str]], Terminal]
) -> None:
    seen = terminal(runner, [TRUSTBED, "shell", "--guest", "virtio-net", "--delay", "5ms"])
    seen.until(r"in a guest \(virtio-net; busybox and trustbed-agent\) behind")
    seen.until(r"# ")
    seen.type("ping $TRUSTBED_PEER\r")
    seen.until(r"64 bytes from 10\.77\.0\.2")
    seen.type("\x03")  # Ctrl-C is the command's
    seen.until(r"round-trip")
    seen.type("exit 7\r")
    assert seen.end() == 7
    assert runner.namespaces() == []
