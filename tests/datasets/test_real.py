import gc
import hashlib
import os
import socket
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.io import savemat

from lspin.datasets import TABLES, load_table, real
from lspin.datasets.originals import CATALOGUE, T_CELLS, Original, cut_t_cells

# Below pooch, a download that fails leaves its socket to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

LABELS = np.array([-1, 1, 1])
VALUES = np.array([[2, 0], [-2, 2], [0, 0]], np.int16)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache folder and a folder for temporary files of this test's own."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "cache" / name)
    monkeypatch.delenv("LSPIN_DATA", raising=False)
    return tmp_path / "cache" / "lspin" / "tables"


@pytest.fixture
def original(tmp_path):
    path = tmp_path / "made.mat"
    savemat(path, {"X": VALUES, "Y": LABELS[:, None]})
    return path.read_bytes()


class Server(ThreadingHTTPServer):
    """Serves one file on this machine, whole or in one of the ways in which downloads go wrong."""

    daemon_threads = True

    def __init__(self, content):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.way, self.n_requests = content, "whole", 0


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server, content = self.server, self.server.content
        server.n_requests += 1
        self.send_response(404 if server.way == "gone" else 200)
        if server.way != "ends early, length unknown":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if server.way == "changed":
            content = content[::-1]
        self.wfile.write(content[: len(content) // 2] if "early" in server.way else content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(original, monkeypatch):
    """Has the original of the table "colon", as far as the loader knows."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server(original)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    offer(monkeypatch, f"http://127.0.0.1:{server.server_port}/files/made.mat", original)
    yield server
    server.shutdown()
    server.server_close()
    gc.collect()


def offer(monkeypatch, url, content):
    source = Original("made.mat", url, hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(CATALOGUE, "colon", CATALOGUE["colon"]._replace(originals=(source,)))


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def check_colon(table):
    np.testing.assert_array_equal(table.X, VALUES)
    np.testing.assert_array_equal(table.y, [0, 1, 1])
    assert table.class_names.tolist() == ["-1", "1"]
    assert table.feature_names.tolist() == ["x1", "x2"]


def test_a_download_is_converted_and_cached_and_nothing_else_stays(server, cache, tmp_path):
    check_colon(load_table("colon"))
    check_colon(load_table("colon"))
    assert server.n_requests == 1
    assert files_in(cache) == ["colon.npz"]
    assert files_in(tmp_path / "scratch") == []


@pytest.mark.parametrize("way", ["changed", "ends early", "ends early, length unknown", "gone"])
def test_a_download_gone_wrong_leaves_nothing_and_can_be_repeated(server, cache, tmp_path, way):
    server.way = way
    with pytest.raises(FileNotFoundError, match=r"colon\.npz is not in .* and could not be made") as caught:
        load_table("colon")
    assert CATALOGUE["colon"].originals[0].url in str(caught.value)
    assert files_in(tmp_path / "cache") == files_in(tmp_path / "scratch") == []
    server.way = "whole"
    check_colon(load_table("colon"))


def test_offline_the_error_names_the_file_the_address_and_the_folder(cache, monkeypatch, original):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    offer(monkeypatch, f"http://127.0.0.1:{port}/made.mat", original)
    with pytest.raises(FileNotFoundError) as caught:
        load_table("colon")
    for part in ("colon.npz", "made.mat", CATALOGUE["colon"].originals[0].url, str(cache)):
        assert part in str(caught.value)


@pytest.mark.parametrize("name", TABLES)
def test_without_leave_to_download_the_network_is_not_touched(name, monkeypatch):
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: pytest.fail("asked for an address"))
    with pytest.raises(FileNotFoundError, match=rf"{name}\.npz.*downloading was not allowed"):
        load_table(name, download=False)


def test_an_interrupt_while_downloading_leaves_nothing(server, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("requests.Response.iter_content", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load_table("colon")
    assert files_in(tmp_path / "cache") == files_in(tmp_path / "scratch") == []


def test_an_interrupt_while_writing_leaves_nothing(server, tmp_path, monkeypatch):
    def write_half(file, **_):
        file.write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", write_half)
    with pytest.raises(KeyboardInterrupt):
        load_table("colon")
    assert files_in(tmp_path / "cache") == files_in(tmp_path / "scratch") == []


def test_several_that_load_at_once_all_get_the_table(server, cache):
    with ThreadPoolExecutor(4) as pool:
        for table in pool.map(load_table, ["colon"] * 4):
            check_colon(table)
    assert files_in(cache) == ["colon.npz"]


def test_an_original_put_into_the_folder_needs_no_network(server, cache, original):
    cache.mkdir(parents=True)
    (cache / "made.mat").write_bytes(original)
    check_colon(load_table("colon", download=False))
    assert server.n_requests == 0


def test_a_wrong_original_put_into_the_folder_is_named(server, cache, original):
    cache.mkdir(parents=True)
    (cache / "made.mat").write_bytes(original[:-1])
    with pytest.raises(FileNotFoundError, match=r"made\.mat has SHA-256 .* delete it"):
        load_table("colon")


def test_a_damaged_cache_is_named(server, cache):
    load_table("colon")
    whole = (cache / "colon.npz").read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"something else"):
        (cache / "colon.npz").write_bytes(content)
        with pytest.raises(ValueError, match=r"colon\.npz is damaged .* delete it"):
            load_table("colon")


def test_a_file_of_another_form_is_named(cache):
    cache.mkdir(parents=True)
    np.savez(cache / "mnist.npz", x_train=np.zeros(3))
    with pytest.raises(ValueError, match=r"mnist\.npz holds x_train, which is not how"):
        load_table("mnist")


def test_the_folder_of_the_user_comes_before_the_cache(server, cache, tmp_path, monkeypatch):
    load_table("colon")
    own = tmp_path / "own"
    own.mkdir()
    np.savez(own / "colon.npz", X=VALUES + 1, y=[0, 1, 1], original_labels=[-1, 1])
    monkeypatch.setenv("LSPIN_DATA", str(own))
    np.testing.assert_array_equal(load_table("colon").X, VALUES + 1)


def test_a_folder_that_is_none_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("LSPIN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"LSPIN_DATA names .*nowhere, which is no folder"):
        load_table("colon")


def test_an_unknown_table_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="no table 'iris'; there are basehock, relathe"):
        load_table("iris")


def test_without_the_package_for_downloads_the_error_says_how_to_get_it(server, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"needs the package pooch: pip install 'lspin\[data\]'"):
        load_table("colon")


def test_digits_that_are_not_the_known_ones_are_refused(monkeypatch, cache):
    fake = np.zeros((3, 784)), np.array(["5", "0", "4"])
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *_, **__: fake)
    with pytest.raises(FileNotFoundError, match="the digits OpenML sent have SHA-256"):
        load_table("mnist")
    assert not cache.exists()


@pytest.mark.parametrize("name", TABLES)
def test_every_original_is_pinned_to_a_commit_and_a_hash(name):
    for original in CATALOGUE[name].originals:
        assert any(len(part) == 40 for part in original.url.split("/"))
        assert len(bytes.fromhex(original.sha256)) == 32


def test_whole_numbers_are_returned_as_floats_so_that_differences_do_not_wrap_around(cache):
    cache.mkdir(parents=True)
    np.savez(cache / "basehock.npz", X=np.array([[0, 3]], np.uint8), y=[0], original_labels=[1])
    X = load_table("basehock").X
    assert X[0, 0] - X[0, 1] == -3


def test_genes_of_one_symbol_are_told_apart(cache):
    cache.mkdir(parents=True)
    genes = {"gene_symbols": ["A", "B", "A"], "gene_ids": ["E1", "E2", "E3"], "class_names": ["c"]}
    np.savez(cache / "pbmc_tcells_2000.npz", X=np.zeros((1, 3)), y=[0], **genes)
    assert load_table("pbmc_tcells_2000").feature_names.tolist() == ["A_E1", "B", "A_E3"]


def test_a_cached_table_survives_the_way_through_the_file(tmp_path):
    arrays = {"X": VALUES, "names": np.array(["ä", "b"])}
    real._write(tmp_path / "sub" / "x.npz", arrays)
    for name, array in real._read(tmp_path / "sub" / "x.npz").items():
        np.testing.assert_array_equal(array, arrays[name])
    assert os.listdir(tmp_path / "sub") == ["x.npz"]


def test_a_survival_table_keeps_its_split(tmp_path):
    path = tmp_path / "made.h5"
    with pytest.importorskip("h5py").File(path, "w") as file:
        for part, n_rows in (("train", 3), ("test", 2)):
            file[f"{part}/x"] = np.full((n_rows, 9), n_rows, np.float32)
            file[f"{part}/t"] = np.arange(n_rows, dtype=np.float32)
            file[f"{part}/e"] = np.array([1, 0, 1][:n_rows], np.int32)
    table = real._assemble(CATALOGUE["metabric"].convert(path), CATALOGUE["metabric"])
    assert table.is_test.tolist() == [False] * 3 + [True] * 2
    assert table.X[:, 0].tolist() == [3, 3, 3, 2, 2]
    assert table.y["event"].tolist() == [True, False, True, True, False]
    assert table.y["time"].tolist() == [0, 1, 2, 0, 1]
    assert table.feature_names[-1] == "age"
    assert table.class_names is None


def test_seer_takes_one_column_a_level_and_one_for_two_levels(tmp_path):
    path = tmp_path / "seer.csv"
    path.write_text(
        "Age,Race,T Stage ,differentiate,Grade,A Stage,Reginol Node Positive,Survival Months,Status\n"
        "68,White,T1,Poorly,3,Regional,1,60,Alive\n"
        "50,Black ,T2,Un, anaplastic; Grade IV,Distant,5,62,Dead\n"
        "41,Other,T2,Well,1,Regional,2,7,Alive\n"
    )
    table = real._assemble(CATALOGUE["seer_breast"].convert(path), CATALOGUE["seer_breast"])
    columns = dict(zip(table.feature_names, table.X.T.tolist(), strict=True))
    assert columns == {
        "Age": [68, 50, 41], "Regional Node Positive": [1, 5, 2],
        "Race=Black": [0, 1, 0], "Race=Other": [0, 0, 1], "Race=White": [1, 0, 0],
        "T Stage=T2": [0, 1, 1],
        "Grade=1": [0, 0, 1], "Grade=3": [1, 0, 0], "Grade=4": [0, 1, 0],
        "A Stage=Regional": [1, 0, 1],
    }  # fmt: skip
    assert table.y.tolist() == [(False, 60), (True, 62), (False, 7)]


def test_cells_of_other_kinds_are_left_out(tmp_path):
    counts, cells = tmp_path / "counts.csv", tmp_path / "cells.csv"
    counts.write_text("gene_name\ta\tb\tc\nCD74\t0\t5\t7\nPDGFRA\t4\t6\t0\n")
    cells.write_text("sample_name\tcelltype\tdonor\tlibsize\na\tOPC\tD1\t90\nb\tExc\tD1\t80\nc\tMicro\tD2\t70\n")
    table = real._assemble(CATALOGUE["brain_m1_micro_opc"].convert(counts, cells), CATALOGUE["brain_m1_micro_opc"])
    assert table.X.tolist() == [[0, 4], [7, 0]]
    assert table.class_names[table.y].tolist() == ["OPC", "Micro"]
    assert table.library_size.tolist() == [90, 70]
    assert table.donors.tolist() == ["D1", "D2"]


def test_the_depth_of_a_cell_counts_genes_only(tmp_path):
    counts, cells = tmp_path / "counts.csv", tmp_path / "cells.csv"
    lines = ["gene_name\ta\tb\tc", "A\t1\t2\t9", "B\t0\t4\t9"]
    counts.write_text(
        "\n".join(lines + [f"{n}\t8\t8\t8" for n in ("no_feature", "ambiguous", "alignment_not_unique")])
    )
    cells.write_text("sample\ttissue\tcell type\na\tcortex\tmicroglia\nb\tcortex\tOPC\nc\tcortex\tneurons\n")
    arrays = CATALOGUE["brain_darmanis_micro_opc"].convert(counts, cells)
    assert arrays["X"].tolist() == [[1], [2]]  # B is seen in one of the two cells only
    assert arrays["gene_symbols"].tolist() == ["A"]
    assert arrays["library_size"].tolist() == [1, 6]


def test_t_cells_keep_the_genes_whose_share_varies_most():
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(0.5, 2, 12), (60, 12)).astype(np.uint8) + np.eye(60, 12, dtype=np.uint8)
    counts[:, 3] = np.arange(60) % 3 == 0  # seen in 20 of the cells, one too few
    stored = sparse.csr_matrix(counts)
    arrays = {
        **{field: getattr(stored, field) for field in ("data", "indices", "indptr")},
        "shape": np.array([60, 12]),
        "y": np.arange(60) % 3,
        "class_names": np.array(["CD4+/CD25 T Reg", "CD19+ B", "CD4+/CD45RO+ Memory"]),
        "gene_symbols": np.array(list("abcdefghijkl")),
        "gene_ids": np.arange(12).astype(str),
    }
    cut = cut_t_cells(arrays, n_genes=4)
    chosen = counts[np.arange(60) % 3 != 1].astype(float)
    variance = np.var(chosen / chosen.sum(axis=1, keepdims=True), axis=0)
    variance[(counts > 0).sum(axis=0) <= 20] = -1
    expected = np.sort(np.argsort(variance)[-4:])
    assert cut["gene_ids"].tolist() == [str(gene) for gene in expected]
    np.testing.assert_array_equal(cut["X"], chosen[:, expected])
    assert cut["class_names"][cut["y"]][:2].tolist() == ["regulatory_t", "memory_t"]


def test_blood_cells_of_r_become_rows(monkeypatch):
    def compress(dense):
        columns = sparse.csc_matrix(dense)
        return SimpleNamespace(x=columns.data, i=columns.indices, p=columns.indptr, Dim=np.array(dense.shape))

    first, last = np.array([[0.0, 2, 0], [1, 0, 3]]), np.array([[4.0, 0, 5]])
    stored = {
        "counts": compress(first),
        "counts_test": compress(last),
        "samples": pd.DataFrame({"barcode": ["c1", "c2"], "celltype": pd.Categorical(["CD56+ NK", "CD19+ B"])}),
        "samples_test": pd.DataFrame({"barcode": ["c3"], "celltype": pd.Categorical(["CD56+ NK"])}),
        "genes": pd.DataFrame({"ensembl": ["E1", "E2", "E3"], "symbol": ["A", "B", "C"]}),
    }
    monkeypatch.setitem(sys.modules, "rdata", SimpleNamespace(read_rda=lambda _: {"pbmc_facs": stored}))
    entry = CATALOGUE["pbmc_purified_counts"]
    table = real._assemble(entry.convert("unread"), entry)
    np.testing.assert_array_equal(table.X.toarray(), np.vstack([first, last]))
    assert table.class_names[table.y].tolist() == ["CD56+ NK", "CD19+ B", "CD56+ NK"]
    assert table.feature_names.tolist() == ["A", "B", "C"]


# The rest looks at the real tables, where there is a folder of them.
FOLDER = os.environ.get("LSPIN_DATA")


@pytest.fixture
def load(monkeypatch):
    if not FOLDER:
        pytest.skip("LSPIN_DATA does not name a folder of tables")
    monkeypatch.setenv("LSPIN_DATA", FOLDER)
    return lambda name: load_table(name, download=False)


# Rows, columns, and rows of each class as published.
PUBLISHED = {
    "basehock": (1993, 4862, [994, 999]), "relathe": (1427, 4322, [779, 648]), "pcmac": (1943, 3289, [982, 961]),
    "colon": (62, 2000, [40, 22]), "tox171": (171, 5748, [45, 45, 39, 42]),
    "pbmc_tcells_2000": (888, 2000, [238, 238, 198, 214]), "brain_m1_micro_opc": (391, 141, [108, 283]),
    "pbmc_purified_counts": (3874, 16791, [168, 795, 701, 256, 214, 198, 238, 686, 380, 238]),
    "brain_darmanis_micro_opc": (34, 10843, [16, 18]),
    "mnist": (70000, 784, [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]),
}  # fmt: skip
# Rows, columns, rows for the test; events among the training and the test rows.
PUBLISHED_SURVIVAL = {
    "seer_breast": (4024, 31, 0, 616, 0), "metabric": (1904, 9, 381, 887, 216),
    "gbsg": (2232, 7, 686, 968, 299), "support": (8873, 14, 1775, 4823, 1213),
}  # fmt: skip


def test_every_table_has_published_figures_here():
    assert {*PUBLISHED, *PUBLISHED_SURVIVAL} == set(TABLES)


@pytest.mark.parametrize("name", PUBLISHED)
def test_classes_are_as_many_as_published(load, name):
    table = load(name)
    n_rows, n_columns, n_each = PUBLISHED[name]
    assert table.X.shape == (n_rows, n_columns)
    assert np.bincount(table.y).tolist() == n_each
    assert len(table.class_names) == len(n_each)
    assert len(set(table.feature_names)) == n_columns


@pytest.mark.parametrize("name", PUBLISHED_SURVIVAL)
def test_events_are_as_many_as_published(load, name):
    table = load(name)
    n_rows, n_columns, n_test, *n_events = PUBLISHED_SURVIVAL[name]
    is_test = np.zeros(n_rows, bool) if table.is_test is None else table.is_test
    assert table.X.shape == (n_rows, n_columns)
    assert is_test.sum() == n_test
    assert [table.y["event"][~is_test].sum(), table.y["event"][is_test].sum()] == n_events
    assert len(set(table.feature_names)) == n_columns


def test_values_have_the_published_ranges(load):
    assert np.unique(load("colon").X).tolist() == [-2, 0, 2]
    tox = load("tox171").X
    assert (tox.min(), tox.max()) == (0.02, 33922.68)
    seer = load("seer_breast")
    ranges = dict(zip(seer.feature_names, zip(seer.X.min(axis=0), seer.X.max(axis=0), strict=True), strict=True))
    assert ranges["Age"] == (30, 69)
    assert ranges["Tumor Size"] == (1, 140)
    assert (seer.y["time"].min(), seer.y["time"].max()) == (1, 107)
    metabric = load("metabric")
    assert (metabric.y["time"][metabric.is_test] == 0).sum() == 1


def test_markers_of_brain_cells_are_detected_as_often_as_published(load):
    table = load("brain_m1_micro_opc")
    for gene, in_microglia, in_precursors in (
        ("PDGFRA", 1, 92),
        ("CD74", 55, 0),
        ("SRGN", 19, 0),
        ("TYROBP", 18, 0),
    ):
        seen = table.X[:, table.feature_names == gene].ravel() > 0
        assert [round(100 * seen[table.y == label].mean()) for label in (0, 1)] == [in_microglia, in_precursors]
    assert [np.median(table.library_size[table.y == label]) for label in (0, 1)] == [2058, 4885]
    assert len(set(table.donors)) == 2


def test_the_t_cells_are_cut_from_all_blood_cells(load):
    blood, cut = load("pbmc_purified_counts"), load("pbmc_tcells_2000")
    with np.load(os.path.join(FOLDER, "pbmc_purified_counts.npz")) as stored:
        again = cut_t_cells(dict(stored))
    np.testing.assert_array_equal(again["X"], cut.X)
    np.testing.assert_array_equal(again["y"], cut.y)
    is_t_cell = np.isin(blood.class_names[blood.y], list(T_CELLS))
    assert (blood.X[is_t_cell].getnnz(axis=1) > 400).sum() == 784


def test_the_digits_from_openml_are_the_known_ones(load, monkeypatch, cache):
    table = load("mnist")
    assert table.y[:6].tolist() == [5, 0, 4, 1, 9, 2]
    assert (~table.is_test[:60_000]).all()
    answer = table.X.astype(np.uint8), table.y.astype(str)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *_, **__: answer)
    arrays = CATALOGUE["mnist"].convert()
    np.testing.assert_array_equal(arrays["y_test"], table.y[60_000:])
