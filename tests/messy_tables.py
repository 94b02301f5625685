"""Tables as clinics have them, with what is wrong in them known, as German and English files."""

import numpy as np
import pandas as pd

N = 120


def make_patients(n_rows=N, seed=0):
    """Patients with numbers, a category and an outcome that follows the CRP; nothing is wrong with them yet."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "patient_id": [f"P{number:03}" for number in range(1, n_rows + 1)],
            "age": rng.normal(62, 9, n_rows).round(),
            "crp": rng.lognormal(1, 0.8, n_rows).round(2),
            "platelets": rng.normal(250_000, 40_000, n_rows).round(),
            "sex": rng.choice(["f", "m"], n_rows),
        }
    )
    risk = np.log(table["crp"]) + 0.5 * rng.normal(size=n_rows)
    table["died"] = np.where(risk > np.median(risk), "yes", "no")
    table["months"] = rng.exponential(30 * np.exp(1 - risk)).round(1) + 0.1
    return table


def write_german(table, path, odd=None):
    """Semicolons, decimal commas, points between thousands; ``odd`` maps (row, column) to an entry."""
    words = table.rename(columns={"age": "alter", "crp": "CRP", "died": "gestorben", "months": "monate"})
    words["gestorben"] = words["gestorben"].map({"yes": "ja", "no": "nein"})
    for name in ("alter", "CRP", "monate"):
        words[name] = [f"{value:g}".replace(".", ",") for value in words[name]]
    words["platelets"] = [f"{value:,.0f}".replace(",", ".") for value in words["platelets"]]
    _write(words, path, odd, sep=";", encoding="cp1252")


def write_english(table, path, odd=None):
    """Commas, decimal points, quoted commas between thousands."""
    words = table.copy()
    words["platelets"] = [f"{value:,.0f}" for value in words["platelets"]]
    _write(words, path, odd)


def _write(words, path, odd, **form):
    words = words.astype(object)
    for (row, name), entry in (odd or {}).items():
        words.loc[row, name] = entry
    words.to_csv(path, index=False, **form)
