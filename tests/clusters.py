"""Real Spark for tests, all on loopback and small: a local session, a Spark Connect server, and a standalone cluster.

As a plugin of tests/conftest.py it gives the fixtures `spark`, `spark_connect` and `spark_cluster`, sessions of the
three, and `standalone`, the master and two workers behind the last. Each test process starts its own. Where there is
no Java, which `make system` installs, the tests are skipped, or fail where CI=true.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

LOOPBACK = "127.0.0.1"
QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss2m"  # Java that starts fast; it is not here to run long
SETTINGS = {
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",  # what it compiles for each query takes longer than these few rows
    "spark.driver.memory": "600m",
    "spark.executor.memory": "500m",
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.connect.grpc.binding.address": LOOPBACK,
}
PATIENCE = 120  # seconds until a server must be there


@pytest.fixture(scope="session")
def java() -> Iterator[None]:
    """Java, and an environment in which Spark stays on loopback and its workers have this Python."""
    pytest.importorskip("pyspark")
    if not shutil.which("java"):
        why = "Java is not on this machine: make system"
        pytest.fail(why) if os.environ.get("CI") == "true" else pytest.skip(why)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", LOOPBACK)
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        yield


@pytest.fixture(scope="session")
def spark(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A classic session in this process."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.local.dir", str(tmp_path_factory.mktemp("spark")))
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def spark_connect(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of a Spark Connect server in a process of its own."""
    with connected("local[2]", tmp_path_factory.mktemp("connect")) as session:
        yield session


@pytest.fixture(scope="session")
def spark_cluster(standalone: Standalone, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session whose work is done by the workers of a standalone cluster; a Spark Connect server drives it."""
    with connected(standalone.address, tmp_path_factory.mktemp("driver")) as session:
        yield session


@pytest.fixture(scope="session")
def standalone(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A master and two workers."""
    cluster = Standalone(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        yield cluster
    finally:
        for process in cluster.processes:
            _end(process)


class Standalone:
    """A standalone cluster, each of its processes in a group of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, _free_port()
        self.address = f"spark://{LOOPBACK}:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """The master, and two workers of one core each."""
        bound = ["--host", LOOPBACK, "--port", str(self.port), "--webui-port", "0"]
        self._run("master.Master", bound, lambda log: "New state: ALIVE" in log)
        for _ in range(2):
            self.add()

    def add(self) -> None:
        """One more worker."""
        place = ["--host", LOOPBACK, "--webui-port", "0", "--work-dir", str(self.folder / "work")]
        size = ["--cores", "1", "--memory", "600m", self.address]
        self._run("worker.Worker", [*place, *size], lambda log: "Successfully registered with master" in log)

    def kill(self) -> None:
        """The last worker and its executors, at once and without a word."""
        os.killpg(self.processes[-1].pid, signal.SIGKILL)
        self.processes.pop().wait()

    def _run(self, name: str, options: list[str], there: Callable[[str], bool]) -> None:
        log = self.folder / f"{len(list(self.folder.glob('*.log')))}.log"
        command = [_home() / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *options]
        self.processes.append(_begin(command, log, "200m"))
        _wait(self.processes[-1], lambda: there(log.read_text(errors="replace")))


@contextmanager
def connected(master: str, folder: Path) -> Iterator[Any]:
    """A session of a Spark Connect server that is started for it."""
    pytest.importorskip("grpc")
    from pyspark.sql.connect.session import SparkSession

    port = _free_port()
    settings = SETTINGS | {"spark.connect.grpc.binding.port": str(port), "spark.local.dir": str(folder)}
    given = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    server = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", master, *given]
    process = _begin([_home() / "bin" / "spark-submit", *server], folder / "server.log", "600m")
    try:
        _wait(process, lambda: _listens(port))
        session = SparkSession.builder.remote(f"sc://{LOOPBACK}:{port}").create()
        yield session
        with suppress(Exception):
            session.stop()
    finally:
        _end(process)


def _home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def _begin(command: list[Any], log: Path, memory: str) -> subprocess.Popen[bytes]:
    small = {"SPARK_DAEMON_MEMORY": memory, "SPARK_DAEMON_JAVA_OPTS": QUICK, "SPARK_HOME": str(_home())}
    with log.open("wb") as file:
        return subprocess.Popen(
            [str(part) for part in command],
            env=os.environ | small,
            cwd=log.parent,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _wait(process: subprocess.Popen[bytes], there: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE
    while not there():
        assert process.poll() is None, f"{process.args} ended with {process.returncode}"
        assert time.monotonic() < limit, f"{process.args} did not start in {PATIENCE} s"
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((LOOPBACK, 0))
        return int(found.getsockname()[1])


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection((LOOPBACK, port), 1):
        return True
    return False
