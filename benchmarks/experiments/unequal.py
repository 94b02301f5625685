"""The linear example with unequal coefficients (appendix A.2): ``make bench-unequal``."""

from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import draw_scores
from benchmarks.runs import Case
from benchmarks.tables import tabulate_scores, write_markdown

METHODS = ("lspin_auto", "lspin", "lspin_linear_gates", "lspin_official", "lasso", "xgboost")
SCORES = {"tpr": 3, "fdr": 3, "f1": 3, "mse": 6, "r2": 4}  # and digits
PAPER = {"tpr": 1.0, "fdr": 0.0, "f1": 1.0, "mse": 0.000199}  # of its LSPIN
PRINTED = dict.fromkeys(("lspin_auto", "lspin", "lspin_linear_gates", "lspin_official"), PAPER)


def report(results: Results) -> None:
    parts = {"Test rows": tabulate_scores(results.frame, SCORES, PRINTED)}
    write_markdown(results.folder / "unequal.md", "Unequal coefficients", parts, results.frame)
    draw_scores(results.frame, METHODS, ("tpr", "fdr", "mse"), PRINTED, results.folder / "unequal.png")


EXPERIMENT = Experiment(
    "unequal",
    methods=METHODS,
    cases=(Case("unequal"),),
    quick_methods=("lspin_linear_gates", "lasso"),
    quick_cases=(Case("unequal", n_train=40),),
    report=report,
)

if __name__ == "__main__":
    conduct(EXPERIMENT)
