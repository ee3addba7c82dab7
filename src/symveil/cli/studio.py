"""`symveil studio`."""

from __future__ import annotations

import os
import sys

import click

from symveil.cli.command import command
from symveil.cli.output import print_json
from symveil.cli.single_options import json_option, ledger_option, number_option
from symveil.errors import InputError


@command("studio", example="symveil studio --port 8321 --no-browser")
@number_option("--port", "P", text="Where it listens on 127.0.0.1: 8321 by default, 0 for a free one.")
@click.option("--no-browser", is_flag=True, help="Do not open a browser; print the address only.")
@ledger_option(required=False)
@json_option
def studio_command(port: int | None, no_browser: bool, ledger: str | None, as_json: bool) -> None:
    """Open the studio: one local page over all of this.

    It listens on 127.0.0.1 only, and nothing leaves the machine. The address that it prints and opens carries a token:
    who does not know it, another account of the machine for example, is refused. A port that another program holds is
    refused as well; --port 0 takes a free one.

    The panel Ledger looks at --ledger and changes nothing. With --json the document tells the address.
    """
    os.environ.pop("NICEGUI_REDIS_URL", None)  # meant for other programs: it would send pages' state to a server
    try:
        import nicegui  # noqa: F401
    except ImportError:
        raise InputError("studio: expected the extra symveil[studio], found none; see docs/install.md") from None
    from symveil.studio.serve import run_studio

    def listening(address: str) -> None:
        if as_json:
            print_json({"address": address})
            sys.stdout.flush()  # it is told now, although the command goes on
        else:
            click.echo(f"symveil studio: {address} (only on this machine; Ctrl-C ends it)", err=True)

    run_studio(port=port, open_browser=not no_browser, ledger=ledger, listening=listening)
