"""Marker genes in the language of scanpy, beside scanpy's own numbers."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

anndata = pytest.importorskip("anndata", reason="anndata is missing: pip install 'lspin[cells]'")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # scanpy's own dependencies
    sc = pytest.importorskip("scanpy", reason="scanpy is missing: pip install 'lspin[cells]'")

from cell_tables import QUICK, as_anndata, draw_cells  # noqa: E402
from lspin.single_cell import explain_cells, load, predict, rank_genes_groups, save  # noqa: E402
from lspin.single_cell.models import find_model  # noqa: E402


@pytest.fixture(scope="module")
def cells():
    return draw_cells()


@pytest.fixture(scope="module")
def ranked(cells):
    """Raw counts, ranked; no test may change it."""
    adata = as_anndata(cells)
    rank_genes_groups(adata, "type", **QUICK)
    return adata


@pytest.fixture(scope="module")
def by_scanpy(cells):
    """What scanpy says of the same cells, normalised by scanpy."""
    adata = as_anndata(cells)
    sc.pp.normalize_total(adata, target_sum=1e4)
    sc.pp.log1p(adata)
    sc.tl.rank_genes_groups(adata, "type", method="t-test", pts=True)
    return adata


def as_table(record, field, group):
    return pd.Series(record[field][group], record["names"][group]).sort_index()


def test_the_values_stay_as_they_are(ranked, cells):
    assert (ranked.X != as_anndata(cells).X).nnz == 0


def test_the_first_genes_of_each_type_are_its_markers(ranked, cells):
    for place, name in enumerate(cells.type_names):
        assert set(ranked.uns["lspin"]["names"][name][:5]) <= set(cells.genes[cells.markers[place]])


@pytest.mark.parametrize("field", ["logfoldchanges", "pvals", "pvals_adj"])
def test_fold_changes_and_p_values_are_those_of_scanpy_on_the_same_counts(field, ranked, by_scanpy):
    ours, theirs = ranked.uns["lspin"], by_scanpy.uns["rank_genes_groups"]
    for group in ours["names"].dtype.names:
        expected = as_table(theirs, field, group)
        np.testing.assert_allclose(as_table(ours, field, group), expected, rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize("field", ["pts", "pts_rest"])
def test_shares_of_cells_with_a_gene_are_those_of_scanpy(field, ranked, by_scanpy):
    pd.testing.assert_frame_equal(ranked.uns["lspin"][field], by_scanpy.uns["rank_genes_groups"][field])


def test_the_fields_are_those_of_scanpys_own_result(ranked, by_scanpy):
    ours, theirs = ranked.uns["lspin"], by_scanpy.uns["rank_genes_groups"]
    assert set(theirs) <= set(ours)
    assert set(theirs["params"]) == set(ours["params"])
    for field in ("names", "scores", "logfoldchanges", "pvals", "pvals_adj"):
        assert ours[field].dtype == theirs[field].dtype
        assert ours[field].shape == theirs[field].shape


@pytest.mark.parametrize("plot", ["", "_dotplot", "_heatmap", "_violin", "_stacked_violin", "_matrixplot"])
def test_scanpys_plots_draw_the_result(plot, ranked):
    draw_by_scanpy(ranked.copy(), plot)


def draw_by_scanpy(adata, plot):
    mpl = pytest.importorskip("matplotlib", reason="matplotlib is missing: pip install 'lspin[plots]'")
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scanpy and seaborn about themselves
        getattr(sc.pl, f"rank_genes_groups{plot}")(adata, key="lspin", n_genes=3, show=False)
        plt.close("all")


def test_scanpys_tables_and_filters_read_the_result(ranked):
    frame = sc.get.rank_genes_groups_df(ranked, group="type 1", key="lspin", log2fc_min=0.5, pval_cutoff=0.05)
    assert {"names", "scores", "logfoldchanges", "pvals_adj", "pct_nz_group"} <= set(frame.columns)
    assert frame["scores"].is_monotonic_decreasing
    adata = ranked.copy()
    sc.tl.filter_rank_genes_groups(adata, key="lspin", min_fold_change=1, key_added="filtered")
    kept = adata.uns["filtered"]["names"]["type 1"]
    assert 0 < sum(isinstance(name, str) for name in kept) < len(kept)


def test_gates_predictions_and_counts_of_genes_agree(ranked):
    gates = ranked.layers["lspin_gates"]
    assert gates.shape == ranked.shape
    assert sp.issparse(gates)
    np.testing.assert_array_equal((gates > 0).sum(axis=1).A1, ranked.obs["lspin_n_genes"])
    np.testing.assert_allclose((gates > 0).mean(axis=0).A1, ranked.var["lspin_open"])
    assert (ranked.X[gates.nonzero()] > 0).all()  # a gene that was not found has no gate
    assert (ranked.obs["lspin_prediction"] == ranked.obs["type"]).mean() > 0.9
    assert ranked.uns["lspin"]["held_out"]["accuracy"] > 0.8
    shares = pd.DataFrame((gates > 0).toarray(), columns=ranked.var_names).groupby(ranked.obs["type"].to_numpy())
    pd.testing.assert_frame_equal(
        shares.mean().T, ranked.uns["lspin"]["open"], check_names=False, check_dtype=False, check_column_type=False
    )


def test_log_counts_give_what_raw_counts_give(ranked, by_scanpy, cells):
    adata = by_scanpy.copy()
    adata.raw = adata
    adata = adata[:, :100].copy()  # as scanpy's users keep highly variable genes, and all others in raw
    rank_genes_groups(adata, "type", **QUICK)
    assert adata.layers["lspin_gates"].shape == adata.shape
    assert "in raw only" in adata.uns["lspin"]["remarks"][-1]
    assert "log-normalised" in adata.uns["lspin"]["remarks"][0]
    assert "raw counts" in ranked.uns["lspin"]["remarks"][0]
    for place, group in enumerate(cells.type_names):
        ours, theirs = (as_table(a.uns["lspin"], "logfoldchanges", group) for a in (adata, ranked))
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)
        assert set(adata.uns["lspin"]["names"][group][:5]) <= set(cells.genes[cells.markers[place]])


def test_a_file_read_in_batches_gives_what_memory_gives(ranked, cells, tmp_path, monkeypatch):
    monkeypatch.setattr("lspin.single_cell.expression.BLOCK_NUMBERS", 40 * len(cells.genes))
    as_anndata(cells).write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    rank_genes_groups(backed, "type", **QUICK)
    for group in cells.type_names:
        assert backed.uns["lspin"]["names"][group].tolist() == ranked.uns["lspin"]["names"][group].tolist()
    assert (backed.layers["lspin_gates"] != ranked.layers["lspin_gates"]).nnz == 0
    backed.file.close()


def test_a_dask_array_gives_what_memory_gives(ranked, cells):
    dask = pytest.importorskip("dask.array", reason="dask is missing: pip install dask")
    adata = as_anndata(cells)
    adata.X = dask.from_array(adata.X.toarray(), chunks=(50, -1))
    rank_genes_groups(adata, "type", **QUICK)
    group = cells.type_names[0]
    assert adata.uns["lspin"]["names"][group].tolist() == ranked.uns["lspin"]["names"][group].tolist()


def read_lazily(folder, name, cells):
    """Cells of a file or a Zarr store that stays on disk, obs and var as well."""
    pytest.importorskip("xarray", reason="xarray is missing: pip install 'anndata[lazy]'")
    pytest.importorskip("dask", reason="dask is missing: pip install 'anndata[lazy]'")
    adata = as_anndata(cells)
    adata.obs["type"] = adata.obs["type"].cat.reorder_categories(cells.type_names[::-1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of AnnData about the versions of Zarr, and that this is experimental
        (adata.write_zarr if name.endswith("zarr") else adata.write_h5ad)(folder / name)
        return anndata.experimental.read_lazy(folder / name)


@pytest.mark.parametrize("name", ["cells.zarr", "cells.h5ad"])
def test_lazily_read_cells_give_what_memory_gives(name, ranked, cells, tmp_path):
    adata = read_lazily(tmp_path, name, cells)
    rank_genes_groups(adata, "type", donors="donor", **QUICK)
    result, in_memory = adata.uns["lspin"], as_anndata(cells)
    assert result["names"].dtype.names == tuple(cells.type_names[::-1])  # categories in their order
    rank_genes_groups(in_memory, "type", donors="donor", **QUICK)
    for group in cells.type_names:
        assert set(result["names"][group][:5]) == set(in_memory.uns["lspin"]["names"][group][:5])
    assert list(explain_cells(adata, "cell3")["cell"].unique()) == ["cell3"]
    predict(adata, ranked, key_added="again")
    there = adata.to_memory().obs["again_prediction"]
    pd.testing.assert_series_equal(there, ranked.obs["lspin_prediction"], check_names=False)


def test_values_of_a_zarr_store_give_what_memory_gives(ranked, cells, tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is missing: pip install zarr")
    adata = as_anndata(cells)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of AnnData about the versions of Zarr
        adata.write_zarr(tmp_path / "cells.zarr")
        adata.X = anndata.io.sparse_dataset(zarr.open(tmp_path / "cells.zarr", mode="r")["X"])
    rank_genes_groups(adata, "type", **QUICK)
    assert (adata.uns["lspin"]["names"] == ranked.uns["lspin"]["names"]).all()


def test_groups_reference_mask_and_number_of_genes_are_as_asked(cells):
    adata = as_anndata(cells)
    adata.var["chosen"] = np.arange(adata.n_vars) % 2 == 0
    copied = rank_genes_groups(
        adata, "type", groups=["type 2"], reference="type 3", mask_var="chosen", n_genes=7, copy=True, **QUICK
    )
    assert "lspin" not in adata.uns
    names = copied.uns["lspin"]["names"]
    assert names.dtype.names == ("type 2",)
    assert names.shape == (7,)
    assert adata.var.loc[names["type 2"], "chosen"].all()
    assert copied.obs["lspin_prediction"].isna().sum() == (adata.obs["type"] == "type 1").sum()
    known = sc.tl.rank_genes_groups(
        copied, "type", groups=["type 2"], reference="type 3", method="t-test", copy=True, use_raw=False
    )
    assert copied.uns["lspin"]["params"]["reference"] == known.uns["rank_genes_groups"]["params"]["reference"]


def test_whole_donors_are_held_out(cells):
    adata = as_anndata(cells)
    rank_genes_groups(adata, "type", donors="donor", **QUICK)
    sizes = adata.obs["donor"].value_counts()
    assert adata.uns["lspin"]["held_out"]["n_cells"] in set(sizes)
    assert "donors" in adata.uns["lspin"]["remarks"][-1]


def test_what_was_written_survives_a_file(ranked, tmp_path):
    ranked.write_h5ad(tmp_path / "ranked.h5ad")
    again = anndata.read_h5ad(tmp_path / "ranked.h5ad")
    first = ranked.obs_names[:2]
    pd.testing.assert_frame_equal(explain_cells(again, first), explain_cells(ranked, first))
    sc.get.rank_genes_groups_df(again, group=None, key="lspin")


def test_reasons_of_a_cell_are_its_open_gates_and_add_up_to_its_scores(ranked):
    name = ranked.obs_names[3]
    reasons = explain_cells(ranked, name)
    gates = pd.Series(ranked.layers["lspin_gates"][3].toarray()[0], ranked.var_names)
    np.testing.assert_allclose(reasons["gate"], gates[reasons["gene"]], rtol=1e-5)
    assert len(reasons) == ranked.obs["lspin_n_genes"].iloc[3]
    assert reasons["prediction"].unique() == [ranked.obs["lspin_prediction"].iloc[3]]
    assert reasons["contribution"].abs().is_monotonic_decreasing
    model = find_model(ranked, "lspin")
    weights = pd.DataFrame(model.coef_, model.classes_, model.feature_names_in_)[reasons["gene"]].to_numpy()
    winner = list(model.classes_).index(reasons["prediction"].iloc[0])
    by_hand = (weights[winner] - weights.mean(axis=0)) * reasons["gate"] * reasons["value"]
    np.testing.assert_allclose(reasons["contribution"], by_hand, rtol=1e-5, atol=1e-8)


def test_a_saved_model_predicts_new_cells_whose_genes_have_another_order_and_other_names(ranked, tmp_path):
    save(ranked, tmp_path / "cells.lspin")
    new = ranked[:60, ::-1].copy()
    del new.layers["lspin_gates"]
    new.var["symbol"], new.var_names = new.var_names, [f"ENSG{place:011d}.3" for place in range(new.n_vars)]
    predict(new, tmp_path / "cells.lspin")
    assert (new.obs["lspin_prediction"] == ranked.obs["lspin_prediction"].iloc[:60]).all()
    np.testing.assert_allclose(new.obs["lspin_confidence"], ranked.obs["lspin_confidence"].iloc[:60])
    back = new.layers["lspin_gates"][:, ::-1]
    assert abs(back - ranked.layers["lspin_gates"][:60]).max() < 1e-6
    assert load(tmp_path / "cells.lspin").origin_["cells"]["groupby"] == "type"


def test_missing_genes_are_named(ranked):
    used = find_model(ranked, "lspin").feature_names_in_
    new = ranked[:10, ranked.var_names != used[0]].copy()
    with pytest.warns(UserWarning, match=rf"1 of the model's {len(used)} genes .*: {used[0]}"):
        predict(new, ranked)
    with pytest.raises(ValueError, match="genes are missing"):
        predict(ranked[:10, ~ranked.var_names.isin(used)].copy(), ranked)


def test_scaled_values_are_recognised_and_ranked(by_scanpy, cells):
    adata = by_scanpy.copy()
    adata.X = adata.X.toarray()
    sc.pp.scale(adata)
    rank_genes_groups(adata, "type", **QUICK)
    assert "scaled" in adata.uns["lspin"]["remarks"][0]
    assert set(adata.uns["lspin"]["names"]["type 1"][:3]) <= set(cells.genes[cells.markers[0]])


def test_two_types_have_reasons_of_opposite_signs(cells):
    adata = as_anndata(cells)
    two = adata[adata.obs["type"] != "type 3"].copy()
    rank_genes_groups(two, "type", **QUICK)
    reasons = explain_cells(two, np.arange(20))
    best = reasons.groupby("cell").first()
    assert (best["contribution"] > 0).mean() > 0.8
    assert two.uns["lspin"]["names"].dtype.names == ("type 1", "type 2")


def test_verbose_tells_what_is_recognised_and_shows_every_pass_over_the_cells(cells, monkeypatch, capsys):
    monkeypatch.setattr("lspin.fitting.progress._is_terminal", lambda: True)
    monkeypatch.setattr("lspin.single_cell.expression.BLOCK_NUMBERS", 100 * len(cells.genes))
    adata = as_anndata(cells)
    rank_genes_groups(adata, "type", verbose=1, **QUICK)
    shown = capsys.readouterr().err
    assert shown.startswith("lspin: Values are raw counts")
    for done in (
        "3/3 blocks of cells read [",
        "3/3 blocks of cells read again [",
        "1/1 blocks of cells predicted [",
    ):
        assert done in shown
    assert f"lspin: {adata.uns['lspin']['remarks'][-1]}" in shown
    predict(adata, adata, verbose=1)
    shown = capsys.readouterr().err
    assert shown.startswith("lspin: Values are raw counts")
    assert "3/3 blocks of cells predicted" in shown
    rank_genes_groups(adata, "type", **QUICK)
    predict(adata, adata)
    assert capsys.readouterr().err == ""


def test_members_rank_and_predict_together(cells):
    adata = as_anndata(cells)
    rank_genes_groups(adata, "type", n_members=3, n_jobs=2, **QUICK)
    assert len(find_model(adata, "lspin").members_) == 3
    opened = adata.uns["lspin"]["open"].to_numpy()
    sizes = adata.obs["type"].value_counts()[cells.type_names].to_numpy()
    counts = opened * sizes * 3  # a gate is open in none, one, two or three members
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-4)
    assert (np.round(counts) % 3 != 0).any()
    for place, name in enumerate(cells.type_names):
        assert set(adata.uns["lspin"]["names"][name][:5]) <= set(cells.genes[cells.markers[place]])
    again = adata.obs["lspin_prediction"].copy()
    predict(adata, adata)
    assert (adata.obs["lspin_prediction"] == again).all()


BAD = {
    "no such column": (lambda a: rank_genes_groups(a, "typ"), "no column 'typ'; it has type"),
    "one group": (lambda a: rank_genes_groups(a[a.obs["type"] == "type 1"].copy(), "type"), "'type 1' only"),
    "a group of one cell": (
        lambda a: rank_genes_groups(a[[*range(40), _first(a, "rare")]].copy(), "kind"),
        "has one cell only",
    ),
    "missing labels": (lambda a: rank_genes_groups(a, "holes"), "2 of 300 cells have no value in obs"),
    "a view": (lambda a: rank_genes_groups(a[:50], "type"), "give adata.copy"),
    "no such group": (lambda a: rank_genes_groups(a, "type", groups=["type 9"]), "no group 'type 9'"),
    "groups as text": (lambda a: rank_genes_groups(a, "type", groups="type 1"), "list of groups"),
    "no such reference": (lambda a: rank_genes_groups(a, "type", reference="x"), "no group 'x'"),
    "no such layer": (lambda a: rank_genes_groups(a, "type", layer="counts"), "no layer 'counts'"),
    "no raw": (lambda a: rank_genes_groups(a, "type", use_raw=True), "adata.raw is empty"),
    "a bad mask": (lambda a: rank_genes_groups(a, "type", mask_var=np.ones(3, bool)), "200 booleans"),
    "no such mask": (lambda a: rank_genes_groups(a, "type", mask_var="hvg"), "no column of var"),
    "no such kind of values": (lambda a: rank_genes_groups(a, "type", values="logs"), "none of 'auto'"),
    "all zero": (lambda a: rank_genes_groups(_zero(a), "type"), "are 0: is this the right layer"),
    "a missing value": (lambda a: rank_genes_groups(_spoil(a), "type"), "gene 'gene1' is nan in cell 299"),
    "duplicate names": (lambda a: rank_genes_groups(_rename(a), "type"), "1 gene names occur more than once"),
    "no donor to hold out": (lambda a: rank_genes_groups(a, "type", donors="type"), "no donor of obs"),
    "no model": (lambda a: explain_cells(a, 0), "holds no model"),
    "groups of nothing": (lambda a: rank_genes_groups(a, "type", groups=[]), "groups is an empty list"),
    "groups=None": (lambda a: rank_genes_groups(a, "type", groups=None), "'all' or a list of groups"),
    "a group against itself": (
        lambda a: rank_genes_groups(a, "type", groups=["type 1"], reference="type 1"),
        "groups and reference are the group 'type 1' only",
    ),
    "a measurement": (lambda a: rank_genes_groups(a, "depth"), "300 different values in 300 cells"),
    "no genes to write": (lambda a: rank_genes_groups(a, "type", n_genes=-1), "n_genes=-1 must be a positive"),
    "no name to write to": (lambda a: rank_genes_groups(a, "type", key_added=None), "must be a name"),
    "a mask without genes": (
        lambda a: rank_genes_groups(a, "type", mask_var=np.zeros(200, bool)),
        "no gene at all",
    ),
    "a context": (lambda a: rank_genes_groups(a, "type", context=["donor"]), "donors= holds out whole donors"),
    "a closed file": (lambda a: rank_genes_groups(_close(a), "type"), "is closed: read it again"),
    "a part of a file": (lambda a: rank_genes_groups(_back(a)[:50], "type"), "give adata.to_memory"),
    "an unknown parameter": (
        lambda a: rank_genes_groups(a, "type", n_gates=3),
        "n_gates= is a parameter neither of rank_genes_groups nor",
    ),
    "a parameter of scanpy": (
        lambda a: rank_genes_groups(a, "type", method="wilcoxon"),
        "method= is a parameter of scanpy's function only: there is one way",
    ),
    "a group among many": (
        lambda a: rank_genes_groups(a, "many", groups=["x"]),
        r"no group 'x'; it has 0, 1, 10, 11, 12, 13, 14, 2, 3, 4, 5, 6, \.\.\.$",
    ),
}


def _first(adata, kind):
    return int(np.flatnonzero(adata.obs["kind"] == kind)[0])


def _zero(adata):
    adata.X = adata.X * 0.0
    return adata


def _spoil(adata):
    dense = adata.X.toarray()
    dense[299, 0] = np.nan
    adata.X = sp.csr_matrix(dense)
    return adata


def _rename(adata):
    adata.var_names = ["gene2", *adata.var_names[1:]]
    return adata


def _back(adata):
    """The same cells in a file that this process may only read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.h5ad"
        adata.write_h5ad(path)
        path.chmod(0o400)
        return anndata.read_h5ad(path, backed="r")  # an open file outlives its folder


def _close(adata):
    backed = _back(adata)
    backed.file.close()
    return backed


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_a_sentence(case, cells):
    call, sentence = BAD[case]
    adata = as_anndata(cells)
    adata.obs["depth"] = adata.X.sum(axis=1).A1 + np.linspace(0, 0.9, adata.n_obs)
    adata.obs["holes"] = adata.obs["type"].where(np.arange(adata.n_obs) > 1)
    adata.obs["many"] = (np.arange(adata.n_obs) % 15).astype(str)
    adata.obs["kind"] = np.where(np.arange(adata.n_obs) == 299, "rare", adata.obs["type"].astype(str))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # AnnData about names that are not unique
        with pytest.raises((ValueError, TypeError), match=sentence):
            call(adata)


def test_what_is_no_anndata_object_is_refused():
    with pytest.raises(TypeError, match="must be an AnnData object"):
        rank_genes_groups(np.ones((3, 3)), "type")


def test_unknown_cells_are_named(ranked):
    with pytest.raises(ValueError, match="1 of the 2 cells asked for are not in obs_names, such as 'nobody'"):
        explain_cells(ranked, ["cell0", "nobody"])
    with pytest.raises(ValueError, match="position 300"):
        explain_cells(ranked, [300])


@pytest.mark.parametrize("asked", [[], np.zeros(300, bool)], ids=["an empty list", "booleans"])
def test_no_cells_have_no_reasons(asked, ranked):
    with pytest.raises(ValueError, match="names no cell at all"):
        explain_cells(ranked, asked)


def test_cells_of_one_name_are_given_by_position(ranked):
    adata = ranked.copy()
    adata.obs_names = ["cell", *adata.obs_names[:-1]]
    adata.obs_names = ["cell", "cell", *adata.obs_names[2:]]
    with pytest.raises(ValueError, match="one name, such as 'cell'"):
        explain_cells(adata, "cell")
    assert explain_cells(adata, [1])["cell"].eq("cell").all()


def test_a_file_without_the_right_to_write_is_ranked_and_stays_as_it_is(ranked, cells, tmp_path):
    path = tmp_path / "cells.h5ad"
    as_anndata(cells).write_h5ad(path)
    path.chmod(0o400)
    before = path.read_bytes()
    backed = anndata.read_h5ad(path, backed="r")
    rank_genes_groups(backed, "type", **QUICK)
    backed.file.close()
    assert (backed.uns["lspin"]["names"] == ranked.uns["lspin"]["names"]).all()
    assert path.read_bytes() == before


def test_genes_that_no_cell_has_come_last(cells):
    adata = as_anndata(cells)
    silent = adata.var_names[:20]
    adata.X = (adata.X @ sp.diags_array((np.arange(adata.n_vars) >= 20) * 1.0)).tocsr()
    rank_genes_groups(adata, "type", **QUICK)
    result = adata.uns["lspin"]
    assert "20 of 200 genes are 0 in all cells" in result["remarks"][1]
    for group in result["names"].dtype.names:
        scores = as_table(result, "scores", group)
        assert (scores[silent] == 0).all()
        assert np.isfinite(scores).all()
        assert not set(result["names"][group][:10]) & set(silent)


def test_a_slash_in_the_name_of_a_group_is_told_since_zarr_refuses_it(cells):
    adata = as_anndata(cells)
    adata.obs["type"] = adata.obs["type"].cat.rename_categories({"type 1": "NK/T"})
    rank_genes_groups(adata, "type", **QUICK)
    assert "'NK/T' has a slash" in adata.uns["lspin"]["remarks"][-1]


def test_groups_that_are_numbers_are_told_and_the_cure_lets_scanpy_draw(cells):
    adata = as_anndata(cells)
    adata.obs["cluster"] = adata.obs["type"].cat.codes.astype(int)
    rank_genes_groups(adata, "cluster", **QUICK)
    assert "holds numbers" in adata.uns["lspin"]["remarks"][-1]
    adata.obs["cluster"] = adata.obs["cluster"].astype(str).astype("category")
    draw_by_scanpy(adata, "_dotplot")


def test_a_predictor_with_hidden_layers_ranks_and_explains(cells):
    adata = as_anndata(cells)
    rank_genes_groups(adata, "type", hidden_layer_sizes=(8,), **QUICK)
    for place, name in enumerate(cells.type_names):
        assert set(adata.uns["lspin"]["names"][name][:3]) <= set(cells.genes[cells.markers[place]])
    assert len(explain_cells(adata, [0]))


def test_a_copy_of_a_backed_object_is_refused(cells, tmp_path):
    as_anndata(cells).write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(ValueError, match="copy=True would copy the file"):
        rank_genes_groups(backed, "type", copy=True)
    backed.file.close()


def test_a_model_of_another_table_is_refused(classifier):
    with pytest.raises(ValueError, match="no model of cells"):
        predict(as_anndata(draw_cells()), classifier)
