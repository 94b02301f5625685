"""Which columns a trained model needs: those its gates look at, and those whose gate may open."""

import numpy as np

from lspin.core.model import LARGEST_SIZE
from lspin.fitting.prediction import Member
from lspin.tables.encoding import LARGEST_DEVIATION

ROUNDING = 1e-9  # what sums in another order may differ by


def find_needed(members: list[Member]) -> np.ndarray:
    """Positions of the columns that any of the models needs, ascending."""
    needed = [member.encoding.features[find_openable(member) | find_seen(member)] for member in members]
    return np.unique(np.concatenate(needed))


def find_openable(member: Member) -> np.ndarray:
    """Whether a row can exist that opens the gate of a feature, shape ``(n_features,)``.

    Notes
    -----
    No gate that can open is left out. A gate that cannot may be named: what hidden units can say is bounded one
    by one, as if each could say anything whatever the others say.

    """
    networks = member.networks
    *hidden, last = networks.gating
    if hidden:
        highest = last.bias + np.abs(last.weights).sum(axis=0)  # hidden units lie in (-1, 1)
    elif networks.groups is not None:
        highest = last.bias + last.weights.max(axis=0)  # shares in the groups add up to 1
    else:
        highest = last.bias + LARGEST_DEVIATION * np.abs(last.weights).sum(axis=0)
    if networks.own is not None:
        highest = highest + np.maximum((LARGEST_SIZE - 1) * networks.own, -networks.own)
    return 0.5 + np.tanh(highest) > -ROUNDING


def find_seen(member: Member) -> np.ndarray:
    """Whether gates that can open look at a feature, shape ``(n_features,)``."""
    networks, encoding = member.networks, member.encoding
    openable = find_openable(member)
    *hidden, last = networks.gating
    decides = last.weights[:, openable].any(axis=1)  # hidden units, groups or inputs
    seen = np.zeros(encoding.n_features, bool)
    if not decides.any():
        return seen
    if networks.groups is not None:
        weights = networks.groups.weights if len(networks.groups.bias) > 1 else np.zeros((encoding.n_context, 1))
    elif hidden:
        weights = hidden[0].weights
    else:
        weights = decides[:, None]
    seen[encoding.context_owners[weights.any(axis=1)]] = True
    return seen
