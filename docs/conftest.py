"""How the documentation's examples are run."""

from __future__ import annotations

from pathlib import Path

# the scripts that make pictures, screenshots and notebooks have no examples
collect_ignore_glob = ["*.py"]

# the examples of these are run as notebooks, cell by cell, and compared with the page (tests/documentation)
collect_ignore = [str(page) for page in Path(__file__).parent.glob("tutorials/*.md")]
