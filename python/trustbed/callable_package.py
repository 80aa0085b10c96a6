"""Packages that can be called: ``trustbed.run(…)`` and ``trustbed.campaign(…)``.

Python looks a call up on the class of an object, and a module's class may be set to a subclass of
``ModuleType`` (Python reference, 3.3.2.1); docs/decisions/0025-callable-packages.md has the
reasons.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


class CallablePackage(ModuleType):
    """A package that passes calls on to the function of its name in its module ``api``."""

    def __call__(self, *arguments: object, **options: object) -> object:
        """Calls it; see :func:`trustbed.run.api.run` and :func:`trustbed.campaign.api.campaign`."""
        # By name: `api` is the highest layer of its package, and imports all others.
        api = import_module(f"{self.__name__}.api")
        return getattr(api, self.__name__.rpartition(".")[2])(*arguments, **options)
