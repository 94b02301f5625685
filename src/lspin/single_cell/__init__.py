"""Single cells in the language of scanpy: AnnData objects in, marker genes and each cell's reasons out."""

from lspin.single_cell.explaining import explain_cells
from lspin.single_cell.models import load, save
from lspin.single_cell.predicting import predict
from lspin.single_cell.ranking import rank_genes_groups

__all__ = ["explain_cells", "load", "predict", "rank_genes_groups", "save"]
