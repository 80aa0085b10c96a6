"""``python -m trustbed`` is ``trustbed``."""

import sys

from trustbed.cli import main

sys.exit(main())
