"""`count` as a release: charged once per person, the same after a kill, and nothing told but through the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import symveil as sv
from symveil.files import atomic
from symveil.ledger.store import Database
from symveil.ledger.units import PERSON, Unit

from ..cli.running import run  # noqa: TID252
