"""Simulated counts of single cells, in which the marker genes of every cell type are known."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

BLOCK_CELLS = 250  # drawn at one time
BASE_RATES = (0.6, 0.3)  # shape and rate of the gamma law of a gene's mean, as splatter fits them
COMMON_DISPERSION, DISPERSION_DF = 0.1, 60.0  # likewise: of the biological variation, scaled by a chi-square
LIBRARY = (7.8, 0.35)  # mean and standard deviation of the log of a cell's molecules
DROPOUT = (-1.0, 1.5)  # log mean at which half of the molecules' genes are lost, and slope


class Setting(NamedTuple):
    """How hard the markers of a simulation are to find."""

    folds: tuple[float, float]  # range of a marker's fold change, drawn by equal factors
    fewest_molecules: float  # of a marker, in a thousandth of the molecules of a cell outside its type
    shared: float  # share of the markers of a type that another type has, too
    n_programmes: int  # sets of genes that are up together in some cells of every type
    programme_size: int
    programme_fold: float
    activity: tuple[float, float]  # share of the cells of a type in which a programme is active, drawn evenly
    depth_spread: float  # standard deviation of the log of a type's molecules a cell
    drops: bool


SETTINGS = {
    "easy": Setting((3.0, 8.0), 0.1, 0.0, 2, 40, 3.0, (0.2, 0.2), 0.0, False),
    "hard": Setting((1.5, 4.0), 0.02, 0.3, 4, 40, 3.0, (0.05, 0.4), 0.3, True),
}


class Cells(NamedTuple):
    """Simulated cells."""

    counts: sp.csr_array  # (n_cells, n_genes), molecules
    types: np.ndarray  # (n_cells,), names
    donors: np.ndarray  # (n_cells,), names
    genes: np.ndarray  # (n_genes,), names
    type_names: np.ndarray  # (n_types,)
    markers: np.ndarray  # (n_types, n_genes), whether a gene is up in a type
    shared: np.ndarray  # (n_genes,), whether it is up in two types
    programmes: np.ndarray  # (n_programmes, n_genes), genes that no type has of its own


def make_cells(
    n_cells: int = 5000,
    n_genes: int = 20000,
    *,
    n_types: int = 8,
    n_markers: int = 20,
    n_donors: int = 4,
    setting: str = "easy",
    seed: int = 0,
) -> Cells:
    """Draw negative-binomial counts of cells of several types.

    Parameters
    ----------
    n_cells, n_genes, n_types
        Sizes. The first type is the most frequent, with about three times the cells of the last.
    n_markers
        Marker genes of each type: those with a higher mean in it.
    n_donors
        Donors; the means of all genes differ a little between them.
    setting
        ``"easy"``: folds of 3 to 8, and programmes (sets of genes that are up together, as in the cell cycle) that
        are equally active in all types. ``"hard"``: folds of 1.5 to 4, genes of low expression among the markers,
        three in ten of them shared with another type, programmes that are more active in some types than in
        others, types that differ in depth, and dropout.
    seed
        Seed.

    Returns
    -------
    Cells
        Counts, types, donors and names, and which genes are markers of which type.

    Notes
    -----
    A gene's mean, dispersion and dropout follow the laws of splatter (Zappia, Phipson and Oshlack, Genome Biology
    2017), with constants near its defaults. Call such data simulated wherever you show them.

    """
    if setting not in SETTINGS:
        raise ValueError(f"there is no setting {setting!r}; there are {', '.join(SETTINGS)}")
    if n_types * n_markers > n_genes // 2:
        raise ValueError(f"{n_types} types with {n_markers} markers each are too many for {n_genes} genes")
    chosen, rng = SETTINGS[setting], np.random.RandomState(seed)
    rates = rng.gamma(BASE_RATES[0], 1 / BASE_RATES[1], n_genes)
    rates /= rates.sum()
    markers, programmes = _draw_genes(rng, chosen, rates, n_types, n_markers)
    factors = _draw_factors(rng, chosen, markers)
    shares = np.linspace(3.0, 1.0, n_types)
    codes = rng.choice(n_types, n_cells, p=shares / shares.sum())
    donors = rng.randint(n_donors, size=n_cells)
    depth = np.exp(chosen.depth_spread * rng.standard_normal(n_types))[codes]
    molecules = depth * rng.lognormal(*LIBRARY, n_cells)
    activity = rng.uniform(*chosen.activity, (n_types, len(programmes)))
    active = rng.uniform(size=(n_cells, len(programmes))) < activity[codes]
    by_donor = np.exp(0.1 * rng.standard_normal((n_donors, n_genes)))
    sizes = 1 / (COMMON_DISPERSION * DISPERSION_DF / rng.chisquare(DISPERSION_DF, n_genes))
    blocks = []
    for start in range(0, n_cells, BLOCK_CELLS):
        cells = slice(start, start + BLOCK_CELLS)
        means = rates * factors[codes[cells]] * by_donor[donors[cells]]
        means *= chosen.programme_fold ** (active[cells] @ programmes)
        means *= (molecules[cells] / means.sum(axis=1))[:, None]
        blocks.append(_draw_counts(rng, means, sizes, drops=chosen.drops))
    names = np.array([f"type {place + 1}" for place in range(n_types)])
    return Cells(
        counts=sp.csr_array(sp.vstack(blocks, format="csr")),
        types=names[codes],
        donors=np.array([f"donor {place + 1}" for place in range(n_donors)])[donors],
        genes=np.array([f"gene{place + 1}" for place in range(n_genes)]),
        type_names=names,
        markers=markers,
        shared=markers.sum(axis=0) > 1,
        programmes=programmes > 0,
    )


def _draw_genes(
    rng: np.random.RandomState, setting: Setting, rates: np.ndarray, n_types: int, n_markers: int
) -> tuple[np.ndarray, np.ndarray]:
    """Markers of each type, and the genes of each programme, which are no markers."""
    n_shared = round(setting.shared * n_markers)
    expressed = rng.permutation(np.flatnonzero(rates > setting.fewest_molecules / 1000))
    n_own = n_types * (n_markers - n_shared)
    n_needed = n_own + n_types * n_shared // 2 + setting.n_programmes * setting.programme_size
    if len(expressed) < n_needed:
        raise ValueError(f"{n_needed} expressed genes are needed, and only {len(expressed)} of {len(rates)} are")
    markers = np.zeros((n_types, len(rates)), bool)
    for place, gene in enumerate(expressed[:n_own]):
        markers[place % n_types, gene] = True
    used = n_own
    # Type k shares half of its shared markers with type k + 1, the other half with type k - 1.
    for place in range(n_types * n_shared // 2):
        first = place % n_types
        markers[[first, (first + 1) % n_types], expressed[used]] = True
        used += 1
    size = setting.programme_size
    programmes = np.zeros((setting.n_programmes, len(rates)))
    for programme in programmes:
        programme[expressed[used : used + size]] = 1.0
        used += size
    return markers, programmes


def _draw_factors(rng: np.random.RandomState, setting: Setting, markers: np.ndarray) -> np.ndarray:
    """Fold change of each gene in each type."""
    low, high = np.log(setting.folds)
    return np.where(markers, np.exp(rng.uniform(low, high, markers.shape)), 1.0)


def _draw_counts(rng: np.random.RandomState, means: np.ndarray, sizes: np.ndarray, *, drops: bool) -> sp.csr_array:
    """Negative-binomial counts as a gamma mixture of Poisson laws; entries are lost the likelier the rarer."""
    drawn = rng.poisson(means * rng.standard_gamma(np.broadcast_to(sizes, means.shape)) / sizes)
    counts = sp.csr_array(drawn.astype(np.float32))
    if drops:
        middle, slope = DROPOUT
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        lost = 1 / (1 + np.exp(slope * (np.log(means[rows, counts.indices]) - middle)))
        counts.data[rng.uniform(size=len(lost)) < 0.5 * lost] = 0.0
        counts.eliminate_zeros()
    return counts
