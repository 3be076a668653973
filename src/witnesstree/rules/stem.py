"""A light stemmer for English words, our own: walks, walked and walking meet; other languages pass nearly untouched."""

from __future__ import annotations

from typing import Final

_VOWELS: Final = frozenset("aeiouy")
_KEPT_DOUBLE: Final = frozenset("lsz")
_IRREGULAR: Final = """
be am is are was were been being, have has had having, do does did done doing, go goes went gone going, get got gotten, make made,
take took taken, give gave given, come came, see saw seen, know knew known, think thought, find found, tell told, say said,
become became, leave left, feel felt, bring brought, buy bought, begin began begun, keep kept, hold held, write wrote written,
stand stood, hear heard, mean meant, meet met, run ran, pay paid, sit sat, speak spoke spoken, lie lay lain, lead led,
grow grew grown, lose lost, fall fell fallen, send sent, build built, understand understood, draw drew drawn,
break broke broken, spend spent, rise rose risen, drive drove driven, wear wore worn, choose chose chosen, eat ate eaten,
win won, teach taught, catch caught, fight fought, sell sold, sing sang sung, swim swam swum, sleep slept, ride rode ridden,
fly flew flown, throw threw thrown, forget forgot forgotten, hide hid hidden, steal stole stolen, wake woke woken,
drink drank drunk, shoot shot, show shown, stick stuck, seek sought, shake shook shaken, freeze froze frozen, sink sank sunk,
child children, man men, woman women, person people, mouse mice, foot feet, tooth teeth, wife wives, knife knives,
shelf shelves, wolf wolves, half halves
"""
_FORMS: Final = {form: line.split()[0] for line in _IRREGULAR.split(",") for form in line.split()[1:]}
"""Irregular forms to the word that they belong to. Memories and questions go through it alike: a word still meets itself."""


def stem(word: str) -> str:
    """Return the stem of a lower-case word; what is short or not plain letters stays as it is."""
    if len(word) < 3 or not word.isascii() or not word.isalpha():
        return word
    word = _FORMS.get(word, word)
    if len(word) < 4:
        return word
    word = _without_ending(_without_plural(word))
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    if word.endswith("ion") and len(word) > 7:
        word = word[:-3]
    word = _without_vowel(word)
    if word.endswith("at") and len(word) > 5:  # education, educate, educated
        word = word[:-2]
    return _without_vowel(word)


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_ending(word: str) -> str:
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= 3 and not _VOWELS.isdisjoint(root):
            is_doubled = len(root) > 3 and root[-1] == root[-2] and root[-1] not in _KEPT_DOUBLE
            return root[:-1] if is_doubled else root
    return word


def _without_vowel(word: str) -> str:
    """Return a word without an e at its end; a y there becomes an i (city, cities)."""
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word
