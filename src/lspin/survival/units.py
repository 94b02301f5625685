"""The unit of survival times as their column says it, and round times to give risks at."""

import re
from collections.abc import Sequence

import numpy as np

from lspin.survival.words import plain_word

PER_YEAR = {"days": 365.25, "weeks": 365.25 / 7, "months": 12.0, "years": 1.0}
WORDS = {
    "days": "day days tag tage tagen jour jours dia dias giorno giorni dag dagen",
    "weeks": "week weeks wk wks woche wochen semaine semaines semana semanas settimana settimane",
    "months": "month months mo mos mon mths monat monate monaten mois mes meses mese mesi maand maanden",
    "years": "year years yr yrs jahr jahre jahren an ans annee annees ano anos anno anni jaar jaren",
}
UNIT_OF = {word: unit for unit, words in WORDS.items() for word in words.split()}
YEARS = (1, 3, 5)
DAYS = (30, 90, 180)
LEAST_FOLLOWED = 0.05  # part of the samples still followed at the last of the times


def guess_unit(name: str) -> str | None:
    """Days, weeks, months or years, if the name of a column says so, such as ``OS_MONTHS``; else nothing."""
    spread = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name))
    found = {UNIT_OF[word] for word in re.split(r"[\W\d_]+", plain_word(spread)) if word in UNIT_OF}
    return found.pop() if len(found) == 1 else None


def choose_times(time: np.ndarray, unit: str | None) -> list[float]:
    """Times to give risks at: one, three and five years as far as samples were followed, else round numbers.

    Parameters
    ----------
    time
        Follow-up times of the samples.
    unit
        Of the times, if it is known.

    """
    last = float(np.quantile(time, 1 - LEAST_FOLLOWED))
    if unit in PER_YEAR:
        for candidates in (
            [year * PER_YEAR[unit] for year in YEARS],
            [day * PER_YEAR[unit] / 365.25 for day in DAYS],
        ):
            if kept := [float(f"{at:.6g}") for at in candidates if at <= last]:
                return kept
    return _round_times(last)


def _round_times(last: float) -> list[float]:
    """One to three round numbers that part the follow-up."""
    if not last > 0:
        return []
    rough = last / 3.5
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * max(factor for factor in (1, 2, 2.5, 5) if factor * power <= rough * (1 + 1e-9))
    return [float(f"{place * step:.6g}") for place in (1, 2, 3)]


def read_times(times: Sequence[float], last: float) -> list[float]:
    """Times to give risks at, in rising order; those that the model knows nothing of are an error."""
    numbers = sorted({float(at) for at in times})
    for at in numbers:
        if not 0 < at <= last:
            raise ValueError(
                f"no risk can be given at time {at:g}: the times of the training rows range from 0 to {last:g}"
            )
    return numbers


def word_time(at: float, unit: str | None) -> str:
    """A time in words: in years where it is a whole number of them."""
    if unit is None:
        return f"time {at:g}"
    years = at / PER_YEAR[unit] if unit in PER_YEAR else 0.5
    if abs(years - round(years)) < 0.01 and round(years) >= 1:
        return f"{round(years)} year{'s' if round(years) > 1 else ''}"
    return f"{at:g} {unit}"
