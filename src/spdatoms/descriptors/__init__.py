"""What becomes an SPD matrix: images, videos and skeletons described by covariances of features.

Functions named ``…_features`` give the features of one image or video; `region_covariances` makes
covariances of any stack of features; classes named ``…Covariance`` are scikit-learn transformers that
do both. Gabor wavelets, SIFT and optical flow come with ``pip install 'spdatoms[vision]'``.

Each item of X is described by itself. Where an item has one region, `transform` returns an array
(m, n, n); where it has several, a list with an array (n_regions, n, n) for every item.
"""

from spdatoms.descriptors.gabor import face_features, gabor_bank, gabor_magnitudes
from spdatoms.descriptors.images import (
    FaceCovariance,
    PersonCovariance,
    RegionCovariance,
    TextureCovariance,
)
from spdatoms.descriptors.joints import JointCovariance
from spdatoms.descriptors.kinematics import KinematicCovariance, kinematic_features
from spdatoms.descriptors.materials import MaterialCovariance, material_features
from spdatoms.descriptors.pixels import person_features, texture_features
from spdatoms.descriptors.regions import region_covariances

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
