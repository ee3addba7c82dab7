"""The loops of transport, compiled: kept on disk until `augmenting_paths` changes, whose function it is."""

from __future__ import annotations

from symveil.comparison.augmenting_paths import send_everything
from symveil.languages.compiling import compiled

send_everything_quickly = compiled(send_everything)
