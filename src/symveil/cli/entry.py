"""Where the `symveil` script begins: so early that Ctrl-C is handled even while the rest is imported."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from symveil.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
