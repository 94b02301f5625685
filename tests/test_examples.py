"""The scripts of the gallery run and draw."""

import runpy
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed: pip install 'lspin[plots]'")
SCRIPTS = sorted((Path(__file__).parent.parent / "examples").glob("plot_*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_of_the_gallery_draws_its_figures(script, monkeypatch, capsys):
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.switch_backend("Agg")
    runpy.run_path(str(script), run_name="__main__")
    figures = [plt.figure(number) for number in plt.get_fignums()]
    for figure in figures:
        figure.canvas.draw()
        assert figure.axes
    plt.close("all")
    assert figures
    capsys.readouterr()
