"""Tables to try a method on: synthetic ones in which the relevant features are known, and public ones."""

from lspin.datasets.cells import Cells, make_cells
from lspin.datasets.real import TABLES, Table, load_table
from lspin.datasets.synthetic import SETS, Dataset, Part, load_synthetic

__all__ = ["SETS", "TABLES", "Cells", "Dataset", "Part", "Table", "load_synthetic", "load_table", "make_cells"]
