"""Drawn tables of more columns than rows, every method as most people use it: ``make bench-suite_wide``.

As ``suite``, on the families of wide tables: subtypes with genes of their own, one sparse rule over correlated
modules, hundreds of weak effects, and noise alone (of 20 or of 1,000 columns).
"""

from benchmarks.experiment import conduct
from benchmarks.experiments import suite

METHODS = (*suite.METHODS, "contextual_lasso", "protogate")
FAMILIES = ("subtypes", "modules", "polygenic", "nothing")
CAPTION = (
    f"{suite.CAPTION} Contextual LASSO and ProtoGate have the estimators' default settings, but for the radius of "
    "the former where columns outnumber rows: 2 or 15, by a quarter of the rows. ProtoGate is for classes only: "
    "its means are over the tables with classes. In `polygenic` about 30 % of the columns have weak effects, so "
    "F1 says little there."
)

EXPERIMENT = suite.plan_suite("suite_wide", FAMILIES, METHODS, CAPTION)

if __name__ == "__main__":
    conduct(EXPERIMENT)
