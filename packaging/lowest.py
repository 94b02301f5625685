"""Print the oldest allowed version of each dependency as constraints for pip: ``lowest.py [extra ...]``."""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
extras = project["optional-dependencies"]
for requirement in sum((extras[name] for name in sys.argv[1:]), project["dependencies"]):
    if not requirement.startswith("lspin["):
        name, version = re.split(r"\[.*\]>=|>=", requirement)
        print(f"{name}=={version}{'.0' * (2 - version.count('.'))}")
