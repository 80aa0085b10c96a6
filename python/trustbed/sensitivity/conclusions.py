"""What a study concludes from its observations: the record that its page, text and JSON show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trustbed.scenario.file import keys_of
from trustbed.sensitivity import cascade
from trustbed.sensitivity.design import MOST_ROUNDS, Planned
from trustbed.sensitivity.judge import advice, answers, effects, scales
from trustbed.sensitivity.judge.effects import Seen
from trustbed.sensitivity.model import Said, Sensitivity
from trustbed.sensitivity.observing import Value
from trustbed.sensitivity.plan import QUIET, pasted, seed_of
from trustbed.sensitivity.words import span
from trustbed.workload.distribution import quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What a study that was carried out has to conclude from.

    Attributes:
        suite: What was seen beside each background.
        base: The background whose time scales were changed; ``None`` without surrogates.
        surrogates: What was seen beside its surrogates.
        value: The application's number, of any repetition.
        troubles: What went wrong on the way, in sentences.
        seconds: What it took, earlier calls included.
        budget_seconds: What it might take.
    """

    suite: Sequence[Seen]
    base: str | None
    surrogates: Sequence[Seen]
    value: Value
    troubles: Sequence[str]
    seconds: float
    budget_seconds: float


def concluded(plan: Planned, carried: Carried) -> Sensitivity:
    """All answers, with what they rest on and what limits them."""
    where, found, value = plan.where, carried.suite, carried.value
    measured = next((one for one in found if one.treatment.name == QUIET), found[0])
    bands = scales.bands(carried.surrogates)
    said = {
        "matters": answers.matters(found, value.word),
        "kind": answers.kind(found, value.word),
        "scales": scales.scales(bands, carried.base, value.word),
        "direction": answers.direction(found, value.word),
        "way": answers.way(found),
    }
    _agree(said, scales.shown(bands, carried.base, value.word))
    chosen = () if said["matters"].answer == "no" else advice.bracket(found)
    unseen = [one for one in plan.bands if one.first not in {band.first for band in bands}]
    rounds = max((len(one.logs) for one in found), default=0)
    return Sensitivity(
        name=plan.study.first.name,
        workload=where.workload.name,
        measure=value.measure,
        unit=value.unit,
        word=value.word,
        link=where.link,
        capacity_bits_per_second=where.capacity,
        quiet=quantile(measured.medians, 0.5),
        matters=said["matters"],
        kind=said["kind"],
        scales=said["scales"],
        direction=said["direction"],
        way=said["way"],
        treatments=effects.treatments(found),
        octaves=scales.octaves(found, seed=seed_of(plan.study, "octaves")),
        bands=bands,
        base=carried.base,
        bracket=tuple(one.label for one in chosen),
        paste=pasted(chosen, where, keys_of(plan.study)) if len(chosen) > 1 else "",
        advice=advice.advice(said, chosen, advice.outside(found, chosen, value.word)),
        caveats=tuple(_caveats(plan, carried, rounds, unseen)),
        rounds=rounds,
        surrogate_rounds=max((len(one.logs) for one in carried.surrogates), default=0),
        seconds=carried.seconds,
        budget_seconds=carried.budget_seconds,
    )


def _agree(said: dict[str, Said], amplified: Said | None) -> None:
    """What one answer knows and another leaves open; ``amplified``: what surrogates showed."""
    kind = said["kind"]
    if said["matters"].answer == "unknown":
        if amplified is not None:
            said["matters"] = amplified
        elif kind.answer.startswith(("both", "burstiness")):
            said["matters"] = Said(answer="yes", sentence=f"Background matters. {kind.sentence}")
    elif said["matters"].answer == "no":
        said["way"] = Said(answer="neither", sentence="There is no difference to explain.")
        if amplified is not None:
            more = amplified.sentence.removeprefix("Background matters: ")
            plain = said["matters"].sentence
            said["matters"] = Said(
                answer="no", sentence=f"{plain} Burstier ones would matter: {more}"
            )
    if said["direction"].answer.startswith("reverse"):
        for name in ("kind", "scales"):
            one = said[name]
            said[name] = Said(
                answer=one.answer, sentence=f"Of traffic with the data: {one.sentence}"
            )


def _caveats(
    plan: Planned, carried: Carried, rounds: int, unseen: Sequence[cascade.Band]
) -> list[str]:
    found = carried.suite
    said = [*plan.left_out, *carried.troubles]
    thin = [one.treatment.label for one in found if len(one.logs) < effects.LEAST_ROUNDS]
    if thin:
        said.append(f"fewer usable repetitions than {effects.LEAST_ROUNDS}: {', '.join(thin)}")
    off = []
    for one in found:
        treatment, rate = one.treatment, effects.sent(one)
        capacity = plan.where.capacity
        if treatment.reverse:
            capacity = plan.where.reverse_capacity
        if rate and not 0.7 <= rate / (treatment.load * capacity) <= 1.3:
            off.append(f"{treatment.label} ({rate / 1e6:.3g} Mbit/s)")
    if off:
        said.append(
            "these sent more than 30 % less or more than asked for, because their users wait "
            f"for answers, or large transfers fell into the time: {', '.join(off)}"
        )
    if not plan.where.is_known:
        first = plan.study.first
        beside = "the scenario's own background" if first.backgrounds else "other workloads"
        said.append(
            f"its data are taken to flow from {plan.where.sender}: who sends them was not measured "
            f"beside {beside}"
            if first.backgrounds or len(first.workloads) > 1
            else f"its data are taken to flow from {plan.where.sender}: nothing of them was seen"
        )
    if unseen and carried.base is not None:
        scales = ", ".join(span(*one.seconds()) for one in unseen)
        said.append(f"no two usable repetitions of the surrogates at {scales}")
    said += [
        f"beside {one.treatment.label} the application gave no result in {one.broken} of "
        f"{one.broken + len(one.logs)} repetitions; these are in no interval"
        for one in found
        if one.broken
    ]
    failed = sum(one.failed for one in found)
    if failed:
        said.append(f"{failed:,} requests failed; they are not in the response times")
    if not effects.narrow(found) and rounds < MOST_ROUNDS and not carried.troubles:
        said.append("the budget ended before all intervals of the suite were narrow (10 %)")
    if plan.bands:
        said.append("surrogates are played back: unlike users behind real TCP they do not give way")
    return said
