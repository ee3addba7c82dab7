"""Where the `symveil` script begins: so early that Ctrl-C is handled even while the rest is imported."""

import contextlib
import sys


def main() -> None:
    """Run the command line."""
    try:
        from symveil.cli.interrupts import keep_interrupts, let_go

        keep_interrupts()
        try:
            from symveil.cli.main import main as run
            from symveil.cli.unplanned import tell_without_values

            tell_without_values()
            run()
        finally:
            let_go()
    except KeyboardInterrupt:
        from symveil.cli.interrupts import interrupted_status

        sys.exit(interrupted_status())
    except SystemExit:
        raise
    except BaseException as error:  # before `run` could: what is imported is missing or damaged
        from symveil.errors import InternalError

        with contextlib.suppress(Exception):
            print(f"symveil: error: {InternalError.of(error)}", file=sys.stderr)
        sys.exit(2)
