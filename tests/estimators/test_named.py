"""Names of the columns of sparse tables, wherever the container has them."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from lspin import LSPINClassifier, load

anndata = pytest.importorskip("anndata", reason="anndata is missing: pip install 'lspin[cells]'")
NAMES = ["A", "B", "C", "D", "E"]


def draw():
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (96, 5)).astype(np.float64)
    return X, np.where(X[:, 1] > X[:, 2], "yes", "no")


def wrap(form, X):
    names = [f"cell{row}" for row in range(len(X))]
    if form == "frame":
        return pd.DataFrame(X, index=names, columns=NAMES).astype(pd.SparseDtype(np.float64, 0.0))
    values = sp.csr_matrix(X) if form == "sparse AnnData" else X
    return anndata.AnnData(values, obs=pd.DataFrame(index=names), var=pd.DataFrame(index=NAMES))


@pytest.fixture(scope="module")
def plain():
    X, y = draw()
    return LSPINClassifier((), sparsity=0.01, max_epochs=20, random_state=0).fit(sp.csr_array(X), y)


@pytest.mark.parametrize("form", ["frame", "sparse AnnData"])
def test_a_sparse_container_with_names_is_fitted_as_its_matrix_and_keeps_the_names(form, plain):
    X, y = draw()
    table = wrap(form, X)
    model = LSPINClassifier((), sparsity=0.01, max_epochs=20, random_state=0).fit(table, y)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(model.predict_proba(table), plain.predict_proba(sp.csr_array(X)))
    explanation = model.explain(table)
    assert set(explanation.to_frame()["feature"]) <= set(NAMES)
    assert form == "frame" or explanation.sample_names[0] == "cell0"


def test_feature_names_name_the_columns_of_a_sparse_matrix_and_are_saved(plain, tmp_path):
    X, y = draw()
    model = LSPINClassifier((), sparsity=0.01, max_epochs=20, random_state=0)
    model.fit(sp.csr_array(X), y, feature_names=NAMES).save(tmp_path / "model.lspin")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a sparse matrix cannot have names: no reason to warn that it has none
        predicted = load(tmp_path / "model.lspin").predict(sp.csr_array(X))
    np.testing.assert_array_equal(predicted, plain.predict(sp.csr_array(X)))
    assert load(tmp_path / "model.lspin").feature_names_in_.tolist() == NAMES


def test_an_anndata_object_of_other_genes_is_refused_by_their_names(plain):
    X, y = draw()
    table = wrap("sparse AnnData", X)
    model = LSPINClassifier((), sparsity=0.01, max_epochs=20, random_state=0).fit(table, y)
    other = table.copy()
    other.var_names = ["A", "B", "C", "D", "Z"]
    with pytest.raises(ValueError, match="Z"):
        model.predict(other)


def test_a_dense_anndata_object_is_a_frame_of_its_values():
    X, _ = draw()
    with pytest.raises(NotFittedError):
        LSPINClassifier().predict(wrap("dense AnnData", X))
    model = LSPINClassifier()
    assert model._check_table(wrap("dense AnnData", X), reset=True).columns.tolist() == NAMES


def test_an_anndata_object_backed_by_a_file_is_refused_at_once_by_a_sentence_that_names_the_function(tmp_path):
    X, y = draw()
    wrap("sparse AnnData", X).write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(TypeError, match=r"lspin\.single_cell\.rank_genes_groups"):
        LSPINClassifier().fit(backed, y)
    backed.file.close()


@pytest.mark.parametrize(
    ("names", "reason"), [(["A"], "1 names"), (["A", "B", "C", "D", "A"], "'A' occurs 2 times")]
)
def test_feature_names_must_fit_the_columns(names, reason):
    X, y = draw()
    with pytest.raises(ValueError, match=reason):
        LSPINClassifier().fit(sp.csr_array(X), y, feature_names=names)


def test_feature_names_of_a_frame_are_refused():
    X, y = draw()
    with pytest.raises(ValueError, match="has names"):
        LSPINClassifier().fit(pd.DataFrame(X), y, feature_names=NAMES)
