"""What the three estimators share: fitting, gates, coefficients, saving."""

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_consistent_length,
    check_is_fitted,
)

from lspin.core.interrupts import deferring, noting
from lspin.core.model import list_weights
from lspin.estimators import settings
from lspin.estimators.posing import check_panel, check_together, plan_fits, pose, unwrap_eval_set
from lspin.estimators.saving import SavedModel, restored, storable, write_model
from lspin.estimators.summarising import remember, summarise
from lspin.explanation.joining import explain
from lspin.explanation.record import Explanation
from lspin.explanation.summary import Summary
from lspin.fitting.components import refuse_unknown, store_components, tell_components
from lspin.fitting.ensemble import (
    GROUPS,
    NETWORKS,
    FitInterruptedWarning,
    Solution,
    draw_seed,
    limit_columns,
    solve,
)
from lspin.fitting.fit import HISTORY
from lspin.fitting.found import (
    average_memberships,
    count_findings,
    leave_unmatched,
    match_groups,
    refuse_mismatch,
    tell_structure,
)
from lspin.fitting.judging import Standing
from lspin.fitting.keeping import telling_what_is_kept
from lspin.fitting.needs import find_needed
from lspin.fitting.panels import PanelSize
from lspin.fitting.path import Candidate
from lspin.fitting.prediction import (
    Member,
    check_gates,
    predict_counted,
    predict_member,
    predict_members,
    predict_signs,
)
from lspin.tables.encoding import Encoding
from lspin.tables.grid import Grid, Rows, store_sparsely
from lspin.tables.labels import read_weights
from lspin.tables.reading import Levels, add_absent, columns_of_inputs, is_frame, name_columns, read_table
from lspin.tables.settling import settle_columns
from lspin.targets.base import TableEstimator
from lspin.targets.kind import Kind
from lspin.targets.settings import declare, first


@declare()
class LSPINBase(TransformerMixin, TableEstimator):
    """What classifier, regressor and survival model share."""

    hidden_layer_sizes: tuple[int, ...] | str = first(settings.HIDDEN_LAYER_SIZES, default="auto")
    gate_hidden_layer_sizes: tuple[int, ...] | None = settings.GATE_HIDDEN_LAYER_SIZES(None)
    sparsity: float | str = settings.SPARSITY("auto")
    n_features: int | None = settings.N_FEATURES(None)
    n_panel: int | None = settings.N_PANEL(None)
    rule: str = settings.RULE("accurate")
    start: str = settings.START("auto")
    context: Sequence[str | int] | None = settings.CONTEXT(None)
    context_only: bool = settings.CONTEXT_ONLY(False)
    stability: float = settings.STABILITY(0.0)
    diversity: float = settings.DIVERSITY(0.0)
    affinity: str | Callable | np.ndarray = settings.AFFINITY("rbf")
    gate_exchange: float | None = settings.GATE_EXCHANGE(None)
    noise_scale: float | None = settings.NOISE_SCALE(None)
    learning_rate: float | None = settings.LEARNING_RATE(None)
    scaling: str = settings.SCALING("auto")
    centering: bool | None = settings.CENTERING(None)
    zero_is_absent: bool = settings.ZERO_IS_ABSENT(False)
    columns: str | None = settings.COLUMNS(None)
    anchor: str | np.ndarray | None = settings.ANCHOR("auto")
    weight_decay: float | str = settings.WEIGHT_DECAY("auto")
    max_epochs: int | None = settings.MAX_EPOCHS(None)
    batch_size: int = settings.BATCH_SIZE(128)
    validation_fraction: float = settings.VALIDATION_FRACTION(0.2)
    patience: int | None = settings.PATIENCE(None)
    n_restarts: int | str = settings.N_RESTARTS("auto")
    n_members: int = settings.N_MEMBERS(1)
    bootstrap: bool = settings.BOOTSTRAP(False)
    n_jobs: int | None = settings.N_JOBS(None)
    random_state: int | np.random.RandomState | None = settings.RANDOM_STATE(None)
    verbose: int = settings.VERBOSE(0)

    _learned: ClassVar[dict[str, type]] = {
        "n_features_in_": int,
        "feature_names_in_": np.ndarray,
        "sparsity_": float,
        "weight_decay_": float,
        "path_": pd.DataFrame,
        "panel_path_": pd.DataFrame,
        "history_": pd.DataFrame,
        "n_iter_": int,
        "n_starts_": int,
        "start_": str,
        "contest_": pd.DataFrame,
        "_matched": pd.DataFrame,
        "_components": pd.DataFrame,
        "feature_importances_": np.ndarray,
        "_summary": pd.DataFrame,
        "_counted": np.ndarray,
        "_dates": pd.DataFrame,
    }
    # What a file need not hold: names that the table did not have, and what version 0.1 did not know.
    _unsaved: ClassVar[dict[str, Any]] = {
        "feature_names_in_": None,
        "start_": NETWORKS,
        "contest_": pd.DataFrame(columns=list(Standing._fields)),
        "_matched": None,
        "_components": store_components([]),
        "pos_label_": None,
        "mean_log_hazard_": None,
        "feature_importances_": None,
        "_summary": None,
        "_counted": None,
        "_dates": None,
        "panel_path_": pd.DataFrame(columns=list(PanelSize._fields)),
    }

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        eval_set: tuple | list | None = None,
        feature_names: Any = None,
    ) -> Self:
        """Fit the model: groups of rows and what counts in each, or a gating and a prediction network.

        Parameters
        ----------
        X
            Table of shape ``(n_samples, n_columns)``: a pandas or polars frame, a pyarrow table, an array, a
            sparse matrix, or an AnnData object, whose ``X`` and ``var_names`` are taken. A pandas frame whose
            columns are all sparse is a sparse matrix with names.
            Categorical columns get one gate each; missing values are allowed, and their gate is shut.
        y
            Target, shape ``(n_samples,)``.
        sample_weight
            Weight of each row, shape ``(n_samples,)``. A row of weight 2 equals the row given twice.
        eval_set
            Rows to choose start and sparsity on, ``(X, y)`` or ``(X, y, sample_weight)``, instead of rows held out
            from ``X``; a list with one such tuple is taken too. The chosen model is then not fitted again, but a
            network with hidden layers is trained on from where it was chosen.
        feature_names
            Names of the columns of an array or a sparse matrix.

        Returns
        -------
        self
            The fitted estimator.
        """
        self.__dict__.pop("members_", None)
        X = X if feature_names is None else name_columns(X, feature_names)
        self._validate_params()
        check_together(self)
        with noting() as noted, telling_what_is_kept():
            given = self._take(X, y, sample_weight)
            problem = pose(self, given)
            valid = None if eval_set is None else self._read_eval_set(eval_set, problem.encoding, problem.kind)
            rng = check_random_state(self.random_state)
            split_seed, panels = draw_seed(rng), None
            if self.n_panel is not None:
                check_panel(self, problem)
                panels = limit_columns(
                    problem,
                    valid,
                    self.n_panel,
                    n_features=self.n_features,
                    fraction=self.validation_fraction,
                    seed=split_seed,
                    with_networks=self.start != GROUPS,
                    shown=bool(self.verbose),
                )
                problem = pose(self, given, panels.for_networks.encoding.features)
            plan = plan_fits(self, problem)
            solution = solve(problem, valid, plan, rng, split_seed=split_seed, panels=panels)
        with deferring() as interrupt:
            self._keep(solution)
            self._matched = match_groups(self.members_, given.rows.grid, given.rows.weight)
            self._learn_from(given.kind, given.rows, predict_counted(self.members_, given.rows.grid).outputs)
            self._summary, self.feature_importances_, n_explained = remember(self, given.rows)
            self._counted = np.array([n_explained, len(given.rows.target)])
        if solution.remark is None and (interrupt.asked or noted.asked):
            solution = solution._replace(remark="interrupted: the fit was finished already and is whole")
        self._warn(solution)
        return self

    def _keep(self, solution: Solution) -> None:
        self.sparsity_ = solution.sparsity
        self.weight_decay_ = solution.weight_decay
        self.path_ = pd.DataFrame(solution.path, columns=list(Candidate._fields))
        histories = [pd.DataFrame(fit.history, columns=list(HISTORY)) for fit in solution.fits]
        self.history_ = pd.concat(histories, keys=range(len(histories)), names=["member", "epoch"]).reset_index()
        self.n_iter_ = max(len(history) for history in histories)
        self.panel_path_ = pd.DataFrame(solution.panel_path, columns=list(PanelSize._fields))
        self.n_starts_ = solution.n_starts
        self.start_ = solution.start
        self.contest_ = pd.DataFrame(solution.contest, columns=list(Standing._fields))
        self.members_ = [fit.member for fit in solution.fits]
        self._components = store_components([fit.components for fit in solution.fits])

    def _warn(self, solution: Solution) -> None:
        if solution.remark is not None:
            warnings.warn(solution.remark, FitInterruptedWarning, stacklevel=3)
        elif (wanted := self.n_features) is not None:
            nearest = min((row.n_features for row in solution.path), key=lambda n: abs(n - wanted))
            if abs(nearest - wanted) > 1:
                warnings.warn(
                    f"no sparsity was found at which the median row opens {wanted} gates; "
                    f"the nearest reached is {nearest:g}, at sparsity={solution.sparsity:.3g}",
                    ConvergenceWarning,
                    stacklevel=3,
                )

    def _store(self, table: Grid, levels: Levels) -> Grid:
        if not self.zero_is_absent:
            return table
        _refuse_levels(levels, getattr(self, "feature_names_in_", None))
        return store_sparsely(table)

    def _read_eval_set(self, eval_set: tuple | list, encoding: Encoding, kind: Kind) -> Rows:
        X, y, *rest = unwrap_eval_set(eval_set)
        X, entries = self._check_table(X, reset=False), kind.entries(y, trains=False)
        check_consistent_length(X, entries)
        weights = read_weights(rest[0] if rest else None, X)
        table, _ = read_table(X, encoding.levels)
        if encoding.zero_is_absent:
            table = store_sparsely(table)
        return kind.adjust(Rows(table, kind.read_known(entries), weights, np.arange(len(weights))))

    # Using a fitted model.

    @property
    def _levels(self) -> Levels:
        return self.members_[0].encoding.levels

    @property
    def columns_needed_(self) -> np.ndarray:
        """Columns that a prediction can depend on, by name or, if the table had none, by position.

        These are the columns that the gates look at, and those whose gate is open for some row. Without a context
        or a panel, gates look at nearly all columns. With one, a frame may lack the columns that are not listed
        here.
        """
        check_is_fitted(self)
        return self._column_names[find_needed(self.members_)]

    @property
    def structure_(self) -> pd.DataFrame:
        """Groups of rows that a model of groups has found, one row for each member and group.

        ``common``: number of the same group in :attr:`structure_frequency_` and :meth:`memberships`, or -1;
        ``share``: part of the training rows; ``told_by``: columns that tell the group from the others, most
        telling first; ``features``: columns that count in it; ``signs``: 1 where high values raise the score (of
        two classes, the odds of ``pos_label_``), -1 where they lower it, not a number for categories and several
        classes. Empty if ``start_`` is ``'networks'``.
        """
        check_is_fitted(self)
        return tell_structure(self.members_, self._matched, self._column_names, self.kind_.direction)

    @property
    def components_(self) -> pd.DataFrame:
        """Directions in which columns vary together beyond chance, where these divided the rows into groups.

        One row for each member and component, the strongest first. ``variance``: its part of the variance of all
        columns; ``divides``: whether groups were made of it; ``columns``: up to ten columns most closely related
        to it, with their ``correlations``. Empty if there are no groups, or if single columns divided the rows.
        """
        check_is_fitted(self)
        return tell_components(self._components, self._column_names)

    @property
    def structure_frequency_(self) -> pd.DataFrame:
        """How many members find each group, and each feature in it: the share ``found`` with its interval.

        ``role``: ``'group'`` for the group itself, ``'tells'`` for a feature that tells it, ``'counts'`` for one
        that counts in it; ``lower`` and ``upper``: Wilson's 95 % interval over the members; ``sign``: mean over
        the members that find it. For ``'tells'``, 1 means that high values speak for the group.

        Notes
        -----
        Groups of two members are the same if they share more than half of the training rows that either has.
        A member that lacks the group counts as one that did not find it. All members look for groups by the one
        rule that was chosen on held-out rows, so the intervals do not include the variance of that choice.
        """
        check_is_fitted(self)
        return count_findings(self.members_, self._matched, self._column_names, self.kind_.direction)

    def memberships(self, X: Any) -> np.ndarray:
        """Probability that a row belongs to each group of ``structure_``, shape ``(n_samples, n_groups)``.

        With several members, the mean over their common groups.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.

        Returns
        -------
        numpy.ndarray
            Probabilities; the rows add up to 1.
        """
        table = self._read(X)
        if self.start_ != GROUPS:
            raise AttributeError("the model has no groups: start_ is 'networks'")
        return average_memberships(self.members_, self._matched, table)

    @property
    def _context(self) -> np.ndarray | None:
        """Positions of the columns that the gates look at; nothing if these are all."""
        return find_context(self.members_[0].encoding)

    @property
    def _may_lack_columns(self) -> bool:
        """Whether a frame may lack columns: without context or panel, that is a mistake more often than not."""
        return self._context is not None or len(self.panel_path_) > 0

    def _settle(self, X: Any, *, reset: bool) -> Any:
        """The table with text and dates read as ``columns`` says."""
        if self.columns is None or not is_frame(X):
            return X
        X, learned = settle_columns(X, None if reset else getattr(self, "_dates", None))
        if reset:
            self._dates = learned
        return X

    def _check_table(self, X: Any, *, reset: bool) -> Any:
        X = self._settle(X, reset=reset)
        if not reset and hasattr(self, "members_") and self._may_lack_columns and is_frame(X):
            names = getattr(self, "feature_names_in_", None)
            X = X if names is None else add_absent(X, names, set(names) - set(self.columns_needed_))
        return super()._check_table(X, reset=reset)

    def _outputs(self, X: Any) -> np.ndarray:
        table = self._read(X)
        return predict_counted(self.members_, table).outputs

    def predict_with_gates(self, X: Any, gates: np.ndarray) -> np.ndarray:
        """Predict with given gates instead of the model's own.

        Parameters
        ----------
        X
            Table.
        gates
            Gates in [0, 1], shape ``(n_samples, n_columns)``. Every member of an ensemble uses the same gates.
            Gates of missing values are shut.

        Returns
        -------
        numpy.ndarray
            Predictions, as :meth:`predict` returns them.
        """
        table = self._read(X)
        foreign = sp.csr_array(gates) if sp.issparse(gates) else np.asarray(gates, np.float64)
        expected = (table.values.shape[0], self.n_features_in_)
        check_gates(foreign, expected)
        return self.kind_.decide(predict_counted(self.members_, table, foreign).outputs)

    def gates(self, X: Any) -> np.ndarray:
        """Gates of each row, in [0, 1], shape ``(n_samples, n_columns)``; with several members, their mean.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.

        Returns
        -------
        numpy.ndarray
            Gates; a sparse matrix if ``X`` is one.
        """
        table = self._read(X)
        return _as_given(predict_members(self.members_, table).gates, table)

    def selected(self, X: Any) -> np.ndarray:
        """Selected features of each row (the gate of any member is open), shape ``(n_samples, n_columns)``.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.

        Returns
        -------
        numpy.ndarray
            Booleans; a sparse matrix if ``X`` is one.
        """
        return self.gates(X) > 0

    def gate_signs(self, X: Any) -> np.ndarray:
        """Sign of each coefficient in each row, shape ``(n_samples, n_columns)``.

        It is 1, or -1 where ``start_`` is ``'groups'`` and the row's group uses a feature with the opposite sign.
        A row between two groups has a number in between.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.

        Returns
        -------
        numpy.ndarray
            Signs, shape ``(n_samples, n_columns)``.
        """
        table = self._read(X)
        return predict_signs(self._linear_member, table)

    def selection_frequency(self, X: Any) -> np.ndarray:
        """Share of the members that open each gate, shape ``(n_samples, n_columns)``.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.

        Returns
        -------
        numpy.ndarray
            Shares in [0, 1]; a sparse matrix if ``X`` is one.
        """
        table = self._read(X)
        opened = [(predict_member(member, table).gates > 0) * 1.0 for member in self.members_]
        return _as_given(sum(opened[1:], start=opened[0]) / len(opened), table)

    def explain(self, X: Any) -> Explanation:
        """The selected features of each row and what each adds to the prediction.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.

        Returns
        -------
        Explanation
            Open gates and contributions of each row; :func:`lspin.plots.waterfall` draws one.
        """
        check_is_fitted(self)
        return explain(self, X, shown=bool(self.verbose))

    def summary(self, X: Any = None) -> Summary:
        """What the model rests on, feature by feature and, where groups were found, group by group.

        Parameters
        ----------
        X : table, default=None
            Rows to sum up. By default training rows, as they were counted when the model was fitted: up to
            2,000 for a linear predictor, and 200 divided by the members (at least 40) for one with hidden layers.

        Returns
        -------
        Summary
            ``print`` it, or take its ``frame``: share of the rows that select a feature, importance, direction,
            effect between the quartiles (odds, hazard or rate ratio), and how many members select it.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from lspin import LSPINRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = LSPINRegressor(random_state=0).fit(X, y)
        >>> table = model.summary().frame

        """
        check_is_fitted(self)
        return summarise(self, X)

    def transform(self, X: Any) -> Any:
        """The table with every value multiplied by its gate.

        A categorical column becomes one column per level, with the gate where the row has that level and 0
        elsewhere. Missing values become 0.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.

        Returns
        -------
        numpy.ndarray or scipy.sparse.csr_array
            Gated values; a sparse matrix if ``X`` is one.
        """
        table = self._read(X)
        gates = _as_given(predict_members(self.members_, table).gates, table)
        gates = gates[:, columns_of_inputs(self.n_features_in_, self._levels)]
        return sp.csr_array(table.values.multiply(gates)) if sp.issparse(table.values) else table.values * gates

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that :meth:`transform` returns.

        Parameters
        ----------
        input_features
            Names of the columns; by default those of the table that the model was fitted on.

        Returns
        -------
        numpy.ndarray
            Names, one for each column.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array(
            [
                name if column not in self._levels else f"{name}_{level}"
                for column, name in enumerate(names)
                for level in self._levels.get(column, (None,))
            ],
            dtype=object,
        )

    @property
    def _linear_member(self) -> Member:
        """The member whose coefficients can be shown."""
        check_is_fitted(self)
        if len(self.members_[0].networks.prediction) > 1 or len(self.members_) > 1:
            raise AttributeError(
                "coefficients exist for a single linear predictor only: hidden_layer_sizes=() or start='groups', "
                "and n_members=1"
            )
        return self.members_[0]

    @property
    def _coefficients(self) -> np.ndarray:
        """Weights in units of the table, shape ``(n_outputs, n_inputs)``; 0 for columns that do not vary."""
        member = self._linear_member
        column_of = columns_of_inputs(self.n_features_in_, self._levels)
        weights = np.zeros((member.networks.prediction[0].weights.shape[1], len(column_of)))
        weights[:, np.isin(column_of, member.encoding.features)] = (
            member.networks.prediction[0].weights / member.encoding.scale[:, None]
        ).T
        return weights

    @property
    def center_(self) -> np.ndarray:
        """Value of each input at which it contributes nothing; ``coef_`` multiplies the distance to it."""
        member = self._linear_member
        column_of = columns_of_inputs(self.n_features_in_, self._levels)
        center = np.zeros(len(column_of))
        center[np.isin(column_of, member.encoding.features)] = member.encoding.center
        return center

    # Saving.

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file of arrays and JSON; :func:`lspin.load` reads it.

        Parameters
        ----------
        path
            File to write; the ending ``.lspin`` is customary.
        """
        check_is_fitted(self)
        names = [*self._learned, *self.kind_.learned_types]
        learned = {name: value for name in names if (value := getattr(self, name, None)) is not None}
        write_model(
            path,
            SavedModel(
                kind=type(self).__name__,
                version=version("lspin"),
                parameters={name: storable(name, value) for name, value in self.get_params().items()},
                attributes=learned,
                members=self.members_,
                origin=getattr(self, "origin_", {}),
            ),
        )

    @classmethod
    def _restore(cls, saved: SavedModel) -> Self:
        """The estimator that a file describes, or an error if its parts do not fit together."""
        estimator = cls(**{name: restored(value) for name, value in saved.parameters.items()})
        estimator._validate_params()
        kind = estimator._kind()
        for name, expected in {**cls._learned, **kind.learned_types}.items():
            value = saved.attributes.get(name, cls._unsaved.get(name))
            if value is None and name in cls._unsaved:
                continue
            if not isinstance(value, expected) or (isinstance(value, np.ndarray) and value.ndim != 1):
                raise ValueError(f"its {name} is {value!r}")
            if name == "start_" and value not in (GROUPS, NETWORKS):
                raise ValueError(f"its start_ is {value!r}")
            setattr(estimator, name, copy(value))
        estimator.kind_ = kind.restore(saved.attributes)
        for name, value in estimator.kind_.attributes.items():
            setattr(estimator, name, value)
        estimator._refuse_mismatch(saved.members)
        estimator.members_ = saved.members
        if not hasattr(estimator, "_matched"):
            estimator._matched = leave_unmatched(saved.members)
        refuse_mismatch(estimator._matched, saved.members)
        refuse_unknown(estimator._components, len(saved.members), estimator.n_features_in_)
        if saved.origin:
            estimator.origin_ = saved.origin
        return estimator

    def _refuse_mismatch(self, members: list[Member]) -> None:
        """Raise an error if loaded members do not fit the rest of the file."""
        n_outputs = {len(member.networks.prediction[-1].bias) for member in members}
        n_columns = {member.encoding.n_columns for member in members}
        if n_outputs != {self.kind_.n_outputs} or n_columns != {self.n_features_in_}:
            raise ValueError("its members do not fit its columns or its classes")
        contexts = [member.encoding.features[member.encoding.seen_features].tolist() for member in members]
        if any(member.encoding.context is not None for member in members) and contexts != contexts[:1] * len(
            members
        ):
            raise ValueError("the gates of its members look at different columns")
        if not all(np.isfinite(part).all() for member in members for part in list_weights(member.networks)):
            raise ValueError("a weight of its networks is not finite")
        names = getattr(self, "feature_names_in_", None)
        if names is not None and len(names) != self.n_features_in_:
            raise ValueError(f"it has {len(names)} names for {self.n_features_in_} columns")

    # What scikit-learn asks.

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "members_")


def find_context(encoding: Encoding) -> np.ndarray | None:
    """Positions of the columns that gates look at; nothing if these are all."""
    return None if encoding.context is None else encoding.features[encoding.context]


def _refuse_levels(levels: Levels, names: np.ndarray | None) -> None:
    if levels:
        column = min(levels)
        name = column if names is None else names[column]
        raise ValueError(f"zero_is_absent=True is for tables of numbers, but column {name!r} is categorical")


def _as_given(gates: Any, table: Grid) -> Any:
    """Gates in the form of the table they belong to: dense for a dense one, whatever the model was fitted on."""
    return gates.toarray() if sp.issparse(gates) and not sp.issparse(table.values) else gates
