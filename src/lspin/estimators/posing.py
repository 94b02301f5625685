"""From an estimator's parameters and a table to the problem that is solved, and the plan for it."""

from numbers import Integral
from typing import Any

import numpy as np

from lspin.fitting.contest import suits_groups
from lspin.fitting.ensemble import GROUPS, NETWORKS, Plan
from lspin.fitting.problem import (
    Problem,
    check_anchor,
    has_many_columns,
    is_wide,
    read_affinity,
    suitable_anchor,
)
from lspin.fitting.recipe import NONLINEAR, WIDE, Recipe, look_at_context, recipe_for
from lspin.tables.context import find_columns
from lspin.tables.encoding import Encoding, Manner, give_context, learn_encoding
from lspin.tables.grid import Rows
from lspin.targets.base import Given
from lspin.targets.kind import Kind

NONLINEAR_LAYERS = (50, 50)  # of the default predictor
FEW_ROWS = 80  # with fewer, it is linear
# What fewer features may cost, as a part of what the best model gains over a constant, and never more
# than a standard error. On 178 development tables 0, 2 and 3 % gave mean ranks of 2.47, 2.49 and 2.56 among five
# methods, 2.07, 2.05 and 2.07 by log loss, with 65, 56 and 54 % of the columns.
TOLERANCES = {"accurate": 0.02, "sparse": 1.0}


def check_together(asked: Any) -> None:
    """Raise an error if parameters contradict one another."""
    for name in ("hidden_layer_sizes", "gate_hidden_layer_sizes"):
        sizes = getattr(asked, name) or ()
        if sizes != "auto" and not all(isinstance(size, Integral) and int(size) >= 1 for size in sizes):
            raise ValueError(f"{name} must hold whole numbers of at least 1, got {sizes!r}")
    if asked.n_features is not None and asked.sparsity != "auto":
        raise ValueError(
            f"n_features={asked.n_features} asks for a price to be found, and sparsity={asked.sparsity} "
            "gives one: leave sparsity at 'auto' or n_features at None"
        )
    if asked.bootstrap and asked.n_members == 1:
        raise ValueError("bootstrap=True draws other rows for each member: it needs n_members > 1")
    if asked.n_panel is not None and asked.n_features is not None and asked.n_features > asked.n_panel:
        raise ValueError(
            f"n_features={asked.n_features} for each sample, but n_panel={asked.n_panel} for all samples together"
        )
    if asked.context_only and asked.context is None:
        raise ValueError("context_only=True is about the columns of a context: name them with context=[...]")


def pose(asked: Any, given: Given, panel: np.ndarray | None = None) -> Problem:
    """The problem that a table poses, or those of its columns that are in a panel."""
    kind, rows = given.kind, given.kind.adjust(given.rows)
    manner = Manner(asked.scaling, asked.centering)
    _refuse_centering(manner, rows)
    encoding = learn_encoding(rows, given.levels, asked.n_features_in_, panel, manner)
    if asked.context is not None:
        columns = find_columns(asked.context, asked.n_features_in_, getattr(asked, "feature_names_in_", None))
        encoding = give_context(encoding, columns, context_only=asked.context_only)
    _refuse_many(asked, encoding)
    wide = is_wide(rows, encoding)
    rising = _has_rising_price(encoding, is_wide=wide)
    layers = _prediction_layers(asked, is_linear=wide or rising or len(rows.target) < FEW_ROWS)
    anchor = _find_anchor(asked, layers, rows, encoding, kind, is_wide=wide)
    affinity, matrix = None, None
    if asked.stability > 0 or asked.diversity > 0:
        affinity, matrix = read_affinity(asked.affinity, given)
    return Problem(
        rows=rows,
        encoding=encoding,
        kind=kind,
        is_wide=wide,
        prediction_layers=layers,
        affinity=affinity,
        affinity_matrix=matrix,
        stability=float(asked.stability),
        diversity=float(asked.diversity),
        recipe=_choose_recipe(asked, layers, anchor, rows, kind, is_wide=wide, is_rising=rising),
        anchor=anchor,
        weight_decay=None if asked.weight_decay == "auto" else float(asked.weight_decay),
        max_epochs=None if asked.max_epochs is None else int(asked.max_epochs),
        batch_size=int(asked.batch_size),
        patience=np.inf if asked.patience is None else float(asked.patience),
        tolerance=TOLERANCES[asked.rule],
        on_few=_pose_on_few(asked, layers, rows, kind, is_many=wide or rising),
    )


def _pose_on_few(
    asked: Any, layers: tuple[int, ...], rows: Rows, kind: Kind, *, is_many: bool
) -> tuple[tuple[int, ...], Recipe] | None:
    """A nonlinear predictor and its recipe, where a linear one was not asked for but follows from many columns."""
    if layers or not is_many or not isinstance(asked.hidden_layer_sizes, str) or len(rows.target) < FEW_ROWS:
        return None
    recipe = _choose_recipe(asked, NONLINEAR_LAYERS, None, rows, kind, is_wide=False, is_rising=False)
    return NONLINEAR_LAYERS, recipe


def _refuse_centering(manner: Manner, rows: Rows) -> None:
    """Raise an error if a sparse table is to be centred."""
    if manner.centering and rows.grid.is_sparse:
        raise ValueError(
            "centering=True needs a dense table, for the zeros of a sparse one (a sparse matrix, or "
            "zero_is_absent=True) must stay zeros: give X.toarray(), or leave centering at None"
        )


def _refuse_many(asked: Any, encoding: Encoding) -> None:
    """Raise an error if more features are asked for than there are."""
    n_gated = len(encoding.gated_features)
    if asked.n_features is not None and asked.n_features > n_gated:
        others = " and are not for the gates alone" if asked.context_only else ""
        raise ValueError(
            f"n_features={asked.n_features}, but only {n_gated} of the {asked.n_features_in_} columns vary{others}"
        )


def check_panel(asked: Any, problem: Problem) -> None:
    """Raise an error if a panel of the wanted size cannot be had from a table."""
    if problem.rows.grid.is_sparse:
        raise ValueError(
            f"n_panel={asked.n_panel} needs a dense table, and this one is sparse (a sparse matrix, or "
            "zero_is_absent=True): give X.toarray(), or leave columns out beforehand"
        )
    if asked.n_panel > asked.n_features_in_:
        raise ValueError(f"n_panel={asked.n_panel}, but X has {asked.n_features_in_} columns")
    n_context = 0 if asked.context is None else len(asked.context)
    n_others = asked.n_panel - n_context
    if n_others < 0 or (asked.context_only and n_others < (asked.n_features or 1)):
        wanted = f", and {asked.n_features or 1} to predict from" if asked.context_only else ""
        raise ValueError(
            f"n_panel={asked.n_panel} counts the columns of the context too: it has {n_context}{wanted}"
        )


def plan_fits(asked: Any, problem: Problem) -> Plan:
    """What an estimator's parameters ask for beyond the problem itself."""
    return Plan(
        starts=_list_starts(asked, problem),
        sparsity=None if asked.sparsity == "auto" else float(asked.sparsity),
        n_features=asked.n_features,
        validation_fraction=asked.validation_fraction,
        n_restarts=_count_restarts(asked, problem),
        n_members=asked.n_members,
        bootstrap=asked.bootstrap,
        n_jobs=asked.n_jobs,
        shows_progress=bool(asked.verbose),
    )


def _list_starts(asked: Any, problem: Problem) -> tuple[str, ...]:
    """As asked for; else both, unless a parameter is about networks only."""
    if asked.start == NETWORKS:
        return (NETWORKS,)
    asks_for_networks = {
        "hidden_layer_sizes": asked.hidden_layer_sizes != "auto",
        "gate_hidden_layer_sizes": asked.gate_hidden_layer_sizes is not None,
        "anchor": not isinstance(asked.anchor, str) or asked.anchor != "auto",
        "stability": asked.stability > 0,
        "diversity": asked.diversity > 0,
        "sparsity": asked.sparsity != "auto",
        "n_members": asked.n_members > 1 and not asked.bootstrap,
    }
    reason = next((name for name, asks in asks_for_networks.items() if asks), None)
    if asked.start == GROUPS:
        _refuse_groups(asked, problem, reason)
        return (GROUPS,)
    return (GROUPS, NETWORKS) if reason is None and suits_groups(problem) else (NETWORKS,)


def _refuse_groups(asked: Any, problem: Problem, reason: str | None) -> None:
    """Raise an error if models of groups are asked for where they cannot be had."""
    if reason == "n_members":
        raise ValueError(
            f"start='groups' has no randomness, so its n_members={asked.n_members} would all be the same: add "
            "bootstrap=True"
        )
    if reason is not None:
        raise ValueError(
            f"start='groups' trains no networks, but {reason}={getattr(asked, reason)!r} is for these: leave "
            "it out, or set start='networks'"
        )
    if not suits_groups(problem):
        raise ValueError(
            "start='groups' needs a dense table, and this one is sparse (a sparse matrix, or "
            "zero_is_absent=True): give X.toarray(), or leave start at 'auto'"
        )


def _count_restarts(asked: Any, problem: Problem) -> int:
    """As asked for; else more for a small table, where a start costs little and matters much."""
    if asked.n_restarts != "auto":
        return int(asked.n_restarts)
    most = 8 if problem.prediction_layers else 64
    if problem.is_wide:
        most = 2  # what the gates look at leaves little to chance
    return min(most, -(-1000 // problem.n_rows))


def _has_rising_price(encoding: Encoding, *, is_wide: bool) -> bool:
    # All rows of one context move a gate together, so that it would be far open before the price is felt.
    looks_at_all = encoding.context is None
    return looks_at_all and not is_wide and has_many_columns(encoding)


def _prediction_layers(asked: Any, *, is_linear: bool) -> tuple[int, ...]:
    if isinstance(asked.hidden_layer_sizes, str):
        return () if is_linear else NONLINEAR_LAYERS
    return tuple(int(size) for size in asked.hidden_layer_sizes)


def _find_anchor(
    asked: Any, layers: tuple[int, ...], rows: Rows, encoding: Encoding, kind: Kind, *, is_wide: bool
) -> str | np.ndarray | None:
    """The anchor as asked for, or the one that suits the table."""
    if isinstance(asked.anchor, str) and asked.anchor == "auto":
        return suitable_anchor(rows, kind) if is_wide and not layers else None
    if asked.anchor is None:
        return None
    if layers:
        raise ValueError(f"an anchor is for a linear predictor: set hidden_layer_sizes=() instead of {layers}")
    return check_anchor(asked.anchor, rows, encoding, kind)


def _choose_recipe(
    asked: Any,
    layers: tuple[int, ...],
    anchor: str | np.ndarray | None,
    rows: Rows,
    kind: Kind,
    *,
    is_wide: bool,
    is_rising: bool,
) -> Recipe:
    """The recipe for the predictor, with what the user set instead of its own."""
    sizes = asked.gate_hidden_layer_sizes
    gating_layers = None if sizes is None else tuple(int(size) for size in sizes)
    chosen: dict[str, Any] = {
        "gating_layers": gating_layers,
        "noise_scale": asked.noise_scale,
        "learning_rate": asked.learning_rate,
        "exchange": asked.gate_exchange,
    }
    recipe = recipe_for(layers, gating_layers, anchor, rows, kind, is_wide=is_wide, is_rising=is_rising)
    if (anchor is None) == (recipe.anchoring > 0):
        # What is drawn to an anchor does not decay to 0, and the other way round.
        other = WIDE if anchor is not None else NONLINEAR
        recipe = recipe._replace(anchoring=other.anchoring, decays=other.decays)
    if asked.context is not None:
        recipe = look_at_context(recipe)
    if recipe.strict_noise is not None:
        chosen["strict_noise"] = asked.noise_scale
    return recipe._replace(**{name: value for name, value in chosen.items() if value is not None})


def unwrap_eval_set(eval_set: Any) -> Any:
    """Rows to judge by, ``(X, y)`` or ``(X, y, sample_weight)``; a list with one such tuple gives the tuple."""
    if isinstance(eval_set, list) and eval_set and all(isinstance(part, tuple) for part in eval_set):
        if len(eval_set) > 1:
            raise ValueError(f"eval_set must be one tuple (X, y); it holds {len(eval_set)} of them")
        (eval_set,) = eval_set
    if not isinstance(eval_set, tuple | list) or len(eval_set) not in (2, 3):
        raise ValueError("eval_set must be (X, y) or (X, y, sample_weight)")
    return eval_set
