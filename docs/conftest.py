"""How the documentation's examples are run: those that need a service, with the tests that need it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import services

# the scripts that make pictures, screenshots and notebooks have no examples
collect_ignore_glob = ["*.py"]

# the examples of these are run as notebooks, cell by cell, and compared with the page (tests/documentation)
collect_ignore = [str(page) for page in Path(__file__).parent.glob("tutorials/*.md") if page.stem != "cluster"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tutorial about clusters runs on a real Spark session, beside the tests of the Spark engine."""
    for item in items:
        if item.path == Path(__file__).parent / "tutorials" / "cluster.md":
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.filterwarnings("ignore"))  # Spark's and py4j's own
            if services.java() is None:
                item.add_marker(pytest.mark.skip(reason="no Java 17, and installing it was not allowed"))
