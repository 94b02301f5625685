"""How hard the penalty pulls on a gate at first, against the noise scale (the paper's σ): ``make bench-sigma``.

The closed form of the appendix, beside the slope of our penalty at a mean of 0. The paper's figure peaks at 0.5.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.experiment import choose_folder
from benchmarks.figures import make_axes, new_figure, save_figure
from benchmarks.tables import write_csv, write_markdown
from lspin.core.gates import open_probability

NOISE_SCALES = np.round(np.arange(0.02, 2.001, 0.01), 2)
STEP = 1e-3  # of the difference quotient
PAPER_PEAK = 0.5


def closed_form(noise_scale: np.ndarray) -> np.ndarray:
    """Slope of the open probability in the mean, where the mean is 0."""
    return np.exp(-1 / (8 * noise_scale**2)) / np.sqrt(2 * np.pi * noise_scale**2)


def slope_of_ours(noise_scale: np.ndarray) -> np.ndarray:
    above, below = (open_probability(np.full_like(noise_scale, step), noise_scale) for step in (STEP, -STEP))
    return (above - below) / (2 * STEP)


def draw(frame: pd.DataFrame, peak: float, path: Path) -> None:
    figure = new_figure(4.5, 3.2)
    axes = make_axes(figure, 1, 1)[0, 0]
    axes.plot(frame["noise_scale"], frame["closed_form"], color="#0072B2", label="closed form")
    axes.plot(
        frame["noise_scale"][::8], frame["ours"][::8], "o", color="#D55E00", markersize=3.5, label="our penalty"
    )
    axes.axvline(peak, color="#999999", linewidth=0.8)
    axes.annotate(f"largest at {peak:g}", (peak, 0.02), xytext=(4, 0), textcoords="offset points", color="#555555")
    axes.set(xlabel="noise scale (σ)", ylabel="slope of the penalty at mean 0")
    axes.legend()
    save_figure(figure, path)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments.sigma")
    parser.add_argument("--quick", action="store_true", help="the same, in a folder of its own")
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="instead of benchmarks/results")
    asked = parser.parse_args(arguments)
    folder = choose_folder(asked)
    frame = pd.DataFrame(
        {
            "noise_scale": NOISE_SCALES,
            "closed_form": closed_form(NOISE_SCALES),
            "ours": slope_of_ours(NOISE_SCALES),
        }
    )
    peak = float(frame["noise_scale"][frame["ours"].idxmax()])
    write_csv(folder / "sigma.csv", frame)
    gap = (frame["ours"] - frame["closed_form"]).abs().max()
    table = [
        "| | here | paper |",
        "|---|---|---|",
        f"| noise scale of the largest slope | {peak:g} | {PAPER_PEAK} |",
        f"| largest slope | {frame['ours'].max():.3f} | – |",
        f"| largest gap between our penalty and the closed form | {gap:.0e} | – |",
    ]
    write_markdown(folder / "sigma.md", "The penalty's slope against the noise scale", {"Peak": table}, frame)
    draw(frame, peak, folder / "sigma.png")


if __name__ == "__main__":
    main()
