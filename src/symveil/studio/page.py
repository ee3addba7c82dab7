"""The page: header, navigation, the panels of which one is shown, and what the browser tells about them.

Every panel has an address of its own. All of them are on every page, so that what was typed stays
when another panel is looked at; a panel computes nothing before it is opened. Addresses are relative:
everything lies in the room that `access` names.
"""

from __future__ import annotations

import asyncio
import html
from collections.abc import Mapping
from typing import Any

from fastapi import Request
from fastapi.responses import RedirectResponse
from nicegui import app, background_tasks, ui
from nicegui.events import GenericEventArguments

from symveil import __version__
from symveil.studio.panel import Panel
from symveil.studio.panels.files import AnswersPanel, FilePanel, LedgerPanel
from symveil.studio.panels.systems import OpacityPanel, ProofsPanel
from symveil.studio.panels.words import ComparePanel, MapPanel, ReleasePanel
from symveil.studio.tasks.release import warm_up
from symveil.studio.worker import Studio

PANELS: tuple[type[Panel], ...] = (
    ReleasePanel,
    ComparePanel,
    MapPanel,
    FilePanel,
    AnswersPanel,
    OpacityPanel,
    ProofsPanel,
    LedgerPanel,
)

_DOWNLOADS = {"json": "application/json", "csv": "text/csv", "html": "text/html"}


def build_pages(studio: Studio) -> None:
    """Register every address."""
    app.on_startup(lambda: _prepare(studio))
    for kind in PANELS:
        _register(studio, kind.name)

    @ui.page("/")
    def first() -> RedirectResponse:
        return RedirectResponse(PANELS[0].name)


def _prepare(studio: Studio) -> None:
    """Let the workers load what they need while the page is looked at for the first time."""
    studio.start()
    background_tasks.create(asyncio.wait_for(studio.quick.run(warm_up, {}), None), name="warm up")
    first = {**ReleasePanel.defaults, "source": "network", "epsilon": "5"}
    background_tasks.create(asyncio.wait_for(studio.patient.run(warm_up, first), None), name="warm up, thoroughly")


def _register(studio: Studio, name: str) -> None:
    @ui.page(f"/{name}", title=f"{name.capitalize()} · symveil studio")
    def page(request: Request) -> None:
        Page(studio, name, dict(request.query_params))


class Page:
    """One page in one browser tab."""

    def __init__(self, studio: Studio, shown: str, linked: Mapping[str, str]) -> None:
        self.client = ui.context.client
        # a link is about the panel it opens
        self.panels = {kind.name: kind(studio, self.client, linked if kind.name == shown else {}) for kind in PANELS}
        ui.add_head_html(
            f'<link rel="stylesheet" href="assets/studio.css?{__version__}">'
            f'<script src="assets/theme.js?{__version__}"></script>'
            f'<script defer src="assets/studio.js?{__version__}"></script>'
            '<meta name="description" content="symveil studio: a local page">'
            '<meta name="google" content="notranslate">'  # a service that translates would be sent the page
        )
        ui.html(_header(shown), sanitize=False).classes("top")
        # NiceGUI's own layout is the page's main landmark already
        with ui.element("div").props('id="main" tabindex="-1"').classes("page"):
            for name, panel in self.panels.items():
                self._build(panel, hidden=name != shown)
        ui.on("studio_form", self._changed)
        ui.on("studio_act", self._act)
        ui.on("studio_open", self._open)
        # not before the page's own socket is there: fetching a page computes nothing
        self.client.on_connect(self.panels[shown].open)
        self.client.on_disconnect(self._left)

    def _build(self, panel: Panel, *, hidden: bool) -> None:
        section = ui.element("section").classes("panel").props(f'id="panel-{panel.name}" aria-label="{panel.title}"')
        if hidden:
            section.props("hidden")
        with section:
            ui.html(_heading(panel), sanitize=False)
            panel.build()

    def _panel(self, event: GenericEventArguments) -> tuple[Panel | None, Mapping[str, Any]]:
        message = event.args if isinstance(event.args, Mapping) else {}
        return self.panels.get(str(message.get("panel"))), message

    def _open(self, event: GenericEventArguments) -> None:
        panel, _ = self._panel(event)
        if panel is not None:
            panel.open()

    def _changed(self, event: GenericEventArguments) -> None:
        panel, message = self._panel(event)
        values = message.get("values")
        if panel is not None and isinstance(values, Mapping):
            panel.change({str(name): str(value) for name, value in values.items()})

    def _act(self, event: GenericEventArguments) -> None:
        panel, message = self._panel(event)
        if panel is None:
            return
        action, value = str(message.get("action")), str(message.get("value", ""))
        if action == "cancel":
            panel.cancel()
        elif action in _DOWNLOADS:
            self._download(panel, action)
        else:
            panel.act(action, value)

    def _download(self, panel: Panel, kind: str) -> None:
        if panel.answer is None or panel.stale:
            return
        content = {"json": panel.answer.json, "csv": panel.answer.csv, "html": panel.answer.page}[kind]()
        with self.client:
            ui.download.content(content, f"symveil-{panel.name}.{kind}", _DOWNLOADS[kind])

    def _left(self) -> None:
        for panel in self.panels.values():
            panel.leave()


def _header(shown: str) -> str:
    links = "".join(
        f'<a href="{kind.name}" data-open="{kind.name}"{" aria-current=page" if kind.name == shown else ""}>'
        f"{html.escape(kind.name.capitalize())}</a>"
        for kind in PANELS
    )
    return (
        '<a class="skip" href="#main">Skip to the panel</a><header>'
        '<a class="brand" href="release" data-open="release"><svg viewBox="0 0 32 32" width="26" height="26" '
        'aria-hidden="true"><path d="M5 9c4-5 8-5 11 0s7 5 11 0M5 16c4-5 8-5 11 0s7 5 11 0M5 23c4-5 8-5 11 0s7 5 11 0" '
        'fill="none" stroke="currentColor" stroke-width="2.6" stroke-linecap="round"/></svg>'
        "<span>symveil <b>studio</b></span></a>"
        f'<nav aria-label="Panels">{links}</nav>'
        '<button type="button" class="theme" data-theme-switch aria-label="Switch between light and dark">'
        '<svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true"><path d="M12 3a9 9 0 1 0 0 18z" '
        'fill="currentColor"/><circle cx="12" cy="12" r="9" fill="none" stroke="currentColor" stroke-width="2"/></svg>'
        "</button></header>"
    )


def _heading(panel: Panel) -> str:
    tools = "".join(
        f'<button type="button" data-act="{kind}" data-panel="{panel.name}" aria-label="Download as {name}">'
        f"{text}</button>"
        for kind, text, name in (("json", "JSON", "JSON"), ("csv", "CSV", "CSV"), ("html", "Report", "an HTML report"))
    )
    return (
        f'<div class="panel-head"><div><h1>{html.escape(panel.title)}</h1><p class="lead">{html.escape(panel.lead)}</p>'
        f'</div><div class="tools"><button type="button" data-link="{panel.name}">Copy link</button>{tools}</div></div>'
    )
