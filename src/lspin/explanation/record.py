"""The record of an explanation: the open gates of each sample and what each adds to the prediction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lspin.explanation.contributions import SAMPLED, Attribution, attribute, pick
from lspin.explanation.groups import group_patterns
from lspin.explanation.notebook import as_html
from lspin.tables.grid import Grid
from lspin.tables.reading import Levels, columns_of_inputs, is_anndata
from lspin.targets.kind import Kind, ratio_of


@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """The selected features of each sample, and what each adds to the prediction.

    The baseline plus the contributions of a sample equal its prediction, on the model's scale. A shut gate adds
    nothing, so only open gates are stored: ``rows`` and ``columns`` are their positions.
    """

    sample_names: np.ndarray  # (n_samples,), text
    feature_names: np.ndarray  # (n_features,), the columns of the table
    kind: Kind  # of the target, which knows what predictions mean
    baseline: np.ndarray  # (n_outputs,), the prediction with all gates shut
    scores: np.ndarray  # (n_samples, n_outputs), the predictions
    methods: np.ndarray  # (n_samples,): "linear", "exact Shapley" or "sampled Shapley"
    rows: np.ndarray  # (m,), ascending
    columns: np.ndarray  # (m,)
    open_gates: np.ndarray  # (m,), the mean over the members
    open_confidence: np.ndarray  # (m,), share of the members that open the gate
    open_values: np.ndarray  # (m,), what stands in the table, a number or a level
    open_contributions: np.ndarray  # (m, n_outputs), the mean over the members
    is_sparse: bool = False  # whether matrices come as CSR, as the table did
    context: pd.DataFrame | None = None  # what the gates looked at, one row a sample; None: at all columns
    missing: sp.csr_array | None = None  # (n_samples, n_features), where values are missing; None: nowhere

    def __repr__(self) -> str:
        size = f"{len(self.sample_names)} samples x {len(self.feature_names)} features"
        return f"<Explanation of {size} on the scale {self.scale!r}, {len(self.rows)} open gates>"

    def _repr_html_(self) -> str:
        return as_html(self)

    @property
    def classes(self) -> np.ndarray | None:
        """The classes; ``None`` if the target has none."""
        return self.kind.labels

    @property
    def pos_label(self) -> Any:
        """The event: the one of two classes whose log-odds the scores are; ``None`` if there are not two."""
        return self.kind.event_label

    @property
    def scale(self) -> str:
        """Scale of contributions, baseline and prediction: "logit", "response", "log-rate" or "log-hazard"."""
        return self.kind.scale

    @property
    def n_outputs(self) -> int:
        """Scores of each sample: one for each of three or more classes, else one."""
        return len(self.baseline)

    @property
    def output_names(self) -> list:
        """Names of the scores: the classes if there are three or more, else the scale."""
        return [self.scale] if self.n_outputs == 1 or self.classes is None else self.classes.tolist()

    @property
    def prediction(self) -> np.ndarray:
        """Predictions on the model's scale, shape ``(n_samples,)`` or ``(n_samples, n_outputs)``.

        Of two classes, the log-odds of :attr:`pos_label`.
        """
        return self.scores[:, 0] if self.n_outputs == 1 else self.scores

    @property
    def probabilities(self) -> np.ndarray | None:
        """Probability of each class, shape ``(n_samples, n_classes)``; ``None`` if the target has no classes."""
        return self.kind.probabilities(self.scores)

    @property
    def gates(self) -> Any:
        """Gates, in [0, 1], shape ``(n_samples, n_features)``; with several members, their mean."""
        return self._fill(self.open_gates)

    @property
    def selected(self) -> Any:
        """Whether any member opens a gate, shape ``(n_samples, n_features)``."""
        return self._fill(np.ones(len(self.rows), bool))

    @property
    def confidence(self) -> Any:
        """Share of the members that open a gate, shape ``(n_samples, n_features)``."""
        return self._fill(self.open_confidence)

    @property
    def contributions(self) -> Any:
        """What each feature adds, shape ``(n_samples, n_features)``, or ``(n_samples, n_features, n_outputs)``.

        For a sparse table a CSR matrix, or a tuple with one for each output.
        """
        outputs = [self._fill(output) for output in self.open_contributions.T]
        if self.n_outputs == 1:
            return outputs[0]
        return tuple(outputs) if self.is_sparse else np.stack(outputs, axis=2)

    def _fill(self, entries: np.ndarray) -> Any:
        shape = (len(self.sample_names), len(self.feature_names))
        if self.is_sparse:
            return sp.csr_array((entries, (self.rows, self.columns)), shape=shape)
        matrix = np.zeros(shape, entries.dtype)
        matrix[self.rows, self.columns] = entries
        return matrix

    def find(self, sample: str | int) -> int:
        """Position of a sample, given its name or its position.

        Parameters
        ----------
        sample
            Name or position.

        Returns
        -------
        int
            The position, counted from 0.
        """
        if not isinstance(sample, str):
            return range(len(self.sample_names))[sample]
        found = np.flatnonzero(self.sample_names == sample)
        if len(found) != 1:
            example = ", ".join(repr(name) for name in self.sample_names[:3])
            raise ValueError(f"{len(found)} samples are called {sample!r}; names are such as {example}")
        return int(found[0])

    def output_of(self, label: Any = None) -> int:
        """Position of the score of a class; without a class, the first.

        Parameters
        ----------
        label
            One of the classes.

        Returns
        -------
        int
            The position, counted from 0.
        """
        if label is None or self.n_outputs == 1:
            return 0
        if label not in self.output_names:
            raise ValueError(f"{label!r} is none of the classes {self.output_names[:5]}")
        return self.output_names.index(label)

    def importance(self) -> pd.Series | pd.DataFrame:
        """Mean absolute contribution of each feature; one column for each of three or more classes.

        Returns
        -------
        pandas.Series or pandas.DataFrame
            Importances, indexed by feature.
        """
        sums = [
            np.bincount(self.columns, np.abs(output), minlength=len(self.feature_names))
            for output in self.open_contributions.T
        ]
        means = np.stack(sums, axis=1) / len(self.sample_names)
        names = pd.Index(self.feature_names, name="feature")
        if self.n_outputs == 1:
            return pd.Series(means[:, 0], names, name="importance")
        return pd.DataFrame(means, names, pd.Index(self.output_names, name="class"))

    def to_frame(self) -> pd.DataFrame:
        """A table with one row for each sample and selected feature (and class, if there are three or more).

        A ``hazard_ratio`` or ``rate_ratio`` is the factor by which a feature multiplies the hazard or the rate.

        Returns
        -------
        pandas.DataFrame
            Columns ``sample``, ``feature``, ``value``, ``gate``, ``confidence`` and ``contribution``.
        """
        frame = pd.DataFrame(
            {
                "sample": self.sample_names[self.rows],
                "feature": self.feature_names[self.columns],
                "value": self.open_values,
                "gate": self.open_gates,
                "confidence": self.open_confidence,
            }
        )
        if self.n_outputs == 1:
            frame = frame.assign(contribution=self.open_contributions[:, 0])
            if self.kind.ratio is None:
                return frame
            return frame.assign(**{self.kind.ratio.replace(" ", "_"): ratio_of(frame["contribution"])})
        repeated = frame.loc[frame.index.repeat(self.n_outputs)].reset_index(drop=True)
        return repeated.assign(
            **{"class": np.tile(self.output_names, len(frame))}, contribution=self.open_contributions.ravel()
        )

    def to_shap(self) -> Any:
        """A ``shap.Explanation`` for SHAP's plots; values behind shut gates are NaN in it.

        Returns
        -------
        shap.Explanation
            A ``shap.Explanation``; the package shap is an extra.
        """
        try:
            import shap
        except ImportError as error:
            raise ImportError("to_shap needs the package shap: pip install 'lspin[shap]'") from error
        dense = replace(self, is_sparse=False)
        values = np.full(dense.gates.shape, np.nan, self.open_values.dtype)
        values[self.rows, self.columns] = self.open_values
        baseline = np.tile(self.baseline, (len(self.sample_names), 1))
        return shap.Explanation(
            dense.contributions,
            base_values=baseline[:, 0] if self.n_outputs == 1 else baseline,
            data=values,
            feature_names=self.feature_names.tolist(),
            output_names=None if self.n_outputs == 1 else self.output_names,
        )

    def groups(self, most: int = 8) -> np.ndarray:
        """Group samples by which gates are open: the group of each sample, 0 for the largest group.

        A gate that is shut only because its value is missing makes no group. See :func:`group_patterns`.

        Parameters
        ----------
        most
            Largest number of groups.

        Returns
        -------
        numpy.ndarray
            Group of each sample, shape ``(n_samples,)``.
        """
        return group_patterns(replace(self, is_sparse=True).selected, most, missing=self.missing)

    def signatures(self, most: int = 8, *, y: Any = None) -> pd.DataFrame:
        """Describe the groups of samples, one row for each group.

        Parameters
        ----------
        most
            Largest number of groups.
        y
            Outcomes of the samples, numbers or classes, if known.

        Returns
        -------
        pandas.DataFrame
            Columns ``size``, ``share``, ``features`` (those that at least half of the group selects, ordered by
            their contribution) and ``prediction`` (the mean, on the model's scale); for a classifier also the mean
            probability of each class. With ``y``, its mean or the share of each class.
        """
        groups = self.groups(most)
        members = [np.flatnonzero(groups == group) for group in range(groups.max() + 1)]
        signatures = pd.DataFrame(
            {
                "size": [len(samples) for samples in members],
                "share": [len(samples) / len(groups) for samples in members],
                "features": [self.typical_features(groups == group) for group in range(len(members))],
            },
            index=pd.RangeIndex(len(members), name="group"),
        )
        if self.n_outputs == 1:
            signatures["prediction"] = [self.prediction[samples].mean() for samples in members]
        if self.classes is not None and self.probabilities is not None:
            for label, column in zip(self.classes, self.probabilities.T, strict=True):
                signatures[f"predicted {label}"] = [column[samples].mean() for samples in members]
        for name, values in _outcomes(y, self.classes):
            signatures[name] = [values[samples].mean() for samples in members]
        return signatures

    def typical_features(self, inside: np.ndarray) -> tuple[Any, ...]:
        """Features that at least half of the given samples select, ordered by their contribution.

        Parameters
        ----------
        inside
            Whether a sample is one of those, shape ``(n_samples,)``.

        Returns
        -------
        tuple[Any, ...]
            Names of features.
        """
        here = inside[self.rows]
        n_features = len(self.feature_names)
        share = np.bincount(self.columns[here], minlength=n_features) / inside.sum()
        sizes = np.abs(self.open_contributions[here]).sum(axis=1)
        weight = np.bincount(self.columns[here], sizes, minlength=n_features)
        typical = np.flatnonzero(share >= 0.5)
        return tuple(self.feature_names[typical[np.argsort(-weight[typical], kind="stable")]].tolist())


def explain_table(estimator: Any, table: Grid, sample_names: np.ndarray) -> Explanation:
    """Explain the predictions for the rows of a table that was read already."""
    parts = [attribute(member, table) for member in estimator.members_]
    n_features = estimator.n_features_in_
    kind: Kind = estimator.kind_
    keys = [part.opened.rows * n_features + part.opened.columns for part in parts]
    places, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    rows, columns = np.divmod(places, n_features)
    shares = np.full(len(inverse), 1 / len(parts))
    average = sp.csr_array((shares, (inverse, np.arange(len(inverse)))), shape=(len(places), len(inverse)))
    feature_names = np.asarray(estimator._shown_names, object)
    return Explanation(
        sample_names=sample_names,
        feature_names=feature_names,
        kind=kind,
        baseline=kind.as_scores(np.mean([part.baseline for part in parts], axis=0)),
        scores=kind.as_scores(np.mean([part.outputs for part in parts], axis=0)),
        methods=_join_methods(parts),
        rows=rows,
        columns=columns,
        open_gates=average @ np.concatenate([part.opened.gates for part in parts]),
        open_confidence=np.bincount(inverse, minlength=len(places)) / len(parts),
        open_values=_shown_values(table, rows, columns, n_features, estimator._levels),
        open_contributions=kind.as_terms(average @ np.concatenate([part.contributions for part in parts])),
        is_sparse=sp.issparse(table.values),
        context=None
        if estimator._context is None
        else pd.DataFrame(
            {
                feature_names[column]: read_column(table, int(column), n_features, estimator._levels)
                for column in estimator._context
            },
            index=pd.Index(sample_names, name="sample"),
        ),
        missing=None if table.missing is None else sp.csr_array(table.missing, dtype=bool),
    )


def _join_methods(parts: list[Attribution]) -> np.ndarray:
    """How a row is explained: as by its first member, or sampled if any is."""
    sampled = np.any([part.methods == SAMPLED for part in parts], axis=0)
    return np.where(sampled, SAMPLED, parts[0].methods)


def name_samples(X: Any, n_samples: int) -> np.ndarray:
    """The names of the rows of a frame, else their numbers from 0."""
    names = X.index if isinstance(X, pd.DataFrame) else X.obs_names if is_anndata(X) else range(n_samples)
    return np.array([str(name) for name in names], object)


def _shown_values(
    table: Grid, rows: np.ndarray, columns: np.ndarray, n_columns: int, levels: Levels
) -> np.ndarray:
    """What the user's table holds at some places: numbers, and the level of a category."""
    first = np.searchsorted(columns_of_inputs(n_columns, levels), np.arange(n_columns))
    values = pick(table.values, rows, first[columns])
    if not levels:
        return values
    shown = values.astype(object)
    for column, names in levels.items():
        here = np.flatnonzero(columns == column)
        codes = table.values[rows[here], first[column] : first[column] + len(names)].argmax(axis=1)
        shown[here] = np.array(names, object)[codes]
    return shown


def read_column(table: Grid, column: int, n_columns: int, levels: Levels) -> np.ndarray:
    """What the user's table holds in a column: numbers or levels, not-a-number where missing."""
    rows = np.arange(table.n_rows)
    shown = _shown_values(table, rows, np.full(len(rows), column), n_columns, levels)
    shown = shown if column in levels else shown.astype(np.float64)
    if table.missing is not None:
        shown[pick(table.missing, rows, np.full(len(rows), column)) > 0] = np.nan
    return shown


def _outcomes(y: Any, classes: np.ndarray | None) -> Sequence[tuple[str, np.ndarray]]:
    if y is None:
        return []
    y = np.asarray(y)
    return [("observed", y)] if classes is None else [(f"observed {label}", y == label) for label in classes]
