"""Take the picture in the README: the report of the example release files, as Chromium shows it.

python scripts/make_report_picture.py    # needs Chromium: apt-get install chromium
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import discreet as dc

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples"
TARGET = ROOT / "docs" / "_static" / "report.png"
#: Of the part that is shown: the answer, its pictures and the table.
WIDTH, HEIGHT = 900, 760


def write_page(target: Path) -> Path:
    """Write the page that the picture is of."""
    return dc.report(EXAMPLES / "smoking.json", target, title="How many of the clinic's patients smoke?")


def main(target: Path = TARGET) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        sys.exit("error: there is no Chromium: apt-get install chromium")
    with TemporaryDirectory() as folder:
        page = write_page(Path(folder) / "report.html")
        quiet = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
        ]
        size = f"--window-size={WIDTH},{HEIGHT}"
        subprocess.run(
            [browser, *quiet, size, f"--screenshot={target}", page.as_uri()],
            check=True,
            capture_output=True,
            timeout=120,
        )


if __name__ == "__main__":
    main()
