"""What pyproject.toml can't say: the version of dbt_project.yml, and the digest."""

import re
import runpy
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
VERSION = re.search(
    r'^version: "([^"]+)"$', (ROOT / "dbt_project.yml").read_text("utf-8"), re.M
)


class BuildWithDigest(build_py):
    """Writes the digest of macros and models beside the modules of a wheel."""

    def run(self) -> None:
        """Build, and write the digest, unless the modules stay in the checkout."""
        super().run()
        if self.editable_mode:
            return
        module = runpy.run_path(str(ROOT / "src/secure_datasets/digest.py"))
        file = Path(self.build_lib, "secure_datasets", module["CARRIED"].name)
        file.write_text(module["digest_of"](ROOT) + "\n", encoding="utf-8")


setup(version=VERSION[1], cmdclass={"build_py": BuildWithDigest})
