"""Why each sample got its prediction: what each open gate adds, and which samples are explained alike."""

from lspin.explanation.groups import group_patterns
from lspin.explanation.record import Explanation, explain

__all__ = ["Explanation", "explain", "group_patterns"]
