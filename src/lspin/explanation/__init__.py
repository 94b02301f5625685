"""Why each sample got its prediction: what each open gate adds, and which samples are explained alike."""

from lspin.explanation.groups import group_patterns
from lspin.explanation.joining import explain
from lspin.explanation.record import Explanation
from lspin.explanation.summary import Summary

__all__ = ["Explanation", "Summary", "explain", "group_patterns"]
