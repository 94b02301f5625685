"""Tables to try a method on: synthetic ones in which the relevant features are known."""

from lspin.datasets.synthetic import SETS, Dataset, Part, load_synthetic

__all__ = ["SETS", "Dataset", "Part", "load_synthetic"]
