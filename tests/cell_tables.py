"""Small simulated cells for tests; one shape for all, since every new shape is a new compilation."""

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lspin.datasets import make_cells

QUICK = {"max_epochs": 30, "sparsity": 0.02, "batch_size": 64}


def draw_cells():
    return make_cells(300, 200, n_types=3, n_markers=8, seed=0)


def as_anndata(cells):
    import anndata

    names = [f"cell{place}" for place in range(len(cells.types))]
    obs = pd.DataFrame({"type": pd.Categorical(cells.types), "donor": cells.donors}, index=names)
    var = pd.DataFrame({"symbol": cells.genes}, index=pd.Index(np.asarray(cells.genes, str)))
    return anndata.AnnData(sp.csr_matrix(cells.counts), obs=obs, var=var)
