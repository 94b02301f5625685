"""Cox regression with an L1 penalty: one sparse linear model of the log-hazard for all rows.

Simon, Friedman, Hastie and Tibshirani, «Regularization paths for Cox's proportional hazards model via coordinate
descent», Journal of Statistical Software 2011.
"""

import warnings
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_random_state

from lspin.baselines.rival import RANDOM_STATE, Rival
from lspin.core.cox import RiskSets, cox_loss, cox_slope, find_risk_sets
from lspin.fitting.preparation import Examples
from lspin.targets import SurvivalModel
from lspin.targets.settings import NOT_NEGATIVE, Setting, declare, first

N_FOLDS = 5
N_PENALTIES = 30
LEAST_PART = {True: 0.05, False: 0.01}  # of the largest penalty; by whether there are fewer rows than inputs
MOST_STEPS = 50
TOLERANCE = 1e-9  # change of the objective, in nats per event
COARSE, FINE = 1e-4, 1e-7  # tolerance of the lasso in a step: along the path, and at the end
SMALLEST_CURVATURE = 1e-10
SLACK = 1e-3  # part of the penalty that a slope may exceed it by, for the tolerance of the lasso
N_HALVINGS = 10


class Cohort(NamedTuple):
    """Rows sorted by falling time, with who is at risk at each event."""

    inputs: np.ndarray  # (n, n_inputs), 0 where missing
    sets: RiskSets

    @property
    def n_events(self) -> float:
        """Sum of the weights of the events."""
        return float(self.sets.event.sum())


@declare()
class CoxLasso(SurvivalModel, Rival):
    """Cox regression with an L1 penalty. Unlike in LSPIN, all rows have the same features, and effects are linear.

    Notes
    -----
    Coefficients of standardised inputs minimise the negative log partial likelihood per event (ties by Breslow)
    plus ``penalty`` times the sum of their sizes. Each step solves a lasso with the curvature of the likelihood at
    the coefficients so far. If no penalty is given, it is one of 30, from the least that leaves no coefficient
    down to a hundredth of it (a twentieth if there are fewer rows than inputs): that with the highest
    cross-validated partial likelihood in five folds (Verweij and van Houwelingen, 1993).

    References
    ----------
    Simon, Friedman, Hastie and Tibshirani, «Regularization paths for Cox's proportional hazards model via
    coordinate descent», Journal of Statistical Software 2011.

    """

    penalty: float | None = first(
        Setting(
            [NOT_NEGATIVE, None], "Price of the size of a coefficient, in nats per event; chosen if not given."
        ),
        default=None,
    )
    random_state: int | np.random.RandomState | None = RANDOM_STATE(None)

    ties: ClassVar[str] = "breslow"  # type: ignore[misc]  # no choice is left

    def _learn(self, examples: Examples) -> np.ndarray:
        cohort = sort_rows(examples)
        if self.penalty is None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            penalties = list_penalties(cohort)
            best = choose_penalty(examples, penalties, seed)
            penalties = penalties[: best + 1]
        else:
            penalties = np.array([max(largest_penalty(cohort), self.penalty), self.penalty])
        self.penalty_ = float(penalties[-1])
        coefficients = fit_path(cohort, penalties)[-1]
        used = coefficients != 0
        part = cohort._replace(inputs=cohort.inputs[:, used])
        coefficients[used] = minimise(part, self.penalty_, coefficients[used], tol=FINE)
        return coefficients

    def _open(self, inputs: np.ndarray) -> np.ndarray:
        gates = np.zeros(self.encoding_.n_features)
        np.maximum.at(gates, self.encoding_.owners, self.weights_ != 0)
        return np.broadcast_to(gates, (len(inputs), len(gates)))

    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        return (gates * inputs) @ self.weights_[:, None]


def sort_rows(examples: Examples, rows: np.ndarray | None = None) -> Cohort:
    """Some rows, by default all, in the order in which risk sets are found."""
    rows = np.arange(len(examples.target)) if rows is None else rows
    order = rows[np.argsort(-np.abs(examples.target[rows]), kind="stable")]
    signed = examples.target[order]
    sets = find_risk_sets(np.abs(signed), signed > 0, examples.weight[order].astype(np.float64), ties="breslow")
    return Cohort(np.asarray(examples.inputs[order], np.float64), sets)


def largest_penalty(cohort: Cohort) -> float:
    """The least penalty that leaves no coefficient."""
    return float(_slopes(cohort, np.zeros(cohort.inputs.shape[1])).max(initial=0.0))


def list_penalties(cohort: Cohort) -> np.ndarray:
    """Falling penalties, from the least that leaves no coefficient."""
    n_rows, n_inputs = cohort.inputs.shape
    largest = max(largest_penalty(cohort), 1e-12)
    return largest * np.geomspace(1.0, LEAST_PART[n_rows < n_inputs], N_PENALTIES)


def fit_path(cohort: Cohort, penalties: np.ndarray) -> np.ndarray:
    """Coefficients for falling penalties, each from those before, shape ``(n_penalties, n_inputs)``."""
    coefficients = np.zeros(cohort.inputs.shape[1])
    path, previous = [], float(penalties[0])
    for penalty in penalties:
        coefficients = minimise_few(cohort, float(penalty), coefficients, previous)
        path.append(coefficients)
        previous = float(penalty)
    return np.array(path)


def minimise_few(cohort: Cohort, penalty: float, coefficients: np.ndarray, previous: float) -> np.ndarray:
    """The same as :func:`minimise`, by those inputs that the strong rule keeps and any that it missed.

    A slope rarely changes by more than the penalty does (Tibshirani et al., 2012).
    """
    slopes = _slopes(cohort, coefficients)
    kept = (coefficients != 0) | (slopes >= 2 * penalty - previous)
    while True:
        part = cohort._replace(inputs=cohort.inputs[:, kept])
        coefficients = coefficients.copy()
        coefficients[kept] = minimise(part, penalty, coefficients[kept])
        missed = ~kept & (_slopes(cohort, coefficients) > penalty * (1 + SLACK))
        if not missed.any():
            return coefficients
        kept |= missed


def _slopes(cohort: Cohort, coefficients: np.ndarray) -> np.ndarray:
    """Sizes of the derivatives of the loss by the coefficients."""
    return np.abs(cohort.inputs.T @ cox_slope(cohort.inputs @ coefficients, cohort.sets))


def minimise(cohort: Cohort, penalty: float, coefficients: np.ndarray, *, tol: float = COARSE) -> np.ndarray:
    """The coefficients with the least penalised loss, from some near them."""
    if not len(coefficients):
        return coefficients
    cost = penalised_loss(cohort, coefficients, penalty)
    for _ in range(MOST_STEPS):
        change = solve_quadratic(cohort, penalty, coefficients, tol) - coefficients
        for halving in range(N_HALVINGS):  # the curvature is that at the start of the step
            moved = coefficients + 0.5**halving * change
            moved_cost = penalised_loss(cohort, moved, penalty)
            if moved_cost <= cost:
                break
        gain = cost - moved_cost
        if gain > 0:
            coefficients, cost = moved, moved_cost
        if not gain > TOLERANCE:
            break
    return coefficients


def penalised_loss(cohort: Cohort, coefficients: np.ndarray, penalty: float) -> float:
    """What is minimised."""
    loss = float(cox_loss(cohort.inputs @ coefficients, cohort.sets))
    return loss + penalty * float(np.abs(coefficients).sum())


def solve_quadratic(cohort: Cohort, penalty: float, coefficients: np.ndarray, tol: float) -> np.ndarray:
    """The minimum if the loss were a quadratic function with its slope here and no less curvature.

    The matrix of second derivatives by log-hazards is the diagonal of expected events less a positive semidefinite
    matrix; the diagonal alone makes it a lasso with weights.
    """
    log_hazard = cohort.inputs @ coefficients
    slope = cox_slope(log_hazard, cohort.sets)
    curvature = np.maximum(slope + cohort.sets.event / cohort.n_events, SMALLEST_CURVATURE)
    scale = np.sqrt(len(slope) * curvature)
    goal = scale * (log_hazard - slope / curvature)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the next step goes on from here
        _, found, _ = lasso_path(
            np.asfortranarray(scale[:, None] * cohort.inputs),
            goal,
            alphas=[max(penalty, 1e-12)],
            coef_init=coefficients,
            precompute=False,
            tol=tol,
        )
    return found[:, 0]


def choose_penalty(examples: Examples, penalties: np.ndarray, seed: int) -> int:
    """Place of the penalty with the highest cross-validated partial likelihood."""
    event = examples.target > 0
    n_folds = min(N_FOLDS, len(event))
    sizes = np.bincount(event.astype(int), minlength=2)
    parting = StratifiedKFold if sizes.min() >= n_folds else KFold
    whole = sort_rows(examples)
    losses = np.zeros(len(penalties))
    for train, _ in parting(n_folds, shuffle=True, random_state=seed).split(event, event):
        if not event[train].any():
            continue
        part = sort_rows(examples, train)
        for place, coefficients in enumerate(fit_path(part, penalties)):
            # What the rows left out add to the likelihood of all: alone, a few of them have hardly a risk set.
            losses[place] += whole.n_events * float(cox_loss(whole.inputs @ coefficients, whole.sets))
            losses[place] -= part.n_events * float(cox_loss(part.inputs @ coefficients, part.sets))
    return int(losses.argmin())
