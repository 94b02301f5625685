"""Every number that README, guide and benchmarks/README.md quote is that of a CSV in benchmarks/results."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from benchmarks.experiments import mnist, mnist_rotated, mnist_small, table1

import lspin

ROOT = Path(__file__).parents[2]
README, BENCHMARKS, PAPER = "README.md", "benchmarks/README.md", "docs/guide/reproducing.md"
RESULTS = "docs/results.md"
NUMBER = re.compile(r"(<\s*)?(?<![\w.,-])(\d*\.?\d+(?:e-?\d+)?)(?![\w])(?!,\d)")
TABLES = ("E1", "E2", "E3", "E4", "E5")
WIDE = ("basehock", "relathe", "pcmac", "pbmc", "colon", "tox171")
WORDS = WIDE[:3]
COHORTS = ("seer_breast", "metabric", "gbsg", "support")


@cache
def read(file):
    return pd.read_csv(ROOT / "benchmarks" / "results" / f"{file}.csv")


def mean(file, column, datasets, method, **where):
    """The mean over seeds on each table."""
    runs = read(file)
    for name, value in {"method": method, **where}.items():
        runs = runs[runs[name] == value]
    return [runs.loc[runs["dataset"] == name, column].mean() for name in datasets]


def rank(score, sign, methods):
    """The mean rank of each method on the ordinary tables that all have."""
    means = read("ordinary").pivot_table(index="dataset", columns="method", values=score).dropna()
    ranks = means.rank(axis=1, ascending=sign < 0).mean()
    return [ranks[name] for name in methods]


def pair(*lists):
    """The first of each list, the second of each list, and so on."""
    return [value for values in zip(*lists, strict=True) for value in values]


def f1(method):
    return mean("table1", "f1", TABLES, method)


def wide(column, datasets=WIDE, method="llspin"):
    return mean("table3", column, datasets, method)


def concordance(method):
    return mean("survival_curve", "best_test_c", COHORTS, method)


def few(method):
    return mean("survival_curve", "few_test_c", COHORTS, method)


OTHERS = ("ridge", "lasso", "random_forest", "boosted_trees")
UNEQUAL = [mean("unequal", score, ["unequal"], "lspin_auto")[0] for score in ("tpr", "fdr", "mse")]
OVERLAP = [mean("overlap", score, ["overlap"], "lspin_auto")[0] for score in ("tpr", "fdr", "accuracy")]
SHUT_AND_OPEN = pair(*(mean("gate_statistics", f"test_{kind}", ["E1"], "lspin") for kind in ("shut", "open")))
MOTIVATING = [mean("motivating", score, ["linear"], "llspin", n_train=10)[0] for score in ("f1", "r2")]
ACCURACY = mean("table1", "accuracy", TABLES[:4], "lspin_auto")
DIGITS = [
    mean("mnist", score, ["mnist"], method)[0]
    for method in ("llspin", "lspin")
    for score in ("accuracy", "n_features")
]
FEW_DIGITS = [
    mean("mnist_small", score, ["mnist"], "llspin_small")[0] for score in ("accuracy", "n_features", "ece")
]
TURNED_DIGITS = [mean("mnist_rotated", score, ["mnist"], "llspin")[0] for score in ("accuracy_30", "ece_30")]
PAPER_TURNED = [mnist_rotated.PAPER["llspin", score][2] for score in ("accuracy", "ece")]
SMALL_PAPER = mnist_small.PAPER["llspin_small"].values()
SMALLEST_ERROR = mean("table1", "mse", ["E5"], "lspin_auto")
# Page, beginning of the row, number of the cell; and what the numbers in that cell have to be. None: a size.
CLAIMS = [
    (README, "Features found", 1, f1("lspin_auto")),
    (README, "Features found", 2, [*table1.F1["lspin"], *f1("invase")]),
    (README, "Share learned", 1, mean("suite_wide", "share", ["subtypes"], "lspin")),
    (README, "Share learned", 2, [
        mean("suite_wide", "share", ["subtypes"], rival)[0] for rival in ("cluster_lasso", "xgboost")
    ]),
    (README, "Accuracy on PCMAC", 1, wide("accuracy", ["pcmac"]) + wide("n_features", ["pcmac"])),
    (README, "Accuracy on PCMAC", 2, [
        *wide("accuracy", ["pcmac"], "naive_bayes"),
        *wide("accuracy", ["pcmac"], "xgboost"),
        *wide("n_features", ["pcmac"], "xgboost"),
    ]),
    (README, "Mean rank", 1, rank("log_loss", -1, ["lspin"])),
    (README, "Mean rank", 2, rank("log_loss", -1, OTHERS)),
    (README, "**A rival wins:** R² on `baseball`", 1, mean("ordinary", "score", ["baseball"], "lspin")),
    (README, "**A rival wins:** R² on `baseball`", 2, mean("ordinary", "score", ["baseball"], "random_forest")),
    (BENCHMARKS, "Table 1, F1", 3, f1("lspin_auto")),
    (BENCHMARKS, "Table 1, F1", 4, table1.F1["lspin"]),
    (BENCHMARKS, "Table 1, accuracy", 3, ACCURACY),
    (BENCHMARKS, "Table 1, accuracy", 4, [
        *table1.PREDICTION["lspin"][:4], *mean("table1", "accuracy", TABLES[:4], "invase")
    ]),
    (BENCHMARKS, "Table 1, mean squared error", 3, SMALLEST_ERROR),
    (BENCHMARKS, "motivating example", 3, [None, *MOTIVATING[:1]]),
    (BENCHMARKS, "motivating example", 4, [
        None, *mean("motivating", "f1", ["linear"], "localized_lasso", n_train=10)
    ]),
    (BENCHMARKS, "unequal coefficients", 3, UNEQUAL),
    (BENCHMARKS, "overlapping features", 3, OVERLAP),
    (BENCHMARKS, "gate statistics", 3, SHUT_AND_OPEN),
    (BENCHMARKS, "Table 3, accuracy", 3, wide("accuracy")),
    (BENCHMARKS, "Table 3, features", 3, wide("n_features")),
    (BENCHMARKS, "Table 3, package", 3, wide("accuracy", WORDS, "lspin_auto")),
    (BENCHMARKS, "Table 3, package", 4, wide("accuracy", WORDS)),
    (BENCHMARKS, "the same at the paper's number", 3, wide("number_accuracy", WORDS, "lspin_auto")),
    (BENCHMARKS, "negative log-likelihood", 3, mean("nll", "nll", WIDE, "llspin")),
    (BENCHMARKS, "survival, C on four cohorts", 3, concordance("cox_members")),
    (BENCHMARKS, "survival, C on four cohorts", 4, concordance("deepsurv")),
    (BENCHMARKS, "survival, at most three", 3, few("cox_members")),
    (BENCHMARKS, "survival, at most three", 4, few("cox_lasso")),
    (BENCHMARKS, "drawn tables, share", 3, mean(
        "suite", "share", ("clinics", "switch", "pictures", "plain", "sites"), "lspin"
    )),
    (BENCHMARKS, "drawn wide tables, share", 3, mean(
        "suite_wide", "share", ("subtypes", "modules", "polygenic"), "lspin"
    )),
    (BENCHMARKS, "ordinary tables, mean rank by score", 3, rank("score", 1, ["lspin"])),
    (BENCHMARKS, "ordinary tables, mean rank by score", 4, rank("score", 1, ["ridge", "lasso", "boosted_trees"])),
    (BENCHMARKS, "ordinary tables, mean rank by log loss", 3, rank("log_loss", -1, ["lspin"])),
    (BENCHMARKS, "ordinary tables, mean rank by log loss", 4, rank(
        "log_loss", -1, ["ridge", "lasso", "boosted_trees"]
    )),
    (BENCHMARKS, "MNIST, accuracy", 3, DIGITS),
    (BENCHMARKS, "MNIST, 6,000", 3, FEW_DIGITS),
    (BENCHMARKS, "MNIST, 6,000", 4, [
        *SMALL_PAPER, *(mean("mnist_small", score, ["mnist"], "mlp_small")[0] for score in ("accuracy", "ece"))
    ]),
    (BENCHMARKS, "MNIST, turned", 3, TURNED_DIGITS),
    (BENCHMARKS, "MNIST, turned", 4, PAPER_TURNED),
    (PAPER, "Table 1, F1", 3, f1("lspin_auto")),
    (PAPER, "Table 1, F1", 4, table1.F1["lspin"]),
    (PAPER, "Table 1, accuracy", 3, ACCURACY),
    (PAPER, "Table 1, error", 3, SMALLEST_ERROR),
    (PAPER, "Motivating example", 3, MOTIVATING),
    (PAPER, "Unequal coefficients", 3, UNEQUAL),
    (PAPER, "Overlapping features", 3, OVERLAP),
    (PAPER, "Gate statistics", 3, SHUT_AND_OPEN),
    (PAPER, "Table 3, accuracy", 3, pair(*(wide(column, WIDE[:1]) for column in ("accuracy", "n_features")))),
    (PAPER, "Table 3, RELATHE", 3, pair(*(wide(column, WIDE[1:3]) for column in ("accuracy", "n_features")))),
    (PAPER, "Table 3, PBMC", 3, pair(*(wide(column, WIDE[3:]) for column in ("accuracy", "n_features")))),
    (PAPER, "Negative log-likelihood", 3, mean("nll", "nll", WIDE, "llspin")),
    (PAPER, "Survival, C", 3, concordance("cox_lspin_auto")),
    (PAPER, "The same, five tuned members", 3, concordance("cox_members")),
    (PAPER, "MNIST, accuracy", 3, DIGITS),
    (PAPER, "MNIST, accuracy", 4, [*mnist.PAPER["llspin"][:2], *mnist.PAPER["lspin"][:2]]),
    (PAPER, "MNIST, 6,000", 3, FEW_DIGITS[:2]),
    (PAPER, "MNIST, 6,000", 4, SMALL_PAPER),
    (PAPER, "MNIST, turned", 3, TURNED_DIGITS),
    (PAPER, "MNIST, turned", 4, PAPER_TURNED),
]  # fmt: skip


TURNED = {
    (sign, angle): mean("mnist_rotated", f"notices_by_{sign}_{angle}", ["mnist"], "llspin")[0]
    for sign in ("confidence", "gates")
    for angle in (30, 80)
}
WITNESSES = ("tox171", "colon", "pbmc")
NOISY = [mean("wide_paper", "score", ["E2"], "lspin", n_columns=n)[0] for n in (100, 1000, 20000)]
# Page, a pattern of its text, and what the numbers of the text that is found have to be.
SENTENCES = [
    (RESULTS, "calibration error on `pictures` is [^)]*", [
        mean("suite", "ece", ["pictures"], method)[0] for method in ("lspin", "xgboost")
    ]),
    (RESULTS, "accuracy falls to .*?So the", pair(
        wide("exchanged_accuracy", WITNESSES), wide("chance", WITNESSES)
    )),
    (PAPER, "gets [0-9.]* on BASEHOCK, [^(]*", wide("number_accuracy", WORDS, "lspin_auto")),
    (RESULTS, "mask alone tells much, too: [^.]*", wide("mask_accuracy", WITNESSES)),
    (RESULTS, "not solved: accuracy .*?20,000", [NOISY[0], 100, *NOISY[1:]]),
    (RESULTS, "By a low probability .*?So the", [
        TURNED["confidence", 30], 30, TURNED["confidence", 80], 80, TURNED["gates", 30], TURNED["gates", 80]
    ]),
    (BENCHMARKS, "LLSPIN [^,]*, LSPIN [^,]* CPU µs", [
        mean("speed_explain", "microseconds_a_row", ["E2"], method)[0] for method in ("llspin", "lspin")
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("page", "pattern", "values"), SENTENCES, ids=[text for _, text, _ in SENTENCES])
def test_a_number_in_a_sentence_is_that_of_its_csv(page, pattern, values):
    [sentence] = re.findall(pattern, " ".join((ROOT / page).read_text("utf-8").split()))
    assert not list(check_numbers(sentence, values))


def read_cell(page, beginning, number):
    """The cell of the one row of a table that begins so."""
    lines = (ROOT / page).read_text("utf-8").splitlines()
    [row] = [line for line in lines if line.startswith(f"| {beginning}")]
    return row.split("|")[number + 1].strip()


def check_numbers(cell: str, values: list[float | None]) -> Iterator[str]:
    """Say which numbers of a cell are no rounding of their value."""
    found = NUMBER.findall(cell)
    assert len(found) == len(values), f"{cell}: {len(values)} numbers are expected"
    for (below, text), value in zip(found, values, strict=True):
        unit = 10.0 ** Decimal(text).as_tuple().exponent
        is_right = value is None or (value < float(text) if below else abs(float(text) - value) <= 0.501 * unit)
        if not is_right:
            yield f"{text} should be {value:.4g}"


@pytest.mark.parametrize(
    ("page", "beginning", "number", "values"), CLAIMS, ids=[f"{page}-{row}-{at}" for page, row, at, _ in CLAIMS]
)
def test_a_number_on_a_page_is_that_of_its_csv(page, beginning, number, values):
    assert not list(check_numbers(read_cell(page, beginning, number), values))


def test_every_number_of_the_readme_comes_from_a_csv():
    rows = re.findall(r"^\| (?!What|-)(.+?) \|", (ROOT / README).read_text("utf-8"), re.MULTILINE)
    guarded = {(beginning, at) for page, beginning, at, _ in CLAIMS if page == README}
    assert len(rows) == 5
    for row in rows:
        assert {at for beginning, at in guarded if row.startswith(beginning)} == {1, 2}, row


# Beginning of a row of the page on the paper, and the runs behind it.
SOURCES = {
    "Table 1, F1": ("table1", ["lspin_auto"]),
    "Table 1, accuracy": ("table1", ["lspin_auto"]),
    "Table 1, error": ("table1", ["lspin_auto"]),
    "Motivating example": ("motivating", ["llspin"]),
    "Unequal coefficients": ("unequal", ["lspin_auto"]),
    "Overlapping features": ("overlap", ["lspin_auto"]),
    "Gate statistics": ("gate_statistics", ["lspin"]),
    "Table 3, accuracy": ("table3", ["llspin"]),
    "Table 3, RELATHE": ("table3", ["llspin"]),
    "Table 3, PBMC": ("table3", ["llspin"]),
    "Negative log-likelihood": ("nll", ["llspin"]),
    "Time against": ("time_n", ["lspin", "llspin"]),
    "Survival, C": ("survival_curve", ["cox_lspin_auto"]),
    "The same, five tuned members": ("survival_curve", ["cox_members"]),
    "Survival: sets": ("survival_sets", ["cox_lspin_auto"]),
    "MNIST, accuracy": ("mnist", ["llspin", "lspin"]),
    "MNIST, 6,000": ("mnist_small", ["llspin_small"]),
    "MNIST, turned": ("mnist_rotated", ["llspin"]),
}


@pytest.mark.parametrize("row", SOURCES)
def test_a_row_on_the_paper_says_whether_its_runs_are_of_an_earlier_version(row):
    file, methods = SOURCES[row]
    runs = read(file)
    versions = set(runs.loc[runs["method"].isin(methods), "lspin"])
    assert versions in ({"0.1.0"}, {lspin.__version__})
    assert read_cell(PAPER, row, 0).endswith(" †") == (versions == {"0.1.0"})


def test_every_row_on_the_paper_names_its_runs():
    rows = re.findall(r"^\| (?!Experiment|-)(.+?) \|", (ROOT / PAPER).read_text("utf-8"), re.MULTILINE)
    closed = "Slope of the penalty"  # a formula: no model is fitted
    assert [row for row in rows if not row.startswith((*SOURCES, closed))] == []


@pytest.mark.parametrize(
    ("cell", "value"), [(".99", 0.9907), ("96.7", 96.65), ("5e-7", 4.6e-7), ("< 1e-12", 1e-13)]
)
def test_a_rounded_number_is_accepted(cell, value):
    assert not list(check_numbers(cell, [value]))


@pytest.mark.parametrize(("cell", "value"), [(".98", 0.9907), ("96.8", 96.65), ("5e-7", 2e-7), ("< 1e-12", 1e-9)])
def test_another_number_is_not(cell, value):
    assert list(check_numbers(cell, [value]))
