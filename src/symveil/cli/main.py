"""The `symveil` command: its commands, and the one way in which all of them fail.

Exit status: 0 done, or the property holds; 1 the property does not hold; 2 bad input or usage,
with exactly one line on standard error, and so for a mistake in symveil itself; 130 interrupted (143 by
SIGTERM, 129 by SIGHUP); 141 the reader of the output went away.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import NoReturn

import click

from symveil import __version__
from symveil.cli.compare import compare_command
from symveil.cli.count import count_command
from symveil.cli.demo import demo_command, reproduce_command, studio_command
from symveil.cli.enforce import enforce_command
from symveil.cli.estimate import estimate_command
from symveil.cli.explain import explain_command
from symveil.cli.field_options import advice_for, as_typed, named_as_typed, usage_message
from symveil.cli.learn import learn_command, synthesize_command
from symveil.cli.ledger import ledger_command
from symveil.cli.opacity import opacity_command
from symveil.cli.output import group
from symveil.cli.privatize import privatize_command
from symveil.cli.progress import interrupted_status
from symveil.cli.release import audit_command, release_command
from symveil.cli.symbols import alphabet_command, roads_command, symbols_command
from symveil.cli.verify import check_command, verify_command
from symveil.errors import InternalError, ParameterError, SymveilError, reason

BAD_INPUT = 2
READER_GONE = 141
_COMPLETION = "_SYMVEIL_COMPLETE"  # what the scripts that click writes for shells set

COMMANDS = (
    demo_command,
    privatize_command,
    release_command,
    explain_command,
    audit_command,
    verify_command,
    opacity_command,
    enforce_command,
    learn_command,
    alphabet_command,
    symbols_command,
    roads_command,
    ledger_command,
    check_command,
    estimate_command,
    compare_command,
    count_command,
    synthesize_command,
    reproduce_command,
    studio_command,
)


@group(example="symveil release abcab --alphabet abc --epsilon 2")
@click.version_option(__version__, prog_name="symveil")
def cli() -> None:
    """Differential privacy for symbolic systems: private words with proved guarantees."""


for command in COMMANDS:
    cli.add_command(command)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with its status."""
    typed = sys.argv[1:] if arguments is None else arguments
    if typed[:1] == ["help"]:
        typed = [*typed[1:], "--help"]
    try:
        _prepare_streams()
        if instruction := os.environ.get(_COMPLETION):
            from click.shell_completion import shell_complete

            sys.exit(shell_complete(cli, {}, "symveil", _COMPLETION, instruction))
        status = _run(typed)
        sys.stdout.flush()
    except click.ClickException as error:
        _fail(usage_message(error))
    except ParameterError as error:
        command = _command_of(typed)
        _fail(advice_for(as_typed(named_as_typed(error, command), command), _options_of(typed)))
    except SymveilError as error:
        _fail(advice_for(as_typed(str(error), _command_of(typed)), _options_of(typed)))
    except BrokenPipeError:
        # The reader went away (`symveil … | head`). Not 0: a property may not have been told.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(READER_GONE)
    except OSError as error:
        _fail(f"{error.filename or 'file'}: expected to read or write it, found {reason(error)}")
    except (MemoryError, OverflowError):
        _fail("input: expected something that fits into memory, found more; use a shorter word or a smaller number")
    except (click.Abort, KeyboardInterrupt):
        sys.exit(interrupted_status())
    except SystemExit:
        raise
    except BaseException as error:  # the last resort; a panic of a library in Rust is no Exception
        # an interrupt inside a library's callback comes out as a SystemError
        if isinstance(error, SystemError) and isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            sys.exit(interrupted_status())
        _fail(str(InternalError.of(error)))
    sys.exit(status)


def _run(arguments: list[str]) -> int:
    """Like `cli.main`, which would turn a broken pipe into status 1."""
    try:
        with cli.make_context("symveil", arguments) as context:
            status = cli.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    return status if isinstance(status, int) else 0


def _command_of(arguments: list[str]) -> click.Command:
    """The command that was typed."""
    command: click.Command = cli
    for argument in arguments:
        if not isinstance(command, click.Group) or argument not in command.commands:
            break
        command = command.commands[argument]
    return command


def _options_of(arguments: list[str]) -> set[str]:
    """The options of the command that was typed."""
    command = _command_of(arguments)
    return {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}


def _prepare_streams() -> None:
    """Streams that can take any character, and that exist even if the caller closed them."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _fail(message: str) -> NoReturn:
    with contextlib.suppress(Exception):  # where nothing can be said the status still says it
        from symveil.reports.terminal import visible

        click.echo(f"symveil: error: {visible(' '.join(message.split()))}", err=True)
    sys.exit(BAD_INPUT)
