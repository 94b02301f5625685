"""A leaderboard of one's own table: LSPIN, its rivals and familiar models, judged on the same folds."""
