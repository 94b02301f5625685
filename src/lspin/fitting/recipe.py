"""What works for which predictor on which table; docs/method.md says how it was found."""

from typing import Any, NamedTuple

import numpy as np

from lspin.core.model import Start
from lspin.tables.grid import Rows
from lspin.targets.kind import Kind

MOST_BATCHES = 1600  # of an epoch: a larger table is gone through in several, so that a fit has a bounded length
MOST_EPOCHS = 375  # as long as that leaves a recipe its fewest steps
LINEAR_GATES_BELOW = 200  # rows: with fewer, the gates of a linear predictor are linear too
MANY_COLUMNS = 300  # inputs beyond which the price rises through a run, and no groups of rows are looked for
MANY_ROWS = 14_000  # of so many columns: from here on a run takes more steps than the fewest
MOST_SOLVED = 4000  # rows up to which their products are worth an eigendecomposition


class Recipe(NamedTuple):
    """How a model is trained, and which prices are tried."""

    gating_layers: tuple[int, ...]
    steps: int  # where the number of epochs is left open
    fewest_steps: int  # the same, for a table of few batches
    noise_scale: float
    final_noise: float
    learning_rate: float
    gate_rate: float
    gate_decay: float
    gate_decay_by_price: float
    gate_decay_until: float
    gate_shrink: float
    gate_shrink_by_price: float
    exchange: float
    start: Start
    prices: tuple[float, ...]  # sparsities of separate fits, as parts of the loss without any feature
    first_prices: tuple[float, ...]  # those at which the weight decay is chosen
    decays: tuple[float, ...] = (0.0, 3.0)  # tried at the first prices, and at the chosen one again; or a run each
    usual_decay: float = 0.3  # where no rows are held out to choose it by
    feature_price: float = 0.007  # what one more open gate must gain on held-out rows, by the rule that chooses
    most_features: float = np.inf  # of the median held-out row
    gate_decay_by_decay: float = 0.3  # of the prediction network's decay, for the gating network
    price_rise: float = 0.0
    path: tuple[float, float] | None = None  # first and last price of a run that is a path, parts as of the prices
    edge: float = 0.0  # pull on gates that are surer than it takes to be fully open or shut
    exchange_rise: float = 0.0  # part of the run over which the share of foreign gates rises from 0
    strict_noise: float | None = None  # of a second run, which meets all foreign gates from its start
    price_reached: float = 0.4  # part of a run at a given price after which a price that rises is there
    head_start: float = 0.1  # part of the run until which the predictor learns alone
    settled_rate: float = 0.3  # part of the learning rate at the start of the last phase, with fixed gates
    fewest_epochs: int = 10
    hidden_share: float = 0.0  # of the gating network's inputs, drawn anew in every step (dropout)
    low_path: tuple[float, float] | None = None  # of a third run, in which weak features stay for longer
    lag: float = 1.0  # part of a level's price at which training goes on: its gates lag behind a rising price
    anchoring: float = 0.0
    n_screened: int | None = None  # features that get a gate; None: all
    sees_scores: bool = False  # whether gates look at the scores of a ridge instead of at the inputs


NONLINEAR = Recipe(
    gating_layers=(50, 50),
    steps=3000,
    fewest_steps=1100,
    noise_scale=0.7,
    final_noise=0.8,
    learning_rate=5e-3,
    gate_rate=1.0,
    gate_decay=1.0,
    gate_decay_by_price=0.0,
    gate_decay_until=0.5,
    gate_shrink=1.0,
    gate_shrink_by_price=0.0,
    exchange=0.6,
    start=Start(gate_spread=0.4, gate_bias=0.0, own=0.0, prediction_spread=1.0),
    prices=(),
    first_prices=(),
    decays=(0.0,),
    usual_decay=0.0,
    path=(0.02, 0.06),
    edge=1.0,
    exchange_rise=0.6,
    strict_noise=1.0,
    low_path=(0.007, 0.04),
    lag=0.5,
)
LINEAR_GATES = NONLINEAR._replace(gating_layers=(), gate_rate=3.0, gate_decay=0.0)
LINEAR = Recipe(
    gating_layers=(64,),
    steps=2000,
    fewest_steps=2000,
    noise_scale=0.45,
    final_noise=1.0,
    learning_rate=0.04,
    gate_rate=1.0,
    gate_decay=1.6,
    gate_decay_by_price=320.0,
    gate_decay_until=1.0,
    gate_shrink=1.6,
    gate_shrink_by_price=320.0,
    exchange=0.0,
    start=Start(gate_spread=1.0, gate_bias=0.0, own=0.0, prediction_spread=0.3),
    prices=(0.1, 0.045, 0.029, 0.02, 0.01, 0.0055, 0.003),
    first_prices=(0.029, 0.01),
)
LINEAR_SMALL = LINEAR._replace(
    gating_layers=(), noise_scale=0.3, prices=(0.1, 0.03, 0.01, 0.003, 0.001), first_prices=(0.01, 0.001)
)
# Hundreds of columns, as of pictures: a full price from the start would shut all gates before they have learned.
RISING = LINEAR._replace(
    gating_layers=(500, 300),
    steps=4000,
    fewest_steps=4000,
    fewest_epochs=36,
    noise_scale=0.5,
    learning_rate=1e-3,
    hidden_share=0.2,
    head_start=0.02,
    price_reached=0.7,
    settled_rate=3.0,
    gate_decay=0.0,
    gate_decay_by_price=0.0,
    gate_shrink=0.0,
    gate_shrink_by_price=0.0,
    start=Start(gate_spread=1.0, gate_bias=0.5, own=0.0, prediction_spread=0.3),
    prices=(),
    first_prices=(),
    decays=(0.0,),
    usual_decay=0.0,
    path=(1e-4, 0.05),
)
RISING_NONLINEAR = RISING._replace(
    settled_rate=NONLINEAR.settled_rate, start=RISING.start._replace(prediction_spread=1.0)
)
WIDE = Recipe(
    gating_layers=(16,),
    steps=400,
    fewest_steps=400,
    noise_scale=1.0,
    final_noise=0.5,
    learning_rate=0.01,
    gate_rate=1.0,
    gate_decay=0.0,
    gate_decay_by_price=0.0,
    gate_decay_until=1.0,
    gate_shrink=0.0,
    gate_shrink_by_price=0.0,
    exchange=0.15,
    start=Start(gate_spread=0.3, gate_bias=0.5, own=0.3, prediction_spread=0.0),
    prices=(0.03, 0.012, 0.005, 0.002, 0.001),
    first_prices=(0.012, 0.005),
    decays=(0.0,),
    usual_decay=0.0,
    feature_price=0.001,
    most_features=49.0,
    price_rise=0.3,
    anchoring=0.1,
    n_screened=1000,
    sees_scores=True,
)
SPARSE = WIDE._replace(
    exchange=0.5,
    steps=200,
    fewest_steps=200,
    noise_scale=0.5,
    final_noise=1.0,
    start=WIDE.start._replace(own=0.0),
    anchoring=0.03,
    price_rise=0.0,
    n_screened=None,
    sees_scores=False,
)
# With more rows than columns, as of cells and their marker genes, gates that look at scores of naive Bayes open
# the few features of a row's own class. On drawn cells of eight types: three genes a cell, all true markers, and
# all held-out cells right. Gates that look at entries open 17 genes, a third of them markers, and get 96 % right.
SPARSE_TALL = SPARSE._replace(exchange=0.15, steps=1000, fewest_steps=1000, sees_scores=True)
# A hidden layer needs foreign gates, and more noise than a naive Bayes start does.
WIDE_NONLINEAR = WIDE._replace(
    learning_rate=3e-3, exchange=0.5, decays=(0.0, 3.0), usual_decay=0.3, anchoring=0.0,
    start=WIDE.start._replace(prediction_spread=1.0),
)  # fmt: skip
SPARSE_NONLINEAR = WIDE_NONLINEAR._replace(n_screened=None, sees_scores=False)

# What a feature tells of a hazard is little beside what it tells of a class, and so is what a gate tells.
NOISE_GAIN = 0.5  # nats in all that a feature which says nothing is expected to gain on the rows it is fitted to
HAZARDS: dict[str, Any] = {"decays": (1.0, 3.0, 10.0), "usual_decay": 3.0, "noise_scale": 1.0}
HAZARDS_LINEAR: dict[str, Any] = {**HAZARDS, "gate_decay_by_decay": 4.0, "exchange": 0.25}
HAZARDS_NONLINEAR: dict[str, Any] = {
    **HAZARDS, "usual_decay": 1.0, "gate_decay_by_decay": 1.0, "exchange_rise": 0.0, "strict_noise": None,
    "path": (3e-4, 0.01), "low_path": None, "lag": 1.0,
}  # fmt: skip


def recipe_for(
    prediction_layers: tuple[int, ...],
    gating_layers: tuple[int, ...] | None,
    anchor: str | np.ndarray | None,
    rows: Rows,
    kind: Kind,
    *,
    is_wide: bool,
    is_rising: bool,
) -> Recipe:
    """The recipe for a predictor, for hidden gating layers if the user names them, and for a table."""
    if is_wide:
        recipe = _recipe_for_wide(prediction_layers, anchor, rows)
    elif is_rising:
        recipe = recipe_for_many(prediction_layers, len(rows.target))
    elif prediction_layers:
        recipe = LINEAR_GATES if gating_layers == () else NONLINEAR
    else:
        recipe = LINEAR if len(rows.target) >= LINEAR_GATES_BELOW else LINEAR_SMALL
    if not kind.tells_little:
        return recipe
    if not is_wide:
        recipe = recipe._replace(**HAZARDS_NONLINEAR if prediction_layers else HAZARDS_LINEAR)
    return recipe._replace(feature_price=NOISE_GAIN / max(kind.information(rows), 1.0))


def recipe_for_many(prediction_layers: tuple[int, ...], n_rows: int) -> Recipe:
    """The recipe for hundreds of columns: a linear predictor takes long steps where its last phase is short."""
    if prediction_layers:
        return RISING_NONLINEAR
    return RISING._replace(settled_rate=LINEAR.settled_rate) if n_rows >= MANY_ROWS else RISING


def _recipe_for_wide(prediction_layers: tuple[int, ...], anchor: str | np.ndarray | None, rows: Rows) -> Recipe:
    if prediction_layers:
        return SPARSE_NONLINEAR if rows.grid.is_sparse else WIDE_NONLINEAR
    from_counts = isinstance(anchor, str) and anchor == "naive_bayes"
    if from_counts and len(rows.target) > rows.grid.values.shape[1]:
        return SPARSE_TALL
    sees_entries = from_counts or len(rows.target) >= MOST_SOLVED
    return SPARSE if rows.grid.is_sparse and sees_entries else WIDE


def look_at_context(recipe: Recipe) -> Recipe:
    """The recipe for gates that look at some columns only: not at scores of all, nor at their own value."""
    start = recipe.start._replace(own=0.0)
    if not recipe.sees_scores:
        return recipe._replace(start=start)
    # A few columns need no hidden layer, and gates that start half open tell contexts apart sooner.
    start = start._replace(gate_bias=0.0)
    return recipe._replace(sees_scores=False, gating_layers=(), gate_rate=LINEAR_GATES.gate_rate, start=start)


def list_runs(recipe: Recipe, decays: tuple[float, ...]) -> list[Recipe]:
    """Recipes of the runs whose paths compete: one for each weight decay, a strict one and one of low prices."""
    runs = [recipe._replace(usual_decay=decay) for decay in decays]
    first = runs[0]
    if recipe.strict_noise is not None:
        runs.append(first._replace(noise_scale=recipe.strict_noise, exchange_rise=0.0))
    if recipe.low_path is not None:
        runs.append(first._replace(path=recipe.low_path))
    return runs


def count_epochs(recipe: Recipe, n_batches: int) -> int:
    """Epochs of a fit where the user leaves them open: few for a large table, many for a small one."""
    steps = np.clip(MOST_EPOCHS * n_batches, recipe.fewest_steps, recipe.steps)
    return max(recipe.fewest_epochs, -(-int(steps) // n_batches))
