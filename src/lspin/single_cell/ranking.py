"""Marker genes of groups of cells, written where scanpy looks for them."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api.types import is_numeric_dtype
from scipy.stats import false_discovery_control
from sklearn.utils import check_random_state

from lspin.estimators import LSPINClassifier
from lspin.single_cell.annotations import list_names
from lspin.single_cell.expression import SCALED, Expression, describe_values, find_expression, say
from lspin.single_cell.fields import prepare_target, write_cells
from lspin.single_cell.grouping import Groups, assign_roles, load_column, read_groups
from lspin.single_cell.models import describe_cells, pack_model
from lspin.single_cell.statistics import (
    Sums,
    fold_changes,
    lead,
    log_moments,
    rate_moments,
    sum_by_group,
    welch_p_values,
)
from lspin.single_cell.training import CellFit, CellPredictions, fit_cells, predict_cells

OF_SCANPY = {  # parameters of its function that ours does without
    "method": "there is one way of ranking",
    "pts": "shares of cells are always written",
    "corr_method": "p-values are adjusted by Benjamini and Hochberg",
    "rankby_abs": "genes that are lower in a group come last",
    "tie_correct": "no ranks of values are taken",
}
TYPES = {"scores": np.float32, "logfoldchanges": np.float32, "pvals": np.float64, "pvals_adj": np.float64}


class Ranking(NamedTuple):
    """What is known of each gene in one group, all genes in their order."""

    scores: np.ndarray
    logfoldchanges: np.ndarray
    pvals: np.ndarray
    pvals_adj: np.ndarray


def rank_genes_groups(
    adata: Any,
    groupby: str,
    *,
    groups: str | Iterable[str] = "all",
    reference: str = "rest",
    layer: str | None = None,
    use_raw: bool | None = None,
    mask_var: np.ndarray | str | None = None,
    n_genes: int | None = None,
    key_added: str = "lspin",
    copy: bool = False,
    random_state: int | np.random.RandomState | None = 0,
    values: str = "auto",
    donors: str | None = None,
    **settings: Any,
) -> Any:
    """Rank marker genes of groups of cells, and find the genes behind each cell's group.

    A model learns to tell the groups from a few genes of each cell, and the genes of each group are ranked by
    their score. All readers of scanpy's own function read the result: ``sc.pl.rank_genes_groups(adata,
    key="lspin")``, its dot plot, heat map and violins, ``sc.get.rank_genes_groups_df`` and
    ``sc.tl.filter_rank_genes_groups``.

    Parameters
    ----------
    adata
        Cells, in memory, backed by a file (``backed="r"``) or read lazily from a file or a Zarr store
        (``anndata.experimental.read_lazy``). What is on disk is read some cells at a time, twice.
    groupby
        Column of ``obs`` with the groups.
    groups
        Groups whose genes are ranked, or ``"all"``. With ``reference="rest"`` the others are compared with.
    reference
        ``"rest"``, or the group that each is compared with.
    layer, use_raw
        Where the values are; by default ``raw`` if there is one, else ``X``.
    mask_var
        Genes that may be used: booleans, or a column of ``var`` that holds them.
    n_genes
        How many genes of each group are written; by default all.
    key_added
        Where results are written, and the first part of the names of all fields.
    copy
        Whether to return a copy instead of writing to ``adata``.
    random_state
        Seed.
    values
        What the values are: ``"counts"`` (normalised to 10,000 a cell, then ``log1p``), ``"normalised"``
        (``log1p``), ``"log"`` or ``"scaled"`` (both taken as they are). ``"auto"`` recognises it.
    donors
        Column of ``obs`` with donors or batches. The cells that judge the model are then all cells of some
        donors instead of a fifth of each group.
    **settings
        Parameters of :class:`lspin.LSPINClassifier`, such as ``n_features=10`` (genes of a cell),
        ``n_members=5``, ``n_jobs=2`` or ``verbose=1``, which shows what was recognised, progress and the time
        left.

    Returns
    -------
    AnnData or None
        The copy, if there is one. It has the fields listed in the notes.

    Notes
    -----
    These fields are written (for ``key_added="lspin"``):

    ``uns["lspin"]``
        ``params``; ``names``, ``scores``, ``logfoldchanges``, ``pvals`` and ``pvals_adj`` (one field for each
        group, genes in the order of their scores); ``pts`` and ``pts_rest`` (share of the cells with a gene);
        ``open`` (share of the cells of each group whose gate is open); ``held_out`` (accuracy on cells that
        neither train nor choose); ``remarks`` (what was recognised and done); ``model`` (for
        :func:`lspin.single_cell.predict` and :func:`lspin.single_cell.save`).
    ``layers["lspin_gates"]``
        Gates of each cell, sparse. They are open where a gene is used for the cell.
    ``obs["lspin_prediction"]``, ``obs["lspin_confidence"]``, ``obs["lspin_n_genes"]``
        Group that the model predicts, its probability, and how many gates are open. The cells are those it was
        fitted on; ``uns["lspin"]["held_out"]`` is the honest accuracy: a model learns from two thirds of the
        cells, others choose its price, and the rest judge it.
    ``var["lspin_open"]``
        Share of all cells whose gate is open.

    The score of a gene in a group is its lead times ``2 ** specificity``. The lead says by how many standard
    errors the group's mean of normalised counts is above that of other groups, one by one; of these numbers, the
    lower quartile. So a marker may be shared with a quarter of the other groups. The specificity is the share of
    the group's cells whose gate of the gene is open, minus the largest such share of another group.

    ``pvals`` are those of Welch's t-test on log-normalised values against the reference, as scanpy's
    ``method="t-test"`` computes them, adjusted by Benjamini and Hochberg. Groups found by clustering the same
    cells make them too small, whatever the method.

    Examples
    --------
    >>> from anndata import AnnData
    >>> from lspin.datasets import make_cells
    >>> from lspin.single_cell import explain_cells, rank_genes_groups
    >>> cells = make_cells(300, 200, n_types=3, n_markers=8)
    >>> adata = AnnData(cells.counts)
    >>> adata.obs["cell_type"] = cells.types
    >>> rank_genes_groups(adata, "cell_type")
    >>> reasons = explain_cells(adata, [0, 1, 2])

    """
    refuse_bad_settings(n_genes, key_added, settings)
    adata = prepare_target(adata, copy=copy)
    found = read_groups(adata.obs, groupby, groups, reference)
    expression = find_expression(adata, layer, use_raw, values)
    shown = bool(settings.get("verbose"))
    say(describe_values(expression), shown=shown)
    allowed = read_mask(mask_var, expression)
    rng = check_random_state(random_state)
    roles = assign_roles(found, None if donors is None else load_column(adata.obs, donors).astype(str), rng)
    # Sums of the cells that train apart: those that choose and judge must not help to screen.
    apart = np.where(found.codes >= 0, found.codes + ~roles.trains * len(found.names), -1)
    sums = sum_by_group(expression, apart, 2 * len(found.names), shown=shown)
    settings = {"random_state": rng.randint(2**31 - 1), **settings}
    fitted = fit_cells(expression, found, sums, roles, allowed, settings, rng)
    said = predict_cells(fitted.model, _all_values(fitted, expression), shown=shown)
    whole = sums.merge(np.tile(np.arange(len(found.names)), 2))
    describe_cells(fitted.model, expression, groupby)
    genes = expression.genes[fitted.genes]
    write_cells(adata, said, found.names, genes, key_added, found.codes >= 0)
    opened = open_shares(said, found, fitted.genes, len(expression.genes))
    from_raw = layer is None and (use_raw if use_raw is not None else adata.raw is not None)
    result: dict[str, Any] = {
        "params": {
            "groupby": groupby,
            "reference": reference,
            "method": "lspin",
            "use_raw": bool(from_raw),
            "layer": layer,
            "corr_method": "benjamini-hochberg",
        }
    }
    result |= rank_all(whole, opened, found, expression, allowed, n_genes)
    result["open"] = pd.DataFrame(opened.T, expression.genes, found.names)
    result["held_out"] = {"accuracy": fitted.held_out_accuracy, "n_cells": fitted.n_held_out}
    remarks = list_remarks(fitted, found, expression, whole, donors)
    if n_beyond := int((~genes.isin(list_names(adata.var))).sum()):
        remarks.append(f"{n_beyond} of the model's {len(genes)} genes are in raw only: layers lacks their gates.")
    remarks += list_hindrances(adata.obs, groupby, found.names)
    for remark in remarks[1:]:  # what the values are was said before they were read
        say(remark, shown=shown)
    result["remarks"] = np.array(remarks, dtype=object)
    result["model"] = pack_model(fitted.model)
    adata.uns[key_added] = result
    return adata if copy else None


def refuse_bad_settings(n_genes: int | None, key_added: str, settings: dict[str, Any]) -> None:
    """Raise an error for what can be told before any cell is read."""
    if n_genes is not None and (not isinstance(n_genes, (int, np.integer)) or n_genes < 1):
        raise ValueError(f"n_genes={n_genes!r} must be a positive whole number, or None for all genes")
    if not isinstance(key_added, str) or not key_added:
        raise TypeError(f"key_added={key_added!r} must be a name, such as 'lspin'")
    for name in settings.keys() - LSPINClassifier().get_params().keys():
        if name in OF_SCANPY:
            raise TypeError(f"{name}= is a parameter of scanpy's function only: {OF_SCANPY[name]}; leave it out")
        raise TypeError(f"{name}= is a parameter neither of rank_genes_groups nor of lspin.LSPINClassifier")
    if settings.get("context") is not None:
        raise ValueError(
            "context names columns of a table, and cells have genes only: donors= holds out whole donors or "
            "batches"
        )


def read_mask(mask_var: np.ndarray | str | None, expression: Expression) -> np.ndarray:
    """Which genes may be used, as booleans."""
    if mask_var is None:
        return np.ones(len(expression.genes), bool)
    if isinstance(mask_var, str):
        if mask_var not in expression.var.columns:
            raise ValueError(f"mask_var={mask_var!r} is no column of var")
        mask_var = expression.var[mask_var].to_numpy()
    mask = np.asarray(mask_var)
    if mask.shape != (len(expression.genes),) or mask.dtype != bool:
        raise ValueError(
            f"mask_var must hold {len(expression.genes)} booleans, one for each gene; it is of type {mask.dtype} "
            f"and shape {mask.shape}"
        )
    if not mask.any():
        raise ValueError("mask_var allows no gene at all")
    return mask


def _all_values(fitted: CellFit, expression: Expression) -> Any:
    values = fitted.candidates.values
    if len(fitted.genes) < values.shape[1]:
        values = values[:, np.searchsorted(fitted.candidates.places, fitted.genes)]
    return values.toarray() if expression.form == SCALED else values


def open_shares(said: CellPredictions, groups: Groups, genes: np.ndarray, n_genes: int) -> np.ndarray:
    """Share of the cells of each group whose gate is open, shape ``(n_groups, n_genes)``."""
    known = np.flatnonzero(groups.codes >= 0)
    codes = groups.codes[known]
    weight = 1 / np.bincount(codes)[codes]
    into = sp.csr_array((weight, (codes, known)), shape=(len(groups.names), len(groups.codes)))
    shares = np.zeros((len(groups.names), n_genes))
    shares[:, genes] = (into @ said.opened).toarray()
    return shares


def rank_all(
    sums: Sums,
    opened: np.ndarray,
    groups: Groups,
    expression: Expression,
    allowed: np.ndarray,
    n_genes: int | None,
) -> dict[str, Any]:
    """Names, scores and statistics of all groups, in the form that scanpy reads."""
    genes = expression.genes[allowed].to_numpy().astype(object)
    most = len(genes) if n_genes is None else min(n_genes, len(genes))
    columns: dict[str, dict[str, np.ndarray]] = {name: {} for name in ("names", *Ranking._fields)}
    for group in groups.shown:
        ranking = Ranking(*(part[allowed] for part in rank_one(sums, opened, groups, group, expression.form)))
        adjusted = adjust_p_values(ranking.pvals)
        order = np.argsort(-ranking.scores, kind="stable")[:most]
        columns["names"][groups.names[group]] = genes[order]
        for name, part in ranking._replace(pvals_adj=adjusted)._asdict().items():
            columns[name][groups.names[group]] = part[order]
    result: dict[str, Any] = {
        name: pd.DataFrame(parts).to_records(index=False, column_dtypes=TYPES.get(name, "O"))
        for name, parts in columns.items()
    }
    names, index = groups.names[groups.shown], expression.genes[allowed]
    shares = sums.detected[:, allowed] / sums.n_cells
    result["pts"] = pd.DataFrame(shares[groups.shown].T, index, names)
    if groups.reference is None:
        rest = [sums.pool(groups.others(group)) for group in groups.shown]
        of_rest = np.vstack([part.detected[:, allowed] / part.n_cells for part in rest])
        result["pts_rest"] = pd.DataFrame(of_rest.T, index, names)
    return result


def rank_one(sums: Sums, opened: np.ndarray, groups: Groups, group: int, form: str) -> Ranking:
    """Scores and statistics of all genes in one group, p-values not adjusted yet."""
    others = groups.others(group)
    scores = score_genes(lead(rate_moments(sums), group, others), opened[group], opened[others])
    here, there = log_moments(sums.pool(np.array([group]))), log_moments(sums.pool(others))
    p_values = welch_p_values(here, there)[0]
    return Ranking(scores, fold_changes(here, there, form)[0], p_values, p_values)


def score_genes(leads: np.ndarray, here: np.ndarray, elsewhere: np.ndarray) -> np.ndarray:
    """Scores of markers: a lead counts up to twice if gates are open in this group only, half if in another."""
    return leads * np.where(leads > 0, 2.0 ** (here - elsewhere.max(axis=0)), 1.0)


def adjust_p_values(p_values: np.ndarray) -> np.ndarray:
    """P-values adjusted by Benjamini and Hochberg."""
    return false_discovery_control(p_values, method="bh")


def list_remarks(
    fitted: CellFit, groups: Groups, expression: Expression, sums: Sums, donors: str | None
) -> list[str]:
    """What was recognised and done, in sentences."""
    n_silent = int((sums.detected.sum(axis=0) == 0).sum())
    remarks = [describe_values(expression)]
    if n_silent:
        remarks.append(f"{n_silent} of {len(expression.genes)} genes are 0 in all cells; they come last.")
    if fitted.n_held_out:
        whom = "cells of held-out donors" if donors is not None else "held-out cells"
        remarks.append(
            f"Accuracy on {fitted.n_held_out} {whom}: {fitted.held_out_accuracy:.3f}; the most frequent group has "
            f"{sums.n_cells.max() / sums.n_cells.sum():.3f} of the cells."
        )
    n_known = int((groups.codes >= 0).sum())
    if fitted.n_trained < n_known:
        remarks.append(f"The model was fitted on {fitted.n_trained} of {n_known} cells; all of them have gates.")
    return remarks


def list_hindrances(obs: Any, groupby: str, names: np.ndarray) -> list[str]:
    """What the groups will meet with in plots and files, in sentences."""
    remarks = []
    if is_numeric_dtype(load_column(obs, groupby)):
        column = f"adata.obs[{groupby!r}]"
        remarks.append(
            f"{column} holds numbers, which scanpy's plots cut into intervals: before you plot, "
            f"{column} = {column}.astype(str).astype('category')."
        )
    if slashed := [name for name in names if "/" in name]:
        remarks.append(
            f"The group name {str(slashed[0])!r} has a slash, which Zarr files do not take as the name of a "
            "column, and h5ad files soon will not: rename such groups, or delete pts, pts_rest and open, before "
            "you write one."
        )
    return remarks
