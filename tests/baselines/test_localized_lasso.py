"""Localized LASSO."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from lspin.baselines import LocalizedLassoRegressor
from lspin.baselines.localized_lasso import Terms, find_weber_points, link_neighbors, minimise, shrink_exclusively
from lspin.datasets import load_synthetic
from lspin.metrics import score_selection


def objective_by_hand(local, terms, rounding=0.0):
    """The sums of the paper, with an intercept; every corner is rounded off a little if asked for."""
    misfits = (terms.target - (terms.inputs * local).sum(axis=1)) ** 2
    groups = np.sqrt(local[:, 1:] ** 2 + rounding).sum(axis=1) ** 2
    distances = np.sqrt(((local[:, None] - local) ** 2).sum(axis=2) + rounding)
    own = terms.weight @ (misfits + terms.exclusive * groups)
    return own + terms.network * (terms.links.toarray() * distances).sum()


def draw_terms(network, exclusive, n_rows=6, seed=0):
    rng = np.random.default_rng(seed)
    inputs = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, 3))])
    links = link_neighbors(inputs, 2)
    links.data *= rng.uniform(0.5, 1.5, links.nnz)  # not symmetric
    return Terms(inputs, rng.normal(size=n_rows), rng.uniform(0.5, 2.0, n_rows), links, network, exclusive)


@pytest.mark.parametrize(("network", "exclusive"), [(0.05, 0.3), (0.5, 0.05), (0.0, 0.5), (20.0, 0.1)])
def test_the_minimum_is_that_of_a_generic_solver(network, exclusive):
    terms = draw_terms(network, exclusive)
    ours = minimise(terms, max_iter=20_000, tol=1e-8)
    theirs = np.zeros(24)
    for rounding in (1e-2, 1e-4, 1e-6, 1e-8):

        def rounded(flat, rounding=rounding):
            return objective_by_hand(flat.reshape(6, 4), terms, rounding)

        theirs = minimize(rounded, theirs, method="BFGS", options={"maxiter": 2000}).x
    theirs = theirs.reshape(6, 4)
    assert ours.converged
    lowest = objective_by_hand(theirs, terms)
    assert objective_by_hand(ours.local, terms) == pytest.approx(lowest, rel=1e-3, abs=1e-3)
    assert objective_by_hand(ours.local, terms) <= lowest + 1e-6
    if network > 0:  # without links an intercept alone meets each response, and weights are free to be 0
        np.testing.assert_allclose(ours.local, theirs, atol=0.01)


def test_no_move_from_the_minimum_leads_down():
    terms = draw_terms(0.2, 0.2)
    local = minimise(terms, max_iter=20_000, tol=1e-9).local
    lowest, rng = objective_by_hand(local, terms), np.random.default_rng(1)
    for size in (1e-3, 1e-1):
        moves = size * rng.normal(size=(200, *local.shape))
        assert min(objective_by_hand(local + move, terms) for move in moves) > lowest - 1e-8


def test_strong_links_and_no_other_price_give_one_linear_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=40)
    model = LocalizedLassoRegressor(100.0, 0.0, n_neighbors=8, tol=1e-7, max_iter=20_000).fit(X, y)
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), atol=1e-3)


@pytest.mark.parametrize("price", [0.0, 0.1, 2.0])
def test_the_exclusive_step_is_the_minimum_it_stands_for(price):
    points = np.random.default_rng(0).normal(size=(5, 4))
    steps = shrink_exclusively(points, np.full(5, price))
    np.testing.assert_array_equal(steps[:, 0], points[:, 0])
    for point, step in zip(points[:, 1:], steps[:, 1:], strict=True):

        def cost(v, point=point):
            return price * np.abs(v).sum() ** 2 + 0.5 * ((v - point) ** 2).sum()

        found = minimize(cost, step, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14})
        assert cost(step) <= found.fun + 1e-10


def test_weber_points_have_the_least_sum_of_distances():
    rng = np.random.default_rng(0)
    points, links = rng.normal(size=(30, 5, 3)), rng.uniform(0.2, 1.0, (30, 5))
    points[:5, 1] = points[:5, 0]  # two in one place
    links[5:10, 0] = 3.0  # so strong that it is the answer
    links[10:15, 2] = 0.0
    found = find_weber_points(points, links)
    np.testing.assert_array_equal(found[5:10], points[5:10, 0])
    for place, point in enumerate(found):

        def total(v, place=place):
            return (links[place] * np.linalg.norm(points[place] - v, axis=1)).sum()

        best = minimize(total, point + 0.1, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
        assert total(point) <= best.fun + 1e-8
        np.testing.assert_allclose(point, best.x, atol=1e-3)


def test_the_features_of_each_group_are_found():
    data = load_synthetic("linear", 100, n_train=60)
    model = LocalizedLassoRegressor().fit(data.train.X, data.train.y)
    assert model.score(data.test.X, data.test.y) > 0.99
    assert score_selection(model.selected(data.test.X), data.test.relevant).f1 > 0.98


def test_a_graph_of_ones_own_follows_its_rows():
    """Rows are merged and reordered inside; a graph that links nothing else but two blocks must not mix them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    groups = np.arange(40) % 2
    y = np.where(groups == 0, 3 * X[:, 0], -3 * X[:, 1])
    graph = (groups[:, None] == groups).astype(float)
    fitted = [
        LocalizedLassoRegressor(1.0, 1e-4, graph=links).fit(X, y).selected(X)
        for links in (graph, sp.csr_array(graph))
    ]
    np.testing.assert_array_equal(fitted[0], np.column_stack([groups == 0, groups == 1]))
    np.testing.assert_array_equal(*fitted)
    with pytest.raises(ValueError, match=r"graph has the shape \(3, 3\) where 40 rows were given"):
        LocalizedLassoRegressor(graph=np.eye(3)).fit(X, y)


def test_too_few_iterations_are_told():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        LocalizedLassoRegressor(max_iter=2).fit(X, X[:, 0])
