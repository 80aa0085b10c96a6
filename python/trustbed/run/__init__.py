"""Runs: carries out a scenario and judges every repetition.

The package is callable: ``trustbed.run("study.toml", out="study.run")`` is
:func:`trustbed.run.api.run`, and ``import trustbed.run.directory`` imports the module as usual.
"""

import sys

import trustbed.callable_package as _callable

sys.modules[__name__].__class__ = _callable.CallablePackage
