"""Covariances of joint positions over a temporal hierarchy, and a linear SVM (Cov3DJ)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.svm import SVC

from spdatoms._utils import parameters as allow
from spdatoms._utils.progress import watched
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.base import check_labels, checked_fit
from spdatoms.descriptors import inputs as check
from spdatoms.descriptors.covariance import sample_moments
from spdatoms.geometry.half_vectors import vech
from spdatoms.paper.baselines.items import ItemClassifier

#: Windows halve from level to level: more of them than any sequence has frames for.
_LEVELS = allow.integer(1, 20)


@allow.with_parameters
class Cov3DJClassifier(ItemClassifier):
    """Classification of skeletons by covariances over windows of time (Cov3DJ).

    A linear SVM on v = (triu C_1, triu C_2, …) / ‖·‖, C_i being covariances over windows of a sequence.

    On level l = 0, 1, … windows of T/2^l frames, of the T frames of the sequence, overlap by half. C_i is
    the covariance of the joint positions (x_1 … x_K, y_1 … y_K, z_1 … z_K) in window i. Before that, each
    coordinate of a sequence is scaled to the range from 0 to 1 [1]_.

    Parameters
    ----------
    levels : int, default=2
        The number of levels; 1 is the covariance over the whole sequence alone.
    overlap : bool, default=True
        Windows of a level overlap by half; otherwise they are side by side.
    C : float, default=10.0
        The penalty of violated margins of the SVM.

    Attributes
    ----------
    classes_
    svm_ : SVC
        The support vector machine, one against one.
    n_joints_ : int
        The number K of joints.

    References
    ----------
    .. [1] M. Hussein, M. Torki, M. Gowayyed, M. El-Saban, Human action recognition using a temporal
       hierarchy of covariance descriptors on 3D joint locations, IJCAI 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import Cov3DJClassifier
    >>> t = np.linspace(0, 1, 40)[:, None, None]
    >>> wave, jump = np.sin(9 * t) * np.eye(3)[[0, 1]], t**2 * np.eye(3)[[2, 2]]
    >>> model = Cov3DJClassifier().fit([wave, jump], ["wave", "jump"])
    >>> model.predict([2 * jump[::2], 3 * wave[::2]])
    array(['jump', 'wave'], dtype='<U4')
    """

    levels: int = allow.parameter(_LEVELS, default=2)
    overlap: bool = allow.parameter(allow.BOOLEAN, default=True)
    C: float = allow.parameter(allow.real(above=0), default=10.0)
    verbose: int = allow.parameter(allow.VERBOSE, default=0)

    @checked_fit
    def fit(self, X: Any, y: ArrayLike) -> Any:
        """Fit the SVM.

        Parameters
        ----------
        X : sequence of array-like of shape (frames, joints, 3)
            The positions of joints.
        y : array-like of shape (m,)
            The labels of the sequences.
        """
        sequences = _sequences(X)
        self.classes_, labels = check_labels(y, len(sequences))
        self.n_joints_ = sequences[0].shape[1]
        self.svm_ = SVC(kernel="linear", C=self.C).fit(self._descriptors(sequences), labels)
        return self

    def _decisions(self, X: Any) -> Floats:
        return np.asarray(self.svm_.decision_function(self._queries(X)))

    def _best(self, X: Any) -> Indices:
        return np.asarray(self.svm_.predict(self._queries(X)))

    def _queries(self, X: Any) -> Floats:
        sequences = _sequences(X)
        if sequences[0].shape[1] != self.n_joints_:
            raise ValueError(
                f"X holds sequences of {sequences[0].shape[1]} joints, but those of fit had "
                f"{self.n_joints_}."
            )
        return self._descriptors(sequences)

    def _descriptors(self, sequences: list[FloatArray]) -> Floats:
        levels, overlap = self.levels, self.overlap
        watching = watched(sequences, "descriptors")
        return np.stack([cov3dj(s, levels=levels, overlap=overlap) for s in watching])


@allow.checks(levels=_LEVELS, overlap=allow.BOOLEAN)
def cov3dj(sequence: ArrayLike, *, levels: int = 2, overlap: bool = True) -> Floats:
    """Return v = (triu C_1, triu C_2, …) / ‖·‖, the descriptor of `Cov3DJClassifier`.

    Parameters
    ----------
    sequence : array-like of shape (frames, joints, 3)
        The positions of joints.
    levels : int, default=2
        The number of levels of the hierarchy.
    overlap : bool, default=True
        Windows of a level overlap by half.

    Returns
    -------
    ndarray of shape (n_windows · 3K(3K+1)/2,)
        Of length one; zero for a skeleton at rest.
    """
    positions = check.joint_sequence(sequence, "sequence").astype(np.float64)
    low, high = positions.min(axis=(0, 1)), positions.max(axis=(0, 1))
    positions = (positions - low) / np.where(high > low, high - low, 1.0)
    coordinates = positions.swapaxes(1, 2).reshape(len(positions), -1)
    parts = [coordinates[window] for window in hierarchy(len(coordinates), levels, overlap)]
    v = np.concatenate([vech(sample_moments(part)[1], order="upper") for part in parts])
    length = np.linalg.norm(v)
    return np.asarray(v / length if length > 0.0 else v)


def hierarchy(frames: int, levels: int, overlap: bool) -> Iterator[slice]:
    """Yield the windows of all levels: [i s, i s + L) with L = T/2^l and the step s = L/2 or L.

    A window has at least one frame, even if a level has more windows than the sequence has frames.
    """
    for level in range(levels):
        length = frames / 2**level
        step, count = (length / 2, 2 ** (level + 1) - 1) if overlap else (length, 2**level)
        for i in range(count):
            start = min(round(i * step), frames - 1)
            yield slice(start, max(round(i * step + length), start + 1))


def _sequences(X: Any) -> list[FloatArray]:
    """Return checked sequences with the same number of joints."""
    items = check.as_items(X, "sequences", 3)
    sequences = [check.joint_sequence(item, f"X[{i}]") for i, item in enumerate(items)]
    for i, sequence in enumerate(sequences):
        if sequence.shape[1] != sequences[0].shape[1]:
            raise ValueError(
                f"X[{i}] has {sequence.shape[1]} joints, but X[0] {sequences[0].shape[1]}: all "
                "sequences must have the same joints."
            )
    return sequences
