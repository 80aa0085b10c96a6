"""``[trace.NAME]``: whose system calls are recorded where."""

from __future__ import annotations

import pytest

from tests.scenario.conftest import Read
from trustbed.scenario import ScenarioError, Trace

BASE = """
[hosts.client]
[hosts.server]
[hosts.other]
[topology]
routers = ["middle"]
[links.a]
between = ["client", "middle"]
[links.b]
between = ["server", "middle"]
[links.c]
between = ["other", "middle"]
[services.web]
host = "server"
command = "nginx"
port = 80
[workload.pages]
kind = "ab"
host = "client"
to = "server"
service = "web"
path = "/"
requests = 10
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[trace.pages]", Trace(name="pages", host="server", of="pages")),
        ("[trace.web]\nmode = 'count'", Trace(name="web", host="server", of="web", mode="count")),
        (
            "[trace.t]\nof = 'pages'\nhost = 'client'",
            Trace(name="t", host="client", of="pages"),
        ),
        ("[trace.t]\nof = 'all'\nhost = 'other'", Trace(name="t", host="other", of=None)),
        (
            "[trace.pages]\ndescriptors = true",
            Trace(name="pages", host="server", of="pages", descriptors=True),
        ),
        ("[trace.pages]\nmode = 'off'", None),
    ],
)
def test_a_trace_is_where_its_processes_run(read: Read, text: str, expected: Trace | None) -> None:
    assert read(BASE + text).first.traces == (() if expected is None else (expected,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[trace.page]", "no workload or service named page"),
        ("[trace.pages]\nhost = 'other'", "no process of pages runs on other"),
        ("[trace.pages]\nmode = 'some'", "mode"),
        ("[trace.t]\nof = 'all'", "host"),
        ("[trace.pages]\nfilter = 'x'", "filter"),
    ],
)
def test_what_is_not_there_is_not_traced(read: Read, text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        read(BASE + text)


def test_the_mode_can_be_a_factor(read: Read) -> None:
    factors = "[trace.pages]\n[factors]\ntrace.pages.mode = ['off', 'count', 'calls']\n"
    modes = [[one.mode for one in cell.scenario.traces] for cell in read(BASE + factors).cells]
    assert modes == [[], ["count"], ["calls"]]
