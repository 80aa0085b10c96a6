"""What would run guests on this machine, checked before the first of them starts."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from trustbed.scenario.guests import Guest
from trustbed.testbed.qemu import accelerator, kernel, root


def survey(guests: Collection[Guest]) -> Mapping[str, object]:
    """QEMU, the kernel and the accelerator that guests like these get.

    What is missing is an error before anything is measured.

    Raises:
        TestbedError: Something is missing: QEMU, a model of network card, a kernel, KVM where it
            is requested, an image, or memory for it.
    """
    for guest in guests:
        accelerator.check_program(guest.nic)
        root.check(guest)
    core = kernel.ready()
    choices = {
        guest.accelerator: accelerator.choose(guest.accelerator)
        for guest in sorted(guests, key=str)
    }
    return {
        "qemu": accelerator.version(),
        "kernel": core.release,
        "accelerators": {
            requested: {"name": choice.name, "reason": choice.reason}
            for requested, choice in sorted(choices.items())
        },
    }
