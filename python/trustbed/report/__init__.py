"""What people and programs read: terminal, JSON, CSV, Parquet, JUnit, and the HTML page.

Nothing here measures or judges: the engine's tables and the findings and diagnoses of
``trustbed.diagnose`` are put into words and files. The formats are modules of their own, loaded
on demand.
"""

from trustbed.report.transfer.overview import Overview

__all__ = ["Overview"]
