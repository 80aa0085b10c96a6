"""Compares testbeds: level by level, with statistics that hold.

The package is callable: ``trustbed.compare("metal.run", "guest.run")`` is
:func:`trustbed.compare.api.compare`.
"""

import sys

import trustbed.callable_package as _callable

sys.modules[__name__].__class__ = _callable.CallablePackage
