"""How far to trust a model: data checks, mask check, calibration, agreement of members, heavy selectors."""

from typing import TYPE_CHECKING, Any

import numpy as np

from lspin.reporting.hiding import FEWEST_ALIKE, merge_bins
from lspin.reporting.numbers import finite

if TYPE_CHECKING:
    from lspin.reporting.held_out import Comparison
    from lspin.reporting.samples import Cohort

MOST_AUDITED = 1000  # rows: the evaluators of the audit are slow
MOST_SUSPICIOUS = 50  # samples that are named


def describe_trust(
    estimator: Any,
    cohort: "Cohort",
    comparison: "Comparison | str",
    *,
    shows_samples: bool,
) -> dict[str, Any]:
    """Calibration, how many features samples select, and how far the members agree."""
    suspicious = cohort.summary.suspicious
    is_few = not shows_samples and 0 < len(suspicious) < FEWEST_ALIKE
    histogram = _count_open(cohort.summary.n_selected)
    trust: dict[str, Any] = {
        "limit": float(cohort.summary.limit),
        "n_suspicious": None if is_few else len(suspicious),
        "histogram": histogram if shows_samples else merge_bins(histogram),
    }
    if shows_samples:
        trust["suspicious"] = suspicious[:MOST_SUSPICIOUS].tolist()
    if not isinstance(comparison, str):
        bins = [finite(row) for row in comparison.calibration["bins"] if row[-1] >= FEWEST_ALIKE]
        trust["calibration"] = {**comparison.calibration, "bins": bins}
    if len(estimator.members_) > 1:
        confidence = cohort.explanation.open_confidence
        trust["agreement"] = {
            "mean": float(confidence.mean()) if len(confidence) else None,
            "all": float(np.mean(confidence > 1 - 1e-9)) if len(confidence) else None,
            "half": float(np.mean(confidence >= 0.5)) if len(confidence) else None,
        }
    return trust


def check_data(
    estimator: Any, parts: list[tuple[Any, np.ndarray]], name: str, *, shows_samples: bool, verbose: int = 0
) -> dict:
    """What the data checks say of the training rows, and of held-out rows that are among them."""
    from lspin.checks import check_table

    test = parts[1][0] if len(parts) > 1 else None
    fewest = 1 if shows_samples else FEWEST_ALIKE
    settings = {"kind": estimator.kind_, "target_name": name, "test": test, "fewest": fewest, "verbose": verbose}
    found = check_table(*parts[0], **settings)
    texts = [finding.text for finding in found.findings]
    return {"findings": texts, "best": found.best, "strongest": found.strongest}


def check_others(estimator: Any, left_out: Any, target: np.ndarray) -> list[str]:
    """Columns that the model does not get, and that are filled in one class only."""
    from lspin.checks.check import check_left_out

    return [finding.text for finding in check_left_out(left_out, target, kind=estimator.kind_)]


def _count_open(n_selected: np.ndarray) -> dict[str, list[int]]:
    """How many samples select how many features, in at most twenty bins."""
    width = max(1, -(-int(n_selected.max() + 1) // 20))
    counts = np.bincount(n_selected // width)
    starts = width * np.arange(len(counts))
    return {"from": starts.tolist(), "to": (starts + width).tolist(), "count": counts.tolist()}


def check_mask(estimator: Any, X: Any, y: np.ndarray, *, verbose: int = 0) -> dict[str, Any]:
    """Whether the choice of features reveals the answer, or why that is not known."""
    from sklearn.utils import _safe_indexing
    from threadpoolctl import threadpool_limits

    from lspin.audit import audit_leakage

    if len(y) < FEWEST_ALIKE:
        return {"reason": f"With {len(y)} rows there are too few to check the mask."}
    if len(y) > MOST_AUDITED:
        rows = np.linspace(0, len(y) - 1, MOST_AUDITED).round().astype(int)
        X, y = _safe_indexing(X, rows), y[rows]
    try:
        with threadpool_limits(1):
            found = audit_leakage(estimator, X, y, verbose=verbose)
    except ValueError as error:
        return {"reason": f"The mask could not be checked: {error}."}
    numbers = {
        name: value for name, value in found._asdict().items() if isinstance(value, float) and np.isfinite(value)
    }
    verdict = {"leaks": found.leaks, "settled": found.settled, "verdict": found.verdict}
    return {**verdict, "n_rows": len(y), **numbers}
