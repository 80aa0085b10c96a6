"""Whose processes were sampled."""

from __future__ import annotations

from trustbed.run.host_evidence import process_owners


def test_a_guest_s_process_is_that_of_its_virtual_machine() -> None:
    record = {
        "processes": [
            {"host": "client", "process": 7},
            {"host": "server", "process": 8},
            {"host": "server", "process": 9},
        ],
        "guests": {"client": {"pid": 8000, "nic": "e1000"}},
    }
    assert process_owners(record) == {8: "server", 9: "server", 8000: "client"}
    assert process_owners({}) == {}
