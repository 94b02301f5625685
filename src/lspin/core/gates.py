"""Stochastic gates: a mean per sample and feature becomes a gate in [0, 1]."""

from lspin.core.arrays import Array


def sample_gates(means: Array, noise: Array, noise_scale: Array) -> Array:
    """The gate used in training: its mean, shifted by one half, with noise, clipped to [0, 1]."""
    return means.__array_namespace__().clip(0.5 + means + noise_scale * noise, 0.0, 1.0)


def settle_gates(means: Array) -> Array:
    """The gate used once training is over: the same clip, without the noise."""
    return means.__array_namespace__().clip(0.5 + means, 0.0, 1.0)


def open_probability(means: Array, noise_scale: Array) -> Array:
    """Probability that a sampled gate is above 0, in closed form.

    Notes
    -----
    ``P(0.5 + mean + noise_scale * e > 0)`` for a standard normal ``e`` is the normal distribution
    function at ``(mean + 0.5) / noise_scale``; its sum over features is the expected number of open gates.

    """
    from jax.scipy.special import ndtr

    return ndtr((means + 0.5) / noise_scale)
