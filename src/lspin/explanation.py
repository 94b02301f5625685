"""Why each sample got its prediction: its open gates, what each adds, and which samples are explained alike."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.special import softmax
from sklearn.metrics import silhouette_score

from lspin.contributions import SAMPLED, Attribution, attribute, pick
from lspin.losses import COX, complete_scores
from lspin.tables import Levels, Table, columns_of_inputs

SCALES = {"cross_entropy": "logit", "squared_error": "response"} | dict.fromkeys(COX, "log-hazard")
MOST_CLUSTERED = 1000  # samples
LEAST_SILHOUETTE = 0.25  # of groups: below it they are hardly apart
SMALLEST_GROUP = 0.05  # part of the samples


@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """Which features each sample's prediction rests on, and what each adds to it.

    The contributions of a sample and the baseline add up to its prediction, on the model's scale. They are kept
    for the open gates only, for a shut gate adds nothing: ``rows`` and ``columns`` say where an open gate stands.
    """

    sample_names: np.ndarray  # (n_samples,), text
    feature_names: np.ndarray  # (n_features,), the columns of the table
    classes: np.ndarray | None  # of a classifier; of two classes, scores are for the second
    scale: str  # of contributions, baseline and prediction: "logit", "response" or "log-hazard"
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

    def __repr__(self) -> str:
        size = f"{len(self.sample_names)} samples x {len(self.feature_names)} features"
        return f"<Explanation of {size} on the scale {self.scale!r}, {len(self.rows)} open gates>"

    @property
    def n_outputs(self) -> int:
        """Numbers that a prediction consists of: one a class for three classes or more, else one."""
        return len(self.baseline)

    @property
    def output_names(self) -> list:
        """What the numbers of a prediction are: the classes, or the scale of the only one."""
        return [self.scale] if self.n_outputs == 1 or self.classes is None else self.classes.tolist()

    @property
    def prediction(self) -> np.ndarray:
        """On the model's scale, shape ``(n_samples,)``, or ``(n_samples, n_outputs)`` for several outputs."""
        return self.scores[:, 0] if self.n_outputs == 1 else self.scores

    @property
    def probabilities(self) -> np.ndarray | None:
        """Of the classes, shape ``(n_samples, n_classes)``."""
        return None if self.classes is None else softmax(complete_scores(self.scores), axis=1)

    @property
    def gates(self) -> Any:
        """How far each gate is open, in [0, 1], shape ``(n_samples, n_features)``."""
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
        """What each feature adds, shape ``(n_samples, n_features)``; of several outputs with a third dimension.

        For a sparse table a CSR matrix, or one for each output.
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
        """The position of a sample given by its name, or by the position itself."""
        if not isinstance(sample, str):
            return range(len(self.sample_names))[sample]
        found = np.flatnonzero(self.sample_names == sample)
        if len(found) != 1:
            example = ", ".join(repr(name) for name in self.sample_names[:3])
            raise ValueError(f"{len(found)} samples are called {sample!r}; names are such as {example}")
        return int(found[0])

    def output_of(self, label: Any = None) -> int:
        """The position of the output that scores a class; without one, the only output or the first."""
        if label is None or self.n_outputs == 1:
            return 0
        if label not in self.output_names:
            raise ValueError(f"{label!r} is none of the classes {self.output_names[:5]}")
        return self.output_names.index(label)

    def importance(self) -> pd.Series | pd.DataFrame:
        """Mean size of each feature's contributions over the samples; of several outputs, one column a class."""
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
        """One row for each sample and selected feature; of several outputs, one for each class too.

        Of a hazard, the frame says also by which factor a feature multiplies it.
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
            is_hazard = self.scale == "log-hazard"
            return frame.assign(hazard_ratio=np.exp(frame["contribution"])) if is_hazard else frame
        repeated = frame.loc[frame.index.repeat(self.n_outputs)].reset_index(drop=True)
        return repeated.assign(
            **{"class": np.tile(self.output_names, len(frame))}, contribution=self.open_contributions.ravel()
        )

    def to_shap(self) -> Any:
        """A ``shap.Explanation``, for SHAP's own plots; values behind shut gates are not shown to it either."""
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
        """Samples grouped by their gate patterns: the number of each one's group, 0 for the largest group.

        See :func:`group_patterns`.
        """
        return group_patterns(replace(self, is_sparse=True).selected, most)

    def signatures(self, most: int = 8, *, y: Any = None) -> pd.DataFrame:
        """What the groups are like, one row a group.

        Parameters
        ----------
        most
            Largest number of groups.
        y
            Outcomes of the samples, numbers or classes, if known.

        Returns
        -------
        Columns ``size``, ``share``, ``features`` (a tuple of those that at least half of the group selects, the
        one that adds most first), then the outcome: the mean ``prediction`` on the model's scale and, for a
        classifier, the mean probability of each class. With ``y``, its mean or the share of each class.

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
        """Features that at least half of some samples select, the one that adds most first."""
        here = inside[self.rows]
        n_features = len(self.feature_names)
        share = np.bincount(self.columns[here], minlength=n_features) / inside.sum()
        sizes = np.abs(self.open_contributions[here]).sum(axis=1)
        weight = np.bincount(self.columns[here], sizes, minlength=n_features)
        typical = np.flatnonzero(share >= 0.5)
        return tuple(self.feature_names[typical[np.argsort(-weight[typical], kind="stable")]].tolist())


def explain(estimator: Any, X: Any) -> Explanation:
    """The explanation of a fitted estimator's predictions for the rows of a table."""
    table = estimator._read(X)
    parts = [attribute(member, table) for member in estimator.members_]
    n_features = estimator.n_features_in_
    # A regressor's outputs are in units of its target's spread.
    unit, origin = getattr(estimator, "target_scale_", 1.0), getattr(estimator, "target_mean_", 0.0)
    keys = [part.opened.rows * n_features + part.opened.columns for part in parts]
    places, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    rows, columns = np.divmod(places, n_features)
    shares = np.full(len(inverse), 1 / len(parts))
    average = sp.csr_array((shares, (inverse, np.arange(len(inverse)))), shape=(len(places), len(inverse)))
    return Explanation(
        sample_names=_name_samples(X, table.values.shape[0]),
        feature_names=np.asarray(
            getattr(estimator, "feature_names_in_", [f"x{column}" for column in range(n_features)]), object
        ),
        classes=getattr(estimator, "classes_", None),
        scale=SCALES[estimator._loss],
        baseline=origin + unit * np.mean([part.baseline for part in parts], axis=0),
        scores=origin + unit * np.mean([part.outputs for part in parts], axis=0),
        methods=_join_methods(parts),
        rows=rows,
        columns=columns,
        open_gates=average @ np.concatenate([part.opened.gates for part in parts]),
        open_confidence=np.bincount(inverse, minlength=len(places)) / len(parts),
        open_values=_shown_values(table, rows, columns, n_features, estimator._levels),
        open_contributions=unit * (average @ np.concatenate([part.contributions for part in parts])),
        is_sparse=sp.issparse(table.values),
    )


def _join_methods(parts: list[Attribution]) -> np.ndarray:
    """How a row is explained: as by its first member, or sampled if any is."""
    sampled = np.any([part.methods == SAMPLED for part in parts], axis=0)
    return np.where(sampled, SAMPLED, parts[0].methods)


def _name_samples(X: Any, n_samples: int) -> np.ndarray:
    names = X.index if isinstance(X, pd.DataFrame) else range(n_samples)
    return np.array([str(name) for name in names], object)


def _shown_values(
    table: Table, rows: np.ndarray, columns: np.ndarray, n_columns: int, levels: Levels
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


def _outcomes(y: Any, classes: np.ndarray | None) -> Sequence[tuple[str, np.ndarray]]:
    if y is None:
        return []
    y = np.asarray(y)
    return [("observed", y)] if classes is None else [(f"observed {label}", y == label) for label in classes]


def group_patterns(selected: sp.csr_array, most: int = 8) -> np.ndarray:
    """Group rows by which gates are open, shape ``(n,)``; 0 is the largest group.

    Parameters
    ----------
    selected
        1 where a gate is open, shape ``(n_samples, n_features)``.
    most
        Largest number of groups.

    Notes
    -----
    Samples (at most ``MOST_CLUSTERED``, spread over all patterns) are clustered by the Jaccard distance of their
    sets of open gates, with average linkage. In it a feature counts by the variance of being selected: one that
    nearly all samples select, or hardly any, tells no groups apart. The tree is cut at every height; clusters of
    fewer than two samples or a twentieth of them join the nearest other, and the cut with the best silhouette is
    taken. If none reaches ``LEAST_SILHOUETTE`` the samples are one group. Those not clustered join the nearest.

    """
    patterns, pattern_of = _list_patterns(selected)
    by_pattern = np.argsort(pattern_of, kind="stable")
    spread = np.linspace(0, len(by_pattern) - 1, min(MOST_CLUSTERED, len(by_pattern))).round().astype(int)
    clustered = pattern_of[by_pattern[spread]]
    shares = np.asarray(selected.mean(axis=0)).ravel()
    distances = _jaccard_distances(patterns, patterns[clustered], shares * (1 - shares))
    labels = _cluster(distances[clustered], most)
    nearest = _mean_distances(distances, labels).argmin(axis=1)
    nearest[clustered] = labels
    return _number_by_size(nearest[pattern_of])


def _list_patterns(selected: sp.csr_array) -> tuple[sp.csr_array, np.ndarray]:
    """The distinct rows, and which of them each row is."""
    selected = sp.csr_array(selected, dtype=np.float64)
    selected.sort_indices()
    bounds = zip(selected.indptr[:-1], selected.indptr[1:], strict=True)
    keys: dict[bytes, int] = {}
    pattern_of = np.array([keys.setdefault(selected.indices[a:b].tobytes(), len(keys)) for a, b in bounds])
    _, first = np.unique(pattern_of, return_index=True)
    return selected[first], pattern_of


def _jaccard_distances(left: sp.csr_array, right: sp.csr_array, weights: np.ndarray) -> np.ndarray:
    """One minus the weight of what two sets share over that of all they hold; 0 where neither holds any."""
    shared = ((left @ sp.diags_array(weights)) @ right.T).toarray()
    either = (left @ weights)[:, None] + right @ weights - shared
    # Rounding must leave a set at no distance from itself.
    apart = either - shared > 1e-9 * either
    return np.where(apart, 1 - shared / np.where(apart, either, 1.0), 0.0)


def _cluster(distances: np.ndarray, most: int) -> np.ndarray:
    """The number of each row's cluster: 0, 1, ..., fewer than ``most``."""
    labels = np.zeros(len(distances), int)
    if most < 2 or not distances.any():
        return labels
    tree = linkage(squareform(distances, checks=False), "average")
    best = LEAST_SILHOUETTE
    for n_clusters in range(2, 4 * most):  # some of them will be too small to count
        cut = _join_small(fcluster(tree, n_clusters, "maxclust"), distances)
        if 0 < cut.max() < min(most, len(cut) - 1):
            score = silhouette_score(distances, cut, metric="precomputed")
            if score > best + 1e-9:
                labels, best = cut, score
    return labels


def _join_small(labels: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Clusters, where rows of small ones have joined the nearest of the others; numbered from 0."""
    kept, sizes = np.unique(labels, return_counts=True)
    large = kept[sizes >= max(2, SMALLEST_GROUP * len(labels))]
    large = kept[[sizes.argmax()]] if len(large) == 0 else large
    stays = np.isin(labels, large)
    joined = np.searchsorted(large, labels)
    joined[~stays] = _mean_distances(distances[~stays][:, stays], joined[stays]).argmin(axis=1)
    return joined


def _mean_distances(distances: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """From each row to the members of each cluster on average, shape ``(n, n_clusters)``."""
    inside = np.eye(labels.max() + 1)[labels]
    return distances @ (inside / inside.sum(axis=0))


def _number_by_size(groups: np.ndarray) -> np.ndarray:
    """Groups numbered from the largest on; of two that are as large, the one that comes first."""
    _, first, codes, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    return np.argsort(np.lexsort((first, -sizes)))[codes]
