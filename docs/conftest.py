"""How the documentation's examples are run."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent

# the scripts that make pictures, screenshots and notebooks have no examples (the hooks of the site in building/ have);
# the examples of tutorials are run as notebooks, cell by cell, and compared with the page (tests/documentation)
collect_ignore = [str(file) for file in (*HERE.glob("*.py"), *HERE.glob("tutorials/*.md"))]
