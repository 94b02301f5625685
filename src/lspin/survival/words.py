"""Which of two labels means that something happened: yes, died, malignant, 1; in the common languages."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

ANSWERS = {  # to a question that the name of the column asks: yes and no
    "yes": "no", "y": "n", "true": "false", "t": "f", "1": "0", "ja": "nein", "j": "n", "wahr": "falsch",
    "oui": "non", "o": "n", "vrai": "faux", "si": "no", "s": "n", "vero": "falso", "sim": "nao", "tak": "nie",
}  # fmt: skip
HAPPENED = """
    event dead died death deceased relapse relapsed recurrence recurred progression progressed failure failed
    tot gestorben verstorben tod ereignis rezidiv progress rückfall
    décédé décédée mort morte décès récidive muerto muerta fallecido fallecida muerte recaída
    morto deceduto deceduta decesso recidiva óbito falecido falecida overleden dood
    malignant malign bösartig maligne maligno maligna positive positiv positif pos positivo positiva
    case ill sick diseased disease cancer tumor tumour carcinoma krank erkrankt malade enfermo malato doente
    abnormal pathological pathologisch auffällig present
"""
NOT_HAPPENED = """
    alive living survived survivor censored lebend lebt lebendig überlebt zensiert
    vivant vivante vivo viva censuré censurado censurato levend
    benign gutartig benigne bénin bénigne benigno benigna negative negativ négatif neg negativo negativa
    control healthy well normal none gesund kontrolle sain témoin sano sana controllo saudável
    absent unauffällig nee nej
"""
NEGATION = re.compile(r"(no|not|non|nicht|kein|keine|ohne|without|sans|sin|senza|sem)_")
ASKS_ALIVE = re.compile(
    r"(is_)?(alive|living|survived|survivor|lebt|lebend|am_leben|uberlebt|ueberlebt|vivant|vivo)"
)


def plain_word(label: Any) -> str:
    """A label in small letters without accents, for comparing."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    spread = unicodedata.normalize("NFKD", str(label).strip().casefold())
    return re.sub(r"[\s_-]+", "_", "".join(sign for sign in spread if not unicodedata.combining(sign)))


YES, NO = ({plain_word(word) for word in words.split()} for words in (HAPPENED, NOT_HAPPENED))


def find_event(labels: Sequence[Any], name: str = "") -> Any | None:
    """The one of two labels that means that it happened; nothing if words do not tell.

    Parameters
    ----------
    labels
        Two labels, numbers or words.
    name
        Name of their column. Where it asks whether someone is alive, yes means that it did not happen.

    Notes
    -----
    Of 0 and 1, or -1 and 1, it is 1. Of 1 and 2 it is not known: R's survival functions take 2 for the event,
    others take 2 for no.

    """
    if len(labels) != 2:
        return None
    words = [plain_word(label) for label in labels]
    for place in (0, 1):
        word, other = words[place], words[1 - place]
        if ANSWERS.get(word) == other or (word, other) == ("1", "_1"):
            return labels[1 - place if asks_alive(name) else place]
    signs = [_sign(*words), _sign(*words[::-1])]
    if signs[0] == signs[1]:
        return None
    return labels[0] if signs[0] > signs[1] else labels[1]


def name_class(label: Any, name: str) -> str:
    """A class in words that stand alone: ``died = yes`` for an answer or a number, else the label itself."""
    word = plain_word(label)
    is_bare = word in ANSWERS or word in ANSWERS.values() or word.strip("_").replace(".", "").isdigit()
    return f"{name} = {label}" if is_bare and name else str(label)


def asks_alive(name: str) -> bool:
    """Whether a column is called ``alive`` or the like."""
    return ASKS_ALIVE.fullmatch(plain_word(name)) is not None


def _sign(word: str, other: str) -> int:
    """1 for a word that says it happened, -1 for one that says it did not, 0 for one that says neither."""
    negated = NEGATION.match(word)
    if negated and (word[negated.end() :] == other or word[negated.end() :] in YES):
        return -1
    return (word in YES) - (word in NO)
