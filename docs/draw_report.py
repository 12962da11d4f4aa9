"""Draw the top of the demo's report as a page shows it: ``python docs/draw_report.py``; needs Chromium.

Run it when the look, the words or the numbers of the report change. The report is the one that ``make demo`` writes.
Takes about half a minute.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

PICTURE = Path(__file__).parent / "images" / "report.png"
SOURCE = Path(__file__).parents[1] / "src"
SIZE = (1280, 1250)
# The page has few colours: with a palette the file is a third of its size.
COLOURS = 128
SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        report, screenshot = demo_report(Path(folder)), Path(folder) / "report.png"
        photograph(report, screenshot)
        with Image.open(screenshot) as image:
            few = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(PICTURE, optimize=True, pnginfo=description(report))
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


def demo_report(folder: Path) -> Path:
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", "aucross", "demo"], cwd=folder, env=environment, check=True)
    return folder / "demo-output" / "report.html"


def description(report: Path) -> PngInfo:
    """The sentence that the picture shows, by which a test sees that the picture is that of today's report."""
    sentence = re.search(r'<p class="sentence">(.*?)</p>', report.read_text(encoding="utf-8"))
    assert sentence is not None
    text = PngInfo()
    text.add_itxt("Description", html.unescape(sentence[1]))
    return text


def photograph(page: Path, screenshot: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("docs/draw_report.py needs Chromium on the path; install the package chromium")
    own = (f"--user-data-dir={screenshot.parent / 'browser'}", f"--screenshot={screenshot}")
    size = "--window-size={},{}".format(*SIZE)
    subprocess.run([browser, *SWITCHES, *own, size, page.as_uri()], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
