"""E1 with a feature that matters in both groups (appendix A.3): ``make bench-overlap``."""

from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import draw_scores
from benchmarks.runs import Case
from benchmarks.tables import tabulate_scores, write_markdown

METHODS = ("lspin_auto", "lspin", "llspin", "lspin_official", "lasso", "xgboost")
SCORES = {"tpr": 3, "fdr": 3, "f1": 3, "accuracy": 1}  # and digits
PAPER = {"tpr": 0.9468, "fdr": 0.1258, "accuracy": 93.0}  # of its LSPIN
PRINTED = dict.fromkeys(("lspin_auto", "lspin", "lspin_official"), PAPER)


def report(results: Results) -> None:
    parts = {"Test rows": tabulate_scores(results.frame, SCORES, PRINTED)}
    write_markdown(results.folder / "overlap.md", "Overlapping features", parts, results.frame)
    draw_scores(results.frame, METHODS, ("tpr", "fdr", "accuracy"), PRINTED, results.folder / "overlap.png")


EXPERIMENT = Experiment(
    "overlap",
    methods=METHODS,
    cases=(Case("overlap"),),
    quick_methods=("lspin_auto", "lasso"),
    quick_cases=(Case("overlap", n_train=40),),
    report=report,
)

if __name__ == "__main__":
    conduct(EXPERIMENT)
