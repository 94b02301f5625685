"""Data checks: columns that predict too well, values recorded after the outcome, duplicates, codes, spellings."""

from lspin.checks.check import check_table
from lspin.checks.findings import Checks, Finding

__all__ = ["Checks", "Finding", "check_table"]
