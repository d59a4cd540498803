"""Run the notebooks in examples/ from top to bottom and keep what they print and draw: `make examples`.

A notebook that raises ends the run with its name and the error. With --check nothing is written; names of notebooks,
or beginnings of them, run those alone.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = Path(__file__).parent.parent / "examples"
# seconds that a cell may take
_LONGEST = 900


def run(path: Path, *, write: bool) -> str | None:
    """Run one notebook in its own kernel; return the error that it raised, or None."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=_LONGEST, kernel_name="python3", resources={"metadata": {"path": "."}}
    )
    try:
        client.execute()
    except CellExecutionError as error:
        return str(error)
    for cell in (one for one in notebook.cells if one.cell_type == "code"):
        # times at which cells ran say nothing, and change with every run
        cell.metadata.pop("execution", None)
        # nor do warnings of other packages about the environment, which name its folders
        cell["outputs"] = [one for one in cell.get("outputs", []) if one.get("name") != "stderr"]
    notebook.metadata["language_info"] = {"name": "python"}
    if write:
        nbformat.write(notebook, path)
    return None


def main() -> int:
    """Run them all, or those that were named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--check", action="store_true", help="write nothing")
    asked = parser.parse_args()
    found = sorted(FOLDER.glob("*.ipynb"))
    paths = [path for path in found if not asked.names or path.name.startswith(tuple(asked.names))]
    failed = 0
    for path in paths:
        start = time.perf_counter()
        error = run(path, write=not asked.check)
        print(f"{'FAILED' if error else 'ran':7s}{path.name} {time.perf_counter() - start:.0f} s", flush=True)
        if error:
            print(error, file=sys.stderr)
            failed += 1
    return int(failed > 0 or not paths)


if __name__ == "__main__":
    sys.exit(main())
