"""Opening the studio in a browser without telling the token to everybody on the machine.

The command line of a browser is shown by `ps` to every account. So the browser is handed the name of a file that only
this account can read, and the file leads to the address.
"""

from __future__ import annotations

import html
import os
import threading
import webbrowser
from pathlib import Path

_NAME = "open.html"


def open_in_browser(address: str, folder: Path) -> None:
    """Open an address that nobody else may learn; the file that leads there stays in the folder.

    Parameters
    ----------
    address
        What to open, with its token.
    folder
        A folder of this account's own, which is removed at the end.
    """
    leads_there = write_leading_file(address, folder).as_uri()
    # some browsers do not come back before they are closed; a thread that still waits must not keep the studio alive
    threading.Thread(target=webbrowser.open, args=(leads_there,), daemon=True).start()


def write_leading_file(address: str, folder: Path) -> Path:
    """A file that leads to an address, for this account's eyes only."""
    file = folder / _NAME
    target = html.escape(address, quote=True)
    content = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>symveil studio</title>'
        '<meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0;url={target}"><p><a href="{target}">Open the studio</a></p></html>\n'
    )
    number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(number, "w", encoding="utf-8") as written:
        written.write(content)
    return file
