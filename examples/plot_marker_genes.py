"""Marker genes of cell types
==========================

From raw counts to marker genes, to a dot plot, to the genes behind one cell.

The cells are sorted blood cells where that table is at hand (:func:`lspin.datasets.load_table`), else simulated.
``rank_genes_groups`` writes its results where scanpy looks for them, so that scanpy's plots draw them.
"""

# Long: about 20 CPU seconds. `make docs-full` runs this script, `make docs` shows it only.
import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scanpy as sc
from scipy.sparse import csr_matrix

from lspin.datasets import load_table, make_cells
from lspin.single_cell import explain_cells, rank_genes_groups

# %%
# Raw counts, with a type for each cell.
try:
    table = load_table("pbmc_purified_counts", download=False)
    counts, types, genes = table.X, table.class_names[table.y], table.feature_names
    kept = np.random.default_rng(0).permutation(len(types))[:1200]
    counts, types = counts[kept], types[kept]
except FileNotFoundError:
    cells = make_cells(1200, 3000, n_types=6, setting="hard", seed=0)
    counts = csr_matrix(cells.counts)  # normalize_total of scanpy 1.11 fails on sparse arrays
    types, genes = cells.types, cells.genes

obs = pd.DataFrame({"cell_type": pd.Categorical(types)}, index=[f"cell {place}" for place in range(len(types))])
adata = anndata.AnnData(counts.astype("float32"), obs=obs, var=pd.DataFrame(index=pd.Index(genes.astype(str))))

# %%
# One call ranks the genes of each type. The remarks say what it recognised, and how well the model does on cells
# that it has not seen.
rank_genes_groups(adata, "cell_type")
print(*adata.uns["lspin"]["remarks"], sep="\n")
print(pd.DataFrame(adata.uns["lspin"]["names"]).head(5).T)

# %%
# Scanpy draws the result. For its colours it wants log-normalised values.
sc.pp.normalize_total(adata, target_sum=1e4)
sc.pp.log1p(adata)
sc.pl.rank_genes_groups_dotplot(adata, key="lspin", n_genes=3, dendrogram=False, standard_scale="var", show=False)
plt.show()

# %%
# Why does the model take a cell for what it is? The genes whose gates are open, and what each adds to the score of
# the predicted type.
reasons = explain_cells(adata, adata.obs_names[0])
print(reasons.head(8).to_string(index=False))

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
first = reasons.head(8)[::-1]
axes.barh(first["gene"], first["contribution"])
axes.set(xlabel="contribution to the score", title=f"{first['cell'].iloc[0]}: {first['prediction'].iloc[0]}")
plt.show()
