"""Real servers on loopback, and copies of the project that run against them."""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import yaml
from projects import ROOT, SAMPLE, TEST_SETTINGS, copy_project, install_product

from dbt_secure_spark.class_archive import java_option
from dbt_secure_spark.java import find_java_home

BIN = Path(sys.executable).parent
# The scripts of a deployment: one prints rows, one runs statements, one never stops
# reading.
READ = Path(__file__).with_name("read_relations.py")
RUN_SQL = Path(__file__).with_name("run_sql.py")
KEEP_READING = Path(__file__).with_name("readers.py")
BUILD = ("build", "--exclude-resource-type", "unit_test", "--vars", "{summary: false}")
SPARK_HOME = Path(pyspark.__file__).parent
LOOPBACK = "127.0.0.1"
# Seconds after which a server that is not up has failed.
PATIENCE = 120
# Seconds after which a dbt command counts as hanging.
LONGEST_RUN = 1800
# The servers share two cores with dbt and the readers.
SERVER_SETTINGS = {
    **TEST_SETTINGS,
    "spark.ui.enabled": "false",
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
SERVER_ENVIRONMENT = {"SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": LOOPBACK}


def free_port() -> int:
    """Return a port that no process listens on."""
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        return listener.getsockname()[1]


def is_listening(port: int) -> bool:
    """Return whether a process listens on a port."""
    with socket.socket() as caller:
        return caller.connect_ex((LOOPBACK, port)) == 0


class Deployment:
    """A copy of the product that runs with one output of its profile.

    With `of_sample`, the sample runs instead, with the product installed.

    bin  the folder of the environment's commands
    """

    bin = BIN

    def __init__(self, folder: Path, target: str, of_sample: bool = False) -> None:
        self.product = self.folder = copy_project(folder)
        self.name = "secure_datasets"
        if of_sample:
            schema = self.name
            self.folder = install_product(folder, folder / SAMPLE, schema)
            self.name = self.folder.name
        self.target = target
        example = (ROOT / "profiles.yml.example").read_text()
        text = example.replace("PROJECT_FOLDER", str(folder))
        self.profile = yaml.safe_load(text)["secure_datasets"]
        self.profile["target"] = target
        self.output = self.profile["outputs"][target]
        self.environment = os.environ | {"METASTORE_PASSWORD": secrets.token_hex(8)}
        self.write_profile()

    @property
    def parameters(self) -> dict[str, str]:
        """The output's settings."""
        return self.output["server_side_parameters"]

    def write_profile(self) -> None:
        """Write the profile with its present settings."""
        text = yaml.safe_dump({self.name: self.profile}, sort_keys=False)
        (self.folder / "profiles.yml").write_text(text)

    def start_dbt(self, *arguments: str) -> subprocess.Popen:
        """Start dbt as a person would, in its own group of processes."""
        return subprocess.Popen(
            [self.bin / "dbt", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def dbt(self, *arguments: str) -> tuple[int, str]:
        """Run dbt; return its exit code and its output."""
        process = self.start_dbt(*arguments)
        try:
            printed, _ = process.communicate(timeout=LONGEST_RUN)
        except subprocess.TimeoutExpired:
            # A client of Spark Connect keeps calling a server that has ended.
            stop(process, signal.SIGKILL)
            raise
        return process.returncode, printed

    def python(self, script: Path, *arguments: str) -> str:
        """Run a script with this deployment's profile; return its output."""
        done = subprocess.run(
            [self.bin / "python", script, self.folder, *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout


@contextmanager
def server(
    command: list[str | Path], is_up: Callable[[], bool], log: Path
) -> Iterator[subprocess.Popen]:
    """Run a server as long as it is needed."""
    with log.open("w") as output:
        process = subprocess.Popen(
            list(map(str, command)),
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ
            | SERVER_ENVIRONMENT
            | {"CLUSTER_FOLDER": log.parent / "work"},
            cwd=log.parent,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while not is_up():
            assert process.poll() is None, f"it ended: {log.read_text()[-2000:]}"
            assert time.monotonic() < deadline, f"not up: {log.read_text()[-2000:]}"
            time.sleep(0.2)
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen, how: signal.Signals = signal.SIGTERM) -> None:
    """End a process that was started here, and its children."""
    if process.poll() is None:
        os.killpg(process.pid, how)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(process: subprocess.Popen, moment: str) -> None:
    """Read a run's output until it contains a text; fail if the run ends before."""
    for line in process.stdout or ():
        if moment in re.sub(r"\x1b\[\d+m", "", line):
            return
    raise AssertionError(f"the run ended before {moment}")


def submit(name: str, settings: dict[str, object], *arguments: str) -> list[str | Path]:
    """Return the command that starts a server from PySpark."""
    options = [f"--conf={key}={value}" for key, value in settings.items()]
    submit = SPARK_HOME / "bin" / "spark-submit"
    return [submit, "--class", name, *options, "spark-internal", *arguments]


def metastore_settings(folder: Path) -> dict[str, str]:
    """Return the settings of a server with its own metastore and folders."""
    java_options = [
        f"-Dderby.stream.error.file={folder}/derby.log",
        f"-Djava.io.tmpdir={folder}",
        f"-Dlog4j2.configurationFile={ROOT}/conf/log4j2.properties",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        # With one compiler, the default cache is too small: the server would end in
        # mid-run.
        "-XX:ReservedCodeCacheSize=256m",
        java_option(find_java_home()),
    ]
    return {
        "spark.master": "local[2]",
        "spark.driver.memory": "2g",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.local.dir": f"{folder}/scratch",
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={folder}/metastore;create=true"
        ),
        "spark.driver.extraJavaOptions": " ".join(java_options),
    }


@contextmanager
def connect_server(folder: Path) -> Iterator[int]:
    """Run a Spark Connect server; give its port."""
    port = free_port()
    settings = SERVER_SETTINGS | metastore_settings(folder)
    settings["spark.connect.grpc.binding.address"] = LOOPBACK
    settings["spark.connect.grpc.binding.port"] = port
    command = submit(
        "org.apache.spark.sql.connect.service.SparkConnectServer", settings
    )
    with server(command, lambda: is_listening(port), folder / "connect.log"):
        yield port


@contextmanager
def thrift_server(folder: Path) -> Iterator[tuple[int, int]]:
    """Run a Spark Thrift server, ANSI on, with Connect beside it; give both ports."""
    port, connect_port = free_port(), free_port()
    settings = SERVER_SETTINGS | metastore_settings(folder)
    settings["spark.sql.ansi.enabled"] = "true"
    settings["spark.plugins"] = "org.apache.spark.sql.connect.SparkConnectPlugin"
    settings["spark.connect.grpc.binding.address"] = LOOPBACK
    settings["spark.connect.grpc.binding.port"] = connect_port
    command = submit(
        "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2",
        settings,
        *("--hiveconf", f"hive.server2.thrift.bind.host={LOOPBACK}"),
        *("--hiveconf", f"hive.server2.thrift.port={port}"),
    )
    with server(command, lambda: is_listening(port), folder / "thrift.log"):
        yield port, connect_port


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[int]:
    """Run a master with two workers by the documented command; give its port."""
    port, log = free_port(), folder / "cluster.log"

    def has_workers() -> bool:
        return log.read_text().count("Successfully registered with master") == 2

    with server([ROOT / "scripts/cluster.sh", port], has_workers, log):
        yield port


@contextmanager
def postgresql_metastore(deployment: Deployment) -> Iterator[int]:
    """Run the metastore of a copy of the project, by the documented command."""
    port = free_port()
    script = deployment.product / "scripts" / "metastore.sh"
    with tempfile.TemporaryDirectory() as folder:
        # If the tests run as root, the server's own user must be able to enter the
        # folder.
        Path(folder).chmod(0o755)
        environment = deployment.environment | {
            "METASTORE_FOLDER": folder,
            "PYTHON": sys.executable,
        }
        call = {"check": True, "env": environment, "timeout": PATIENCE}
        subprocess.run([script, "start", str(port)], **call, stdin=subprocess.DEVNULL)
        try:
            key = "spark.hadoop.javax.jdo.option.ConnectionURL"
            url = f"jdbc:postgresql://{LOOPBACK}:{port}/metastore"
            deployment.parameters[key] = url
            deployment.write_profile()
            yield port
        finally:
            subprocess.run([script, "stop"], **call)
