"""Generate the synthetic click sessions that symveil ships for its demo.

Nobody's data: a visitor model written down here and a fixed seed. Run from the repository root:

    python examples/make_click_sessions.py src/symveil/io/shipped/click_sessions.csv
"""

import csv
import sys
from pathlib import Path

from symveil.randomness import NotPrivateSeededBits, uniform_below

NEXT_PAGES = {
    "home": ["search", "search", "offers", "product", "account"],
    "search": ["product", "product", "product", "search", "home"],
    "offers": ["product", "product", "home", "search"],
    "product": ["cart", "product", "search", "product", "help"],
    "cart": ["checkout", "checkout", "product", "help"],
    "checkout": ["account", "home", "checkout"],
    "account": ["home", "help", "account"],
    "help": ["home", "product", "account"],
}
SESSIONS = 240
SHORTEST, LONGEST = 4, 12


def main(path: Path) -> None:
    """Write the sessions to `path`."""
    bits = NotPrivateSeededBits(2026)

    def below(bound: int) -> int:
        return int(uniform_below(bound, bits.lanes(1), bits)[0])

    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["session", "pages"])
        for number in range(1, SESSIONS + 1):
            pages = ["home"]
            for _ in range(SHORTEST + below(LONGEST - SHORTEST + 1) - 1):
                choices = NEXT_PAGES[pages[-1]]
                pages.append(choices[below(len(choices))])
            writer.writerow([f"s{number:03d}", " ".join(pages)])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
