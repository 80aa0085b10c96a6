"""Hosts that are reached by SSH: a real sshd, with what it may refuse, and what may break."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import subprocess
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.patience import PATIENCE, wait_until
from tests.testbed import sshd
from tests.testbed.conftest import Machine, processes_with
from tests.testbed.sshd import Server
from trustbed.agent.client import binary
from trustbed.scenario import inventory
from trustbed.testbed import TestbedError
from trustbed.testbed.remote import Hosts

Serves = Callable[..., Server]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user of SSH, with a key and nothing else; no agent."""
    sshd.check()
    directory = tmp_path / "home"
    (directory / ".ssh").mkdir(parents=True, mode=0o700)
    sshd.make_key(directory / ".ssh" / "id_ed25519")
    monkeypatch.setenv("HOME", str(directory))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return directory


@pytest.fixture
def serves(tmp_path: Path, home: Path) -> Iterator[Serves]:
    """Starts servers that accept the key; they are known hosts by default."""
    with contextlib.ExitStack() as stack:
        count = 0

        def serve(*, known: bool = True, more: Sequence[str] = (), mounts: str = "") -> Server:
            nonlocal count
            count += 1
            directory = tmp_path / f"server{count}"
            directory.mkdir()
            key = home / ".ssh" / "id_ed25519.pub"
            server = stack.enter_context(sshd.serving(directory, key, more=more, mounts=mounts))
            if known:
                know(home, server.known())
            return server

        yield serve


def know(home: Path, line: str) -> None:
    """Puts a host into the file of known ones."""
    with (home / ".ssh" / "known_hosts").open("a", encoding="utf-8") as file:
        file.write(line)


def host(server: Server, name: str = "alpha", more: str = "") -> str:
    """A host of an inventory."""
    return f'[hosts.{name}]\nssh = "{server.address}"\nport = {server.port}\n{more}\n'


def described(home: Path, *parts: str) -> inventory.Inventory:
    """An inventory."""
    file = home / "hosts.toml"
    file.write_text("\n".join(parts), encoding="utf-8")
    return inventory.load(file)


@contextlib.contextmanager
def connected(home: Path, *parts: str) -> Iterator[Hosts]:
    """Hosts, all of them connected."""
    with Hosts(described(home, *parts)) as made:
        assert made.connect() == {}
        yield made


def failure(home: Path, *parts: str) -> TestbedError:
    """Why the only host of an inventory cannot be connected."""
    with Hosts(described(home, *parts)) as made:
        (error,) = made.connect().values()
        assert len(made) == 0
        return error


def test_a_host_is_used_and_left_as_it_was(home: Path, serves: Serves, tmp_path: Path) -> None:
    server = serves()
    cache = server.home / f"trustbed-{os.getuid()}"
    with connected(home, host(server, more='measure = "127.0.0.1"')) as hosts:
        alpha = hosts["alpha"]
        ended = alpha.run(["sh", "-c", "pwd; echo $XDG_CACHE_HOME"], seconds=PATIENCE)
        assert ended.stdout.splitlines() == [alpha.directory, str(server.home)]
        (copy,) = cache.glob("agent-*")
        assert (copy.read_bytes(), stat.S_IMODE(copy.stat().st_mode)) == (
            binary().read_bytes(),
            0o700,
        )
        reading = alpha.read_clock()
        assert abs(reading.ahead_ns) <= reading.error_ns
        assert ("tcp", server.port) in alpha.listening()
        file = tmp_path / "samples"
        config = {"path": str(file), "interval_ns": 50_000_000, "sockets": False}
        with alpha.start_agent("sample", config, name="sample on alpha", seconds=PATIENCE) as agent:
            agent.begin(seconds=PATIENCE)
            time.sleep(0.2)
            agent.stop(PATIENCE)
        assert file.stat().st_size > 0
        facts = alpha.facts()
        assert (facts["way"], facts["measured"]) == (
            f"ssh 127.0.0.1 port {server.port}",
            "127.0.0.1",
        )
        alpha.start_command(["sh", "-c", "sleep 631 & wait"])
        wait_until(lambda: processes_with("sleep\x00631"), "what the command has started")
        before = copy.stat()
    assert processes_with("sleep\x00631") == []
    assert list(cache.iterdir()) == [copy], "the next one finds the agent there, and nothing else"
    with connected(home, host(server)) as hosts:
        assert copy.stat().st_ino == before.st_ino
        assert hosts.remove_programs() == {}
    assert not cache.exists()


def test_streams_longer_than_any_buffer_arrive_whole(
    home: Path, serves: Serves, tmp_path: Path
) -> None:
    content = os.urandom(1 << 16) * 48
    (tmp_path / "there").write_bytes(content)
    with connected(home, host(serves())) as hosts:
        hosts["alpha"].fetch(str(tmp_path / "there"), tmp_path / "here")
        assert (tmp_path / "here").read_bytes() == content
        assert not (tmp_path / "there").exists()


def test_an_unknown_host_key_is_refused(home: Path, serves: Serves) -> None:
    server = serves(known=False)
    error = failure(home, host(server))
    assert error.message.startswith(
        "the host key of the host alpha is not known: ssh-ed25519 SHA256:"
    )
    assert f"ssh-keyscan -p {server.port} 127.0.0.1 >> ~/.ssh/known_hosts" in error.hint
    assert not (server.home / f"trustbed-{os.getuid()}").exists()
    know(home, server.known())
    with connected(home, host(server)):
        pass


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
def test_a_host_key_that_has_changed_is_refused(home: Path, serves: Serves, kind: str) -> None:
    server = serves(known=False)
    know(home, server.known(sshd.make_key(home / "other", kind=kind)))
    error = failure(home, host(server))
    assert "the host alpha shows another host key than the one that is known" in error.message
    assert str(home / ".ssh" / "known_hosts") in error.message
    assert f"ssh-keygen -R '[127.0.0.1]:{server.port}'" in error.hint


def test_a_configuration_that_checks_no_keys_is_not_followed(home: Path, serves: Serves) -> None:
    server = serves(known=False)
    (home / ".ssh" / "config").write_text(
        "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile none\n", encoding="utf-8"
    )
    assert "has its key not checked, and it always is here" in failure(home, host(server)).message
    (home / ".ssh" / "config").write_text(
        "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n", encoding="utf-8"
    )
    assert "is not known" in failure(home, host(server)).message


def test_an_inventory_names_its_own_file_of_known_hosts(home: Path, serves: Serves) -> None:
    server = serves(known=False)
    (home / "lab").write_text(server.known(), encoding="utf-8")
    with connected(home, 'known_hosts = "lab"\n', host(server)):
        pass
    (home / "lab").write_text("[127.0.0.1]:1 nonsense\n@odd x y\n", encoding="utf-8")
    assert (
        "the keys of known hosts cannot be read"
        in failure(home, 'known_hosts = "lab"\n', host(server)).message
    )


def test_a_refused_login_has_a_hint(home: Path, serves: Serves) -> None:
    server = serves()
    sshd.make_key(home / ".ssh" / "other")
    (home / ".ssh" / "id_ed25519").unlink()
    error = failure(home, host(server, more='user = "root"\nkeys = [".ssh/other"]'))
    assert error.message.startswith("the host alpha does not let root in: ")
    assert f"ssh -p {server.port} root@127.0.0.1" in error.hint
    assert "ssh-add" in error.hint


def test_a_key_with_a_passphrase_is_used_through_an_agent(
    home: Path, serves: Serves, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serves()
    key = home / ".ssh" / "id_ed25519"
    run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret words", "-f", str(key)])
    about = host(server, more='keys = [".ssh/id_ed25519"]')
    assert "does not let" in failure(home, about).message
    if shutil.which("ssh-agent") is None:
        pytest.skip("no ssh-agent (Debian: openssh-client)")
    cache = home / "agent"
    with subprocess.Popen(
        ["ssh-agent", "-D", "-a", str(cache)], stdout=subprocess.DEVNULL
    ) as agent:
        try:
            wait_until(cache.exists, "the agent's socket")
            monkeypatch.setenv("SSH_AUTH_SOCK", str(cache))
            (home / "ask").write_text("#!/bin/sh\necho secret words\n", encoding="utf-8")
            (home / "ask").chmod(0o700)
            run(
                ["ssh-add", "-q", str(key)],
                SSH_ASKPASS=str(home / "ask"),
                SSH_ASKPASS_REQUIRE="force",
            )
            with connected(home, about) as hosts:
                assert hosts["alpha"].run(["echo", "in"], seconds=PATIENCE).stdout == "in\n"
        finally:
            agent.kill()


def run(words: Sequence[str], **environment: str) -> None:
    """Runs a command to its end."""
    subprocess.run(
        words,
        check=True,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )


def test_openssh_configuration_decides_what_the_inventory_leaves_out(
    home: Path, serves: Serves
) -> None:
    server = serves(known=False)
    (home / ".ssh" / "id_ed25519").rename(home / ".ssh" / "lab")
    (home / ".ssh" / "lab_hosts").write_text(
        server.known().replace(f"[127.0.0.1]:{server.port}", f"[labhost]:{server.port}"), "utf-8"
    )
    (home / ".ssh" / "config").write_text(
        textwrap.dedent(f"""
        Host alpha
          HostName 127.0.0.1
          Port {server.port}
          User root
          HostKeyAlias labhost
          IdentityFile ~/.ssh/lab
          UserKnownHostsFile ~/.ssh/lab_hosts
          RequestTTY force
          RemoteCommand false
        """),
        encoding="utf-8",
    )
    with connected(home, "[hosts.alpha]\n") as hosts:
        assert hosts["alpha"].run(["id", "-un"], seconds=PATIENCE).stdout == "root\n"


def test_a_closed_port_and_a_name_without_an_address_are_distinguished(
    home: Path,
) -> None:
    closed = f'[hosts.alpha]\nssh = "127.0.0.1"\nport = {sshd.free_port()}\n'
    nameless = '[hosts.beta]\nssh = "beta.invalid"\n'
    with Hosts(described(home, closed, nameless)) as hosts:
        failed = hosts.connect()
    assert "the host alpha refuses connections (127.0.0.1, port " in failed["alpha"].message
    assert failed["beta"].message == "the host beta: there is no address for beta.invalid"


def test_what_is_no_sshd_is_refused(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def answer() -> None:
            one, _ = listener.accept()
            one.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            one.close()

        thread = threading.Thread(target=answer)
        thread.start()
        error = failure(home, f'[hosts.alpha]\nssh = "127.0.0.1"\nport = {port}\n')
        thread.join()
    assert error.message.startswith("the host alpha ")


def test_a_connection_that_breaks_is_noticed_leaves_nothing_running_and_is_made_anew(
    home: Path, serves: Serves
) -> None:
    server = serves()
    with connected(home, host(server)) as hosts:
        alpha = hosts["alpha"]
        sleeping = alpha.start_command(["sh", "-c", "sleep 641 & wait"])
        agent = alpha.start_agent(
            "sample",
            {"path": str(home / "x"), "interval_ns": 50_000_000},
            name="sample",
            seconds=PATIENCE,
        )
        wait_until(lambda: processes_with("sleep\x00641"), "what the command has started")
        server.kill_sessions()
        with pytest.raises(TestbedError, match="the host alpha is gone: the connection is lost"):
            sleeping.wait(PATIENCE)
        agent.close(seconds=1)
        assert alpha.is_gone
        wait_until(lambda: not processes_with("sleep\x00641"), "the end of what ran there")
        wait_until(
            lambda: not list(server.home.glob("trustbed-*/session-*")), "the end of what lay there"
        )
        assert hosts.connect() == {}
        assert hosts["alpha"].run(["echo", "again"], seconds=PATIENCE).stdout == "again\n"


def test_data_in_flight_when_a_connection_breaks_is_not_mistaken_for_all(
    home: Path, serves: Serves
) -> None:
    server = serves()
    with connected(home, host(server)) as hosts:
        half = ["sh", "-c", "head -c 100000 /dev/zero; exec sleep 643"]
        with hosts["alpha"].start_command(half, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.read(1) == b"\0"
            server.kill_sessions()
            with pytest.raises(TestbedError, match="the host alpha is gone"):
                process.output(PATIENCE)


def test_a_disk_that_is_full_is_named_with_its_directory(home: Path, serves: Serves) -> None:
    server = serves(mounts="mkdir /run/small && mount -t tmpfs -o size=64k tmpfs /run/small")
    error = failure(home, host(server, more='directory = "/run/small"'))
    assert error.message.startswith("the host alpha has no room for the agent (")
    assert f"/run/small/trustbed-{os.getuid()}" in error.message
    assert "No space left on device" in error.message
    with connected(home, host(server, more='directory = "/run"')):
        pass


def test_a_noexec_directory_is_named(home: Path, serves: Serves) -> None:
    server = serves(mounts="mkdir /run/still && mount -t tmpfs -o noexec tmpfs /run/still")
    error = failure(home, host(server, more='directory = "/run/still"'))
    assert error.message.startswith(
        f"the agent may not be executed in /run/still/trustbed-{os.getuid()} on the host alpha: "
    )
    assert "noexec" in error.hint


def test_a_server_that_runs_no_commands_is_named(home: Path, serves: Serves) -> None:
    server = serves(more=["ForceCommand echo This account is not for you >&2; exit 1"])
    error = failure(home, host(server))
    assert error.message == "the host alpha runs no commands: This account is not for you"


def test_many_hosts_are_connected_side_by_side_and_a_bad_one_stops_none(
    home: Path, serves: Serves
) -> None:
    server = serves()
    parts = [host(server, name=f"h{number}") for number in range(5)]
    bad = f'[hosts.bad]\nssh = "127.0.0.1"\nport = {sshd.free_port()}\n'
    with Hosts(described(home, bad, *parts), at_once=3) as hosts:
        assert list(hosts.connect()) == ["bad"]
        assert list(hosts) == [f"h{number}" for number in range(5)]
        directories = {hosts[name].directory for name in hosts}
        assert len(directories) == 5, "each session has its own"
    (copy,) = (server.home / f"trustbed-{os.getuid()}").iterdir()
    assert copy.name.startswith("agent-")


CHAIN = """
ip netns add gate && ip netns add far &&
ip link add outer type veth peer name eth0 netns gate &&
ip -n gate link add inner type veth peer name eth0 netns far &&
ip address add 10.9.0.1/24 dev outer && ip link set outer up &&
ip -n gate address add 10.9.0.2/24 dev eth0 && ip -n gate link set eth0 up &&
ip -n gate link set lo up &&
ip -n gate address add 10.9.1.1/24 dev inner && ip -n gate link set inner up &&
ip -n far address add 10.9.1.2/24 dev eth0 && ip -n far link set eth0 up && ip -n far link set lo up
"""
"""Two networks behind one another.

Only a login at the gate connects them.
"""


@pytest.mark.parametrize("source", ["inventory", "configuration"])
def test_a_host_behind_another_is_reached_through_it(
    machine: Machine, home: Path, source: str
) -> None:
    machine.run("sh", "-c", CHAIN)
    key = home / ".ssh" / "id_ed25519.pub"
    for name, address in (("gate", "10.9.0.2"), ("far", "10.9.1.2")):
        directory = home / name
        directory.mkdir()
        config = sshd.configuration(directory, key, address=address, port=22)
        machine.start("ip", "netns", "exec", name, *sshd.words(config, directory / "log"))
        know(home, f"{address} {(directory / 'host_key.pub').read_text(encoding='utf-8')}")
        wait_until(
            lambda directory=directory: "listening" in log_of(directory),
            f"sshd at the {name}: {log_of(directory)}",
        )
    jump = 'jump = "root@10.9.0.2"\n' if source == "inventory" else ""
    if source == "configuration":
        (home / ".ssh" / "config").write_text(
            "Host 10.9.1.*\n  ProxyJump root@10.9.0.2\n", encoding="utf-8"
        )
    about = described(
        home, f'[hosts.far]\nssh = "10.9.1.2"\n{jump}', f'[hosts.wrong]\nssh = "10.9.1.3"\n{jump}'
    )
    code = """
from pathlib import Path
from trustbed.scenario import inventory
from trustbed.testbed.remote import Hosts, ssh
ssh.CONNECT_SECONDS = 20.0
with Hosts(inventory.load(Path(sys.argv[1]))) as hosts:
    failed = hosts.connect()
    script = "ip -4 -brief address; echo $SSH_CONNECTION"
    seen = hosts["far"].run(["sh", "-c", script], seconds=60).stdout
print(json.dumps([seen, {name: error.message for name, error in failed.items()}]))
"""
    seen, failed = machine.python(code, str(about.file))
    assert "10.9.1.2/24" in seen
    assert "10.9.1.1 " in seen.splitlines()[-1], "the connection comes from the gate"
    assert list(failed) == ["wrong"]
    assert failed["wrong"].startswith("the host wrong ")


def log_of(directory: Path) -> str:
    """The log of an sshd."""
    file = directory / "log"
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
