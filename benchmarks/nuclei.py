"""Nuclei of microglia and oligodendrocyte precursors (OPC) as the paper has them: one marker a type, and noise.

Counts are normalised; those of simulated nuclei are imputed by ALRA, as the paper does. The 141 genes of the M1
table are too few for that. Half of the cells choose up to 100 variable genes that are not correlated with the two
markers; the other half is split 80/10/10 for training, choosing and testing.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from lspin.datasets import load_table
from lspin.datasets.synthetic import Part

N_NOISE, MOST_CORRELATED = 100, 0.15  # genes beside the markers, and their largest correlation with either
PARTS = (0.8, 0.9)  # training cells, and those together with the cells that choose
MARKERS = {"brain_m1_micro_opc": ("CD74", "PDGFRA"), "brain_darmanis_micro_opc": ("ITGAM", "PDGFRA")}
TABLES = {"m1": "brain_m1_micro_opc", "darmanis": "brain_darmanis_micro_opc"}

# Simulated nuclei, after laws that were fitted to brain_m1_micro_opc.
N_CELLS, N_GENES = 1000, 2000  # of each type; besides the markers
DEPTHS = ((7.57, 0.49), (8.47, 0.36))  # mean and standard deviation of the log of a cell's molecules
MARKER_RATES = ((5.7e-4, 0.0), (5e-6, 7.0e-4))  # of CD74 and PDGFRA, in microglia and OPC
MARKER_SIZES = (1.4, 6.7)  # of their negative-binomial laws
DIFFERENT, FOLDS = 0.05, (2.0, 6.0)  # share of the other genes that differ between the types, and by how much
N_PROGRAMMES, LOADS = 5, (0.5, 1.0)  # that cells of both types follow, and how much a gene follows its own
SIMULATED = {"simulated": 0, "programmes": N_PROGRAMMES}
N_FACTORS = 100  # of which the rank of the imputed table is chosen


class Nuclei(NamedTuple):
    """Values of all cells and genes."""

    values: np.ndarray  # (n_cells, n_genes), log-normalised
    types: np.ndarray  # (n_cells,), 0 for microglia, 1 for OPC
    genes: np.ndarray  # (n_genes,), names
    markers: np.ndarray  # (2,), places of the markers of the two types


class Split(NamedTuple):
    """Parts of the cells with the markers first, then the noise."""

    train: Part
    valid: Part
    test: Part


def load_nuclei(name: str, seed: int, n_cells: int = N_CELLS) -> Split:
    """The cells of a case: ``simulated`` or ``programmes``, imputed, or ``m1`` or ``darmanis``, as counted."""
    if name in SIMULATED:
        nuclei = simulate(seed, n_cells, SIMULATED[name])
        nuclei = nuclei._replace(values=impute(nuclei.values))
    else:
        nuclei = read(TABLES[name])
    return split(nuclei, np.random.default_rng(seed))


def read(table_name: str) -> Nuclei:
    table = load_table(table_name)
    genes = np.asarray(table.feature_names).astype(str)
    counts = np.asarray(table.X, np.float64)
    depth = np.asarray(table.library_size, np.float64)
    places = np.array([int(np.flatnonzero(genes == marker)[0]) for marker in MARKERS[table_name]])
    return Nuclei(np.log1p(1e4 * counts / depth[:, None]), np.asarray(table.y), genes, places)


def simulate(seed: int, n_cells: int, n_programmes: int = 0) -> Nuclei:
    """Draw negative-binomial counts of two types with one marker each, and other genes, of which some differ.

    All other genes may belong to programmes, whose activity has nothing to do with the type. Without them the
    imputed values of nearly all genes follow the type, and hardly any is left as noise.
    """
    rng = np.random.default_rng(seed)
    types = np.repeat([0, 1], n_cells)
    depth = np.concatenate([rng.lognormal(*law, n_cells) for law in DEPTHS])
    rates = np.exp(rng.uniform(np.log(1e-5), np.log(1e-3), N_GENES))
    sizes = np.append(MARKER_SIZES, rng.uniform(0.5, 5.0, N_GENES))
    folds = np.ones((2, N_GENES))
    differ = np.arange(int(DIFFERENT * N_GENES))
    folds[rng.integers(2, size=len(differ)), differ] = np.exp(rng.uniform(*np.log(FOLDS), len(differ)))
    means = depth[:, None] * np.column_stack([np.transpose(MARKER_RATES), rates * folds])[types]
    if n_programmes:
        activity, own = rng.standard_normal((len(types), n_programmes)), rng.integers(n_programmes, size=N_GENES)
        loads = rng.uniform(*LOADS, N_GENES)
        loads[differ] = 0.0
        means[:, 2:] *= np.exp(activity[:, own] * loads - loads**2 / 2)
    counts = rng.poisson(means * rng.gamma(sizes, 1 / sizes, means.shape)).astype(np.float64)
    genes = np.array(["CD74", "PDGFRA", *(f"gene{place + 1}" for place in range(N_GENES))])
    return Nuclei(np.log1p(1e4 * counts / counts.sum(axis=1, keepdims=True)), types, genes, np.arange(2))


def impute(values: np.ndarray) -> np.ndarray:
    """ALRA (Linderman et al., Nature Communications 2022): a low rank, cut off and rescaled gene by gene.

    The rank is the last gap of singular values beyond six standard deviations of the gaps between the last fifth
    of the first hundred.
    """
    left, sizes, right = find_factors(values, min(N_FACTORS, *values.shape))
    gaps = -np.diff(sizes)
    tail = gaps[int(0.8 * len(gaps)) :]
    rank = int(np.flatnonzero(gaps > tail.mean() + 6 * tail.std(ddof=1)).max()) + 1
    smooth = (left[:, :rank] * sizes[:rank]) @ right[:rank]
    smooth[smooth <= np.abs(np.quantile(smooth, 0.001, axis=0))] = 0.0
    return np.column_stack([_rescale(*pair) for pair in zip(smooth.T, values.T, strict=True)])


def find_factors(values: np.ndarray, n_factors: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first singular vectors and values, from the products of rows: far quicker than all of them."""
    n_rows = len(values)
    squares, left = eigh(values @ values.T, subset_by_index=[n_rows - n_factors, n_rows - 1])
    sizes, left = np.sqrt(np.maximum(squares[::-1], 0.0)), left[:, ::-1]
    return left, sizes, left.T @ values / np.maximum(sizes, 1e-12)[:, None]


def _rescale(smooth: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """A gene's smooth values with the mean and spread of those that were seen; what was seen is kept."""
    here, there = smooth[smooth > 0], seen[seen > 0]
    if min(len(here), len(there)) > 1 and here.std() > 0 and there.std() > 0:
        scaled = (smooth - here.mean()) * there.std(ddof=1) / here.std(ddof=1) + there.mean()
        smooth = np.where(smooth > 0, np.maximum(scaled, 0.0), 0.0)
    return np.where((smooth == 0) & (seen > 0), seen, smooth)


def split(nuclei: Nuclei, rng: np.random.Generator) -> Split:
    """Choose the noise on half of the cells of each type, and divide the others."""
    shuffled = [rng.permutation(np.flatnonzero(nuclei.types == kind)) for kind in (0, 1)]
    choosing = np.concatenate([cells[: len(cells) // 2] for cells in shuffled])
    columns = np.append(nuclei.markers, choose_noise(nuclei.values[choosing], nuclei.markers))
    parts: tuple[list[int], ...] = ([], [], [])
    for cells in shuffled:
        rest = cells[len(cells) // 2 :]
        edges = [round(part * len(rest)) for part in PARTS]
        for part, own in zip(parts, np.split(rest, edges), strict=True):
            part.extend(own)
    return Split(*(_take(nuclei, np.array(part), columns) for part in parts))


def choose_noise(values: np.ndarray, markers: np.ndarray) -> np.ndarray:
    """The most variable genes that are not correlated with a marker."""
    spread = values.std(axis=0)
    scaled = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    related = np.abs(scaled[:, markers].T @ scaled / len(values)).max(axis=0)
    allowed = np.flatnonzero((related < MOST_CORRELATED) & (spread > 0))
    return allowed[np.argsort(-spread[allowed], kind="stable")][:N_NOISE]


def _take(nuclei: Nuclei, cells: np.ndarray, columns: np.ndarray) -> Part:
    types = nuclei.types[cells]
    relevant = np.zeros((len(cells), len(columns)), bool)
    relevant[np.arange(len(cells)), types] = True
    values = nuclei.values[np.ix_(cells, columns)].astype(np.float32)
    return Part(values, types, relevant, types, nuclei.genes[columns])
