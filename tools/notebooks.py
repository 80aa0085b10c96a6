"""The notebooks of examples/notebooks: carried out, made into pages, and without outputs for git.

`python -m tools.notebooks` clears the outputs of all of them: git keeps what a person wrote, the
tests and `make docs` make the rest. A notebook runs in its own directory, as it does in Jupyter.
"""

from __future__ import annotations

import base64
import json
import os
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat
from nbclient import NotebookClient

DIRECTORY = Path(__file__).resolve().parent.parent / "examples" / "notebooks"
NOTEBOOKS = tuple(sorted(DIRECTORY.glob("*.ipynb")))
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def read(path: Path) -> Any:  # noqa: ANN401 - a NotebookNode, of which no types are published
    """A notebook as git keeps it."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def executed(path: Path) -> Any:  # noqa: ANN401 - as above
    """The notebook with the outputs of all its cells.

    Nothing of it stays: what it writes goes into a temporary directory, and so do Jupyter's files.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell failed; its traceback is the message.
    """
    notebook = read(path)
    with tempfile.TemporaryDirectory() as own:
        places = ("TMPDIR", "IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
        with mock.patch.dict(os.environ, dict.fromkeys(places, own)):
            NotebookClient(
                notebook,
                kernel_name="python3",
                resources={"metadata": {"path": str(path.parent)}},
                timeout=120,
            ).execute()
    return notebook


def stripped(path: Path) -> str:
    """The notebook's file without outputs, counters and what an editor leaves in its metadata."""
    notebook = json.loads(path.read_text(encoding="utf-8")) | {"metadata": METADATA}
    for number, cell in enumerate(notebook["cells"]):
        cell |= {"id": f"{number:02}", "metadata": {}}
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def page(notebook: Any, name: str, pictures: Path) -> str:  # noqa: ANN401 - as above
    """A carried out notebook as Markdown; its pictures go into a directory beside the page."""
    parts: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                pictures.mkdir(parents=True, exist_ok=True)
                picture = pictures / f"{name}-{len(parts)}.png"
                picture.write_bytes(base64.b64decode(data["image/png"]))
                parts.append(f"![Output of the cell above]({pictures.name}/{picture.name})")
            elif "text/html" in data:
                parts.append(f'<div class="output">{data["text/html"]}</div>')
            else:
                text = output.get("text") or data["text/plain"]
                parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Clears the outputs of every notebook."""
    for path in NOTEBOOKS:
        path.write_text(stripped(path), encoding="utf-8")


if __name__ == "__main__":
    main()
