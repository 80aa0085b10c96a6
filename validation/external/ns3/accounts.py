"""What the simulation's own account of a transfer says: a kind holds only where it does.

Pure.
"""

from __future__ import annotations

from validation.external.ns3.nets import Account


def share(account: Account, *names: str) -> float:
    """Share of the transfer's time in these states."""
    ticks = float(sum(account.get(f"{name}_ticks", 0) for name in names))
    return ticks / max(1.0, float(account["ticks"]))


def used(account: Account) -> float:
    """Share of the bottleneck's capacity that the transfer used."""
    return float(account["own_bytes"]) / max(1.0, float(account["capacity_bytes"]))


def others(account: Account) -> float:
    """Share of the bottleneck's capacity that other traffic used."""
    return float(account["other_bytes"]) / max(1.0, float(account["capacity_bytes"]))


def harmless(account: Account) -> bool:
    """Whether no packet was lost, on the way or in a queue."""
    return not account["lost"] and not account["queue_drops"]


def kept_below(account: Account) -> bool:
    """Whether its queue cut a lone transfer again and again, and it used most of its link."""
    cuts = account["recoveries"] + account["timeouts"]
    return (
        account["queue_drops"] >= 4
        and cuts >= 3
        and share(account, "cwnd") > 0.8
        and used(account) > 0.5
    )


def mostly_idle(account: Account) -> bool:
    """Whether pauses with nothing to send cost more than losses and slow start."""
    empty = share(account, "empty")
    rest = 1 - empty - used(account)
    return (
        empty > 0.3 and not account["lost"] and (not account["queue_drops"] or empty > 1.5 * rest)
    )
