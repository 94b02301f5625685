"""Small tables and quick settings; shapes are shared, since every new shape is a new compilation."""

import os
import shutil
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import settings

from lspin import LSPINClassifier, LSPINRegressor

# A runner that was started in the background ignores Ctrl-C, which some tests press.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine must not fail a test, and every run draws the same inputs.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

CHROMIUM = os.environ.get("LSPIN_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
QUICK = {
    "hidden_layer_sizes": (8,),
    "gate_hidden_layer_sizes": (8,),
    "learning_rate": 0.02,
    "max_epochs": 100,
    "noise_scale": 0.5,
    "random_state": 0,
}


FIRST_STATES = {}  # of the random numbers of every test module, when it had been read


def pytest_collection_finish(session):
    """Note where the random numbers of every module stand before its first test."""
    for module in {item.module for item in session.items if hasattr(item, "module")}:
        if hasattr(module, "RNG"):
            FIRST_STATES[module] = module.RNG.bit_generator.state


@pytest.fixture(autouse=True)
def same_draws(request):
    """Let a test draw the same numbers whichever tests of its module this worker has run before."""
    module = getattr(request, "module", None)
    if module in FIRST_STATES:
        module.RNG.bit_generator.state = FIRST_STATES[module]


def pytest_sessionfinish(session):
    """Fail if more tests are skipped than LSPIN_MOST_SKIPPED allows, so that their number does not grow unseen."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    most = os.environ.get("LSPIN_MOST_SKIPPED")
    if most is None or reporter is None or hasattr(session.config, "workerinput"):
        return
    n_skipped = len(reporter.stats.get("skipped", ()))
    if n_skipped > int(most):
        reporter.write_line(f"\n{n_skipped} tests are skipped, {most} are allowed: LSPIN_MOST_SKIPPED", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def table():
    """96 rows of two groups; the first column decides which of the next two matters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(96, 5))
    response = np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + 0.05 * rng.normal(size=96)
    X.setflags(write=False)  # all tests share it
    return X, response


@pytest.fixture(scope="session")
def labels(table):
    return np.where(table[1] > 0, "yes", "no")


@pytest.fixture(scope="session")
def classifier(table, labels):
    return LSPINClassifier(**QUICK, sparsity=0.01).fit(table[0], labels)


@pytest.fixture(scope="session")
def regressor(table):
    return LSPINRegressor(**QUICK, sparsity=0.01).fit(*table)


@pytest.fixture(scope="session")
def linear_regressor(table):
    return LSPINRegressor(**{**QUICK, "hidden_layer_sizes": ()}, sparsity=0.01).fit(*table)


@pytest.fixture
def press_after(monkeypatch):
    """A function that has Ctrl-C pressed once training has gone through so many parts, twenty to a run."""
    from lspin.core import training

    def arrange(n_parts):
        class Pressing(training.Pace):
            n_learned = 0

            def __init__(self):
                self.n_steps = training.MOST_STEPS

            def learn(self, seconds):
                Pressing.n_learned += 1
                if Pressing.n_learned == n_parts:
                    signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(training, "Pace", Pressing)

    return arrange


@pytest.fixture
def speaking(monkeypatch, capsys):
    """What was said on the standard error since the last time; progress is said at every step."""
    for name in ("SECONDS_TO_FIRST_LINE", "SECONDS_BETWEEN_LINES"):
        monkeypatch.setattr(f"lspin.fitting.progress.{name}", 0.0)
    return lambda: capsys.readouterr().err


@pytest.fixture(scope="session")
def browser():
    """A browser without a window, where there is one; what is waited for in its pages may take any time."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no chromium is found: apt-get install chromium, or set LSPIN_CHROMIUM")
    with playwright.sync_playwright() as runner:
        found = runner.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield SimpleNamespace(new_page=lambda **options: wait_for_ever(found.new_page(**options)))
        found.close()


def wait_for_ever(page):
    page.set_default_timeout(0)
    return page
