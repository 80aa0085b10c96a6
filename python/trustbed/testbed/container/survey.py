"""What would run containers on this machine, checked before the first of them starts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from trustbed.errors import TestbedError
from trustbed.scenario.containers import Container
from trustbed.testbed.container import engine
from trustbed.testbed.netns import rootless


def survey(containers: Collection[Container]) -> Mapping[str, object]:
    """The engines that containers like these get, and the ids of their images.

    Raises:
        TestbedError: We are not root, no engine answers, an image or a volume is not here.
    """
    if rootless.is_rootless():
        raise TestbedError(
            "only root may equip the network of a container", "run as root, or without containers"
        )
    outside = {Path(one.partition(":")[0]) for each in containers for one in each.volumes}
    for missing in sorted(path for path in outside if not path.exists()):
        raise TestbedError(
            f"no such file or directory, {missing}, for a volume of a container",
            "the engine would make an empty one: make it, or correct volumes",
        )
    engines = {one: engine.choose(one) for one in sorted({each.engine for each in containers})}
    images = {
        each.image: engine.image(engines[each.engine], each.image)
        for each in sorted(containers, key=str)
    }
    return {"engines": {one.name: one.version for one in engines.values()}, "images": images}
