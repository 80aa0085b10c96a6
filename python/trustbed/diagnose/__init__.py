"""Why a transfer ran at its speed, how sure that is, and whether its number may be used.

Takes rows of the transfers table and facts about the capture, both as plain dictionaries; gives
diagnoses and findings. Measures nothing and reads no file. Only the standard library is used, so
importing it is cheap.

    >>> from trustbed.diagnose import Evidence, diagnose
    >>> starved = Evidence(
    ...     throughput_bytes_per_second=1.638e6, window_bytes=81120, payload_bytes=1448,
    ...     packet_bytes=1500, rtt_base_seconds=0.02004, rtt_seconds=0.0206, loss=0.0,
    ...     long_pause_fraction=0.0, idle_open_window_fraction=0.798,
    ... )
    >>> diagnosis = diagnose(starved)
    >>> diagnosis.cause, diagnosis.verdict, diagnosis.headline
    ('host_scheduling', 'discard', 'the sending host stalled — do not use')
    >>> diagnosis.reasons[0]
    '13.1 Mbit/s where window and delay allow 30.4 Mbit/s (43 %)'

Where to look: :mod:`~trustbed.diagnose.rules` is the decision procedure from top to bottom,
:mod:`~trustbed.diagnose.thresholds` every number in it, :mod:`~trustbed.diagnose.confidence` how
sure it is, :mod:`~trustbed.diagnose.limits` what the capture's quality leaves of it,
:mod:`~trustbed.diagnose.catalogue` every finding there can be.
"""

from trustbed.diagnose.ambiguity import Alternative
from trustbed.diagnose.catalogue import CATALOGUE
from trustbed.diagnose.causes import CAUSES, VERDICTS, Cause, CauseEntry, Verdict
from trustbed.diagnose.diagnosis import FLAGS, TOO_SHORT, Diagnosis, Outcome, diagnose
from trustbed.diagnose.evidence import Evidence, Workload
from trustbed.diagnose.explain import explain, explain_row
from trustbed.diagnose.facts import CaptureFacts
from trustbed.diagnose.findings import capture_findings
from trustbed.diagnose.judge import Judgement, judge, tally, verdict_columns
from trustbed.diagnose.kernel import KernelTimes, with_kernel_times
from trustbed.diagnose.numbers import Numbers
from trustbed.diagnose.quality import CaptureQuality, Quality
from trustbed.diagnose.thresholds import THRESHOLDS, Thresholds
from trustbed.diagnose.time_budget import Shares
from trustbed.diagnose.transfer_findings import host_findings, transfer_findings
from trustbed.findings import Entry, Finding

__all__ = [
    "CATALOGUE",
    "CAUSES",
    "FLAGS",
    "THRESHOLDS",
    "TOO_SHORT",
    "VERDICTS",
    "Alternative",
    "CaptureFacts",
    "CaptureQuality",
    "Cause",
    "CauseEntry",
    "Diagnosis",
    "Entry",
    "Evidence",
    "Finding",
    "Judgement",
    "KernelTimes",
    "Numbers",
    "Outcome",
    "Quality",
    "Shares",
    "Thresholds",
    "Verdict",
    "Workload",
    "capture_findings",
    "diagnose",
    "explain",
    "explain_row",
    "host_findings",
    "judge",
    "tally",
    "transfer_findings",
    "verdict_columns",
    "with_kernel_times",
]
