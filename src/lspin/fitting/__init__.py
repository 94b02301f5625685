"""From a problem to trained models: preparation, one fit, the path, the ensemble; and predicting in NumPy."""
