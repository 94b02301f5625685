"""The results page can be made of the committed files, and its list of losses is what a slow count says."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'lspin[plots]'")

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def results_page():
    """The module as Sphinx imports it."""
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        import results_page
    finally:
        sys.path.pop(0)
    return results_page


def test_every_method_of_a_drawn_file_has_a_look_and_a_name(results_page):
    for experiment in results_page.EXPERIMENTS:
        methods = list(pd.read_csv(results_page.RESULTS / f"{experiment.file}.csv")["method"].unique())
        looks = results_page.style_of(methods, experiment.ours)
        assert set(looks) == set(methods)
        assert len({tuple(look.values()) for look in looks.values()}) == len(methods)  # none looks like another
        assert set(methods) <= set(results_page.NAMES)


def test_a_method_without_a_look_is_an_error(results_page):
    with pytest.raises(ValueError, match="no colour for unheard_of"):
        results_page.style_of(["lasso", "unheard_of"], "lspin")


def test_the_page_is_made_of_the_committed_files(results_page, tmp_path):
    results_page.write_results(SimpleNamespace(srcdir=tmp_path))
    included = [line.split("results/")[1] for line in (DOCS / "results.md").read_text("utf-8").splitlines()
                if line.startswith(("```{figure} results/", "```{include} results/"))]  # fmt: skip
    assert sorted(included) == sorted(path.name for path in (tmp_path / "results").iterdir())


def find_losses(file, score, ours, theirs, datasets):
    """Tables on which the mean score of some rival is higher, over the seeds that both have, by plain loops."""
    runs = pd.read_csv(file)
    lost = []
    for dataset in datasets:
        here = runs[(runs["dataset"] == dataset) & runs[score].notna()]
        own = dict(here.loc[here["method"] == ours, ["seed", score]].itertuples(index=False))
        for rival in theirs:
            its = dict(here.loc[here["method"] == rival, ["seed", score]].itertuples(index=False))
            both = [seed for seed in own if seed in its]
            if both and sum(its[seed] - own[seed] for seed in both) > 0:
                lost.append(dataset)
                break
    return lost


def test_no_loss_on_an_ordinary_table_is_left_out(results_page):
    [experiment] = [each for each in results_page.EXPERIMENTS if each.file == "ordinary"]
    file = results_page.RESULTS / "ordinary.csv"
    datasets = sorted(set(pd.read_csv(file)["dataset"]))
    rivals = ["boosted_trees", "lasso", "random_forest", "ridge"]
    told = [row["table"] for row in results_page.list_losses(experiment)]
    assert sorted(told) == find_losses(file, "score", "lspin", rivals, datasets)
