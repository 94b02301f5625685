"""The public files the real tables come from, and how each becomes arrays."""

import hashlib
import importlib
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

Arrays = dict[str, np.ndarray]


class Original(NamedTuple):
    """A public file that never changes: its address names a commit, and its hash is known."""

    file_name: str
    url: str
    sha256: str


class Entry(NamedTuple):
    """A real table: what it is, its files, and what makes arrays of them."""

    convert: Callable[..., Arrays]  # called with the paths of the originals
    originals: tuple[Original, ...]
    source: str
    licence: str
    notes: str


def need(package: str) -> ModuleType:
    """An optional package, or an error that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        message = f"getting this table needs the package {package}: pip install 'lspin[data]'"
        raise ImportError(message) from error


def hash_file(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def convert_matlab(path: Path) -> Arrays:
    """A table of the scikit-feature collection; its labels become 0, 1, ... in their order."""
    from scipy.io import loadmat

    stored = loadmat(path)
    labels, y = np.unique(stored["Y"].ravel(), return_inverse=True)
    return {"X": stored["X"], "y": y.astype(np.int8), "original_labels": labels.astype(np.int8)}


def convert_deepsurv(path: Path, feature_names: str) -> Arrays:
    """A survival table with its split, as DeepSurv's authors published it."""
    arrays = {"feature_names": np.array(feature_names.split())}
    with need("h5py").File(path) as stored:
        for part in ("train", "test"):
            arrays[f"X_{part}"] = stored[part]["x"][:]
            arrays[f"time_{part}"] = stored[part]["t"][:]
            arrays[f"event_{part}"] = stored[part]["e"][:].astype(np.int8)
    return arrays


def convert_seer(path: Path) -> Arrays:
    """Numbers first, then one column a level; two levels take one column, for the second of them."""
    import pandas as pd

    frame = pd.read_csv(path, skipinitialspace=True).rename(columns=str.strip)
    frame = frame.rename(columns={"Reginol Node Positive": "Regional Node Positive"})
    time, event = frame.pop("Survival Months"), frame.pop("Status").str.strip() == "Dead"
    del frame["differentiate"]  # the grade in words
    numbers = frame.select_dtypes("number")
    columns = dict(numbers.items())
    for name in frame.columns.difference(numbers.columns, sort=False):
        values = frame[name].str.strip().replace({"anaplastic; Grade IV": "4"})
        levels = sorted(values.unique())
        for level in levels[1:] if len(levels) == 2 else levels:
            columns[f"{name}={level}"] = values == level
    return {
        "X": np.column_stack(list(columns.values())).astype(np.float32),
        "time": time.to_numpy(np.int16),
        "event": event.to_numpy(np.int8),
        "feature_names": np.array(list(columns)),
    }


def convert_allen(counts: Path, cells: Path) -> Arrays:
    """Microglia and oligodendrocyte precursors of the Allen Institute's human motor cortex."""
    import pandas as pd

    about = pd.read_csv(cells, sep="\t", index_col="sample_name")
    about = about[about["celltype"].isin(["Micro", "OPC"])]
    genes = pd.read_csv(counts, sep="\t", index_col="gene_name", usecols=["gene_name", *about.index])[about.index]
    return {
        "X": genes.to_numpy(np.uint16).T,
        "library_size": about["libsize"].to_numpy(np.int32),
        "y": (about["celltype"] == "OPC").to_numpy(np.int8),
        "class_names": np.array(["Micro", "OPC"]),
        "gene_symbols": genes.index.to_numpy(str),
        "donor": about["donor"].to_numpy(str),
    }


def convert_darmanis(counts: Path, cells: Path) -> Arrays:
    """Microglia and oligodendrocyte precursors of Darmanis et al.; genes seen in at least two of the cells."""
    import pandas as pd

    kinds = pd.read_csv(cells, sep="\t", index_col=0)["cell type"]
    kinds = kinds[kinds.isin(["microglia", "OPC"])]
    genes = pd.read_csv(counts, sep="\t", index_col="gene_name", usecols=["gene_name", *kinds.index])[kinds.index]
    genes = genes.drop(index=["no_feature", "ambiguous", "alignment_not_unique"])  # what no gene was found for
    seen = genes[(genes > 0).sum(axis=1) >= 2]
    return {
        "X": seen.to_numpy(np.uint32).T,
        "library_size": genes.sum().to_numpy(np.int64),
        "y": (kinds == "OPC").to_numpy(np.int8),
        "class_names": np.array(["microglia", "OPC"]),
        "gene_symbols": seen.index.to_numpy(str),
        "sample_ids": kinds.index.to_numpy(str),
    }


def convert_pbmc(path: Path) -> Arrays:
    """All the sorted blood cells of fastTopics, its test cells last."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes of R that only describe how a file was once read
        stored = need("rdata").read_rda(path)["pbmc_facs"]
    counts = sparse.vstack([_read_counts(stored[key]) for key in ("counts", "counts_test")], format="csr")
    counts.sort_indices()
    cells = pd.concat([stored["samples"], stored["samples_test"]])
    class_names, y = np.unique(cells["celltype"].astype(str).to_numpy(str), return_inverse=True)
    return {
        "data": counts.data.astype(np.uint8),
        "indices": counts.indices.astype(np.uint16),
        "indptr": counts.indptr.astype(np.int32),
        "shape": np.array(counts.shape),
        "y": y.astype(np.int8),
        "class_names": class_names,
        "gene_symbols": stored["genes"]["symbol"].to_numpy(str),
        "gene_ids": stored["genes"]["ensembl"].to_numpy(str),
        "barcodes": cells["barcode"].to_numpy(str),
    }


def _read_counts(stored: Any) -> sparse.csr_matrix:
    """A ``dgCMatrix`` of R: compressed columns."""
    return sparse.csc_matrix((stored.x, stored.i, stored.p), shape=tuple(stored.Dim)).tocsr()


T_CELLS = {
    "CD4+/CD45RO+ Memory": "memory_t",
    "CD8+/CD45RA+ Naive Cytotoxic": "naive_cytotoxic",
    "CD4+/CD45RA+/CD25- Naive T": "naive_t",
    "CD4+/CD25 T Reg": "regulatory_t",
}


def convert_t_cells(path: Path) -> Arrays:
    """The four kinds of T cells of :func:`convert_pbmc`, and their 2000 most variable genes."""
    return cut_t_cells(convert_pbmc(path))


def cut_t_cells(cells: Arrays, n_genes: int = 2000) -> Arrays:
    """Genes seen in more than 20 of all cells, whose share of a T cell's molecules varies most."""
    counts = sparse.csr_matrix((cells["data"], cells["indices"].astype(np.int32), cells["indptr"]), cells["shape"])
    counts = counts.astype(float)
    kinds = np.array([T_CELLS.get(name, "") for name in cells["class_names"]])[cells["y"]]
    chosen = counts[kinds != ""]
    class_names, y = np.unique(kinds[kinds != ""], return_inverse=True)
    library_size = np.asarray(chosen.sum(axis=1)).ravel()
    shares = sparse.diags(1 / library_size) @ chosen
    variance = np.asarray(shares.power(2).mean(axis=0) - np.square(shares.mean(axis=0))).ravel()
    variance[counts.getnnz(axis=0) <= 20] = -1
    genes = np.sort(np.argsort(-variance, kind="stable")[:n_genes])
    return {
        "X": chosen[:, genes].toarray().astype(np.uint8),
        "library_size": library_size.astype(np.int32),
        "y": y.astype(np.int8),
        "class_names": class_names,
        "gene_symbols": cells["gene_symbols"][genes],
        "gene_ids": cells["gene_ids"][genes],
    }


MNIST_SHA256 = "c2069063c1105f2bf96266aef1ff68c6e13bdda7a54e37bf19c16f1db24efc83"  # pixels, then labels


def fetch_mnist() -> Arrays:
    """The 70,000 digits from OpenML; the pixels and labels are checked, since the service repacks its files."""
    from sklearn.datasets import fetch_openml

    with tempfile.TemporaryDirectory() as scratch:
        X, y = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False, data_home=scratch)
    X, y = X.astype(np.uint8), y.astype(np.uint8)
    found = hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()
    if found != MNIST_SHA256:
        raise ValueError(f"the digits OpenML sent have SHA-256 {found} instead of {MNIST_SHA256}")
    return {"X_train": X[:60_000], "y_train": y[:60_000], "X_test": X[60_000:], "y_test": y[60_000:]}


GITHUB = "https://raw.githubusercontent.com"
SCIKIT_FEATURE = f"{GITHUB}/jundongl/scikit-feature/48cffad4e88ff4b9d2f1c7baffb314d1b3303792/skfeature/data"
DEEPSURV = f"{GITHUB}/jaredleekatzman/DeepSurv/41eed003e5b892c81e7855e400861fa7a2d9da4f/experiments/data"
BRAIN = f"{GITHUB}/numpde/sta426_deconvo/d8f378502dbf3496795ade2835decebd27025e7a/data/20201206-RefDatasets"
FAST_TOPICS = f"{GITHUB}/stephenslab/fastTopics/8406f5f4de379e7ff8b43ecfee93cca42a8e7a57/data"
SURVIVAL_DATASETS = f"{GITHUB}/thecml/survival-datasets/2ed7bba8a550c5ad9fff303a4b93c19a4bcafaf3/src/survdata"

PBMC_FACS = Original(
    "pbmc_facs.RData",
    f"{FAST_TOPICS}/pbmc_facs.RData",
    "90ae0879b8c7ba4d456f9a0d1be964213b0dda6788a7b05b48d867b9f76f2946",
)
PBMC_SOURCE = "Zheng et al. 2017 (10x Genomics), as subsampled in the R package fastTopics (pbmc_facs)"
PBMC_LICENCE = "CC BY 4.0 (10x Genomics), BSD-2-Clause (fastTopics)"


def _of_scikit_feature(file_name: str, sha256: str, about: str, notes: str) -> Entry:
    original = Original(file_name, f"{SCIKIT_FEATURE}/{file_name}", sha256)
    return Entry(
        convert_matlab, (original,), f"scikit-feature collection ({about})", "GPL-2.0 (collection)", notes
    )


def _of_deepsurv(path: str, sha256: str, about: str, feature_names: str, notes: str) -> Entry:
    original = Original(path.split("/")[1], f"{DEEPSURV}/{path}", sha256)
    source = f"DeepSurv repository, Katzman et al. 2018 ({about})"
    return Entry(lambda path: convert_deepsurv(path, feature_names), (original,), source, "MIT (DeepSurv)", notes)


CATALOGUE = {
    "basehock": _of_scikit_feature(
        "BASEHOCK.mat",
        "e0452e0f3c0fefdc5cb6352165e4ba4a25c3a2a7b5a5b4d44e103742d6317aa0",
        "20 Newsgroups, baseball and hockey",
        "Counts of words; which words is not recorded.",
    ),
    "relathe": _of_scikit_feature(
        "RELATHE.mat",
        "1091fe26c721aa69ddc5ce3ebcef54e03565809cae07e1769cef45ad23ab28d0",
        "20 Newsgroups, religion and atheism",
        "Counts of words; which words is not recorded.",
    ),
    "pcmac": _of_scikit_feature(
        "PCMAC.mat",
        "9999dfccf97ab88f87127dd3457da436acb75cda9f0af4750e7cae5fe1a31b25",
        "20 Newsgroups, PC and Mac",
        "Counts of words; which words is not recorded.",
    ),
    "colon": _of_scikit_feature(
        "colon.mat",
        "ffcdeba03eb67cec403fa1dc9f827c22a6e2c57786bf3e01dfe1b4b3e25e0a2f",
        "Alon et al. 1999",
        "Expression already discretised to -2, 0 and 2.",
    ),
    "tox171": _of_scikit_feature(
        "TOX-171.mat",
        "f52f57e61775b7830c84750456d7fadfd220d1cc8eed26419c3390eb9216cc84",
        "TOX-171",
        "Expression between 0.02 and 33922.68; a logarithm is usual.",
    ),
    "pbmc_purified_counts": Entry(
        convert_pbmc,
        (PBMC_FACS,),
        PBMC_SOURCE,
        PBMC_LICENCE,
        "Sparse counts of molecules, ten sorted kinds of blood cells. A subsample of what the paper used.",
    ),
    "pbmc_tcells_2000": Entry(
        convert_t_cells,
        (PBMC_FACS,),
        PBMC_SOURCE,
        PBMC_LICENCE,
        "Counts of molecules; library_size is over all genes. The 2000 genes vary most over all 888 cells: chosen "
        "without a look at the labels, but with one at the cells one may later test on.",
    ),
    "brain_m1_micro_opc": Entry(
        convert_allen,
        (
            Original(
                "allen_m1_counts.csv.gz",
                f"{BRAIN}/2019-AllenBrain-M1/b_reduced/data.csv.gz",
                "75d7681e4a57731626d0e4a4f9de5aae3aeae0966ea30e391eaf51b5f64ee675",
            ),
            Original(
                "allen_m1_cells.csv.gz",
                f"{BRAIN}/2019-AllenBrain-M1/b_reduced/meta.csv.gz",
                "513422f3ec742be135c376e7cec5d40c10887425013e31c73d6b0ccea30aaa44",
            ),
        ),
        "Allen Institute for Brain Science, human M1 10x single nuclei (Bakken et al. 2021); 141-gene cut of the "
        "repository numpde/sta426_deconvo",
        "Allen Institute terms of use; the cut states no licence",
        "Stands in for the paper's nuclei, without ITGAM. Precursors hold more than twice as many molecules as "
        "microglia: divide by library_size, or depth alone separates the classes.",
    ),
    "brain_darmanis_micro_opc": Entry(
        convert_darmanis,
        (
            Original(
                "darmanis_counts.csv.gz",
                f"{BRAIN}/2015-Darmanis/b_prepared/data.csv.gz",
                "e281d9160965c2381a05795053e7de6c127657b658b0ea80b5e4f4f9290390e0",
            ),
            Original(
                "darmanis_cells.csv.gz",
                f"{BRAIN}/2015-Darmanis/b_prepared/meta.csv.gz",
                "843f843b0599aa71d688b145cb2921439635fa22a1708aad5542482edbe31d85",
            ),
        ),
        "Darmanis et al. 2015, GEO GSE67835; tables of the repository numpde/sta426_deconvo",
        "public (GEO)",
        "Reads of whole cells, not nuclei. PDGFRA is clear, ITGAM weak.",
    ),
    "mnist": Entry(
        fetch_mnist,
        (),
        "LeCun, Cortes and Burges, from OpenML (mnist_784, version 1)",
        "CC BY-SA 3.0",
        "Pixels from 0 to 255 in rows of 28, from the top left.",
    ),
    "seer_breast": Entry(
        convert_seer,
        (
            Original(
                "seer.csv",
                f"{SURVIVAL_DATASETS}/seer.csv",
                "667fa828fb39d85f6a622dd2067ed3b5221f5460aca6ceec2be5fcfb318d69bd",
            ),
        ),
        "J. Teng, SEER Breast Cancer Data, IEEE DataPort 2019, doi:10.21227/a9qy-ph35",
        "open access; its Kaggle copy shows CC BY 4.0",
        "Time in months. An open extract with 14 covariates; the paper's has 55 and needs a signed agreement.",
    ),
    "metabric": _of_deepsurv(
        "metabric/metabric_IHC4_clinical_train_test.h5",
        "e959131973c906c7e8b1e662c81160914768156a6da145a9bfed9b9ee8bf3e72",
        "METABRIC",
        "expr_0 expr_1 expr_2 expr_3 hormone_treatment radiotherapy chemotherapy er_positive age",
        "Time in months, one of them 0. The genes expr_0 to expr_3 are MKI67, EGFR, PGR and ERBB2, in an order "
        "that is not certain.",
    ),
    "gbsg": _of_deepsurv(
        "gbsg/gbsg_cancer_train_test.h5",
        "bd455f4395322a8b23040c15cedbef00ad51a447d02c95f1f1d686a6b196484b",
        "training rows: Rotterdam tumour bank; test rows: GBSG trial",
        "hormonal_therapy tumor_size_class postmenopausal age positive_nodes progesterone_receptor "
        "estrogen_receptor",
        "Time in months. The test patients are those of GBSG2.",
    ),
    "support": _of_deepsurv(
        "support/support_train_test.h5",
        "e398f49930e4efc4ecd675a72ac547f0d1ae25ccf13f6a1024cded12ea88a83e",
        "SUPPORT",
        "age sex comorbidities race diabetes dementia cancer mean_blood_pressure heart_rate respiration_rate "
        "temperature serum_sodium white_blood_cells serum_creatinine",
        "Time in days. Names are inferred from the values; race and cancer are nominal codes.",
    ),
}
