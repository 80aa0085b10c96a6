"""Reading the long output of tcptrace."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.validation.conftest import needs
from tests.validation.talk import Talk
from validation import tcptrace

LONG = """1 arg remaining, starting with 'zwnd.dmp.gz'

26690 packets seen, 26686 TCP packets traced
TCP connection info:
2 TCP connections traced:
TCP connection 1:
\thost a:        132.235.3.154:58213
\thost b:        132.235.3.151:5001
\tcomplete conn: yes
   a->b:\t\t\t      b->a:
     total packets:         17995           total packets:          8691      
     unique bytes sent:  24554344           unique bytes sent:         0      
     actual data pkts:      17992           actual data pkts:          0      
     actual data bytes:  24554350           actual data bytes:         0      
     rexmt data pkts:           0           rexmt data pkts:           0      
     some row of tomorrow:      1 bytes     some row of tomorrow:      2 bytes
     rexmt data bytes:          0           rexmt data bytes:          0      
     ttl stream length:        NA           ttl stream length:        NA      

     RTT samples:            8679           RTT samples:               2      
     RTT min:                10.0 ms        RTT min:                 0.0 ms   
     RTT max:                80.0 ms        RTT max:                 0.0 ms   
     RTT avg:                 0.0 ms        RTT avg:                 0.0 ms   
================================
TCP connection 2:
\thost c:        2001:0618:0400:0000:0000:0000:5199:cc70:35995
\thost d:        :0001:80
     total packets:             3           total packets:             2      
"""  # noqa: W291 - the padding is tcptrace's


def test_rows_are_read_by_their_labels() -> None:
    first, second = tcptrace.parse(LONG)
    assert first.endpoints == ("132.235.3.154:58213", "132.235.3.151:5001")
    assert first.sides[0]["packets"] == 17_995
    assert first.sides[1]["packets"] == 8_691
    assert first.sides[0]["payload_bytes"] == 24_554_350
    assert first.sides[0]["rtt_samples"] == 8_679
    assert first.sides[0]["rtt_min_ms"] == 10.0
    assert second.sides[0] == {"packets": 3.0}


def test_addresses_are_written_as_everybody_does() -> None:
    assert tcptrace.parse(LONG)[1].endpoints == ("2001:618:400::5199:cc70:35995", "::1:80")


def test_golden_output_of_an_older_version(traces: Path) -> None:
    found = tcptrace.parse((traces / "tcptrace" / "zwnd.dmp.gz.long").read_text(encoding="latin-1"))
    assert len(found) == 1
    assert found[0].sides[0]["retransmitted_packets"] == 0
    assert all(not math.isnan(value) for side in found[0].sides for value in side.values())


def test_a_link_type_it_does_not_know_is_named(tmp_path: Path) -> None:
    needs("tcptrace")
    path = Talk().hello().write(tmp_path / "talk.pcap")
    data = bytearray(path.read_bytes())
    data[20:24] = (276).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(tcptrace.UnreadableError, match="link type 276"):
        tcptrace.run(path)
