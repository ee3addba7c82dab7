"""Files dropped on the page: kept in the session's own folder under a random name, and gone with the page."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from urllib.parse import unquote

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect

from symveil.errors import FileError
from symveil.randomness import new_token
from symveil.studio.guard import LARGEST_UPLOAD
from symveil.studio.studio import Studio

_HANDLE = re.compile(r"[A-Za-z0-9_-]{10,40}")
_NOT_PLAIN = re.compile(r"[^\w. ()-]+")
_LONGEST_NAME = 60  # characters, of up to four bytes each: a file system takes 255
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
        handle = new_token(16)
        own = folder / handle
        own.mkdir(mode=0o700)
        try:
            with (own / name).open("wb") as file:
                async for piece in request.stream():
                    file.write(piece)
        except ClientDisconnect:  # it went away, or the guard cut it off
            shutil.rmtree(own)  # what is not there does not count
            return JSONResponse({"error": f"the file is too large: at most {LARGEST_UPLOAD >> 20} MiB"}, 413)
        except OSError as error:
            shutil.rmtree(own, ignore_errors=True)
            return JSONResponse({"error": f"the file could not be kept: {error.strerror or 'no place'}"}, 507)
        return JSONResponse({"handle": handle, "name": name})


def uploaded_file(folder: Path, handle: str) -> Path:
    """The file under a handle; a handle that the studio did not give is refused."""
    own = folder / handle
    if not _HANDLE.fullmatch(handle) or not own.is_dir():
        raise FileError("file", expected="a file dropped in this session", found="none; drop it again")
    return next(iter(own.iterdir()))


def remove_upload(folder: Path, handle: str) -> None:
    """Remove the file under a handle, if there is one: nobody can name it any more."""
    if _HANDLE.fullmatch(handle):
        shutil.rmtree(folder / handle, ignore_errors=True)


def _plain(name: str) -> str:
    """A file name, percent-encoded as a header has it, without anything that could lead elsewhere.

    >>> _plain("..%2F..%2Fmy%20caf%C3%A9.json"), _plain("a<b>.json"), _plain("")
    ('my café.json', 'a_b_.json', 'file')
    """
    last = unquote(name, errors="replace").replace("\\", "/").rpartition("/")[2]
    return _NOT_PLAIN.sub("_", last)[-_LONGEST_NAME:].strip().lstrip("._ ") or "file"  # its ending tells the format
