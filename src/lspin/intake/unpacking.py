"""Packed tables from anywhere: none fills the memory, and none reaches for other files."""

import gzip
import io
import zipfile
import zlib
from typing import Any

LARGEST_UNPACKED = 2**28  # bytes that any file may unpack to
MOST_TIMES = 100  # its own size that a larger one may


def largest_unpacked(n_packed: int) -> int:
    """Bytes that a file of some size may unpack to: text packs to a tenth or so, and a bomb to a thousandth."""
    return max(LARGEST_UNPACKED, MOST_TIMES * n_packed)


def refuse_bomb(n_unpacked: int, n_packed: int) -> None:
    """Raise an error if a file unpacks to far more than itself."""
    if n_unpacked > largest_unpacked(n_packed):
        raise ValueError(
            f"its {n_packed:,} bytes unpack to more than {largest_unpacked(n_packed):,}; if that is right, give "
            "it unpacked or as another kind of file"
        )


def unpack(content: bytes) -> bytes:
    """What gzip packed; of a bomb, no more than the limit is unpacked."""
    try:
        with gzip.open(io.BytesIO(content)) as file:
            unpacked = file.read(largest_unpacked(len(content)) + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"it is a damaged gzip file ({error})") from error
    refuse_bomb(len(unpacked), len(content))
    return unpacked


def check_archive(content: bytes) -> None:
    """Raise an error if a zip archive, such as an Excel file, unpacks to far more than itself."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        refuse_bomb(sum(entry.file_size for entry in archive.infolist()), len(content))


def check_parquet(content: bytes) -> None:
    """Raise an error if a Parquet file holds far more values than its size allows for."""
    from pyarrow.parquet import read_metadata

    found = read_metadata(io.BytesIO(content))
    groups = [found.row_group(place) for place in range(found.num_row_groups)]
    n_values = found.num_rows * found.num_columns  # a column of one value takes next to no room
    refuse_bomb(max(8 * n_values, sum(group.total_byte_size for group in groups)), len(content))


def check_h5(path: str, n_packed: int) -> None:
    """Raise an error if an HDF5 file holds far more than its size allows for, or links to other files."""
    import h5py

    with h5py.File(path, "r") as file:
        refuse_bomb(_count_bytes(file, set()), n_packed)


def _count_bytes(group: Any, seen: set[Any]) -> int:
    """Bytes of all datasets in a group; a link to another file is an error, and none is followed."""
    import h5py

    total = 0
    for name in group:
        link = group.get(name, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            raise ValueError(f"{group.name.rstrip('/')}/{name} is a link to another file, {link.filename!r}")
        if isinstance(link, h5py.SoftLink):
            continue  # to a place that is met anyway
        entry = group[name]
        if entry.id in seen:
            continue
        seen.add(entry.id)
        if isinstance(entry, h5py.Group):
            total += _count_bytes(entry, seen)
        elif isinstance(entry, h5py.Dataset):
            if entry.external or entry.is_virtual:
                raise ValueError(f"{entry.name} lies in another file")
            total += entry.size * entry.dtype.itemsize if entry.shape is not None else 0
    return total
