"""`symveil studio`."""

from __future__ import annotations

import click

from symveil.errors import InputError


@click.command("studio", epilog="Example: symveil studio --port 8321 --no-browser")
@click.option("--port", metavar="P", type=int, help="Where it listens on 127.0.0.1: 8321 or a free one by default.")
@click.option("--no-browser", is_flag=True, help="Do not open a browser; print the address only.")
@click.option("--ledger", metavar="URL", help="A ledger to look at in the panel Ledger (read-only).")
def studio_command(port: int | None, no_browser: bool, ledger: str | None) -> None:
    """Open the studio: one local page to explore mechanisms, models and proofs.

    It listens on 127.0.0.1 only, and nothing leaves the machine.
    """
    try:
        import nicegui  # noqa: F401
    except ImportError:
        raise InputError(
            "studio: expected the extra studio, found none; install it: pip install 'symveil[studio]'"
        ) from None
    from symveil.studio.serve import run_studio

    run_studio(port=port, open_browser=not no_browser, ledger=ledger, say=lambda line: click.echo(line, err=True))
