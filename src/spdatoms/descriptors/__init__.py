"""Images, videos and skeletons as SPD matrices: covariances of features.

Functions named ``…_features`` return the features of one image or video; `region_covariances` returns
the covariances of any stack of features; classes named ``…Covariance`` are transformers of scikit-learn
that do both. Gabor wavelets, SIFT and optical flow need ``pip install 'spdatoms[vision]'``.

Each item of X is described by itself, and `transform` returns an array (m, n, n). Classes with windows
also have ``transform_regions``, which returns a list with an array (n_regions, n, n) for every item.
"""

from spdatoms.descriptors.gabor import FaceCovariance, face_features, gabor_bank, gabor_magnitudes
from spdatoms.descriptors.joints import JointCovariance
from spdatoms.descriptors.kinematics import KinematicCovariance, kinematic_features
from spdatoms.descriptors.materials import MaterialCovariance, material_features
from spdatoms.descriptors.pixels import (
    PersonCovariance,
    TextureCovariance,
    person_features,
    texture_features,
)
from spdatoms.descriptors.regions import region_covariances
from spdatoms.descriptors.transformers import RegionCovariance

__all__ = [
    "FaceCovariance",
    "JointCovariance",
    "KinematicCovariance",
    "MaterialCovariance",
    "PersonCovariance",
    "RegionCovariance",
    "TextureCovariance",
    "face_features",
    "gabor_bank",
    "gabor_magnitudes",
    "kinematic_features",
    "material_features",
    "person_features",
    "region_covariances",
    "texture_features",
]
