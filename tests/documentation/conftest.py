"""The programs that write pages and pictures lie beside them, in docs/, and are not installed."""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"

for folder in (DOCS, DOCS / "building"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
