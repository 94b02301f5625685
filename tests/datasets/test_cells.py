"""Simulated cells: what is said to be a marker is one, and nothing else is."""

import numpy as np
import pytest

from lspin.datasets import make_cells


@pytest.fixture(scope="module", params=["easy", "hard"])
def cells(request):
    return make_cells(3000, 400, n_types=4, n_markers=8, setting=request.param, seed=1)


def rates(cells):
    """Molecules of each gene by type, as parts of all molecules that no type or programme raises."""
    plain = ~(cells.markers.any(axis=0) | cells.programmes.any(axis=0))
    sums = np.array([cells.counts[cells.types == name].sum(axis=0) for name in cells.type_names])
    return sums / sums[:, plain].sum(axis=1, keepdims=True), plain


def test_markers_have_higher_rates_in_their_types_and_others_do_not(cells):
    rate, plain = rates(cells)
    for place, markers in enumerate(cells.markers):
        elsewhere = np.array([rate[other] for other in range(4) if other != place])
        own = markers & ~cells.shared
        assert (rate[place, own] > 1.2 * elsewhere.max(axis=0)[own]).mean() > 0.9
        often = plain & (rate.mean(axis=0) > 1e-3)
        assert np.median(rate[place, often] / elsewhere.mean(axis=0)[often]) == pytest.approx(1.0, abs=0.05)


def test_counts_vary_more_than_poisson_ones():
    cells = make_cells(3000, 400, n_types=2, n_markers=1, n_donors=1, seed=2)
    depth = np.asarray(cells.counts.sum(axis=1)).ravel()
    gene = int(np.argmax(cells.counts.sum(axis=0) * ~cells.markers.any(axis=0) * ~cells.programmes.any(axis=0)))
    counts = cells.counts[:, [gene]].toarray().ravel()
    expected = depth * counts.sum() / depth.sum()
    dispersion = np.mean((counts - expected) ** 2 - expected) / np.mean(expected**2)
    assert 0.05 < dispersion < 0.2  # 0.1 is drawn, scaled by a chi-square law


def test_shared_markers_belong_to_two_types_and_programmes_to_none():
    cells = make_cells(50, 400, n_types=4, n_markers=8, setting="hard", seed=1)
    assert set(cells.markers.sum(axis=1)) == {8}
    assert cells.shared.sum() == 4
    assert not (cells.markers.any(axis=0) & cells.programmes.any(axis=0)).any()
    assert cells.programmes.sum(axis=1).tolist() == [40] * 4


def test_a_seed_gives_the_same_cells():
    first, second = (make_cells(60, 300, n_types=2, n_markers=3, seed=3) for _ in range(2))
    assert (first.counts != second.counts).nnz == 0


@pytest.mark.parametrize(
    ("asked", "reason"),
    [({"setting": "medium"}, "no setting 'medium'"), ({"n_genes": 50}, "too many for 50 genes")],
)
def test_impossible_cells_are_refused(asked, reason):
    with pytest.raises(ValueError, match=reason):
        make_cells(**asked)
