"""Dictionaries of SPD atoms, learned so that the objective only falls."""

from spdatoms.dictionary.learning import SPDDictionaryLearning
from spdatoms.dictionary.novelty import SPDNovelty
from spdatoms.dictionary.per_class import class_dictionary

__all__ = ["SPDDictionaryLearning", "SPDNovelty", "class_dictionary"]
