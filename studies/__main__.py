"""`python -m studies NAME …`: carries a finished study out again and writes its page."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

STUDIES = {
    "background": "studies.background.command",
    "departure_error": "studies.departure_error.command",
    "endurance": "studies.field.endurance",
    "indicators": "studies.indicators.command",
    "papers": "studies.field.papers",
}
"""The studies, by the module whose ``main`` takes the words behind the name."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a study; its exit code, or 2 where there is none of that name."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] not in STUDIES:
        print(f"usage: python -m studies {{{','.join(STUDIES)}}} …", file=sys.stderr)
        return 2
    return int(importlib.import_module(STUDIES[words[0]]).main(words[1:]))


if __name__ == "__main__":
    sys.exit(main())
