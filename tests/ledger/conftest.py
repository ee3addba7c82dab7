"""A ledger in each of the databases that can hold one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import services


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    if services.postgres_programs() is None:
        pytest.skip("PostgreSQL is not installed, and installing it was not allowed")
    with services.postgres() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty database."""
    import psycopg

    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS ledger WITH (FORCE)")
        connection.execute("CREATE DATABASE ledger")
    yield postgres_server.replace("/postgres", "/ledger").replace("postgresql:/ledger", "postgresql:/")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgresql"))])
def ledger_url(request, tmp_path) -> str:
    """The address of an empty ledger."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return request.getfixturevalue("postgres_url")
