"""Pictures of dictionaries, codes and learning runs, in the style of scikit-learn's displays.

A display holds the data of a picture. ``from_estimator`` (or ``from_codes``) makes and draws it, and
``plot`` draws it again, in other axes if wanted. ``ax_`` and ``figure_`` are those of matplotlib, which
comes with ``pip install 'spdatoms[plot]'``. All pictures can be read in grey.
"""

from spdatoms.plotting.atoms import AtomsDisplay
from spdatoms.plotting.codes import AtomUsageDisplay, CodesDisplay
from spdatoms.plotting.curves import DriftDisplay, LearningCurveDisplay
from spdatoms.plotting.decisions import ChannelRelevanceDisplay, ExplanationDisplay
from spdatoms.plotting.penalties import RegularisationPathDisplay

__all__ = [
    "AtomUsageDisplay",
    "AtomsDisplay",
    "ChannelRelevanceDisplay",
    "CodesDisplay",
    "DriftDisplay",
    "ExplanationDisplay",
    "LearningCurveDisplay",
    "RegularisationPathDisplay",
]
