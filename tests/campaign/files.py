"""Changed model files: each is refused in a sentence, or says what the model said before."""

import io
import json
import warnings
import zipfile

import numpy as np

from campaign.inputs import SMALL, is_finite
from campaign.tally import judged
from lspin import LSPINClassifier, LSPINCox, LSPINRegressor, load

VALUES = [None, 0, -1, 1e308, 10**30, "", "text", [], {}, True, [[]], {"array": "none"}, "members/0/center"]


def make_models():
    """A model of each kind with its table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    targets = [X[:, 0] > 0, X[:, 0], (np.exp(X[:, 0]), X[:, 1] > 0)]
    small = {name: value for name, value in SMALL.items() if name != "n_features"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds = (LSPINClassifier, LSPINRegressor, LSPINCox)
        return [(kind(**small).fit(X, y), X) for kind, y in zip(kinds, targets, strict=True)]


def attempt(rng, tally, models, folder, seconds=None):
    """Save a model, change the file, and see what comes of loading it."""
    model, X = models[rng.integers(len(models))]
    path = folder / "model.lspin"
    model.save(path)
    content = path.read_bytes()
    change = [change_bytes, cut, change_description, change_array][rng.integers(4)]
    path.write_bytes(change(rng, content))
    words = f"{type(model).__name__}, {change.__name__}"
    with judged(tally, "model files", words, seconds), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = load(path)
        with np.errstate(all="ignore"):
            said = loaded.predict(X)
        same = np.array_equal(said, model.predict(X))
        if change in (change_bytes, cut):
            tally.add("model files", "answered" if same else "wrong model", words)
        else:  # another valid model, whose numbers are numbers at least
            tally.add("model files", "answered" if is_finite(said) else "not finite", words)


def change_bytes(rng, content):
    changed = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        changed[rng.integers(len(changed))] ^= int(rng.integers(1, 256))
    return bytes(changed)


def cut(rng, content):
    first, last = sorted(rng.integers(len(content) + 1, size=2))
    return content[:first] if rng.random() < 0.5 else content[:first] + content[last:]


def rewrite(content, name, change):
    """The archive with one entry changed and valid checksums."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for entry in old.namelist():
            new.writestr(entry, change(old.read(entry)) if entry == name else old.read(entry))
    return buffer.getvalue()


def change_description(rng, content):
    def change(text):
        holder = described = json.loads(text)
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            key = keys[rng.integers(len(keys))]
            if not isinstance(holder[key], dict | list) or not holder[key] or rng.random() < 0.3:
                break
            holder = holder[key]
        if rng.random() < 0.3:
            del holder[key]
        else:
            holder[key] = VALUES[rng.integers(len(VALUES))]
        return json.dumps(described).encode()

    return rewrite(content, "model.json", change)


def change_array(rng, content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]

    def change(raw):
        array = np.load(io.BytesIO(raw))
        odd = [np.nan, np.inf, 0.0, -1.0, 1e300, 2.0**62][rng.integers(6)]
        if array.size and rng.random() < 0.6 and array.dtype.kind in "fiub":
            with np.errstate(all="ignore"):
                array.flat[rng.integers(array.size)] = np.float64(odd).astype(array.dtype)
        else:
            array = [array.ravel()[:-1], array.ravel()[::-1], array.astype(str), array[None]][rng.integers(4)]
        buffer = io.BytesIO()
        np.save(buffer, array)
        return buffer.getvalue()

    return rewrite(content, names[rng.integers(len(names))], change)
