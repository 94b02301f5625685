"""Tables written in every usual way are read alike."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest

from lspin.intake.files import decode, guess_form, read_source

FRAME = pd.DataFrame({"größe": [1.5, 2.25, 1234.5], "stage": ["I", "II", "I"], "n": [1, 2, 3]})


def write_text(tmp_path, text, encoding="utf-8", name="table.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_text_is_read_in_any_encoding_with_any_separator(encoding, separator, tmp_path):
    path = write_text(tmp_path, FRAME.to_csv(index=False, sep=separator), encoding)
    pd.testing.assert_frame_equal(read_source(path).frame, FRAME)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_are_seen(separator, tmp_path):
    path = write_text(tmp_path, FRAME.to_csv(index=False, sep=separator, decimal=","))
    source = read_source(path)
    pd.testing.assert_frame_equal(source.frame, FRAME)
    assert "decimal commas" in source.form


def test_points_between_thousands_are_no_decimals(tmp_path):
    path = write_text(tmp_path, "a;b\n1.234,5;x\n2,25;y\n1.000.000,0;z\n")
    assert read_source(path).frame["a"].tolist() == [1234.5, 2.25, 1e6]


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a;b\n1,5;2\n2,5;3\n", ";"),
        ('a,b\n"x; y",2\n"z; w",3\n', ","),
        ("a\tb c\n1\t2 3\n", "\t"),
        ("a b\n1 2\n", r"\s+"),
        ("a,b\n1,2\n3,4,5\n", ","),
    ],
)
def test_the_separator_is_the_one_that_makes_the_rows_alike(text, separator):
    assert guess_form(text).separator == separator


def test_names_of_rows_as_r_writes_them(tmp_path):
    source = read_source(write_text(tmp_path, '"a" "b"\n"r1" 1 2\n"r2" 3 4\n', name="table.txt"))
    assert source.has_row_names
    assert list(source.frame.index) == ["r1", "r2"]
    assert list(source.frame.columns) == ["a", "b"]


def test_a_first_line_of_numbers_is_pointed_out(tmp_path):
    assert "is it a header" in read_source(write_text(tmp_path, "1,2.5\n3,4\n")).remarks[0]
    assert read_source(write_text(tmp_path, "a,2.5\n3,4\n")).remarks == ()


def test_separators_at_the_end_of_every_row_are_no_names_of_rows(tmp_path):
    source = read_source(write_text(tmp_path, "a,b\n1,2,\n3,4,\n"))
    assert source.frame["a"].tolist() == [1, 3]


def test_signs_for_missing_values(tmp_path):
    frame = read_source(write_text(tmp_path, "a,b\n1,x\n?,NA\n.,\n-,y\n")).frame
    assert frame["a"].isna().tolist() == [False, True, True, True]
    assert frame["b"].isna().tolist() == [False, True, True, False]


def test_a_compressed_file_and_the_standard_input_are_read(tmp_path, monkeypatch):
    content = FRAME.to_csv(index=False).encode()
    (tmp_path / "table.csv.gz").write_bytes(gzip.compress(content))
    pd.testing.assert_frame_equal(read_source(tmp_path / "table.csv.gz").frame, FRAME)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read_source("-").name == "standard input"


@pytest.mark.parametrize("name", ["table.xlsx", "table.parquet", "misnamed.csv"])
def test_other_kinds_are_told_by_their_content(name, tmp_path):
    pytest.importorskip("openpyxl" if name.endswith("xlsx") else "pyarrow")
    path = tmp_path / name
    if name.endswith("xlsx"):
        FRAME.to_excel(path, index=False)
    else:
        FRAME.to_parquet(path)
    pd.testing.assert_frame_equal(read_source(path).frame, FRAME)


@pytest.mark.filterwarnings("ignore")  # of anndata and what it imports
@pytest.mark.parametrize("is_sparse", [False, True])
def test_h5ad_gives_variables_and_annotations(is_sparse, tmp_path):
    anndata = pytest.importorskip("anndata")
    from scipy.sparse import csr_matrix

    X = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]], np.float32)
    obs = pd.DataFrame({"kind": ["b", "t", "b"]}, index=["c1", "c2", "c3"])
    data = anndata.AnnData(csr_matrix(X) if is_sparse else X, obs, pd.DataFrame(index=["g1", "g2"]))
    data.write_h5ad(tmp_path / "cells.h5ad")
    source = read_source(tmp_path / "cells.h5ad")
    np.testing.assert_array_equal(source.frame[["g1", "g2"]], X)
    assert source.frame["kind"].tolist() == ["b", "t", "b"]
    assert source.annotations == ("kind",)
    assert source.zero_is_absent == is_sparse
    assert list(source.frame.index) == ["c1", "c2", "c3"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b" \n\n", "it is empty"),
        (b"a,b\n", "0 rows and 2 columns"),
        (b"\x00\x01\x02" * 99, "neither text nor"),
        (b"\xd0\xcf\x11\xe0", "old Excel"),
        (b"a,b\n1,2\n1,2,3,4\n", "Expected 2 fields in line 3, saw 4"),
        (b"PAR1 and then nothing", ""),
        (b"a, a \n1,2\n", "'a' occurs 2 times"),
    ],
)
def test_a_file_without_a_table_is_refused_with_a_reason(content, reason, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"odd.csv .*{reason}"):
        read_source(path)


def test_a_package_that_is_missing_is_named_with_its_extra(tmp_path, monkeypatch):
    (tmp_path / "table.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'lspin\[files\]'"):
        read_source(tmp_path / "table.parquet")


def test_every_byte_means_something_in_the_last_encoding():
    assert decode(bytes(range(1, 256)))[1] == "Latin-1"
