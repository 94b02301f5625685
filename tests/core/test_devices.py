"""The loop on another device than the first: placement is left to JAX."""

import os
import subprocess
import sys

CODE = """
import jax, numpy as np
from lspin import LSPINRegressor
from lspin.core import training

def note(run, **rest):
    result = advance(run, **rest)
    used.append(str(result[0].epoch.devices()))
    return result

used, advance, training.advance = [], training.advance, note
note._cache_size = advance._cache_size
X = np.random.default_rng(0).normal(size=(32, 3))
model = LSPINRegressor((4,), gate_hidden_layer_sizes=(4,), sparsity=0.01, max_epochs=5, random_state=0)
said = []
for device in jax.devices():
    with jax.default_device(device):
        said.append(model.fit(X, X[:, 0]).predict(X))
    assert set(used) == {str({device})}, used
    used.clear()
np.testing.assert_array_equal(*said)
print("the same on", len(said))
"""


def test_training_runs_on_the_device_that_the_user_chose():
    more = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    ended = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, env={**os.environ, **more}
    )
    assert ended.stdout == "the same on 2\n", ended.stderr
