"""What owping prints, for people and with -M, as a table; malformed output is an error."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from trustbed.workload import WorkloadError, owping

Output = Callable[[str], str]


def test_both_directions_of_the_summary_for_people(output: Output) -> None:
    text = output("owping.txt")
    assert owping.is_owping(text)
    there, back = owping.summary(text).to_pylist()
    assert there == {
        "source": "client.example",
        "destination": "192.0.2.19",
        "sent": 100,
        "lost": 1,
        "duplicates": 0,
        "delay_min_ns": 10_100_000,
        "delay_p50_ns": 10_300_000,
        "delay_max_ns": 13_900_000,
        "jitter_ns": 1_200_000,
        "error_ns": 645_000,
    }
    assert (back["source"], back["duplicates"], back["error_ns"]) == ("192.0.2.19", 2, None)


def test_the_keys_of_the_machine_summary(output: Output) -> None:
    text = output("owping-machine.txt")
    assert owping.is_owping(text)
    (there,) = owping.summary(text).to_pylist()
    (people, _) = owping.summary(output("owping.txt")).to_pylist()
    assert there == {**people, "destination": "server.example"}


def test_other_units_and_a_path_on_which_everything_is_lost(output: Output) -> None:
    text = output("owping.txt").replace(
        "10.1/10.3/13.9 ms, (err=0.645 ms)", "nan/nan/nan us, (unsync)"
    )
    text = text.replace("1 lost (1.000%)", "100 lost (100.000%)").replace("= 1.2 ms", "= nan us")
    there, back = owping.summary(text).to_pylist()
    assert (there["lost"], there["delay_min_ns"], there["jitter_ns"]) == (100, None, None)
    assert back["delay_min_ns"] == 9_110_000
    seconds = output("owping.txt").replace("9.11/9.2/9.99 ms", "0.00911/0.0092/0.00999 s")
    assert owping.summary(seconds).to_pylist()[1]["delay_min_ns"] == 9_110_000


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("SUMMARY\t3.00", "SUMMARY\t2.00", "printed version 2.00 of its keys; version 3 is known"),
        ("SENT\t100\n", "", "no count for SENT"),
        ("LOST\t1\n", "LOST\tmany\n", "no count for LOST"),
        ("SENT\t100\n", "SENT\t0\n", "sent no packet"),
    ],
)
def test_malformed_machine_output(output: Output, old: str, new: str, message: str) -> None:
    text = output("owping-machine.txt")
    assert old in text
    with pytest.raises(WorkloadError, match=message) as caught:
        owping.summary(text.replace(old, new))
    assert caught.value.hint


def test_output_that_is_cut_and_output_of_others(output: Output) -> None:
    text = output("owping.txt")
    with pytest.raises(WorkloadError, match=r"192\.0\.2\.19 to client\.example is incomplete"):
        owping.summary(text[: text.rindex("one-way jitter")])
    with pytest.raises(WorkloadError, match="begins with: owping: Unable to open"):
        owping.summary("owping: Unable to open control connection to server.example\n")
    assert not owping.is_owping("--- 192.0.2.1 ping statistics ---\n")
