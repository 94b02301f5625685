"""``python -m lspin.cli`` is the command ``lspin``."""

from lspin.cli import main

main()
