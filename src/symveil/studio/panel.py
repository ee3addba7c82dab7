"""A panel: a form, a place for its answer, and the way from a change of the one to the other.

While an answer is computed further changes wait, and only the newest of them is computed next: a
slider that is dragged never queues up work.

Files dropped on the page: kept in the session's own folder under a random name, and gone with the page.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from nicegui import background_tasks, ui
from nicegui.client import Client
from starlette.requests import ClientDisconnect

from symveil.errors import AlphabetError, FileError, ModelError, ParameterError, SymveilError, WordError
from symveil.randomness import new_token
from symveil.studio.answer import Answer
from symveil.studio.forms import Form, Scale
from symveil.studio.guard import LARGEST_UPLOAD
from symveil.studio.limits import LIMITS
from symveil.studio.worker import FIRST_PHASE, BrokenError, StoppedError, Studio, Task, TaskHandle, Worker

_HANDLE = re.compile(r"[A-Za-z0-9_-]{10,40}")
_NOT_PLAIN = re.compile(r"[^\w. ()-]+")
_LONGEST_NAME = 60  # characters, of up to four bytes each: a file system takes 255


def add_upload_route(app: FastAPI, studio: Studio) -> None:
    """`POST /upload`: the body is the file; the answer is the handle under which the page names it."""

    @app.post("/upload")
    async def upload(request: Request) -> JSONResponse:
        name = _plain(request.headers.get("x-file-name", ""))
        folder = studio.uploads
        folder.mkdir(mode=0o700, exist_ok=True)
        if sum(1 for _ in folder.iterdir()) >= LIMITS.now.session_files:
            return JSONResponse(
                {"error": f"at most {LIMITS.now.session_files} files a session; start the studio again"}, 409
            )
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
    """Remove the file under a handle, if there is one: no form can name it any more."""
    if _HANDLE.fullmatch(handle):
        shutil.rmtree(folder / handle, ignore_errors=True)


def _plain(name: str) -> str:
    """A file name, percent-encoded as a header has it, without anything that could lead elsewhere.

    >>> _plain("..%2F..%2Fmy%20caf%C3%A9.json"), _plain("a<b>.json"), _plain("")
    ('my café.json', 'a_b_.json', 'file')
    """
    last = unquote(name, errors="replace").replace("\\", "/").rpartition("/")[2]
    return _NOT_PLAIN.sub("_", last)[-_LONGEST_NAME:].strip().lstrip("._ ") or "file"  # its ending tells the format


Values = dict[str, str]

_BEFORE_PROGRESS_SHOWS = 0.35  # seconds: a quick answer needs no bar


class Panel(ABC):
    """One panel of one page."""

    name: ClassVar[str]
    task: ClassVar[Task]
    """What computes the answer in a worker: a function of (values, progress)."""
    quick: ClassVar[bool] = False
    """Whether it answers while a slider moves; other panels take seconds to minutes."""
    title: ClassVar[str]
    lead: ClassVar[str]
    defaults: ClassVar[Mapping[str, str]]
    public: ClassVar[frozenset[str]]
    """The fields that a link may carry."""
    files: ClassVar[frozenset[str]] = frozenset()
    """The fields that name a dropped file."""
    scales: ClassVar[Mapping[str, Scale]] = {}
    """What its sliders may say."""
    field_of: ClassVar[Mapping[str, str]] = {}
    """In which field the error about a parameter is shown."""

    def __init__(self, studio: Studio, client: Client, linked: Mapping[str, str]) -> None:
        self.studio, self.client = studio, client
        self.values: Values = {
            **self.defaults,
            **{name: value for name, value in linked.items() if name in self.public and len(value) <= 40},
        }
        self.answer: Answer | None = None
        self.stale = False
        self.opened = False
        self._dropped: set[str] = set()
        self._handle: TaskHandle | None = None
        self._running = False
        self._pending = False

    # --- what a subclass says ------------------------------------------------------------------

    @abstractmethod
    def fields(self, form: Form) -> Iterator[str]:
        """The controls, as HTML."""

    @property
    def worker(self) -> Worker:
        """The process that computes the answer."""
        return self.studio.quick if self.quick else self.studio.patient

    def act(self, action: str, value: str) -> None:  # noqa: B027 - most panels have nothing but their form
        """Something other than a change of the form was asked for."""

    def answered(self) -> None:  # noqa: B027
        """An answer is there."""

    # --- building ------------------------------------------------------------------------------

    def build(self) -> None:
        """The panel's elements, on the page that is being built."""
        with ui.element("div").classes("columns"):
            ui.html(
                f'<form class="controls" aria-label="{html.escape(self.title)}" onsubmit="return false">'
                f"{''.join(self.fields(Form(self.name, self.values)))}</form>",
                sanitize=False,
            ).classes("side")
            with ui.element("div").classes("results").props('tabindex="-1"'):
                self._status = ui.html("", sanitize=False).classes("status").props('role="status" aria-live="polite"')
                self._results = ui.html("", sanitize=False).classes("answer")
                # what takes longer than the answer and follows it; not told on its own, since it comes in pieces
                self._supplement = ui.html("", sanitize=False).classes("supplement")

    def open(self) -> None:
        """Shown for the first time: compute what the defaults ask for."""
        if not self.opened:
            self.opened = True
            self.ask()

    # --- asking --------------------------------------------------------------------------------

    def change(self, values: Mapping[str, str]) -> None:
        """The form has changed."""
        self.values.update({name: str(values[name]) for name in self.defaults if name in values})
        self._dropped.update(self.values[name] for name in self.files if self.values[name])
        self.ask()

    def ask(self) -> None:
        """Compute the answer to the form as it is now."""
        self._pending = True
        if not self._running:
            background_tasks.create(self._answer_all(), name=f"studio {self.name}")

    async def _answer_all(self) -> None:
        self._running = True
        try:
            while self._pending:
                self._pending = False
                await self._answer_one()
        finally:
            self._running = False

    async def _answer_one(self) -> None:
        handle = self._handle = TaskHandle(self._progress)
        shown = asyncio.get_running_loop().call_later(_BEFORE_PROGRESS_SHOWS, self._progress, 0, None)
        try:
            answer = await self._computed(handle)
        except StoppedError:
            self._out_of_date()
            self._say("Stopped. Change something to start again.", kind="note")
            return
        except SymveilError as error:
            self._refused(error)
            return
        except BrokenError as error:
            self._out_of_date()
            self._say(f"This did not work: {error}.", kind="failed")
            return
        finally:
            shown.cancel()
            self._handle = None
        if answer is None:
            return
        self.answer, self.stale = answer, False
        self._say("")
        self._call("fine", self.name)
        self._call("stale", self.name, "no")
        self._results.set_content(answer.html())
        self.answered()

    async def _computed(self, handle: TaskHandle) -> Answer | None:
        """The answer to the form as it is now, or None where that has changed meanwhile."""
        answer: Answer = await self.worker.run(self.task, self._question(), handle=handle)
        return answer

    def _question(self) -> Values:
        """The form's values, with dropped files as paths."""
        question = dict(self.values)
        for name, scale in self.scales.items():
            scale.require(name, question[name])
        for name in self.files:
            if question.get(name):
                question[name] = str(self._file(question[name]))
        return question

    def _file(self, handle: str) -> Path:
        return uploaded_file(self.studio.uploads, handle)

    def cancel(self) -> None:
        """Stop what is being computed."""
        self._pending = False
        if self._handle is not None:
            self._handle.cancel()

    def leave(self) -> None:
        """The page is gone: nothing is computed for it, and the files that were dropped on it go too."""
        self.cancel()
        for handle in self._dropped:
            remove_upload(self.studio.uploads, handle)

    # --- telling -------------------------------------------------------------------------------

    def _progress(self, done: int, total: int | None, what: str = FIRST_PHASE) -> None:
        self._status.set_content(working(what, done, total, self.name))

    def _say(self, text: str, *, kind: str = "note") -> None:
        self._status.set_content(f'<p class="{kind}">{html.escape(text)}</p>' if text else "")

    def _refused(self, error: SymveilError) -> None:
        """Show an error where it happened: in its field, or above the results."""
        self._out_of_date()
        field, text = self._field_for(error), self._plain(error)
        if field is None:
            self._say(text, kind="failed")
            return
        self._call("wrong", self.name, field, _without_name(error, text))
        self._say("Nothing was computed: see the marked field.", kind="failed")

    def _out_of_date(self) -> None:
        """What is shown answers an earlier form: it is dimmed, and what was marked then is no longer."""
        self.stale = True
        self._call("fine", self.name)
        self._call("stale", self.name, "yes")

    def _field_for(self, error: SymveilError) -> str | None:
        if isinstance(error, FileError):  # the path of a dropped file has its handle in it
            own = (name for name in sorted(self.files) if self.values[name] and self.values[name] in error.path)
            return next(own, "model" if self.files == {"model"} else None)
        named = {WordError: "word", AlphabetError: "alphabet", ModelError: "model"}
        name = error.name if isinstance(error, ParameterError) else named.get(type(error), "")
        field = self.field_of.get(name, name)
        return field if field in self.defaults else None

    def _plain(self, error: SymveilError) -> str:
        """The message without the folder that a dropped file happens to lie in."""
        folder = re.escape(str(self.studio.uploads))
        return re.sub(rf"{folder}[/\\\\][^/\\\\]+[/\\\\]", "", str(error))

    def _call(self, function: str, *arguments: str) -> None:
        """Call a function of `studio.js`."""
        self.client.run_javascript(f"studio.{function}({', '.join(map(json.dumps, arguments))})")


def working(text: str, done: int, of: int | None, panel: str) -> str:
    """What is being done, how much of it is done, and the button that stops it, as HTML."""
    known = f' value="{done}" max="{of}"' if of else ""
    shown = html.escape(text[:1].upper() + text[1:])
    return (
        f'<div class="working"><span>{shown} …</span><progress{known} aria-label="progress"></progress>'
        f'<button type="button" data-act="cancel" data-panel="{panel}">Cancel</button></div>'
    )


def _without_name(error: SymveilError, text: str) -> str:
    """A message for its own field, which has a label: without the name that the API has for it.

    >>> error = ParameterError("epsilon", expected="a number from 0.1 to 10", found="50")
    >>> _without_name(error, str(error))
    'Expected a number from 0.1 to 10, found 50'
    """
    name = error.name if isinstance(error, ParameterError) else "word" if isinstance(error, WordError) else ""
    if not name or not text.startswith(f"{name}: "):
        return text
    text = text.removeprefix(f"{name}: ")
    return text[:1].upper() + text[1:]
