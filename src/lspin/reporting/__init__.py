"""One page about a model: how well it does on held-out rows, its features, groups and samples."""
