"""X as people have it becomes checked, merged, encoded arrays; so do labels and weights."""
