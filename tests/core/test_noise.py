import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lspin.core.noise import normal, random_bits, split_key, uniform

KEYS = [0, 1, 12345, 2**32 - 1]


@pytest.mark.parametrize("key", KEYS)
def test_normal_has_the_moments_of_four_added_uniforms(key):
    draws = normal(np.uint32(key), (400, 1000)).ravel()
    n = draws.size
    assert abs(draws.mean()) < 4 / np.sqrt(n)
    assert abs(draws.var() - 1) < 0.01
    assert abs(stats.skew(draws)) < 0.02
    # A uniform's excess kurtosis is -1.2, and that of a sum of four independent ones a quarter of it.
    assert stats.kurtosis(draws) == pytest.approx(-0.3, abs=0.03)


@pytest.mark.parametrize("bound", [1.0, 2.0, 3.0])
def test_normal_tails_are_near_those_of_the_normal_law(bound):
    draws = normal(np.uint32(7), (1000, 1000))
    share = (np.abs(draws) > bound).mean()
    assert share == pytest.approx(2 * stats.norm.sf(bound), abs=0.02)
    assert np.abs(draws).max() <= 510 / np.sqrt(4 * (256**2 - 1) / 12)


def test_noise_of_neighbouring_rows_and_keys_is_uncorrelated():
    first, second = (normal(np.uint32(key), (300, 500)) for key in split_key(np.uint32(3), 2))
    for a, b in [(first, second), (first[:-1], first[1:]), (first[:, :-1], first[:, 1:])]:
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.01


@pytest.mark.parametrize("key", KEYS)
def test_uniform_fills_the_unit_interval_evenly(key):
    draws = uniform(np.uint32(key), (50_000,))
    assert draws.min() >= 0
    assert draws.max() < 1
    assert stats.kstest(draws, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("draw", [normal, uniform])
def test_jax_and_numpy_draw_the_same(draw):
    np.testing.assert_array_equal(draw(np.uint32(5), (7, 3)), np.asarray(draw(jnp.uint32(5), (7, 3))))


def test_no_two_of_many_counters_share_their_bits():
    assert len(np.unique(random_bits(np.uint32(9), 100_000))) == 100_000
