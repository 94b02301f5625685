"""Packed tables: a bomb is refused before it fills the memory, and a link to another file is not followed."""

import gzip
import io
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest

from lspin.intake import unpacking
from lspin.intake.files import read_source

FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    monkeypatch.setattr(unpacking, "LARGEST_UNPACKED", 2**20)


def write_gzip(path, n_bytes):
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * (n_bytes // 4)))


def write_excel(path, n_bytes):
    FRAME.to_excel(path, index=False)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/picture.bmp", bytes(n_bytes))


def write_parquet(path, n_bytes):
    pd.DataFrame({"a": np.zeros(n_bytes // 8)}).to_parquet(path)


def write_h5(path, n_bytes):
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("anndata")
    with h5py.File(path, "w") as file:
        file.create_dataset("X", (n_bytes // 8, 1), "f8", compression="gzip")


BOMBS = {"gz": write_gzip, "xlsx": write_excel, "parquet": write_parquet, "h5ad": write_h5}


@pytest.mark.parametrize("form", BOMBS)
def test_a_bomb_is_refused_before_it_fills_the_memory(form, tmp_path):
    pytest.importorskip("openpyxl")
    pytest.importorskip("pyarrow")
    path = tmp_path / f"table.{form}"
    BOMBS[form](path, 2**24)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"bytes unpack to more than [\d,]+; .* give it unpacked"):
            read_source(path)
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", ["gz", "parquet"])
def test_what_unpacks_to_less_is_read(form, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / f"table.{form}"
    BOMBS[form](path, 2**16)
    assert len(read_source(path).frame) == 2**16 // (4 if form == "gz" else 8)


def test_a_large_file_may_unpack_to_a_hundred_times_itself(monkeypatch):
    monkeypatch.setattr(unpacking, "LARGEST_UNPACKED", 0)
    content = gzip.compress(np.random.default_rng(0).bytes(4000) * 2)
    assert len(unpacking.unpack(content)) == 8000


@pytest.mark.parametrize("how", ["cut", "changed"])
def test_a_damaged_gzip_file_is_refused(how, tmp_path):
    content = bytearray(gzip.compress(np.random.default_rng(0).bytes(999)))
    if how == "changed":
        content[-6] ^= 255
    (tmp_path / "t.csv.gz").write_bytes(content[:-20] if how == "cut" else content)
    with pytest.raises(ValueError, match=r"t.csv.gz cannot be read as a table: it is a damaged gzip file"):
        read_source(tmp_path / "t.csv.gz")


@pytest.mark.parametrize("start", [b"PK\x03\x04", b"\x89HDF\r\n\x1a\n", b"PAR1"])
def test_a_file_that_only_begins_like_a_table_is_refused(start, tmp_path):
    pytest.importorskip("anndata")
    (tmp_path / "t").write_bytes(start + b"x" * 2000)
    with pytest.raises(ValueError, match="t cannot be read as a table"):
        read_source(tmp_path / "t")


@pytest.mark.parametrize("way", ["link", "raw", "virtual"])
def test_an_h5ad_file_does_not_reach_for_other_files(way, tmp_path):
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("anndata")
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["X"] = np.ones((2, 2))
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        group = file.create_group("layers")
        if way == "link":
            group["X"] = h5py.ExternalLink(str(secret), "/X")
        elif way == "raw":
            group.create_dataset("X", (2, 2), "f8", external=[(str(secret), 0, 32)])
        else:
            layout = h5py.VirtualLayout((2, 2), "f8")
            layout[:] = h5py.VirtualSource(str(secret), "X", (2, 2))
            group.create_virtual_dataset("X", layout)
    with pytest.raises(ValueError, match=r"/layers/X (is a link to another file|lies in another file)"):
        read_source(tmp_path / "t.h5ad")


def test_links_within_a_file_are_no_circle(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        file["a/b/x"] = np.ones(4)
        file["a/b/up"] = file["a"]  # a hard link
        file["soft"] = h5py.SoftLink("/a")
    unpacking.check_h5(str(path), path.stat().st_size)


def test_the_size_of_an_archive_is_what_its_entries_unpack_to():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for place in range(5):
            archive.writestr(str(place), bytes(2**18))
    with pytest.raises(ValueError, match="unpack"):
        unpacking.check_archive(buffer.getvalue())
