"""How far the members of a model differ in what they predict."""

from typing import Any

import numpy as np

from lspin.fitting.prediction import predict_member
from lspin.targets.kind import Kind


def member_range(estimator: Any, tables: list[Any], scores: np.ndarray) -> np.ndarray | None:
    """The lowest and the highest prediction of the members, shape ``(n_samples, 2)``; nothing for one member.

    Parameters
    ----------
    estimator
        Fitted.
    tables
        Parts of the rows, as the estimator reads them.
    scores
        What the members predict together; of classes, the range is that of the likeliest one's probability.

    Notes
    -----
    Log-hazards are known up to a constant, which differs between members: each member's mean hazard over the rows
    is set to that of all members together. So the rows should be a cohort.

    """
    if len(estimator.members_) == 1:
        return None
    kind: Kind = estimator.kind_
    said = []
    for member in estimator.members_:
        outputs = np.concatenate([predict_member(member, table).outputs for table in tables])
        said.append(kind.headline(kind.align(kind.as_scores(outputs), scores), scores))
    return np.stack([np.min(said, axis=0), np.max(said, axis=0)], axis=1)
