"""Public tables, mostly biomedical, from your own folder, from the cache, or from the publisher."""

import os
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import platformdirs
from scipy import sparse

from lspin.datasets.originals import CATALOGUE, Arrays, Entry, Original, hash_file, need
from lspin.storage import written_whole

TABLES = tuple(CATALOGUE)


@dataclass(frozen=True)
class Table:
    """A public table."""

    X: np.ndarray | sparse.csr_matrix  # (n_samples, n_features), floating point
    y: np.ndarray  # (n_samples,): classes 0, 1, ..., or for survival the fields event and time
    feature_names: np.ndarray  # (n_features,), each once
    class_names: np.ndarray | None  # (n_classes,), None for survival
    is_test: np.ndarray | None  # (n_samples,), whether a row is for the test, where the table comes with a split
    library_size: np.ndarray | None  # (n_samples,), molecules or reads of a cell over all genes
    donors: np.ndarray | None  # (n_samples,), whom a cell comes from
    source: str
    licence: str
    notes: str  # what to know before using it


def load_table(name: str, *, download: bool = True) -> Table:
    """Load a public table from a local folder, or download it.

    The file ``<name>.npz`` is read from the folder in the environment variable ``LSPIN_DATA`` or from the user's
    cache folder. If neither has it, the original is downloaded, checked by its SHA-256, converted and stored in
    the cache. An original that is already in one of the two folders is not downloaded.

    Parameters
    ----------
    name
        ``"basehock"``, ``"relathe"``, ``"pcmac"`` (text), ``"colon"``, ``"tox171"`` (expression),
        ``"pbmc_tcells_2000"``, ``"pbmc_purified_counts"`` (sparse), ``"brain_m1_micro_opc"``,
        ``"brain_darmanis_micro_opc"`` (single cells), ``"mnist"``, or for survival ``"seer_breast"``,
        ``"metabric"``, ``"gbsg"``, ``"support"``.
    download
        Whether the network may be used.

    Returns
    -------
    Table
        The table with its target, names, source and licence.

    Notes
    -----
    Downloads need ``pip install 'lspin[data]'``. Tables that are stored as small integers are returned in single
    precision, because arithmetic on small integers overflows.
    """
    if name not in CATALOGUE:
        raise ValueError(f"there is no table {name!r}; there are {', '.join(CATALOGUE)}")
    folders = _folders()
    for folder in folders:
        if (path := folder / f"{name}.npz").exists():
            return _assemble(_read(path), CATALOGUE[name])
    arrays = _obtain(name, folders, download=download)
    _write(folders[-1] / f"{name}.npz", arrays)
    return _assemble(arrays, CATALOGUE[name])


def _folders() -> list[Path]:
    """Where tables are looked for; the last is the cache."""
    cache = platformdirs.user_cache_path("lspin") / "tables"
    own = os.environ.get("LSPIN_DATA")
    if not own:
        return [cache]
    if not Path(own).is_dir():
        raise FileNotFoundError(f"LSPIN_DATA names {own}, which is no folder")
    return [Path(own), cache]


def _obtain(name: str, folders: list[Path], *, download: bool) -> Arrays:
    """Arrays made from the originals, which are gone afterwards unless they were in a folder."""
    entry = CATALOGUE[name]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            if not download and not entry.originals:
                raise FileNotFoundError("downloading was not allowed")
            paths = [_find(original, folders, Path(scratch), download) for original in entry.originals]
            return entry.convert(*paths)
        except (OSError, ValueError) as error:
            raise FileNotFoundError(_say_what_to_do(name, entry.originals, folders, error)) from error


def _find(original: Original, folders: list[Path], scratch: Path, download: bool) -> Path:
    for folder in folders:
        if (path := folder / original.file_name).exists():
            if (found := hash_file(path)) != original.sha256:
                raise ValueError(f"{path} has SHA-256 {found} instead of {original.sha256}; delete it")
            return path
    if not download:
        raise FileNotFoundError("downloading was not allowed")
    pooch = need("pooch")
    return Path(pooch.retrieve(original.url, f"sha256:{original.sha256}", original.file_name, scratch))


def _say_what_to_do(name: str, originals: Sequence[Original], folders: list[Path], error: Exception) -> str:
    lines = [
        f"{name}.npz is not in {' or '.join(map(str, folders))}, and could not be made: {error}. Try again, or"
    ]
    lines += [f"get {original.url} and save it there as {original.file_name}" for original in originals]
    lines.append(f"load {name!r} where there is a network and copy {name}.npz from the cache folder there")
    return "\n- ".join(lines)


def _write(path: Path, arrays: Arrays) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as file:
        np.savez_compressed(file, **cast(dict[str, Any], arrays))


def _read(path: Path) -> Arrays:
    try:
        with open(path, "rb") as file, np.load(file) as stored:
            arrays = dict(stored)
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        raise ValueError(f"{path} is damaged ({error}); delete it and load the table again") from error
    if not {"X", "X_train", "indptr"} & arrays.keys():
        raise ValueError(f"{path} holds {', '.join(arrays)}, which is not how lspin stores this table; rename it")
    return arrays


def _assemble(arrays: Arrays, entry: Entry) -> Table:
    """The record of a table from its stored arrays, whichever of the stored forms they have."""
    is_test = None
    if "X_train" in arrays:
        is_test = np.repeat([False, True], [len(arrays["X_train"]), len(arrays["X_test"])])
        parts = {key.removesuffix("_train") for key in arrays if key.endswith("_train")}
        arrays = arrays | {key: np.concatenate([arrays[f"{key}_train"], arrays[f"{key}_test"]]) for key in parts}
    X = _read_values(arrays)
    y, class_names = _read_target(arrays)
    return Table(
        X=X,
        y=y,
        feature_names=_name_features(arrays, X.shape[1]),
        class_names=class_names,
        is_test=is_test,
        library_size=arrays.get("library_size"),
        donors=arrays.get("donor"),
        source=entry.source,
        licence=entry.licence,
        notes=entry.notes,
    )


def _read_values(arrays: Arrays) -> np.ndarray | sparse.csr_matrix:
    if "indptr" in arrays:
        columns, shape = arrays["indices"].astype(np.int32), tuple(arrays["shape"])
        return sparse.csr_matrix((arrays["data"].astype(np.float32), columns, arrays["indptr"]), shape=shape)
    return arrays["X"] if arrays["X"].dtype.kind == "f" else arrays["X"].astype(np.float32)


def _read_target(arrays: Arrays) -> tuple[np.ndarray, np.ndarray | None]:
    if "event" in arrays:
        y = np.empty(len(arrays["event"]), dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = arrays["event"], arrays["time"]
        return y, None
    y = arrays["y"].astype(int)
    names = arrays.get("class_names", arrays.get("original_labels", np.unique(y)))
    return y, names.astype(str)


def _name_features(arrays: Arrays, n_features: int) -> np.ndarray:
    """Stored names or x1, x2, ...; a symbol that several genes share is told apart by the gene's identifier."""
    if "feature_names" in arrays:
        return arrays["feature_names"]
    if "gene_symbols" not in arrays:
        return np.array([f"x{place}" for place in range(1, n_features + 1)])
    symbols = arrays["gene_symbols"]
    if "gene_ids" not in arrays:
        return symbols
    _, places, counts = np.unique(symbols, return_inverse=True, return_counts=True)
    pairs = zip(symbols, arrays["gene_ids"], counts[places], strict=True)
    return np.array([symbol if count == 1 else f"{symbol}_{identifier}" for symbol, identifier, count in pairs])
