"""Background traffic learned from captures.

A :class:`Model` is what a capture shows of the users, applications and hosts behind it, without
addresses and payload; :func:`extract` learns one, :func:`vary` changes it, and
:func:`trustbed.traffic.offer.offer` turns it into what the generator draws from.
"""

from trustbed.traffic.extraction import CLASSES, extract
from trustbed.traffic.model import Model, ModelError
from trustbed.traffic.recipe import Variant, vary

__all__ = ["CLASSES", "Model", "ModelError", "Variant", "extract", "vary"]
