"""Print the oldest allowed version of each dependency as constraints for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
for requirement in project["dependencies"]:
    print(re.sub(r">=", "==", requirement) + (".*" if requirement.count(".") < 2 else ""))
