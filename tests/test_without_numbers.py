"""numpy and pandas are somebody's choice, no need: all output is written without them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RECORDINGS = Path(__file__).resolve().parent.parent / "recordings"

PROGRAM = """
import io, sys
from pathlib import Path


class Without:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numpy", "pandas"):
            raise ModuleNotFoundError(f"no module named {name}", name=name)


sys.meta_path.insert(0, Without())
import trustbed

capture = trustbed.analyze(sys.argv[1])
capture.write_json(io.StringIO())
capture.write(Path(sys.argv[2]) / "tables", csv=True)
capture.report(Path(sys.argv[2]) / "page.html")
print(capture.transfer(capture.overview.transfers[0]["transfer"]).explain())
"""


def test_everything_is_written_without_numpy_and_pandas(tmp_path: Path) -> None:
    recording = sorted(RECORDINGS.glob("*guest-free*sender*"))[0]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(recording), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").stat().st_size > 10_000
    assert "verdict" in done.stdout.lower()


def test_the_program_does_not_load_them() -> None:
    recording = sorted(RECORDINGS.glob("*guest-free*sender*"))[0]
    command = [sys.executable, "-X", "importtime", "-m", "trustbed", "analyze", str(recording)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    loaded = {
        line.rsplit("|", 1)[-1].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    }
    assert "pyarrow" in loaded
    assert not {name for name in loaded if name.startswith(("numpy.", "pandas."))}
