# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Cells: marker genes of blood cells
#
# From raw counts to marker genes, to the genes behind one cell, to the types of new cells. The table is a cut of
# sorted blood cells (PBMC). Where it cannot be had, simulated cells take its place, and the page says so.

# %%
import anndata
import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from lspin.datasets import load_table, make_cells

try:
    table = load_table("pbmc_purified_counts", download=False)
    kept = np.random.default_rng(0).permutation(len(table.y))[:600]  # a cut, to keep the page quick
    common = np.argsort(-table.X.sum(axis=0).A1)[:2000]
    counts, types = table.X[kept][:, common], table.class_names[table.y[kept]]
    genes = table.feature_names[common]
    print("sorted blood cells:", counts.shape)
except FileNotFoundError:
    drawn = make_cells(600, 2000, n_types=5, seed=0)
    counts = csr_matrix(drawn.counts)  # normalize_total of scanpy 1.11 fails on sparse arrays
    types, genes = drawn.types, drawn.genes
    print("PBMC is not here; simulated cells take its place:", counts.shape)

obs = pd.DataFrame({"cell_type": pd.Categorical(types)}, index=[f"cell{row}" for row in range(len(types))])
adata = anndata.AnnData(counts.astype("float32"), obs=obs, var=pd.DataFrame(index=pd.Index(genes.astype(str))))
known, new = adata[:450].copy(), adata[450:].copy()

# %% [markdown]
# ## Marker genes
#
# One call. The remarks say what was recognised, and how well the model does on cells that it has not seen.

# %%
from lspin.single_cell import explain_cells, predict, rank_genes_groups

rank_genes_groups(known, "cell_type")
print(*known.uns["lspin"]["remarks"], sep="\n")
pd.DataFrame(known.uns["lspin"]["names"]).head(6)

# %% [markdown]
# ## A dot plot
#
# The fields are scanpy's, so scanpy draws them. For its colours it wants log-normalised values.

# %%
import scanpy as sc

sc.pp.normalize_total(known, target_sum=1e4)
sc.pp.log1p(known)
sc.pl.rank_genes_groups_dotplot(known, key="lspin", n_genes=3, dendrogram=False, standard_scale="var")

# %% [markdown]
# ## The genes behind one cell

# %%
explain_cells(known, known.obs_names[0]).head(8)

# %% [markdown]
# ## New cells

# %%
predict(new, known)
pd.crosstab(new.obs["cell_type"], new.obs["lspin_prediction"])
