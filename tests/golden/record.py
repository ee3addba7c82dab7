"""Write golden.json anew, or compare with it: in `tests`, `python -m golden.record [--compare] [--all] [PART …]`.

Without `--all` slow settings stay as they are. A commit that changes golden.json says why.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from . import files, large, mechanisms, systems
from .settings import ROOT, Setting

GOLDEN = Path(__file__).with_name("golden.json")
RELATIVE = 1e-9
"""Floats are equal within this share: sums may be taken in another order on another processor."""


def every_setting() -> list[Setting]:
    """All settings; their names differ."""
    settings = [*mechanisms.settings(), *files.settings(), *systems.settings(), *large.settings()]
    names = [setting.name for setting in settings]
    if len(set(names)) < len(names):
        raise ValueError("two settings have one name")
    return settings


def differences(golden: object, now: object, at: str = "") -> Iterator[str]:
    """What differs between two documents, by path."""
    if isinstance(golden, dict) and isinstance(now, dict):
        for key in sorted({*golden, *now}):
            if key not in golden or key not in now:
                yield f"{at}.{key}: only {'now' if key in now else 'in golden.json'}"
            else:
                yield from differences(golden[key], now[key], f"{at}.{key}")
    elif isinstance(golden, list) and isinstance(now, list) and len(golden) == len(now):
        for index, (one, other) in enumerate(zip(golden, now, strict=True)):
            yield from differences(one, other, f"{at}[{index}]")
    elif isinstance(golden, float) and isinstance(now, float):
        if not math.isclose(golden, now, rel_tol=RELATIVE, abs_tol=RELATIVE):
            yield f"{at}: {golden!r} → {now!r}"
    elif golden != now:
        yield f"{at}: {str(golden)[:120]} → {str(now)[:120]}"


def answer(setting: Setting) -> object:
    """The answer as JSON gives it back, with folders of this machine by name."""
    text = json.dumps(setting.document(), ensure_ascii=False).replace(str(ROOT), "ROOT")
    return json.loads(
        re.sub(re.escape(tempfile.gettempdir()) + "/" + tempfile.gettempprefix() + r"\w+", "FOLDER", text)
    )


def main() -> None:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--all", action="store_true", help="slow settings too")
    parser.add_argument("--times", type=Path, help="a JSON file for the processor seconds of each setting")
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    chosen = [s for s in every_setting() if not options.parts or any(part in s.name for part in options.parts)]
    seconds, differing = {}, 0
    for setting in chosen:
        if (setting.slow and not options.all) or not setting.here:
            continue
        start = time.process_time()
        now = answer(setting)
        seconds[setting.name] = round(time.process_time() - start, 3)
        if options.compare:
            lines = list(differences(golden.get(setting.name), now))
            differing += bool(lines)
            sys.stdout.writelines(f"{setting.name}{line}\n" for line in lines)
        else:
            golden[setting.name] = now
    if options.times:
        options.times.write_text(json.dumps(seconds, indent=1, ensure_ascii=False))
    if options.compare:
        sys.stdout.write(
            f"{len(seconds)} settings compared, {differing} differ, {sum(seconds.values()):.0f} s of processor time\n"
        )
        raise SystemExit(differing > 0)
    names = {setting.name for setting in every_setting()}
    kept = {name: golden[name] for name in sorted(golden) if name in names}
    GOLDEN.write_text(json.dumps(kept, indent=0, ensure_ascii=False, sort_keys=True) + "\n")
    sys.stdout.write(f"{len(kept)} settings, {sum(seconds.values()):.0f} s of processor time\n")


if __name__ == "__main__":
    main()
