"""Take the screenshots of docs/studio.md: `python docs/make_screenshots.py` (needs the extra dev and Chromium)."""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent / "pictures"
SHOTS = {
    "studio_release": ("release?source=network&epsilon=6", "light", ()),
    "studio_opacity": ("opacity?source=example-4", "dark", ("a", "a")),
    "studio_map": ("map?epsilon=6", "light", ()),
    "studio_file": ("file?epsilon=4", "light", ()),
}


def main() -> None:
    """Take all of them."""
    with tempfile.NamedTemporaryFile() as log, sync_playwright() as playwright:
        command = [sys.executable, "-m", "symveil", "studio", "--port", "0", "--no-browser"]
        process = subprocess.Popen(command, stderr=log)  # noqa: S603
        try:
            address = _address(Path(log.name))
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for name, (path, theme, events) in SHOTS.items():
                page = browser.new_page(viewport={"width": 1280, "height": 860}, color_scheme=theme)
                page.goto(address.replace("/?token", f"/{path}&token"))
                page.wait_for_selector(".panel:not([hidden]) .cards:not([data-preliminary])", timeout=600_000)
                for event in events:
                    page.click(f'.panel:not([hidden]) [data-act=observe][data-value="{event}"]:enabled')
                    page.wait_for_timeout(1000)
                page.screenshot(path=FOLDER / f"{name}.png")
                _shrink(FOLDER / f"{name}.png")
            browser.close()
        finally:
            process.terminate()
            process.wait()


def _address(log: Path) -> str:
    while True:
        found = re.search(r"http://127\.0\.0\.1:\d+/\S+(?=\s)", log.read_text())
        if found:
            return found[0]
        time.sleep(0.1)


def _shrink(file: Path) -> None:
    """Few colours are enough for a page, and make a small file."""
    Image.open(file).convert("RGB").quantize(192).save(file, optimize=True)


if __name__ == "__main__":
    main()
