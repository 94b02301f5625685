"""A file as people have it becomes a table to learn from, its target, and remarks about both."""
