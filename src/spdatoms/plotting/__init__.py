"""Pictures of dictionaries, codes and learning runs, in the style of scikit-learn's displays.

A display holds the data of a picture. ``from_estimator`` (or ``from_codes``) makes and draws it, and
``plot`` draws it again, in other axes if wanted. ``ax_`` and ``figure_`` are those of matplotlib, which
comes with ``pip install 'spdatoms[plot]'``. All pictures can be read in grey.
"""

from spdatoms.plotting._atoms import AtomsDisplay
from spdatoms.plotting._bandwidth import BandwidthPenaltyDisplay
from spdatoms.plotting._channels import ChannelRelevanceDisplay
from spdatoms.plotting._codes import CodesDisplay
from spdatoms.plotting._drift import DriftDisplay
from spdatoms.plotting._explanation import ExplanationDisplay
from spdatoms.plotting._learning_curve import LearningCurveDisplay
from spdatoms.plotting._path import RegularisationPathDisplay
from spdatoms.plotting._usage import AtomUsageDisplay

__all__ = [
    "AtomUsageDisplay",
    "AtomsDisplay",
    "BandwidthPenaltyDisplay",
    "ChannelRelevanceDisplay",
    "CodesDisplay",
    "DriftDisplay",
    "ExplanationDisplay",
    "LearningCurveDisplay",
    "RegularisationPathDisplay",
]
