"""Saving and loading a fitted model: one file of arrays and JSON, from which no code can run.

The file is a zip archive without compression: ``model.json``, and one ``.npy`` an array. Nothing in it is pickled.
"""

import io
import json
import os
import warnings
import zipfile
from collections import Counter
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lspin.core.model import Networks
from lspin.core.networks import Layer, Layers
from lspin.fitting.needs import find_openable
from lspin.fitting.prediction import Member
from lspin.storage import written_whole
from lspin.tables.encoding import Encoding

FORMAT = "lspin model"
FORMAT_VERSION = 3
LARGEST_JSON = 2**26  # bytes: names of a million columns
MOST_BRACKETS = 2**20  # lists and records in it; each takes far more memory than the two bytes that it needs here
ARCHIVE = b"PK\x03\x04"  # the first bytes of a zip file
NETWORKS = ("gating", "prediction")
ARRAY_KINDS = "biufU"  # booleans, numbers and text
UNSAVED = {"affinity": "rbf", "anchor": "auto"}  # what a file holds instead of a function or a matrix


class SavedModel(NamedTuple):
    """What a file holds."""

    kind: str  # name of the estimator's class
    version: str  # of the package that wrote it
    parameters: dict[str, Any]
    attributes: dict[str, Any]  # learned values: JSON values or arrays
    members: list[Member]
    origin: dict[str, Any] = {}  # what the table was whose columns these are: JSON values  # noqa: RUF012


def write_model(path: str | os.PathLike, model: SavedModel) -> None:
    """Write the model to a file, whole or not at all."""
    arrays: dict[str, np.ndarray] = {}
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "kind": model.kind,
        "version": model.version,
        "parameters": model.parameters,
        "attributes": {name: _store(arrays, f"attributes/{name}", v) for name, v in model.attributes.items()},
        "members": [_store_member(arrays, f"members/{i}", m) for i, m in enumerate(model.members)],
        "origin": model.origin,
    }
    description = json.dumps(content, allow_nan=False).encode()
    _refuse_large(description)  # what cannot be read again
    with written_whole(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("model.json", description)
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(f"{name}.npy", buffer.getvalue())


def read_model(path: str | os.PathLike) -> SavedModel:
    """Read what :func:`write_model` wrote, or raise a ``ValueError`` that says what is wrong with the file."""
    with open(path, "rb") as file:
        try:
            if file.read(len(ARCHIVE)) != ARCHIVE:
                raise ValueError("it is no file that save or lspin fit wrote")
            with zipfile.ZipFile(file) as archive:
                return _read_archive(archive, os.fstat(file.fileno()).st_size)
        # A file from anywhere can fail in any way: in zipfile, json, tokenize, numpy or for want of memory.
        except Exception as error:
            reason = str(error) or type(error).__name__
            raise ValueError(f"{path} cannot be loaded as a model: {reason}") from error


def _read_archive(archive: zipfile.ZipFile, n_bytes: int) -> SavedModel:
    if sum(entry.file_size for entry in archive.infolist()) > n_bytes:
        raise ValueError(f"it claims to hold more than its {n_bytes} bytes")
    twice = [name for name, count in Counter(archive.namelist()).items() if count > 1]
    if twice:
        raise ValueError(f"it holds {twice[0]} twice")
    for entry in archive.infolist():
        # Stored entries are no larger than the file itself, so no small file can fill the memory.
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise ValueError(f"{entry.filename} is compressed, which lspin never does")
    content = _read_description(archive)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError("its description is of something else")
    if content["format_version"] > FORMAT_VERSION:
        raise ValueError(
            f"it was written by lspin {content['version']} in format {content['format_version']}, and this "
            f"version reads formats up to {FORMAT_VERSION}: install a newer lspin"
        )
    arrays = _Arrays(archive)
    return SavedModel(
        str(content["kind"]),
        str(content["version"]),
        dict(content["parameters"]),
        {name: arrays.restore(value) for name, value in content["attributes"].items()},
        [_restore_member(arrays, member) for member in content["members"]],
        dict(content.get("origin", {})),
    )


def _read_description(archive: zipfile.ZipFile) -> Any:
    if archive.getinfo("model.json").file_size > LARGEST_JSON:
        raise ValueError("its description is too large")
    text = archive.read("model.json")
    _refuse_large(text)
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_large(description: bytes) -> None:
    if len(description) > LARGEST_JSON or description.count(b"[") + description.count(b"{") > MOST_BRACKETS:
        raise ValueError("its description is too large")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"its description holds {name}")


class _Arrays:
    """The arrays of an open file, read when asked for."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def restore(self, value: Any) -> Any:
        """A learned value, as :func:`_store` described it."""
        if not isinstance(value, dict):
            return value
        if "array" in value:
            return self.read(value["array"])
        if "names" in value:
            return np.array([str(name) for name in value["names"]], dtype=object)
        return pd.DataFrame({name: self.restore(column) for name, column in value["frame"].items()})

    def read(self, name: str, shape: tuple[int, ...] | None = None, kind: str = ARRAY_KINDS) -> np.ndarray:
        content = self._archive.read(f"{name}.npy")  # checks the entry's checksum
        buffer = io.BytesIO(content)
        version = np.lib.format.read_magic(buffer)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        declared, _, dtype = header(buffer)
        if dtype.hasobject or dtype.kind not in kind or dtype.itemsize == 0:
            raise ValueError(f"array {name} holds {dtype}")
        if buffer.tell() + int(np.prod(declared, dtype=object)) * dtype.itemsize != len(content):
            raise ValueError(f"array {name} claims the shape {declared}, for which it has the wrong size")
        if shape is not None and declared != shape:
            raise ValueError(f"array {name} has the shape {declared} where {shape} is needed")
        buffer.seek(0)
        return np.lib.format.read_array(buffer, allow_pickle=False)


def _store(arrays: dict[str, np.ndarray], name: str, value: Any) -> Any:
    """A learned value as JSON: arrays by their name, frames by their columns, names as they are."""
    if isinstance(value, pd.DataFrame):
        return {"frame": {c: _store(arrays, f"{name}/{c}", value[c].to_numpy()) for c in value.columns}}
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype == object and all(isinstance(entry, str) for entry in value):
        return {"names": list(value)}
    if value.dtype.kind not in ARRAY_KINDS:
        raise TypeError(f"{name} holds {value[0]!r} among others: only numbers and text can be saved")
    arrays[name] = value
    return {"array": name}


def _layers(networks: Networks) -> dict[str, Layers]:
    return {network: getattr(networks, network) for network in NETWORKS}


def _store_member(arrays: dict[str, np.ndarray], name: str, member: Member) -> dict[str, Any]:
    encoding = member.encoding
    for field in ("features", "owners", "center", "scale"):
        arrays[f"{name}/{field}"] = getattr(encoding, field)
    if encoding.context is not None:
        arrays[f"{name}/context"] = encoding.context
    if member.networks.own is not None:
        arrays[f"{name}/own"] = member.networks.own
    groups = member.networks.groups
    if groups is not None:
        arrays[f"{name}/groups/weights"], arrays[f"{name}/groups/bias"] = groups
    if member.networks.signs is not None:
        arrays[f"{name}/signs"] = member.networks.signs
    for network, layers in _layers(member.networks).items():
        for place, layer in enumerate(layers):
            arrays[f"{name}/{network}/{place}/weights"] = layer.weights
            arrays[f"{name}/{network}/{place}/bias"] = layer.bias
    return {
        "arrays": name,
        "n_columns": encoding.n_columns,
        "sees_missing": encoding.sees_missing,
        "zero_is_absent": encoding.zero_is_absent,
        "has_context": encoding.context is not None,
        "context_only": encoding.context_only,
        "sees_own": member.networks.own is not None,
        "n_groups": None if groups is None else len(groups.bias),
        "turns": member.networks.signs is not None,
        "levels": [[column, list(levels)] for column, levels in encoding.levels.items()],
        "sizes": {
            network: [len(layers[0].weights), *(len(layer.bias) for layer in layers)]
            for network, layers in _layers(member.networks).items()
        },
    }


def _restore_member(arrays: _Arrays, stored: dict[str, Any]) -> Member:
    name = stored["arrays"]
    features = arrays.read(f"{name}/features", kind="i")
    owners = arrays.read(f"{name}/owners", kind="i")
    n_inputs = (len(owners),)
    encoding = Encoding(
        n_columns=int(stored["n_columns"]),
        features=features,
        owners=owners,
        center=arrays.read(f"{name}/center", n_inputs, "f"),
        scale=arrays.read(f"{name}/scale", n_inputs, "f"),
        levels={column: tuple(levels) for column, levels in stored["levels"]},
        sees_missing=bool(stored["sees_missing"]),
        zero_is_absent=bool(stored.get("zero_is_absent", False)),
        context=arrays.read(f"{name}/context", kind="i") if stored.get("has_context", False) else None,
        context_only=bool(stored.get("context_only", False)),
    )
    if not np.isfinite(encoding.center).all() or not (encoding.scale > 0).all():
        raise ValueError("a center of its inputs is not finite or a scale not positive")
    if (np.diff([-1, *features, encoding.n_columns]) < 1).any():
        raise ValueError(f"its features are no selection of its {encoding.n_columns} columns")
    context = encoding.context
    if context is not None and (len(context) == 0 or (np.diff([-1, *context, len(features)]) < 1).any()):
        raise ValueError(f"its context is no selection of its {len(features)} features")
    inputs_of = [len(encoding.levels.get(int(column), (0,))) for column in features]
    if not np.array_equal(owners, np.repeat(np.arange(len(features)), inputs_of)):
        raise ValueError(f"its inputs do not fit its {len(features)} features")
    sizes = stored["sizes"]
    if min(len(sizes[network]) for network in NETWORKS) < 2:
        raise ValueError("one of its networks has no layers")
    n_groups = stored.get("n_groups")
    n_seen = encoding.n_context if n_groups is None else n_groups
    if sizes["gating"][0] != n_seen or sizes["gating"][-1] != encoding.n_features:
        raise ValueError("its gating network does not fit its columns")
    if n_groups is not None and encoding.zero_is_absent:
        raise ValueError("its zeros are absent, which its groups do not allow")
    if sizes["prediction"][0] != len(owners):
        raise ValueError("its prediction network does not fit its columns")
    if encoding.zero_is_absent and (encoding.levels or encoding.center.any()):
        raise ValueError("its zeros are absent, which its columns do not allow")
    gating, prediction = (_restore_layers(arrays, f"{name}/{network}", sizes[network]) for network in NETWORKS)
    own = arrays.read(f"{name}/own", (len(features),), "f") if stored.get("sees_own", False) else None
    groups = _restore_groups(arrays, name, encoding, n_groups)
    signs = _restore_signs(arrays, name, groups, len(features)) if stored.get("turns", False) else None
    member = Member(encoding, Networks(gating, prediction, own, groups, signs))
    _refuse_context(member)
    return member


def _refuse_context(member: Member) -> None:
    """Raise an error if a context is no selection of the features, or is not all that gates look at."""
    encoding = member.encoding
    if encoding.context is None:
        if encoding.context_only:
            raise ValueError("its context is for the gates alone, but it has none")
        return
    if member.networks.own is not None:
        raise ValueError("its gates look at more than its context")
    if encoding.context_only and find_openable(member)[encoding.context].any():
        raise ValueError("its context is for the gates alone, but has gates that open")


def _restore_groups(arrays: _Arrays, name: str, encoding: Encoding, n_groups: int | None) -> Layer | None:
    if n_groups is None:
        return None
    weights = arrays.read(f"{name}/groups/weights", (encoding.n_context, n_groups), "f")
    return Layer(weights, arrays.read(f"{name}/groups/bias", (n_groups,), "f"))


def _restore_signs(arrays: _Arrays, name: str, groups: Layer | None, n_features: int) -> np.ndarray:
    if groups is None:
        raise ValueError("it turns coefficients around by group and has no groups")
    signs = arrays.read(f"{name}/signs", (len(groups.bias), n_features), "f")
    if not np.isin(signs, (-1.0, 1.0)).all():
        raise ValueError("its signs are not all 1 or -1")
    return signs


def _restore_layers(arrays: _Arrays, name: str, sizes: list[int]) -> Layers:
    return tuple(
        Layer(
            arrays.read(f"{name}/{place}/weights", (n_inputs, n_outputs), "f"),
            arrays.read(f"{name}/{place}/bias", (n_outputs,), "f"),
        )
        for place, (n_inputs, n_outputs) in enumerate(pairwise(sizes))
    )


# Parameters --------------------------------------------------------------------------------------------------


def storable(name: str, value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    if name in UNSAVED and value is not None and not isinstance(value, str):
        warnings.warn(
            f"{name} is a function or a matrix and is not saved; it serves fitting only",
            UserWarning,
            stacklevel=3,
        )
        return UNSAVED[name]
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, dict):  # JSON would turn the classes into text
        return {"pairs": [[storable(name, part) for part in pair] for pair in value.items()]}
    if isinstance(value, tuple | list | np.ndarray | pd.Index | pd.Series):
        return [storable(name, part) for part in value]
    return value


def restored(value: Any) -> Any:
    """A parameter as it was before :func:`storable`; lists become tuples."""
    if isinstance(value, dict):
        return dict(value["pairs"])
    return tuple(value) if isinstance(value, list) else value
