"""All commands of ``lspin``, in the order in which the help lists them."""

from lspin.cli.app import app
from lspin.cli.comparing import compare
from lspin.cli.examples import datasets, demo
from lspin.cli.fitting import fit
from lspin.cli.showing import info, report
from lspin.cli.using import explain, predict

for command in (fit, predict, explain, report, info, demo, datasets, compare):
    app.command()(command)  # its docstring is its help
