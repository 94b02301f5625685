"""A short round of the campaign; ``make campaign`` runs the long one and prints its table."""

import pytest

from campaign.run import conduct


@pytest.mark.parametrize(
    "numbers",
    [{"n_inputs": 14}, {"n_files": 60}, {"n_tables": 6}],
    ids=["inputs", "model files", "tables"],
)
def test_every_attempt_is_answered_or_refused_in_a_sentence(numbers):
    tally = conduct(**{"n_inputs": 0, "n_files": 0, "n_tables": 0, "n_signals": 0, **numbers}, seed=1)
    assert tally.faults == []
    outcomes = {outcome for _, outcome in tally.counts}
    assert outcomes == {"answered", "refused"}
    assert tally.counts.total() == sum(numbers.values())
