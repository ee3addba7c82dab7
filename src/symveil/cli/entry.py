"""Where the `symveil` script begins: so early that Ctrl-C is handled even while the rest is imported."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from symveil.cli.interrupts import keep_interrupts, let_go

        keep_interrupts()
        try:
            from symveil.cli.main import main as run

            run()
        finally:
            let_go()
    except KeyboardInterrupt:
        sys.exit(130)
