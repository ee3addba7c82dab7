"""Writes `pinned.json` from the code as it is: `python tests/contracts/pin_anew.py`. Read the difference afterwards."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from cli.running import symveil
from contracts.public_surface import JSON_COMMANDS, PINNED_FILE, found_options, found_signatures, keys, prepare


def main() -> None:
    """Look at everything, then write it."""
    document: dict[str, object] = {"signatures": found_signatures(), "options": found_options()}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        prepare(Path())
        document["keys"] = {
            name: sorted(keys(symveil(*arguments, "--json").document)) for name, arguments in JSON_COMMANDS.items()
        }
        os.chdir(PINNED_FILE.parent)
    PINNED_FILE.write_text(json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
