"""What each part of the default is worth: one is taken away at a time. ``make bench-parts``.

Drawn tables of development seeds. A part of the networks is taken from models that start from networks, for where
groups win nothing else would show; a part of the groups, or of the contest between both, from the default itself.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from benchmarks.drawn import draw, share_of_way
from benchmarks.everyday import suits_all
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.experiments.suite import share_of_mask
from benchmarks.figures import draw_dots, make_axes, new_figure, save_figure
from benchmarks.protocol import CpuTimer
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.tables import NOTHING, describe_seeds, format_spread, write_markdown
from lspin import LSPINClassifier, LSPINRegressor, metrics
from lspin.core import model as objective
from lspin.core import training
from lspin.estimators import posing
from lspin.fitting import attempts, contest, ensemble, groups, levels, ordering
from lspin.fitting import recipe as recipes
from lspin.structure import divisions, mixture
from lspin.structure.divisions import RULES

SEEDS = range(5)
FAMILIES = ("clinics", "switch", "pictures", "plain", "sites")
WIDE_FAMILIES = ("subtypes", "modules", "polygenic", "nothing")  # for parts of the groups

Constants = dict[ModuleType, dict[str, Any]]


@dataclass(frozen=True)
class Variant:
    """What is changed of the default."""

    constants: Constants = field(default_factory=dict)  # numbers and functions, by module
    recipe: dict[str, Any] = field(default_factory=dict)  # numbers of the nonlinear recipe
    settings: dict[str, Any] = field(default_factory=dict)  # of the estimator


def keep_rules(source: str) -> tuple[divisions.Rule, ...]:
    return tuple(rule for rule in RULES if rule.source == source)


def use_without_signs(models: mixture.Models, basis: groups.Basis) -> np.ndarray:
    """A group that would turn a feature's coefficient around does without the feature."""
    return np.maximum(SHARE_COLUMNS(models, basis), 0.0)


def count_from_the_mean(basis: groups.Basis, opened: groups.Opened, penalty: float) -> np.ndarray:
    return np.zeros(len(basis.encoding.owners))


SHARE_COLUMNS = groups.share_columns
NETWORKS = {"start": "networks"}

OF_GROUPS = {
    "default": Variant(),
    "groups only": Variant(settings={"start": "groups"}),
    "networks only": Variant(settings=NETWORKS),
    "no search for groups": Variant({contest: {"RULES": ()}}),
    "no groups by components": Variant({contest: {"RULES": keep_rules("column")}}),
    "no groups by a column": Variant({contest: {"RULES": keep_rules("components")}}),
    "4 groups at the most": Variant({contest: {"RULES": tuple(rule for rule in RULES if rule.which <= 4)}}),
    "no rounds after the first division": Variant({mixture: {"MOST_ROUNDS": 0}}),
    "no opposite signs": Variant({groups: {"share_columns": use_without_signs}}),
    "origins at the mean": Variant({groups: {"find_origins": count_from_the_mean}}),
    "what tells groups is not shown": Variant({groups: {"FEW_TELLING": 0}}),
    "any column may tell groups": Variant({mixture: {"BY_CHANCE": np.inf}}),
    "components of noise count": Variant({divisions: {"BEYOND_EDGE": 0.0}}),
    "weak columns never leave": Variant({ordering: {"DISPENSABLE": 0.0}}),
    "least penalty only": Variant({contest: {"PENALTIES": contest.PENALTIES[:1]}}),
    "lowest loss, whatever it opens": Variant({posing: {"TOLERANCES": posing.TOLERANCES | {"accurate": 0.0}}}),
    "5 % for fewer features": Variant({posing: {"TOLERANCES": posing.TOLERANCES | {"accurate": 0.05}}}),
    "one standard error for fewer": Variant(settings={"rule": "sparse"}),
    "groups need not be clearly better": Variant({contest: {"CLEARLY": 0.0}}),
    "only the best is as good as the best": Variant({contest: {"AS_GOOD": 0.0}, levels: {"AS_GOOD": 0.0}}),
    "never a constant": Variant({levels: {"WORTH_IT": -np.inf, "RELATED": -np.inf}}),
    "one finalist": Variant({contest: {"N_FINALISTS": 1}}),
    "a fifth of the rows judges": Variant({ensemble: {"FEWEST_JUDGED": 0}}),
    "5 folds of small tables": Variant({ensemble: {"N_SMALL_FOLDS": 5}}),
    "a ridge of all columns only": Variant({contest: {"MANY_RIDGES": 0}}),
    "few columns tie with a ridge": Variant({levels: {"prefer_ridge": lambda all_levels: all_levels}}),
    "networks always tried": Variant({attempts: {"HOPELESS": np.inf, "FAR_BEHIND": 1e9}}),
    "networks read all columns": Variant({attempts: {"MUCH_LESS": 0.0}}),
    "networks always read few columns": Variant({attempts: {"MUCH_LESS": 1.0}}),
    "networks win ties": Variant({contest: {"TIE": 0.0}}),
}
OF_NETWORKS = {
    "no foreign gates": Variant({}, {"exchange": 0.0}, NETWORKS),
    "no foreign values": Variant({objective: {"FILL": 0.0}}, {}, NETWORKS),
    "foreign gates from the start": Variant({}, {"exchange_rise": 0.0}, NETWORKS),
    "noise 0.5 throughout": Variant({}, {"noise_scale": 0.5, "final_noise": 1.0, "strict_noise": None}, NETWORKS),
    "noise not lowered": Variant({}, {"final_noise": 1.0}, NETWORKS),
    "gates may be surer than sure": Variant({}, {"edge": 0.0}, NETWORKS),
    "no strict run": Variant({}, {"strict_noise": None}, NETWORKS),
    "strict run only": Variant({}, {"noise_scale": 1.0, "exchange_rise": 0.0, "strict_noise": None}, NETWORKS),
    "price from 0.5 to 10 %": Variant({}, {"path": (0.005, 0.1)}, NETWORKS),
    "gating weights never decay": Variant({}, {"gate_decay": 0.0}, NETWORKS),
    "gating weights always decay": Variant({}, {"gate_decay_until": 1.0}, NETWORKS),
    "no shrinkage of gating inputs": Variant({}, {"gate_shrink": 0.0}, NETWORKS),
    "no head start for the predictor": Variant({}, {"head_start": 0.0}, NETWORKS),
    "one hidden gating layer": Variant({}, {"gating_layers": (50,)}, NETWORKS),
    "both networks 100-100": Variant(
        {}, {"gating_layers": (100, 100)}, NETWORKS | {"hidden_layer_sizes": (100, 100)}
    ),
    "linear predictor": Variant({}, {}, NETWORKS | {"hidden_layer_sizes": ()}),
    "half of the steps": Variant({}, {"steps": 1500, "fewest_steps": 550}, NETWORKS),
    "a run with weight decay too": Variant({}, {"decays": (0.0, 1.0)}, NETWORKS),
    "the last fit starts anew": Variant({ensemble: {"goes_on": lambda plan: False}}, {}, NETWORKS),
}
COMPILED = {objective}  # modules whose constants are part of a compiled program
VARIANTS = OF_GROUPS | OF_NETWORKS
REFERENCES = {"networks only": OF_NETWORKS, "default": OF_GROUPS}  # what a variant is compared with

CAPTION = (
    "Drawn tables of development seeds, so that these figures helped to choose what they report. Share: how much "
    "of the way from a constant to the ceiling (for `nothing`, the difference to the constant); F1 of the "
    "selected features; mask: the share from the selection alone; CPU seconds of a fit. Differences are paired, "
    "mean ± standard error over tables; «tables changed» have another share or F1 than the reference. Parts of "
    "the networks are taken from models that start from networks."
)


@contextmanager
def without_part(variant: Variant) -> Iterator[None]:
    """The package with constants and recipe of a variant, for a while."""
    with ExitStack() as changes:
        for module, values in variant.constants.items():
            for constant, value in values.items():
                changes.enter_context(mock.patch.object(module, constant, value))
        changed = recipes.NONLINEAR._replace(**variant.recipe)
        changes.enter_context(mock.patch.object(recipes, "NONLINEAR", changed))
        if COMPILED & set(variant.constants):
            training.advance.clear_cache()
            changes.callback(training.advance.clear_cache)
        yield


def measure_part(run: Run) -> Record:
    """Fit the default without a part on a drawn table, and score it on the test rows."""
    variant, drawn = VARIANTS[run.method], draw(run.case.dataset, run.seed)
    X, y = (array[: run.case.n_train] for array in (drawn.train.X, drawn.train.y))
    kind = LSPINRegressor if drawn.is_regression else LSPINClassifier
    model = kind(**variant.settings, max_epochs=run.budget.epochs, random_state=0)
    with without_part(variant), CpuTimer() as timer:
        model.fit(X, y)
    test = drawn.test
    selected = np.asarray(model.selected(test.X))
    row: dict[str, Any] = {
        **describe(run),
        "share": share_of_way(float(model.score(test.X, test.y)), test.y, drawn),
        "f1": metrics.score_selection(selected, test.relevant).f1 if test.relevant.any() else np.nan,
        "mask": share_of_mask(selected, drawn),
        "n_open": float(np.median(selected.sum(axis=1))),
        "cpu_s": timer.seconds,
        "start": model.start_,
    }
    return {"row": row, "arrays": {}}


def suits_part(part: str, case: Case) -> bool:
    """Networks of wide tables have another recipe."""
    return suits_all(part, case) and (part in OF_GROUPS or case.dataset in FAMILIES)


def compare(frame: pd.DataFrame, part: str, reference: str) -> pd.DataFrame:
    """The runs of a part beside those of what it was taken from, on the same tables."""
    keys = ["dataset", "seed"]
    mine, theirs = (frame[frame["method"] == name].set_index(keys) for name in (part, reference))
    return mine.join(theirs[["share", "f1"]], rsuffix="_before", how="inner")


def describe_change(both: pd.DataFrame, score: str) -> str:
    """Mean difference and its standard error."""
    change = (both[score] - both[f"{score}_before"]).dropna()
    return NOTHING if change.empty else f"{change.mean():+.3f} ± {change.std(ddof=0) / np.sqrt(len(change)):.3f}"


def count_changed(both: pd.DataFrame) -> str:
    scores = both[["share", "f1"]].fillna(0).to_numpy(), both[["share_before", "f1_before"]].fillna(0).to_numpy()
    return f"{int((~np.isclose(*scores, atol=1e-6)).any(axis=1).sum())} of {len(both)}"


def tabulate_parts(frame: pd.DataFrame, reference: str) -> list[str]:
    """A line a part: means over the tables, and what changes with the part."""
    heads = ["share", "change", "F1", "change", "mask", "open", "CPU s", "tables changed"]
    lines = ["| without | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for part in dict.fromkeys([reference, *REFERENCES[reference]]):
        both = compare(frame, part, reference)
        if both.empty:
            continue
        share, f1, mask, n_open, seconds = (
            both[score].mean() for score in ("share", "f1", "mask", "n_open", "cpu_s")
        )
        cells = [f"{share:.3f}", describe_change(both, "share"), f"{f1:.3f}", describe_change(both, "f1")]
        cells += [f"{mask:.3f}", f"{n_open:.1f}", f"{seconds:.2f}", count_changed(both)]
        lines.append(f"| {part} | " + " | ".join(cells) + " |")
    return lines if len(lines) > 2 else []


def tabulate_families(frame: pd.DataFrame) -> list[str]:
    """The share of every part in every family."""
    families = [family for family in (*FAMILIES, *WIDE_FAMILIES) if family in set(frame["dataset"])]
    lines = ["| without | " + " | ".join(families) + " |", "|---" * (len(families) + 1) + "|"]
    for part in dict.fromkeys(frame["method"]):
        mine = frame[frame["method"] == part]
        cells = [format_spread(mine.loc[mine["dataset"] == family, "share"], 2) for family in families]
        lines.append(f"| {part} | " + " | ".join(cells) + " |")
    return lines


def report(results: Results) -> None:
    """Tables of the parts of groups and of networks, and the figure."""
    frame = results.frame
    on_families = frame[frame["dataset"].isin(FAMILIES)]
    parts = {
        "Parts of the groups and of the contest, on tables of more rows than columns": tabulate_parts(
            on_families, "default"
        ),
        "The same on wide tables and noise": tabulate_parts(
            frame[~frame.index.isin(on_families.index)], "default"
        ),
        "Parts of the networks": tabulate_parts(on_families, "networks only"),
        "Share by family": tabulate_families(frame),
    }
    title = "The default's parts, one taken away at a time"
    write_markdown(results.folder / "parts.md", title, parts, frame, [CAPTION, "", *describe_seeds(frame)])
    draw_changes(frame, results.folder / "parts.png")


def draw_changes(frame: pd.DataFrame, path: Path) -> None:
    """What share and F1 lose without each part."""
    changes = [
        compare(frame, part, reference).assign(method=part)
        for reference, parts in REFERENCES.items()
        for part in parts
        if part != reference
    ]
    both = pd.concat(changes)
    both = both.assign(share=both["share"] - both["share_before"], f1=both["f1"] - both["f1_before"])
    methods = [part for part in VARIANTS if part in set(both["method"])]
    figure = new_figure(9, 1.2 + 0.22 * len(methods))
    for axes, score, label in zip(
        make_axes(figure, 1, 2, sharey=True)[0],
        ("share", "f1"),
        ("change of the share", "change of F1"),
        strict=True,
    ):
        draw_dots(axes, both, score, methods, {})
        axes.axvline(0, color="#999999", linewidth=0.8)
        axes.set_xlabel(label)
    figure.suptitle("Without a part less with it, mean ± sd over tables", fontsize=9)
    save_figure(figure, path)


EXPERIMENT = Experiment(
    "parts",
    methods=tuple(VARIANTS),
    cases=tuple(Case(family) for family in (*FAMILIES, *WIDE_FAMILIES)),
    quick_methods=("default", "no opposite signs", "networks only", "no foreign gates"),
    quick_cases=(Case("sites", n_train=60),),
    report=report,
    seeds=SEEDS,
    measure=measure_part,
    applies=suits_part,
)

if __name__ == "__main__":
    conduct(EXPERIMENT)
