"""Scenario, campaign and inventory files.

A scenario file, read into a frozen model, with every error naming file, line and key.
"""

from trustbed.scenario.error import ScenarioError
from trustbed.scenario.factors import ANY, Cell, Factor, baselines
from trustbed.scenario.file import ScenarioFile, load
from trustbed.scenario.model import (
    Background,
    Direction,
    Fault,
    Host,
    Link,
    Pace,
    Scenario,
    Service,
    Trace,
    Watch,
    Workload,
)

__all__ = [
    "ANY",
    "Background",
    "Cell",
    "Direction",
    "Factor",
    "Fault",
    "Host",
    "Link",
    "Pace",
    "Scenario",
    "ScenarioError",
    "ScenarioFile",
    "Service",
    "Trace",
    "Watch",
    "Workload",
    "baselines",
    "load",
]
