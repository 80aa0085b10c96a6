"""What a model keeps of the link, where it came from, and how it is shown."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

import trustbed
from tests.report.pages import charts_of, check_definitions, text_of
from tests.traffic.frames import ACK, CLIENT, FIN, SERVER, SYN, Frame, connection, pcap
from trustbed.cli import main
from trustbed.report.model import link
from trustbed.traffic import Model, ModelError, extract, profile, vary
from trustbed.traffic.model import load
from trustbed.traffic.profile import Direction, Profile, ProfileError, Rates


def busy(requests: int = 150) -> list[Frame]:
    """A connection whose server answers in bursts, ever more of them close together."""
    frames = [
        Frame(ms=0, by_server=False, flags=SYN, sequence=0, acknowledges=0),
        Frame(ms=10, by_server=True, flags=SYN | ACK, sequence=0, acknowledges=1),
        Frame(ms=12, by_server=False, flags=ACK, sequence=1, acknowledges=1),
    ]
    asked, answered, now = 1, 1, 20.0
    for number in range(requests):
        frames.append(
            Frame(
                ms=now,
                by_server=False,
                flags=ACK,
                sequence=asked,
                acknowledges=answered,
                payload=100,
            )
        )
        asked += 100
        for part in range(1 + number % 5):
            frames.append(
                Frame(
                    ms=now + 12 + part * 0.4,
                    by_server=True,
                    flags=ACK,
                    sequence=answered,
                    acknowledges=asked,
                    payload=1000,
                )
            )
            answered += 1000
        now += 20 + 7 * (number % 3)
    frames += [
        Frame(ms=now, by_server=False, flags=FIN | ACK, sequence=asked, acknowledges=answered),
        Frame(
            ms=now + 11, by_server=True, flags=FIN | ACK, sequence=answered, acknowledges=asked + 1
        ),
    ]
    return frames


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return pcap(tmp_path / "busy.pcap", busy())


@pytest.mark.parametrize("workers", [1, 3])
def test_each_direction_is_what_a_study_of_its_packets_finds(capture: Path, workers: int) -> None:
    (found,) = extract(capture, workers=workers).profiles
    assert (found.origin, found.command, found.steps) == ("trace", "", 0)
    by_sender = {one.sender: one for one in found.directions}
    for sender, address in (("client", CLIENT), ("server", SERVER)):
        own = trustbed.burst(capture, basis="ip", filter=f"src host {address}", workers=1).model
        one = msgspec.to_builtins(by_sender[sender])
        assert (one["packets"], one["bytes"]) == (own["packets"], own["bytes"])
        assert one["mean_rate_bits_per_second"] == pytest.approx(own["mean_rate_bits_per_second"])
        assert [msgspec.to_builtins(each) for each in by_sender[sender].energy.octaves] == [
            {key: each[key] for key in ("octave", "scale_seconds", "count", "energy")}
            for each in own["energy"]["octaves"]
        ]
        fit, expected = one["logscale"]["fit"], own["logscale"]["fit"]
        assert fit["hurst"] == pytest.approx(expected["hurst"])
        assert fit["quality"] == pytest.approx(expected["quality"])
        assert [peak["bits_per_second"] for peak in one["rates"]["peaks"]] == [
            peak["bits_per_second"] for peak in own["rates"]["peaks"]
        ]


def test_moments_count_from_the_first_packet_of_both(capture: Path) -> None:
    (found,) = extract(capture).profiles
    lasted = max(one.duration_seconds or 0.0 for one in found.directions)
    for one in found.directions:
        moments = [at for at, _ in one.rates.points]
        assert moments == sorted(moments)
        assert 0 <= moments[0] <= 0.02  # the server's first packet comes after 10 ms
        assert moments[-1] <= lasted + 0.02
        assert all(0 <= peak.start_seconds <= lasted for peak in one.rates.peaks)


def test_the_profiles_of_a_file_come_back(capture: Path, tmp_path: Path) -> None:
    model = extract(capture)
    measured = Profile(
        origin="measurement", command="x", steps=0, directions=model.profiles[0].directions
    )
    both = model.with_profile(measured)
    file = both.save(tmp_path / "busy.model")
    assert load(file).profiles == (*model.profiles, measured)
    again = both.with_profile(msgspec.structs.replace(measured, command="y"))
    assert [one.command for one in again.profiles] == ["", "y"]
    assert b"10.9.0.1" not in file.read_bytes()


def changed(source: Path, target: Path, text: bytes | None) -> Path:
    """A model's file with other profiles, or without."""
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(target, "w") as after:
        for member in before.namelist():
            if member != "profiles.json":
                after.writestr(member, before.read(member))
            elif text is not None:
                after.writestr(member, text)
    return target


def test_files_without_profiles_are_read_and_changed_ones_refused(
    small: Model, capture: Path, tmp_path: Path
) -> None:
    old = small.save(tmp_path / "old.model")
    assert "profiles.json" not in zipfile.ZipFile(old).namelist()
    assert load(old).profiles == ()
    good = extract(capture).save(tmp_path / "good.model")
    for name, text in (("without", None), ("other", b"[]")):
        with pytest.raises(ModelError, match="changed by hand"):
            load(changed(good, tmp_path / f"{name}.model", text))


def test_a_file_of_one_profile_comes_back_or_is_refused(capture: Path, tmp_path: Path) -> None:
    found = profile.measured(capture, command="trustbed model measure x", steps=2)
    file = tmp_path / "x.profile.json"
    profile.write(file, found)
    assert profile.read(file) == found
    assert found.directions == extract(capture).profiles[0].directions
    for text in (b"[]", b"{", b'[{"origin": "dream"}]'):
        file.write_bytes(text)
        with pytest.raises(ProfileError, match="no profile"):
            profile.read(file)
    with pytest.raises(ProfileError):
        profile.read(tmp_path / "absent.json")


def test_it_says_where_it_comes_from(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = extract(capture)
    own, variant = tmp_path / "own.model", tmp_path / "variant.model"
    model.save(own)
    assert main(["model", "edit", str(own), "-o", str(variant), "--variant", "HB", "--quiet"]) == 0
    assert main(["model", "show", str(own)]) == 0
    said = capsys.readouterr().out
    assert "on the link\n  as its trace was\n  from servers: " in said
    assert "ENERGY" in said
    assert "HURST" in said
    assert "fit quality" in said
    assert main(["model", "show", str(variant), "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)["profiles"]
    assert shown["is_of_base"]
    assert shown["words"] == "of the base, before 1 change of the recipe: as its trace was"
    measured = profile.measured(capture, command="trustbed model measure x --rate 1Mbit/s", steps=1)
    load(variant).with_profile(measured).save(variant)
    assert main(["model", "show", str(variant)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "of the base, before 1 change of the recipe: as its trace was" in said
    assert "generated by itself and measured: trustbed model measure x --rate 1Mbit/s" in said


def test_what_was_not_measured_is_said_to_be_so(
    small: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page = small.save(tmp_path / "small.model"), tmp_path / "small.html"
    assert main(["model", "show", str(file), "-o", str(page)]) == 0
    assert link.NOT_MEASURED in capsys.readouterr().out
    assert "Not measured; trustbed model measure does it." in text_of(
        page.read_text(encoding="utf-8")
    )


def test_the_page_draws_it(capture: Path, tmp_path: Path, small: Model) -> None:
    file, page = extract(capture).save(tmp_path / "busy.model"), tmp_path / "busy.html"
    assert main(["model", "show", str(file), "-o", str(page), "--quiet"]) == 0
    text = page.read_text(encoding="utf-8")
    shown = text_of(text)
    for title in ("Rate over time", "Energy against time scale", "Logscale diagram"):
        assert title in shown
    assert "As its trace was." in shown
    check_definitions(text, "model")
    bare = replace(load(file), profiles=()).save(tmp_path / "bare.model")
    assert main(["model", "show", str(bare), "-o", str(tmp_path / "bare.html"), "--quiet"]) == 0
    assert charts_of(text) == charts_of((tmp_path / "bare.html").read_text("utf-8")) + 3


def test_slices_keep_the_bytes() -> None:
    # 8 bit/s for 1 s, silence for 3 s, 16 bit/s for 1 s: its first and last bins are points.
    rates = Rates(bin_seconds=1.0, points=((0, 8), (1, 0), (3, 0), (4, 16)), peaks=())
    assert link.sliced(rates, 5.0, 5) == pytest.approx([8, 0, 0, 0, 16])
    assert sum(link.sliced(rates, 5.0, 3)) * 5 / 3 == pytest.approx(24)
    assert link.sliced(rates, 0.0, 3) == []


def test_a_clock_that_steps_back_costs_no_packet(golden: dict[str, Any], tmp_path: Path) -> None:
    frames = connection(golden["connection"])
    file = pcap(tmp_path / "one.pcap", frames)
    body = file.read_bytes()
    # The same connection, captured once more behind itself: the clock steps back between them.
    file.write_bytes(body + body[24:])
    directions: list[Direction] = list(profile.measured(file, command="").directions)
    assert sum(one.packets for one in directions) == 2 * len(frames)


def test_variants_keep_the_profile_of_their_base(capture: Path) -> None:
    model = extract(capture)
    varied = vary(model, sessions=2.0)
    assert varied.profiles == model.profiles
    assert link.origin(varied.profiles[0], len(varied.header.recipe)).startswith("of the base")
