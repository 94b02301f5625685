"""Every number that README, guide and benchmarks/README.md quote is that of a CSV in benchmarks/results."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from benchmarks.experiments import markers, mnist, mnist_rotated, mnist_small, table1

import lspin

ROOT = Path(__file__).parents[2]
README, BENCHMARKS, PAPER = "README.md", "benchmarks/README.md", "docs/guide/reproducing.md"
RESULTS, CELLS = "docs/results.md", "docs/guide/cells.md"
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


def found_of_two_groups(method):
    """F1 by training rows."""
    return [mean("motivating", "f1", ["linear"], method, n_train=n)[0] for n in (60, 30, 18, 12, 10, 6)]


def mean_of_genes(method):
    """R² of the genes of blood cells."""
    runs = read("cohort")
    return runs.loc[(runs["method"] == method) & runs["dataset"].str.startswith("cells_"), "score"].mean()


def with_noise(table):
    """The lowest and the highest score of XGBoost over numbers of noise columns."""
    runs = read("wide_paper")
    scores = runs.loc[(runs["method"] == "xgboost") & (runs["dataset"] == table), "score"]
    return [scores.min(), scores.max()]


def few(method):
    return mean("survival_curve", "few_test_c", COHORTS, method)


def ranked(column, method, datasets=("hard", "pbmc")):
    """A score of marker genes on the larger atlases and on blood cells."""
    sizes = {"easy": 5000, "hard": 5000, "pbmc": 3874}
    return [mean("marker_genes", column, [name], method, n_train=sizes[name])[0] for name in datasets]


def marked(column, method="llspin", datasets=("m1",)):
    return mean("markers", column, datasets, method)


def scaled(column, where, n_cells, n_genes=20_000, method="lspin"):
    return mean("cell_scale", column, [where], method, n_train=n_cells, n_columns=n_genes)[0]


def needed(n_cells):
    """Gigabytes at the peak beyond the table."""
    return scaled("extra_gigabytes", "memory", n_cells) - scaled("table_gigabytes", "memory", n_cells)


SCALE = [
    *(scaled(score, "memory", 50_000) for score in ("cpu_seconds", "copies")),
    *(scaled(score, "file", 200_000) for score in ("cpu_seconds", "peak_gigabytes")),
]
SIZES = [  # of the process with four members: by one process, by two workers more, and with the compiler alone
    scaled("extra_gigabytes", "memory", 50_000, method="four_members"),
    scaled("extra_gigabytes", "memory", 50_000, method="four_members_two_jobs"),
    scaled("peak_gigabytes", "memory", 50_000) - scaled("extra_gigabytes", "memory", 50_000),
]
ATLASES = ("easy", "hard", "pbmc")
UNSEEN = {method: ranked("accuracy", method, ATLASES) for method in ("lspin", "logistic")}
GIVEN = [*marked("two_markers_f1"), *marked("two_markers_accuracy")]
PROGRAMMES = [*marked("f1", datasets=["programmes"]), *marked("accuracy", datasets=["programmes"])]
M1 = [*marked("f1"), *marked("accuracy")]
HARD = ("opposite", "between", "modifier", "eight")
OTHERS = ("ridge", "lasso", "random_forest", "boosted_trees")
UNEQUAL = [mean("unequal", score, ["unequal"], "lspin_auto")[0] for score in ("tpr", "fdr", "mse")]
OVERLAP = [mean("overlap", score, ["overlap"], "lspin_auto")[0] for score in ("tpr", "fdr", "accuracy")]
SHUT_AND_OPEN = pair(*(mean("gate_statistics", f"test_{kind}", ["E1"], "lspin") for kind in ("shut", "open")))
MOTIVATING = [mean("motivating", score, ["linear"], "lspin_auto", n_train=10)[0] for score in ("f1", "r2")]
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
    (BENCHMARKS, "motivating example", 3, found_of_two_groups("lspin_auto")),
    (BENCHMARKS, "motivating example", 4, [None, *found_of_two_groups("localized_lasso")]),
    (BENCHMARKS, "unequal coefficients", 3, UNEQUAL),
    (BENCHMARKS, "overlapping features", 3, OVERLAP),
    (BENCHMARKS, "gate statistics", 3, SHUT_AND_OPEN),
    (BENCHMARKS, "Table 3, accuracy", 3, wide("accuracy")),
    (BENCHMARKS, "Table 3, features", 3, wide("n_features")),
    (BENCHMARKS, "Table 3, package", 3, wide("accuracy", WIDE, "lspin_auto")),
    (BENCHMARKS, "Table 3, package", 4, wide("accuracy")),
    (BENCHMARKS, "features a row, package", 3, wide("n_features", WIDE, "lspin_auto")),
    (BENCHMARKS, "the same at the paper's number", 3, wide("number_accuracy", WIDE, "lspin_auto")),
    (BENCHMARKS, "survival, package", 3, concordance("cox_lspin_auto")),
    (BENCHMARKS, "survival, package", 4, concordance("cox_lasso")),
    (BENCHMARKS, "memory, 2,000", 3, [
        mean("memory_wide", "copies", ["dense"], "default")[0],
        mean("memory_wide", "cpu_s", ["dense"], "default")[0],
        mean("memory_wide", "copies", ["dense"], "one_price")[0],
    ]),
    (BENCHMARKS, "real cohorts whose", 3, [mean_of_genes("lspin")]),
    (BENCHMARKS, "real cohorts whose", 4, [mean_of_genes("lasso"), mean_of_genes("cluster_lasso")]),
    (BENCHMARKS, "the paper's tables with noise columns", 4, [*with_noise("linear"), *with_noise("E4")]),
    (BENCHMARKS, "hard cases for groups", 3, mean("wide_cases", "score", HARD, "lspin")),
    (BENCHMARKS, "hard cases for groups", 4, mean("wide_cases", "score", HARD, "cluster_lasso")),
    (BENCHMARKS, "noise tables with an open gate", 3, [100 * (read("noise")["n_union"] > 0).mean()]),
    (BENCHMARKS, "MNIST, 10,000", 3, [
        mean("mnist_default", score, ["mnist"], "lspin_auto")[0] for score in ("accuracy", "n_features", "union")
    ]),
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
    (BENCHMARKS, "marker genes, true ones", 3, ranked("precision_15", "lspin")),
    (BENCHMARKS, "marker genes, true ones", 4, ranked("precision_15", "wilcoxon")),
    (BENCHMARKS, "accuracy on unseen cells", 3, UNSEEN["lspin"]),
    (BENCHMARKS, "accuracy on unseen cells", 4, UNSEEN["logistic"]),
    (BENCHMARKS, "marker genes of up to 200,000 cells", 3, SCALE),
    (BENCHMARKS, "markers of microglia and OPC", 3, [None, *PROGRAMMES, *M1, *GIVEN]),
    (BENCHMARKS, "markers of microglia and OPC", 4, [
        marked("f1", method)[0] for method in ("realx", "l2x", "tabnet")
    ]),
    (PAPER, "Markers of microglia and OPC", 3, PROGRAMMES),
    (PAPER, "Markers of microglia and OPC", 4, [markers.PAPER["llspin"]]),
    (PAPER, "Markers, M1", 3, [*M1, *GIVEN]),
    (PAPER, "Marker genes, true ones", 3, [
        score for method in ("lspin", "wilcoxon") for score in ranked("precision_15", method)
    ]),
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
GATES = [  # of the first 15 on the atlas, then of the first 5 and of the first 15 on blood, with and without
    *(ranked("precision_15", method)[0] for method in ("lspin", "lspin_without_gates")),
    *(ranked("precision_5", method)[1] for method in ("lspin", "lspin_without_gates")),
    *(ranked("precision_15", method)[1] for method in ("lspin", "lspin_without_gates")),
]
# Page, a pattern of its text, and what the numbers of the text that is found have to be.
SENTENCES = [
    (CELLS, "True genes with gates and without: .*?What gates", [
        *GATES[:2], 15, *GATES[2:4], 5, *GATES[4:], 15
    ]),
    (CELLS, "the model gets [0-9.]* % of unseen .*? On simulated", [
        UNSEEN["lspin"][2], *ranked("genes_a_cell", "lspin", ["pbmc"]), UNSEEN["logistic"][2]
    ]),
    (CELLS, "it gets [0-9.]* % right in the easy .*?\\(three", [
        *UNSEEN["lspin"][:2], *ranked("genes_a_cell", "lspin", ATLASES[:2]), *UNSEEN["logistic"][:2]
    ]),
    (CELLS, "of the values stored take .*?Beyond", [SCALE[0], SCALE[2]]),
    (CELLS, "a call needs [0-9.]* .*? for 50,000", [needed(4000), needed(50_000)]),
    (CELLS, "So the peak is [0-9.]* copies .*? more copies of smaller tables, [^(]*", [
        SCALE[1],
        scaled("table_gigabytes", "memory", 50_000),
        needed(50_000),  # a table of this size has two copies, if a call needs as much beside it
        scaled("copies", "memory", 4000),
    ]),
    (CELLS, "each of two workers .*? GB: workers", [2, (SIZES[1] - SIZES[0]) / 2, SIZES[2]]),
    (RESULTS, "5 % of the values stored. In memory, .*? process", [5, *SCALE]),
    (RESULTS, "On unseen cells the model .*? Logistic", [
        *UNSEEN["lspin"], *ranked("genes_a_cell", "lspin", ATLASES)
    ]),
    (RESULTS, "on the same cells, gets [0-9., and]*", UNSEEN["logistic"]),
    (RESULTS, "F1 of the selected genes: .*? On M1", [
        PROGRAMMES[0],
        100,
        *(marked("f1", method, ["programmes"])[0] for method in ("invase", "l2x", "realx")),
        *M1,
    ]),
    (RESULTS, "given the two markers gets [^%]*", GIVEN),
    (RESULTS, "random forest of all genes, which .*? gets [^%]*", marked("forest_accuracy")),
    (RESULTS, "L2X and REAL-X get 1.000 and ours [.0-9]*(?=[.])", [
        marked("f1", "l2x", ["simulated"])[0], marked("f1", datasets=["simulated"])[0]
    ]),
    (RESULTS, "calibration error on `pictures` is [^)]*", [
        mean("suite", "ece", ["pictures"], method)[0] for method in ("lspin", "xgboost")
    ]),
    (RESULTS, "accuracy falls to .*?So the", pair(
        wide("exchanged_accuracy", WITNESSES), wide("chance", WITNESSES)
    )),
    (PAPER, "gets [0-9.]* on BASEHOCK, .*? on TOX", wide("number_accuracy", WIDE, "lspin_auto")),
    (RESULTS, "mask alone tells much, too: [^.]*", wide("mask_accuracy", WITNESSES)),
       (RESULTS, "mean R² [0-9.]* against .*?types [0-9.]*", [
        mean_of_genes(method) for method in ("cluster_lasso", "lspin", "lasso", "lasso_told")
    ]),
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
    "Motivating example": ("motivating", ["lspin_auto"]),
    "Unequal coefficients": ("unequal", ["lspin_auto"]),
    "Overlapping features": ("overlap", ["lspin_auto"]),
    "Gate statistics": ("gate_statistics", ["lspin"]),
    "Table 3, accuracy": ("table3", ["llspin"]),
    "Table 3, RELATHE": ("table3", ["llspin"]),
    "Table 3, PBMC": ("table3", ["llspin"]),
    "Negative log-likelihood": ("nll", ["llspin"]),
    "Time against": ("time_n", ["lspin", "llspin"]),
    "Markers of microglia": ("markers", ["llspin"]),
    "Markers, M1": ("markers", ["llspin"]),
    "Marker genes": ("marker_genes", ["lspin"]),
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
