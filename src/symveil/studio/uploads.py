"""Files dropped on the page: kept in the session's own folder under a random name, and gone with it."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect

from symveil.errors import FileError
from symveil.studio.guard import LARGEST_UPLOAD
from symveil.studio.studio import Studio

_PLAIN_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_FILES = 200


def add_upload_route(app: FastAPI, studio: Studio) -> None:
    """`POST /upload`: the body is the file; the answer is the handle under which the page names it."""

    @app.post("/upload")
    async def upload(request: Request) -> JSONResponse:
        name = _plain(request.headers.get("x-file-name", ""))
        folder = studio.uploads
        folder.mkdir(mode=0o700, exist_ok=True)
        if sum(1 for _ in folder.iterdir()) >= _MOST_FILES:
            return JSONResponse({"error": f"at most {_MOST_FILES} files a session; start the studio again"}, 409)
        handle = secrets.token_urlsafe(16)
        place = folder / handle
        place.mkdir(mode=0o700)
        try:
            with (place / name).open("wb") as file:
                async for piece in request.stream():
                    file.write(piece)
        except ClientDisconnect:  # it went away, or the guard cut it off
            (place / name).unlink()
            return JSONResponse({"error": f"the file is too large: at most {LARGEST_UPLOAD >> 20} MiB"}, 413)
        return JSONResponse({"handle": handle, "name": name})


def uploaded_file(folder: Path, handle: str) -> Path:
    """The file under a handle; a handle that the studio did not give is refused."""
    place = folder / handle
    if not re.fullmatch(r"[A-Za-z0-9_-]{10,40}", handle) or not place.is_dir():
        raise FileError("file", expected="a file dropped in this session", found="none; drop it again")
    return next(iter(place.iterdir()))


def _plain(name: str) -> str:
    """A file name without anything that could lead elsewhere; its ending tells the format.

    >>> _plain("../../my roads.json"), _plain("")
    ('my_roads.json', 'file')
    """
    return _PLAIN_NAME.sub("_", name.replace("\\", "/").rpartition("/")[2]).lstrip("._")[-80:] or "file"
