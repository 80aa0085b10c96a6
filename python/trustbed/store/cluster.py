"""Many captures into a store by the workers of a Dask cluster.

Dask schedules, moves and restarts; :mod:`trustbed.store.workers` decides which worker may have a
task, :mod:`trustbed.store.tasks` what there is to do and what an outcome means. A task has no
effect but a new entry in the store, or a part of one, which exists at once or not at all: it can be
killed and repeated at any moment. What a scheduler that dies had not finished, the same command
does.

Bias: captures and store must have the same paths or URLs on every worker.
"""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trustbed.analysis.options import available_cores
from trustbed.scenario.inventory import Ssh, load
from trustbed.store.captures import How, Job, Outcome, Reading
from trustbed.store.errors import StoreError
from trustbed.store.tasks import Limits, Tasks
from trustbed.store.workers import Reporter, Workers

_ADDRESS = re.compile(r"((?:tcp|tls)://)?(?:[^:/\s]+|\[[0-9a-fA-F:.]+\]):(\d{1,5})")
"""A scheduler: HOST:PORT, tcp://HOST:PORT or tls://HOST:PORT."""
_NO_DASHBOARD = "127.0.0.1:0"
"""Dask always serves its health by HTTP: at any free port, and to this machine only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Where tasks run.

    Attributes:
        where: ``local``, the address of a scheduler, or ``ssh:`` and an inventory.
        processes: Workers of a local cluster (default: one per core), or per host of an SSH
            cluster (default: one).
        memory: Bytes that each worker of a local or SSH cluster may have (default: its share).
        limits: When a task is slow, and which capture several workers share.
    """

    where: str
    processes: int | None = None
    memory: int | None = None
    limits: Limits = field(default_factory=Limits)


def carry_out(
    jobs: Sequence[Job],
    url: str,
    how: How,
    cluster: Cluster,
    *,
    report: Reporter = lambda line: None,
    reading: Reading = lambda read: None,
) -> Iterator[Outcome]:
    """Stores captures by the workers of a cluster, in the order in which they end.

    ``report`` is called with what happens to workers, ``reading`` with the bytes that were read of
    captures that have no outcome yet.

    Raises:
        StoreError: The cluster cannot be reached or goes away, or the store cannot be written.
    """
    with _client(cluster) as client:
        workers = Workers(client, cluster.where, how.version, report)
        yield from Tasks(workers, jobs, url, how, cluster.limits, reading).outcomes()


@contextmanager
def _client(cluster: Cluster) -> Iterator[Any]:
    try:
        import dask
        import distributed
    except ImportError as error:
        raise StoreError(
            "Dask, which runs clusters, is not installed", "pip install 'trustbed[cluster]'"
        ) from error
    # What matters of it is reported as our own errors.
    for name in ("client", "deploy.ssh", "deploy.spec"):
        logging.getLogger(f"distributed.{name}").setLevel(logging.CRITICAL)
    settings = {
        "distributed.scheduler.worker-ttl": "60s",
        "distributed.admin.tick.limit": "1h",
        # It looks at what workers do a hundred times a second, for a page that nobody opens.
        "distributed.worker.profile.enabled": False,
    }
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(settings))
        try:
            if cluster.where == "local":
                where = stack.enter_context(_local(distributed, cluster, stack))
            elif cluster.where.startswith("ssh:"):
                where = stack.enter_context(_over_ssh(distributed, cluster))
            else:
                where = _checked(distributed, cluster.where)
            connected: Any = distributed.Client
            client = stack.enter_context(connected(where, timeout=30, set_as_default=False))
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            raise StoreError(f"no cluster, {cluster.where}: {error}", _hint(cluster)) from error
        yield client


def _hint(cluster: Cluster) -> str:
    if cluster.where.startswith("ssh:"):
        return (
            "SSH has to reach every host of the inventory without a password, and each needs this "
            "version of trustbed with the extra [cluster]; the first has the scheduler"
        )
    return "start one with: dask scheduler, and dask worker HOST:PORT on each host"


def _checked(distributed: Any, where: str) -> str:  # noqa: ANN401 - Dask
    """The address of a scheduler.

    Dask waits for a minute, and leaves a traceback, where it does not understand one.

    Raises:
        StoreError: It is none, or needs keys that there are not.
    """
    found = _ADDRESS.fullmatch(where)
    if found is None or not 0 < int(found[2]) < 65_536:
        raise StoreError(
            f"neither local, ssh:INVENTORY nor HOST:PORT, {where}",
            "for example: --cluster local, or --cluster 192.0.2.1:8786",
        )
    if found[1] == "tls://":
        keys = distributed.Security().get_connection_args("client").get("ssl_context")
        if keys is None:
            raise StoreError(
                f"Dask has no TLS keys, {where}",
                "name them in ~/.config/dask/distributed.yaml: distributed.comm.tls.ca-file and "
                "distributed.comm.tls.client.cert",
            )
    return where


def _local(distributed: Any, cluster: Cluster, stack: ExitStack) -> Any:  # noqa: ANN401 - Dask
    """Processes of this machine, which prove to each other that they belong together (TLS)."""
    directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="trustbed-cluster-"))
    return distributed.LocalCluster(
        n_workers=cluster.processes or available_cores(),
        threads_per_worker=1,
        memory_limit=cluster.memory or "auto",
        local_directory=directory,
        dashboard_address=_NO_DASHBOARD,
        scheduler_kwargs={"dashboard": False},
        security=distributed.Security.temporary(),
        protocol="tls://",
        silence_logs="ERROR",
    )


def _over_ssh(distributed: Any, cluster: Cluster) -> Any:  # noqa: ANN401 - Dask
    """A scheduler on the first host of an inventory, workers on all of them."""
    file = Path(cluster.where.removeprefix("ssh:"))
    inventory = load(file)
    reached = [host.transport for host in inventory.hosts if isinstance(host.transport, Ssh)]
    if len(reached) < len(inventory.hosts):
        raise StoreError(
            f"not every host is reached by SSH, {file}",
            "name an inventory of hosts that are, or start Dask's workers there yourself",
        )
    known = None if inventory.known_hosts is None else str(inventory.known_hosts)
    options = [_connection(one, known) for one in reached]
    return distributed.SSHCluster(
        [reached[0].address, *(one.address for one in reached)],
        connect_options=[options[0], *options],
        worker_options={
            "n_workers": cluster.processes or 1,
            "nthreads": 1,
            "memory_limit": cluster.memory or "auto",
        },
        scheduler_options={"dashboard_address": _NO_DASHBOARD, "dashboard": False},
    )


def _connection(host: Ssh, known_hosts: str | None) -> Mapping[str, object]:
    """What asyncssh is told; OpenSSH's configuration decides the rest, and keys are checked."""
    given: Mapping[str, object] = {
        "username": host.user,
        "port": host.port,
        "client_keys": list(map(str, host.keys)) or None,
        "tunnel": ",".join(map(str, host.jumps or ())) or None,
        "known_hosts": known_hosts,
    }
    return {name: value for name, value in given.items() if value is not None}
