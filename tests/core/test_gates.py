import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lspin.core.gates import open_probability, sample_gates, settle_gates

MEANS = np.linspace(-1, 1, 9)


@pytest.mark.parametrize("noise_scale", [0.1, 0.5, 2.0])
def test_open_probability_matches_the_share_of_open_samples(noise_scale):
    noise = np.random.default_rng(0).normal(size=(200_000, 1))
    share = (sample_gates(MEANS, noise, noise_scale) > 0).mean(axis=0)
    np.testing.assert_allclose(open_probability(MEANS, noise_scale), share, atol=0.005)


@given(st.floats(-5, 5))
def test_settled_gate_is_the_clipped_mean(mean):
    assert settle_gates(np.array([mean]))[0] == min(max(0.5 + mean, 0.0), 1.0)


def test_sampled_gate_without_noise_is_the_settled_gate():
    np.testing.assert_array_equal(sample_gates(MEANS, np.zeros_like(MEANS), 1.0), settle_gates(MEANS))
