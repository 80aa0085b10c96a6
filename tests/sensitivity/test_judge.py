"""What a study says of applications whose behaviour was made."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import islice

import pytest

from bench.sensitivity import tried
from trustbed.sensitivity.cascade import Band
from trustbed.sensitivity.judge import advice, answers, effects, scales
from trustbed.sensitivity.judge.effects import Seen
from trustbed.sensitivity.judge.wording import interval
from trustbed.sensitivity.model import Said
from trustbed.sensitivity.plan import Treatment
from trustbed.sensitivity.statistics import Effect

LINK = 10e6


def seen(
    name: str, load: float, slow: float, *, reverse: bool = False, noise: float = 0.01
) -> Seen:
    """A treatment in four rounds: so many times as slow, with noise."""
    chosen = random.Random(f"{name} {load} {reverse}")
    found = Seen(
        Treatment(name=name, keys={"model": name}, load=load, reverse=reverse),
        carried=load * LINK if load else None,
    )
    for round_ in range(4):
        found.logs[round_] = math.log(0.02 * slow) + chosen.gauss(0, noise)
    return found


def suite(slow: Callable[[str, float], float], **noise: float) -> list[Seen]:
    """A suite of an application that is so slow beside each background."""
    made = [seen("quiet", 0.0, 1.0, **noise)]
    for load in (0.3, 0.6):
        made += [seen(name, load, slow(name, load), **noise) for name in ("steady", "web", "bulk")]
    return made


def test_an_application_that_reacts_to_nothing_is_told_so() -> None:
    found = suite(lambda _name, _load: 1.0, noise=0.004)
    assert answers.matters(found).answer == "no"
    assert answers.kind(found).answer == "neither"


def test_backgrounds_that_are_uncertain_one_by_one_may_be_certain_together() -> None:
    names = [f"bursts {number}" for number in range(8)]
    found = [seen("quiet", 0.0, 1.0, noise=0.002), seen("steady", 0.6, 1.0, noise=0.002)]
    for number, name in enumerate(names):
        one = seen(name, 0.6, 1.0)
        # Each is 35 % slower in the mean of its rounds, and swings by more than that.
        swings = [0.6, -0.5, 0.3, -0.4]
        for round_ in one.logs:
            one.logs[round_] += 0.3 + swings[(round_ + number) % 4] * (1 + number / 8)
        found.append(one)
    matters, kind = answers.matters(found), answers.kind(found)
    assert matters.answer == "yes"
    assert "in the mean those at 60 % make it 1.3" in matters.sentence
    assert "certain of no single one" in matters.sentence
    assert kind.answer == "burstiness"
    assert "all those at 60 % in the mean 1.3" in kind.sentence
    # The first swings least, and is as slow as the mean.
    assert [one.label for one in advice.bracket(found)] == ["quiet", "bursts 0 60 %"]
    # Half of them, in another round each, are no mean of the round.
    for number, one in enumerate(found[2:]):
        one.logs = {number % 4: one.logs[number % 4]}
    assert effects.together(found) == {}


def test_surrogates_may_show_what_the_suite_cannot() -> None:
    def banded(effect: float) -> list[Seen]:
        made = []
        for up in (False, True):
            one = Seen(Treatment(name="x", keys={}, load=0.5, band=Band(5, 6), amplified=up))
            chosen = random.Random(up)
            one.logs = {round_: effect * up + chosen.gauss(0, 0.004) for round_ in range(5)}
            made.append(one)
        return made

    said = scales.shown(scales.bands(banded(0.2)), "web 60 %")
    assert said is not None
    assert said.answer == "yes"
    assert "web 60 %, its bursts of 16 to 32 ms amplified" in said.sentence
    assert scales.shown(scales.bands(banded(0.04)), "web 60 %") is None
    assert scales.shown((), "web 60 %") is None


def test_load_is_told_from_burstiness() -> None:
    load = suite(lambda _name, load: 1 + load, noise=0.004)
    assert answers.matters(load).answer == "yes"
    assert answers.kind(load).answer == "load"
    bursts = suite(lambda name, load: 1 + load * (name == "web"), noise=0.004)
    assert answers.kind(bursts).answer == "burstiness"
    for one in bursts:
        if one.treatment.name == "steady":
            one.logs = {round_: log + (round_ - 1) / 40 for round_, log in one.logs.items()}
    assert answers.kind(bursts).answer == "burstiness, perhaps load"
    both = suite(lambda name, load: 1 + load + load * (name == "web"))
    assert answers.kind(both).answer == "both"
    assert "web 60 %" in answers.kind(both).sentence


def test_noise_leaves_answers_open() -> None:
    found = suite(lambda _name, _load: 1.1, noise=0.5)
    assert answers.matters(found).answer == "unknown"
    assert answers.kind(found).answer == "unknown"
    assert not effects.narrow(found)


def test_constant_traffic_of_another_rate_is_interpolated() -> None:
    found = suite(lambda _name, load: 1 + load)
    web = next(one for one in found if one.treatment.label == "web 60 %")
    web.carried = 0.45 * LINK  # less than asked for, and yet as slow as constant traffic of 60 %
    beyond = dict(zip((one.treatment.label for one in found), effects.beyond(found), strict=True))
    # The curve is that of what such traffic leaves of the link.
    share = math.log(0.7 / 0.55) / math.log(0.7 / 0.4)
    expected = math.log(1.6) - ((1 - share) * math.log(1.3) + share * math.log(1.6))
    assert beyond["web 60 %"].value == pytest.approx(expected, abs=0.02)
    assert beyond["steady 60 %"] is None
    web.payload_rates = {round_: 0.8 * LINK for round_ in web.logs}  # more than was tried
    assert effects.beyond(found)[found.index(web)] is None


def test_small_packets_are_more_than_their_payload() -> None:
    found = suite(lambda _name, load: 1 + load, noise=0.001)
    web = next(one for one in found if one.treatment.label == "web 60 %")
    web.payload_rates = {round_: 0.43 * LINK for round_ in web.logs}
    web.overhead = 0.6 / 0.43
    more = effects.beyond(found)[found.index(web)]
    assert more is not None
    assert more.value == pytest.approx(0.0, abs=0.01)


def test_backgrounds_that_cost_what_constant_traffic_costs_in_the_mean_are_load() -> None:
    found = suite(lambda _name, load: 1 + load, noise=0.001)
    for place, one in enumerate(one for one in found if one.treatment.name in ("web", "bulk")):
        # Each swings from round to round, and never both of a load in the same direction.
        for round_ in one.logs:
            one.logs[round_] += (-1) ** (round_ + place) * 0.1
    kind = answers.kind(found)
    assert kind.answer == "load"
    assert "in the mean of all of them" in kind.sentence
    # Two that are far off in opposite directions are not alike.
    for one in found:
        if one.treatment.name in ("web", "bulk"):
            sign = 1 if one.treatment.name == "web" else -1
            for round_ in one.logs:
                one.logs[round_] += sign * 0.15
    assert answers.kind(found).answer == "load, perhaps more"


def test_constant_traffic_that_costs_nothing_leaves_burstiness() -> None:
    found = suite(lambda name, load: 1 + load * (name != "steady"), noise=0.001)
    for one in found:
        if one.treatment.name in ("web", "bulk"):
            one.carried = 2 * LINK  # beyond what constant traffic was tried at
            sign = 1 if one.treatment.name == "web" else -1
            for round_ in one.logs:
                one.logs[round_] += sign * (-1) ** round_ * 0.3
    kind = answers.kind(found)
    assert kind.answer == "unknown", "nothing can be compared at one rate"
    next(one for one in found if one.treatment.label == "web 30 %").carried = 0.3 * LINK
    assert answers.kind(found).answer == "burstiness"


def test_what_constant_traffic_costs_is_uncertain_too() -> None:
    found = suite(lambda name, load: 1 + load * (name == "web"), noise=0.004)
    for one in found:
        if one.treatment.name == "steady":
            one.logs = {round_: log + (-1) ** round_ for round_, log in one.logs.items()}
    assert answers.kind(found).answer == "unknown"
    # A round without constant traffic has nothing to compare with.
    for one in found:
        if one.treatment.name == "steady":
            one.logs = {0: one.logs[0]}
    more = effects.beyond(found)[-1]
    assert more is not None
    assert more.rounds == 1


def test_traffic_that_gives_way_does_not_hide_what_hurts() -> None:
    costs = {"steady": 1.0, "web": 1.3, "bulk": 0.6}
    found = suite(lambda name, load: (1 + load) * costs[name], noise=0.001)
    kind = answers.kind(found)
    assert kind.answer == "both"
    assert "web" in kind.sentence
    assert "gives way" in kind.sentence


def test_an_application_that_breaks_now_and_then_is_not_told_that_nothing_matters() -> None:
    found = suite(lambda _name, _load: 1.0, noise=0.001)
    found[-1].broken = 3
    said = answers.matters(found)
    assert said.answer == "unknown"
    assert "in 3 of 7 repetitions beside bulk 60 %" in said.sentence
    assert answers.kind(found).answer != "neither"
    found[-1].broken = 7
    found[-1].logs.clear()
    assert [one.label for one in advice.bracket(found)] == ["quiet", "bulk 60 %"]


def test_traffic_against_the_data_that_breaks_it_was_tried() -> None:
    found = suite(lambda _name, load: 1 + load, noise=0.001)
    back = seen("web", 0.6, 1.0, reverse=True)
    back.logs.clear()
    assert "too few usable repetitions" in answers.direction([*found, back]).sentence
    back.broken = 4
    assert answers.direction([*found, back]).answer == "both"


def test_a_queue_that_is_shorter_where_it_is_slower_is_no_cause() -> None:
    found = suite(lambda _name, load: 1 + load, noise=0.001)
    for one in found:
        for round_, log in one.logs.items():
            one.queues[round_], one.losses[round_] = 1.0 - log / 10, 0.0
    assert answers.way(found).answer == "unknown"


def test_nothing_certain_brackets_nothing() -> None:
    found = suite(lambda _name, _load: 1.05, noise=0.5)
    assert advice.bracket(found) == ()
    said = {
        "matters": answers.matters(found),
        "kind": answers.kind(found),
        "scales": scales.scales((), None),
        "direction": answers.direction(found),
        "way": answers.way(found),
    }
    assert "none can be named" in " ".join(advice.advice(said, ()))


def test_an_interval_that_says_nothing_is_not_written() -> None:
    wide = interval(Effect(value=0.3, low=-20.0, high=20.6, rounds=2))
    assert wide == "1.35 times (too few rounds for an interval)"


def test_a_background_that_breaks_the_application_matters() -> None:
    found = suite(lambda _name, _load: 1.0, noise=0.004)
    lost = next(one for one in found if one.treatment.label == "web 60 %")
    lost.logs.clear()
    assert answers.matters(found).answer == "unknown"  # it may be the testbed's fault
    assert not effects.narrow(found)
    lost.broken = 4
    assert answers.matters(found).answer == "yes"
    assert "web 60 %" in answers.matters(found).sentence


def test_traffic_that_gives_way_is_less_than_constant_traffic() -> None:
    found = suite(lambda name, load: 1 + load if name == "steady" else 1.0)
    assert answers.kind(found).answer == answers.YIELDS
    assert "gives way" in answers.kind(found).sentence


def test_what_was_not_recorded_is_not_made_up() -> None:
    found = suite(lambda _name, load: 1 + load)
    assert answers.way(found).answer == "unknown"
    assert "not recorded" in answers.way(found).sentence


def test_the_reverse_path_is_compared_with_the_forward_one() -> None:
    ahead = suite(lambda _name, load: 1 + load, noise=0.004)
    assert answers.direction(ahead).answer == "unknown"
    still = [*ahead, seen("web", 0.6, 1.0, reverse=True, noise=0.004)]
    assert answers.direction(still).answer == "forward"
    nothing = [*suite(lambda _n, _l: 1.0, noise=0.004), still[-1]]
    assert answers.direction(nothing).answer == "neither"
    slow = [*ahead, seen("web", 0.6, 1.5, reverse=True)]
    assert answers.direction(slow).answer == "both"


def test_only_the_reverse_path_matters_where_no_background_with_the_data_does() -> None:
    still = suite(lambda _name, _load: 1.0, noise=0.004)
    back = seen("web", 0.6, 1.5, reverse=True)
    said = answers.direction([*still, back])
    assert said.answer == "reverse"
    assert said.sentence.startswith("Only traffic against the data matters: web 60 % reverse")
    one_matters = suite(lambda name, _load: 1 + 0.5 * (name == "bulk"), noise=0.004)
    assert answers.direction([*one_matters, back]).answer == "both"
    open_ = [*still[:-1], seen("bulk", 0.6, 1.0, noise=0.2)]
    assert answers.direction([*open_, back]).answer == "reverse, perhaps forward"
    gone = suite(lambda _name, _load: 1.0, noise=0.004)
    gone[-1].logs.clear()  # the application gave no result beside it: it may well matter
    assert answers.direction([*gone, back]).answer == "reverse, perhaps forward"


def test_uncertain_effects_with_the_data_do_not_make_it_the_forward_path() -> None:
    open_ = [*suite(lambda _name, _load: 1.0, noise=0.004), seen("bulk", 0.7, 1.0, noise=0.2)]
    said = answers.direction([*open_, seen("web", 0.6, 1.0, reverse=True, noise=0.004)])
    assert said.answer == "unknown"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("forward", None),
        ("both", "reverse path as well"),
        ("reverse", "on the reverse path, where"),
        ("reverse, perhaps forward", "reverse path as well"),
    ],
)
def test_the_advice_names_the_path_that_matters(answer: str, words: str | None) -> None:
    said = {
        name: Said(answer="yes", sentence="")
        for name in ("matters", "kind", "scales", "direction", "way")
    }
    found = " ".join(advice.advice({**said, "direction": Said(answer=answer, sentence="")}, ()))
    assert ("reverse path" in found) is (words is not None)
    assert words is None or words in found


@pytest.mark.parametrize("cause", ["queue", "loss"])
def test_queue_and_loss_are_told_apart_where_they_do_not_come_together(cause: str) -> None:
    found = suite(lambda _name, load: 1 + load)
    chosen = random.Random(5)
    for one in found:
        for round_, log in one.logs.items():
            own, other = log - math.log(0.02), chosen.uniform(0, 0.4)
            one.queues[round_] = (own if cause == "queue" else other) / 10
            one.losses[round_] = (own if cause == "loss" else other) / 10
    assert answers.way(found).answer == cause


def test_the_bracket_is_the_least_that_shows_the_largest_slowdown() -> None:
    found = suite(lambda name, load: 1.5 if name == "bulk" else 1 + load / 10)
    labels = [one.label for one in advice.bracket(found)]
    assert labels[0] == "quiet"
    assert labels[1] in ("bulk 30 %", "bulk 60 %")
    assert len(labels) == 2


def test_of_backgrounds_at_one_load_the_bracket_has_the_surest() -> None:
    found = suite(lambda name, load: 1 + load * (name != "quiet"))
    rough = next(one for one in found if one.treatment.label == "web 60 %")
    rough.logs = {round_: math.log(0.02 * slow) for round_, slow in enumerate((1.5, 2, 1.9, 2))}
    labels = [one.label for one in advice.bracket(found)]
    assert labels in (["quiet", "steady 60 %"], ["quiet", "bulk 60 %"])


def test_what_may_lie_beyond_the_bracket_is_named() -> None:
    found = suite(lambda name, load: 1.5 if name == "web" else 1 + load / 10)
    assert advice.outside(found, advice.bracket(found)) == ()
    wide = next(one for one in found if one.treatment.label == "bulk 60 %")
    wide.logs = {round_: math.log(0.02 * slow) for round_, slow in enumerate((1.1, 9, 1.2, 4))}
    chosen = advice.bracket(found)
    assert "web" in {one.name for one in chosen}
    (named,) = advice.outside(found, chosen)
    assert named.startswith("bulk 60 %, 2.6")
    said = {
        name: Said(answer="unknown", sentence="")
        for name in ("matters", "kind", "scales", "direction", "way")
    }
    words = " ".join(advice.advice(said, chosen, [named]))
    assert "all the others lie between them" in words
    assert "lie beyond them: bulk 60 %" in words
    (jittery,) = advice.outside(found, chosen, "as jittery")
    assert jittery.endswith(" as jittery")


def test_buckets_are_told_the_band_of_their_depth() -> None:
    # Of one background; the bench tries another.
    outcomes = {wanted: wanted == got for wanted, got in islice(tried(), 6)}
    assert len(outcomes) == 6
    assert sum(outcomes.values()) >= 5


def test_bands_without_effect_are_none_and_noisy_ones_unknown() -> None:
    def bands(noise: float) -> list[Seen]:
        made = []
        for number, (band, up) in enumerate(
            ((None, False), (Band(1, 2), False), (Band(1, 2), True))
        ):
            chosen = random.Random(number)
            one = Seen(Treatment(name="x", keys={}, load=0.5, band=band, amplified=up))
            one.logs = {round_: chosen.gauss(0, noise) for round_ in range(5)}
            made.append(one)
        return made

    quiet = scales.bands(bands(0.005))
    assert scales.scales(quiet, "web").answer == "none"
    helped = bands(0.005)
    for one in helped:
        one.logs = {key: log - 0.3 * one.treatment.amplified for key, log in one.logs.items()}
    said = scales.scales(scales.bands(helped), "web")
    assert said.answer == "1 to 2 ms"
    assert "help" in said.sentence
    noisy = scales.bands(bands(0.5))
    assert scales.scales(noisy, "web").answer == "unknown"
    assert scales.scales((), None).answer == "unknown"


def test_a_band_with_less_than_half_of_the_effect_is_said_with_its_own() -> None:
    effects_by_band = {Band(3, 4): 0.10, Band(7, 8): 0.25}
    made = []
    for band, effect in effects_by_band.items():
        for up in (False, True):
            one = Seen(Treatment(name="x", keys={}, load=0.5, band=band, amplified=up))
            chosen = random.Random(f"{band} {up}")
            one.logs = {round_: effect * up + chosen.gauss(0, 0.003) for round_ in range(5)}
            made.append(one)
    said = scales.scales(scales.bands(made), "web")
    assert said.answer == "64 to 128 ms"
    assert ", at 4 to 8 ms 1.10 times (1.0" in said.sentence
