"""What the names of the policing set state."""

from __future__ import annotations

import pytest

from tests.validation.external.test_detector import SERVER, Download, bucket
from validation.external.policing import Setting, detected


def test_a_name_states_the_policer_and_who_shares_it() -> None:
    alone = Setting.of(
        "C=5-L=2000000-CD=500-PCIR=1500000-PBC=100000-RTT=100-RTTV=0-RTTC=0-LOSS=0-TCP=cubic-T=1-"
        "CP=10067.pcap.zst"
    )
    assert alone.policer_bits_per_second == 1_500_000
    assert alone.shaper_bits_per_second is None
    assert not alone.is_shared


@pytest.mark.parametrize("traffic", ["", "XT=1-"])
def test_two_clients_share_a_policer(traffic: str) -> None:
    shared = Setting.of(
        f"C=5-L=2000000-CD1=500-CD2=1000-ID=0-PCIR=500000-RTT=100-RTTV=0-RTTC=0-LOSS=0-{traffic}"
        "TCP=cubic-T=1-CP1=16255-CP2=16256.pcap.zst"
    )
    assert shared.is_shared


def test_a_shaper_is_no_policer() -> None:
    assert Setting.of("C=5-L=1-CD=500-SCIR=500000-CP=1.pcap.zst").policer_bits_per_second is None


def test_another_name_is_refused() -> None:
    with pytest.raises(ValueError, match="not a name of this set"):
        Setting.of("transfer.pcap")


def test_each_object_of_a_client_is_tried() -> None:
    download = Download(bucket(250_000, 100_000))
    download.serve(800)
    download.serve(5)
    found = detected(download.seen())
    assert found is not None
    assert found["sender"] == f"{SERVER[0]}:{SERVER[1]}"
    assert found["objects"] == ["", "too few losses"]
    assert found["loss_share"] > 0.1


def test_a_connection_that_sent_next_to_nothing_is_not_tried() -> None:
    download = Download(bucket(250_000, 100_000))
    download.serve(5)
    assert detected(download.seen()) is None
