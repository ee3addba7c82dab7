"""A ledger in each of the databases that can hold one."""

from __future__ import annotations

import shutil
import sqlite3
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


TABLES = ("settings", "persons", "grants", "releases", "charges")


def copy_ledger(source: Path, url: str) -> None:
    """A ledger of an older version, in either database; beside it are the tables as that version makes them."""
    if "://" not in url:
        shutil.copy(source, url)
        return
    import psycopg

    with sqlite3.connect(source) as old, psycopg.connect(url, autocommit=True) as target:
        target.execute((source.parent / "postgresql.sql").read_text())
        for name in (f"symveil_{table}" for table in TABLES):
            rows = old.execute(f"SELECT * FROM {name}").fetchall()  # noqa: S608
            places = ", ".join(["%s"] * len(rows[0]))
            with target.cursor() as cursor:
                cursor.executemany(f"INSERT INTO {name} VALUES ({places})", rows)  # noqa: S608
            if name in ("symveil_persons", "symveil_grants", "symveil_releases"):
                target.execute(f"SELECT setval('{name}_number_seq', {len(rows)})")
    old.close()


def execute(url: str, statement: str) -> list[tuple]:
    if "://" in url:
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            found = connection.execute(statement)
            return found.fetchall() if found.description else []
    with sqlite3.connect(url) as connection:
        found = connection.execute(statement).fetchall()
    connection.close()
    return found
