"""Public data sets, read from the folder in which you have them; nothing is ever downloaded.

=========================  ==========================================================  ================
function                   what a sample is                                            groups
=========================  ==========================================================  ================
`load_brodatz`             one of Brodatz' texture plates                              plate
`load_brodatz_mosaics`     plate of a mosaic                                           plate
`load_randen`              patch of a training texture of a mosaic                     row of the patch
`load_feret`               face: image or 43×43 covariance                             pose
`load_hdm05`               motion: joint positions, (frames, joints, 3)                subject
`load_flickr_materials`    photograph of a material, with a mask                       close-up, object
`load_ethz`                pedestrian                                                  sequence
`load_ucf_sports`          film of an action, cut to the region of interest            clip
`load_covariances`         ready covariance from an .npz file                          as in the file
=========================  ==========================================================  ================

Each returns a `spdatoms.datasets.Dataset`; `load_brodatz_mosaics` and `load_randen` return a dictionary with one for
every mosaic, `load_covariances` for every file. All functions look at every file before they return: files
that are missing or cannot be read lead to an error that names them, or with ``on_error="warn"`` to a warning
that names what was left out.
"""

from __future__ import annotations

from spdatoms.paper.datasets._problems import DatasetWarning
from spdatoms.paper.datasets.brodatz import load_brodatz, load_brodatz_mosaics
from spdatoms.paper.datasets.covariances import load_covariances
from spdatoms.paper.datasets.ethz import load_ethz
from spdatoms.paper.datasets.feret import load_feret
from spdatoms.paper.datasets.flickr_materials import load_flickr_materials
from spdatoms.paper.datasets.hdm05 import load_hdm05
from spdatoms.paper.datasets.randen import load_randen
from spdatoms.paper.datasets.ucf_sports import load_ucf_sports

__all__ = [
    "DatasetWarning",
    "load_brodatz",
    "load_brodatz_mosaics",
    "load_covariances",
    "load_ethz",
    "load_feret",
    "load_flickr_materials",
    "load_hdm05",
    "load_randen",
    "load_ucf_sports",
]
