"""The real services that tests use: PostgreSQL, Java, Chromium, Coq. Run as a program it installs what is missing.

`make test` runs it first. Where nothing may be installed (not root, no apt) it says so, and the tests
that need the service are skipped with that reason.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGES = {
    "PostgreSQL": "postgresql",
    "Java": "default-jre-headless",
    "Chromium": "chromium",
    "Coq": "coq libcoq-mathcomp-analysis libcoq-mathcomp-algebra-tactics",
}
COQ_VERSION = "8.16"
"""The proofs are written for this version and the libraries that Debian has beside it (proofs/README.md)."""


def postgres_programs() -> Path | None:
    """The folder of initdb and pg_ctl, the newest first."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda place: float(place.parent.name), reverse=True)
    found = shutil.which("initdb")
    places += [Path(found).resolve().parent] if found else []
    return next((place for place in places if (place / "initdb").exists() and (place / "postgres").exists()), None)


def java() -> str | None:
    """The Java program: 17 or later is what Spark 4 asks for."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if not program or not Path(program).exists():
        return None
    told = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    version = told.partition('"')[2].partition(".")[0]
    return program if version.isdigit() and int(version) >= 17 else None


def coq() -> str | None:
    """The Coq compiler, where it is the version of the proofs and has the libraries that they use."""
    program = shutil.which("coqc")
    if not program:
        return None
    version, where = (
        subprocess.run([program, option], capture_output=True, text=True, check=False).stdout.strip()
        for option in ("--print-version", "-where")
    )
    libraries = Path(where, "user-contrib", "mathcomp")
    complete = (libraries / "analysis" / "exp.vo").exists() and (libraries / "algebra_tactics" / "ring.vo").exists()
    return program if version.startswith(f"{COQ_VERSION}.") and complete else None


def _has_coq(environment: dict[str, str]) -> bool:
    """Whether apt has the version of the proofs: another one is not worth 250 MB."""
    policy = ["apt-cache", "policy", "coq"]
    offered = subprocess.run(policy, env=environment, capture_output=True, text=True, check=False).stdout
    return f"Candidate: {COQ_VERSION}." in offered


def missing() -> dict[str, str]:
    """What is not there, by name, with its packages."""
    there = {"PostgreSQL": postgres_programs(), "Java": java(), "Chromium": shutil.which("chromium"), "Coq": coq()}
    return {name: PACKAGES[name] for name, found in there.items() if not found}


def install() -> None:
    """Install what is missing, where that is allowed; say what is not."""
    absent = missing()
    if not absent:
        print("services: PostgreSQL, Java, Chromium and Coq are there")
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        why = "not root" if os.geteuid() != 0 else "no apt-get"
        print(f"services: {', '.join(absent)} missing and not installed ({why}): their tests will be skipped")
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    quiet = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(["apt-get", "update"], check=False, **quiet)
    for name, packages in absent.items():
        if name == "Coq" and not _has_coq(environment):
            print(f"services: Coq {COQ_VERSION} could not be installed: this system has another version: tests skipped")
            continue
        command = ["apt-get", "install", "-y", "--no-install-recommends", *packages.split()]
        done = subprocess.run(command, check=False, **quiet)
        print(f"services: {name} {'installed' if done.returncode == 0 else 'could not be installed: tests skipped'}")


@contextmanager
def postgres() -> Iterator[str]:
    """A database of one's own for as long as the block lasts: its address."""
    programs = postgres_programs()
    assert programs is not None
    # PostgreSQL refuses to run as root
    user = pwd.getpwnam("postgres" if _known("postgres") else "nobody") if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="symveil-postgres-") as folder:
        Path(folder).chmod(0o755)
        data = Path(folder, "data")
        data.mkdir()
        if user:
            os.chown(folder, user.pw_uid, user.pw_gid)
            os.chown(data, user.pw_uid, user.pw_gid)
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}

        def run(program: str, *arguments: str) -> None:
            command = [str(programs / program), *arguments]
            subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=120, **as_user)

        run("initdb", "-D", str(data), "-U", "symveil", "--auth=trust", "-E", "UTF8", "--locale=C")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = subprocess.Popen(
            [str(programs / "postgres"), "-D", str(data), "-p", str(port), "-k", folder, "-h", "127.0.0.1"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, **as_user,
        )  # fmt: skip
        try:
            _wait(port)
            yield f"postgresql://symveil@127.0.0.1:{port}/postgres"
        finally:
            server.terminate()
            server.wait(timeout=60)


def _known(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


def _wait(port: int) -> None:
    import psycopg

    for _ in range(300):
        try:
            psycopg.connect(f"postgresql://symveil@127.0.0.1:{port}/postgres", connect_timeout=5).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("PostgreSQL did not start")


if __name__ == "__main__":
    install()
    sys.exit(0)
