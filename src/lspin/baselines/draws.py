"""Features drawn at random by their log-odds: probabilities, masks, and how likely a mask is."""

from lspin.core.arrays import Array
from lspin.core.networks import tanh
from lspin.core.noise import uniform


def sigmoid(odds: Array) -> Array:
    """Probability of log-odds."""
    return 0.5 * (1 + tanh(0.5 * odds))


def log_odds(chances: Array) -> Array:
    """Log-odds of a probability, finite at 0 and 1."""
    xp = chances.__array_namespace__()
    chances = xp.clip(chances, 2.0**-24, 1 - 2.0**-24)  # the steps of a uniform number
    return xp.log(chances) - xp.log1p(-chances)


def draw_mask(key: Array, chances: Array) -> Array:
    """1 with the given probability, else 0."""
    return (uniform(key, chances.shape) < chances).astype(chances.dtype)


def log_likelihood(odds: Array, mask: Array) -> Array:
    """Log-probability of each drawn 0 or 1."""
    xp = odds.__array_namespace__()
    return mask * odds - xp.logaddexp(odds, xp.zeros_like(odds))
