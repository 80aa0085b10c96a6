"""What every judgement of trustbed needs: findings, their catalogue, thresholds, numbers in words.

Knows neither captures nor hosts: `diagnose` judges transfers, `host_check` judges hosts, and both
build on this. Reads no file and measures nothing.
"""

from trustbed.findings.catalogue import Catalogue, Entry, Finding, ScopeKind, Severity
from trustbed.findings.thresholds import filled, value

__all__ = ["Catalogue", "Entry", "Finding", "ScopeKind", "Severity", "filled", "value"]
