"""The `symveil` command: its commands, and the one way in which all of them fail.

Exit status: 0 done, or the property holds; 1 the property does not hold; 2 bad input or usage,
with exactly one line on standard error; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import click

from symveil import __version__
from symveil.cli.audit import audit_command
from symveil.cli.demo import demo_command
from symveil.cli.explain import explain_command
from symveil.cli.release import release_command
from symveil.cli.reproduce import reproduce_command
from symveil.errors import SymveilError

BAD_INPUT = 2
INTERRUPTED = 130


@click.group(epilog="Example: symveil release abcab --alphabet abc --epsilon 2")
@click.version_option(__version__, prog_name="symveil")
def cli() -> None:
    """Differential privacy for symbolic systems: private words with proved guarantees."""


for command in (demo_command, release_command, explain_command, audit_command, reproduce_command):
    cli.add_command(command)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with its status."""
    try:
        status = cli.main(args=arguments, prog_name="symveil", standalone_mode=False)
    except click.ClickException as error:
        _fail(error.format_message())
    except SymveilError as error:
        _fail(str(error))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader went away (`symveil … | head`): nothing more can be said, and nothing is wrong.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        _fail(f"{error.filename or 'file'}: expected to read or write it, found {error.strerror or error}")
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str) -> NoReturn:
    click.echo(f"symveil: error: {' '.join(message.split())}", err=True)
    sys.exit(BAD_INPUT)


if __name__ == "__main__":
    main()
