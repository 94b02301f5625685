"""The parameters the estimators share: what they mean, what they may be, and how a file holds them."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

PARAMETERS = """\
    Parameters
    ----------
    hidden_layer_sizes
        Widths of the prediction network's hidden layers; ``()`` is a linear predictor (LLSPIN). ``"auto"`` is
        two of 200, but linear for a table with fewer rows than columns and for one whose zeros are absent.
    gate_hidden_layer_sizes
        Widths of the gating network's hidden layers. By default two of 100 for a nonlinear predictor; for a
        linear one, one of 64 from 200 rows on and none below, and one of 16 for a table with fewer rows than
        columns or whose zeros are absent.
    sparsity
        Price of an open gate in units of the loss, or ``"auto"``: chosen on held-out rows from a path of prices.
    n_features
        About this many features per sample instead: the price is solved for, so that the median training row
        opens this many gates, plus or minus one.
    stability, diversity
        How strongly similar samples are drawn to equal gates, and dissimilar ones to different gates.
    affinity
        What similar means: ``"rbf"`` (Gaussian of the distance, its bandwidth the median distance),
        ``"labels"`` (of one class), a function of two tables that returns a matrix, or the matrix itself.
    gate_exchange
        Share of the rows that see another row's gates in training, so that the predictor cannot read the
        answer off the gates. By default one half for a nonlinear predictor and where zeros are absent, 0.15 for a
        linear one on a table of fewer rows than columns, and else none.
    noise_scale
        Standard deviation of the gates' noise at the start of training. By default 1 for a nonlinear predictor
        and for tables of fewer rows than columns, 0.45 for a linear one (0.3 below 200 rows), and 0.5 where zeros
        are absent.
    learning_rate
        Of Adam, at the start of a cosine. By default 0.005 for a nonlinear predictor, 0.04 for a linear one, and
        0.01 or, for a nonlinear one, 0.003 for tables of fewer rows than columns or with absent zeros.
    zero_is_absent
        Whether a 0 in X is no value at all, as a word that a text does not have or a gene that is not
        expressed: it then has no gate and costs nothing, and columns are scaled but not centred. A sparse
        matrix is always taken so, and its gates come as a sparse matrix.
    anchor
        Coefficients that a linear predictor starts from and is drawn to: ``"ridge"``, ``"naive_bayes"`` (for
        classes and counts), an array like ``coef_``, or ``None``. ``"auto"`` is, for a table of fewer rows than
        columns or whose zeros are absent, a ridge or, for counts, the better of the two on held-out rows; else
        none.
    weight_decay
        Decay of the weights, or ``"auto"``: none or a strong one (3), whichever does better on held-out rows.
    max_epochs
        Passes over the rows. By default as many as take about 2,000 steps, 250 at the most for a nonlinear
        predictor unless those are fewer than 600 steps; 400 steps for tables of fewer rows than columns, and 200
        for a linear predictor where zeros are absent; 10 at the least.
    batch_size
        Rows of a step; smaller tables are taken whole.
    validation_fraction
        Part of the rows held out to choose the sparsity by. Tables of up to 200 rows are cross-validated
        instead, in five folds.
    patience
        Epochs without a lower validation loss after which training moves to its last phase or ends, and the
        best epoch of the last phase is kept. By default training runs to its end.
    n_restarts
        Initialisations tried for each sparsity where an ``eval_set`` is given; by default 2, and for
        tables of fewer than 500 rows, but no fewer than columns, up to 8, or up to 64 with a linear predictor.
    n_members
        Models to train with other initialisations and average.
    bootstrap
        Whether each member draws its own rows with replacement."""

UNSAVED = {"affinity": "rbf", "anchor": "auto"}  # what a file holds instead of a function or a matrix

MORE = """\
    n_jobs
        Fits to run side by side, as in joblib.
    random_state
        Seed: the same seed gives the same fit, bit for bit, whatever ``n_jobs``.
    verbose
        1 shows a progress bar.

    Attributes
    ----------
    sparsity_, weight_decay_
        The chosen ones.
    path_
        Frame with one row for each sparsity tried: held-out loss and score, median number of features.
    history_
        Frame with one row for each member and epoch: loss, validation loss, mean number of open gates.
    n_iter_
        Epochs of the longest fit.
    n_starts_
        Initialisations tried for each sparsity.
    n_features_in_, feature_names_in_
        Number and names of the columns."""


def fill_docstring(kind: type) -> type:
    """Put the description of the shared parameters and attributes into a docstring."""
    assert kind.__doc__ is not None
    kind.__doc__ = kind.__doc__.replace("    {parameters}", PARAMETERS).replace("    {more}", MORE)
    return kind


CONSTRAINTS: dict[str, list] = {
    "hidden_layer_sizes": [StrOptions({"auto"}), tuple, list],
    "gate_hidden_layer_sizes": [None, tuple, list],
    "sparsity": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    "n_features": [None, Interval(Integral, 1, None, closed="left")],
    "stability": [Interval(Real, 0, None, closed="left")],
    "diversity": [Interval(Real, 0, None, closed="left")],
    "affinity": [StrOptions({"rbf", "labels"}), callable, "array-like"],
    "gate_exchange": [None, Interval(Real, 0, 1, closed="both")],
    "noise_scale": [None, Interval(Real, 0, None, closed="neither")],
    "learning_rate": [None, Interval(Real, 0, None, closed="neither")],
    "zero_is_absent": ["boolean"],
    "anchor": [StrOptions({"auto", "ridge", "naive_bayes"}), "array-like", None],
    "weight_decay": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    "max_epochs": [None, Interval(Integral, 1, None, closed="left")],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "patience": [None, Interval(Integral, 1, None, closed="left")],
    "n_restarts": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "n_members": [Interval(Integral, 1, None, closed="left")],
    "bootstrap": ["boolean"],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


def storable(name: str, value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    if name in UNSAVED and value is not None and not isinstance(value, str):
        warnings.warn(
            f"{name} is a function or a matrix and is not saved; it serves fitting only",
            UserWarning,
            stacklevel=3,
        )
        return UNSAVED[name]
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, dict):  # JSON would turn the classes into text
        return {"pairs": [[storable(name, part) for part in pair] for pair in value.items()]}
    if isinstance(value, tuple | list):
        return [storable(name, part) for part in value]
    return value


def restored(value: Any) -> Any:
    """A parameter as it was before :func:`storable`; lists become tuples."""
    if isinstance(value, dict):
        return dict(value["pairs"])
    return tuple(value) if isinstance(value, list) else value
