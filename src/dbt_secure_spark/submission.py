"""Run a compiled Python model in the live Spark session."""

from __future__ import annotations

import linecache
import traceback
from pathlib import Path
from typing import Any

from dbt.adapters.base import PythonJobHelper
from dbt.adapters.contracts.connection import Credentials
from dbt_common.exceptions import DbtRuntimeError

from dbt_secure_spark.disk import told_of_disk
from dbt_secure_spark.session import start_session


def has_session(credentials: Credentials) -> bool:
    """Say whether a profile has a session, in which Python models can run."""
    parameters = credentials.server_side_parameters or {}
    return credentials.method == "session" or "spark.remote" in parameters


def session_parameters(credentials: Credentials) -> dict[str, Any]:
    """Return how the session of a profile is started, or raise if it has none."""
    parameters = credentials.server_side_parameters or {}
    if credentials.method == "session":
        return parameters
    if remote := parameters.get("spark.remote"):
        return {"spark.remote": remote}
    raise DbtRuntimeError(
        "Python models and seeds need a Spark session, and this profile's method is"
        f" '{credentials.method}': name a Spark Connect server of the same application"
        " as spark.remote in server_side_parameters, or use method 'session'."
    )


class SessionPythonJobHelper(PythonJobHelper):
    """``submission_method: session``: the model runs where dbt's own SQL runs."""

    def __init__(self, parsed_model: dict[str, Any], credentials: Credentials) -> None:
        self.model = parsed_model
        self.parameters = session_parameters(credentials)

    @property
    def path(self) -> str:
        """The model's file, as a person would name it."""
        return self.model["original_file_path"]

    def submit(self, compiled_code: str) -> None:
        """Execute the compiled model; an exception is told with its file and line."""
        # The model's own text comes first, so its line numbers are those of the file.
        source = compiled_code.lstrip()
        # A name of its own: two targets may compile the same file differently.
        name = f"<{self.path}>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        namespace = {"__name__": Path(self.path).stem, "spark": None}
        try:
            namespace["spark"] = start_session(self.parameters)
            exec(compile(source, name, "exec"), namespace)
        except DbtRuntimeError:
            raise
        except Exception as failure:
            told = told_of_disk(failure, self.parameters)
            raise DbtRuntimeError(told or self.describe(failure, name)) from failure
        finally:
            linecache.cache.pop(name, None)

    def describe(self, failure: BaseException, name: str) -> str:
        """Say what failed, and in which lines of the model's file."""
        if isinstance(failure, SyntaxError) and failure.filename == name:
            places = [f"  File {self.path}, line {failure.lineno}"]
        else:
            own_lines = self.model["raw_code"].count("\n") + 1
            frames = traceback.extract_tb(failure.__traceback__)
            places = [
                f"  File {self.path}, line {frame.lineno}, in {frame.name}\n"
                f"    {frame.line}"
                for frame in frames
                if frame.filename == name and frame.lineno <= own_lines
            ] or [f"  File {self.path}, while its result was written"]
        message = str(failure).split("\n\nJVM stacktrace:")[0].strip()
        return "\n".join([f"{type(failure).__name__}: {message}", *places])
