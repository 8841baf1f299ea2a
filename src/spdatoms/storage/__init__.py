"""`save` and `load`: estimators as files of arrays and JSON, without pickle.

Loading runs no code of the file: it names classes from a list, and everything else in it is data. The
format is described in ``docs/guide/storage.md``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from spdatoms._utils import parameters as allow
from spdatoms._utils.sealed_archive import Metadata, StorageError, read_container, write_container
from spdatoms._utils.typing import Array
from spdatoms._utils.version import __version__
from spdatoms.storage._classes import stored_class
from spdatoms.storage._values import Decoder, Encoder

__all__ = ["StorageError", "load", "save"]

_FORMAT = "spdatoms model"
_VERSION = 1
#: What constructors and checks raise when values do not make a model.
_NO_MODEL = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


@allow.checks(path=allow.PATH)
def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write an estimator, fitted or not, to a file that `load` reads.

    The file is written whole or not at all: if anything goes wrong the one that was there before
    stays. It is the same, byte for byte, for the same estimator. If two save at the same time, the last one wins.

    Parameters
    ----------
    estimator : estimator
        Any estimator of spdatoms, or a pipeline of them and of the few of scikit-learn that
        ``docs/guide/storage.md`` lists.
    path : path-like
        The file, with whatever ending; its directory must exist.

    Raises
    ------
    StorageError
        If the estimator holds something that is not data, such as a function, or what `load` would refuse.
    OSError
        If the file cannot be written, is read-only, or is a link, a folder or a device.

    See Also
    --------
    load : The way back.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from spdatoms import SPDKMeans
    >>> from spdatoms.storage import load, save
    >>> X = np.array([1.0, 1.1, 9.0, 10.0])[:, None, None] * np.eye(2)
    >>> kmeans = SPDKMeans(n_clusters=2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(kmeans, f"{folder}/model.spdatoms")
    ...     again = load(f"{folder}/model.spdatoms")
    >>> np.array_equal(again.predict(X), kmeans.predict(X))
    True
    """
    if not isinstance(estimator, BaseEstimator) or stored_class(type(estimator)) is None:
        raise StorageError(
            "estimator must be an estimator of spdatoms or a pipeline of them, got "
            f"{type(estimator).__name__}."
            + (" Save its best_estimator_." * hasattr(estimator, "best_estimator_"))
        )
    encoder = Encoder()
    content = encoder.encode(estimator, "")
    metadata = {
        "format": _FORMAT,
        "version": _VERSION,
        "spdatoms": __version__,
        "scikit-learn": sklearn.__version__ if encoder.of_another_library else None,
        "estimator": content,
    }
    try:
        _READERS[_VERSION](metadata, encoder.arrays)
    except _NO_MODEL as e:
        raise StorageError(
            f"{type(estimator).__name__} cannot be saved, because load would refuse it: "
            f"{str(e).rstrip('.')}."
        ) from e
    write_container(path, metadata, encoder.arrays)


@allow.checks(path=allow.PATH)
def load(path: str | os.PathLike[str]) -> Any:
    """Return the estimator that `save` wrote to a file.

    Its predictions are the same to the last bit, on the same machine with the same libraries.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    estimator

    Raises
    ------
    StorageError
        If the file was cut short or altered, is no model of spdatoms, or was written by a later
        version of spdatoms in a format that this one does not know.

    See Also
    --------
    save : It writes such files, and its example shows both.
    """
    metadata, arrays = read_container(path, lambda found: _check_format(found, path))
    try:
        return _READERS[metadata["version"]](metadata, arrays)
    except _NO_MODEL as e:
        raise StorageError(
            f"{os.fspath(path)!r} does not describe a model: {str(e).rstrip('.')}."
        ) from e


def _check_format(metadata: Metadata, path: str | os.PathLike[str]) -> None:
    kind, version = metadata.get("format"), metadata.get("version")
    if kind != _FORMAT:
        raise StorageError(f"{os.fspath(path)!r} is not a model but a {kind}.")
    if type(version) is not int or version not in _READERS:
        raise StorageError(
            f"{os.fspath(path)!r} was written by spdatoms {metadata.get('spdatoms')} in version "
            f"{version} of the format. This is spdatoms {__version__}, which reads versions "
            f"up to {_VERSION}: update spdatoms."
        )


def _read_1(metadata: Metadata, arrays: dict[str, Array]) -> Any:
    estimator = Decoder(arrays).decode(metadata["estimator"])
    written = metadata["scikit-learn"]
    if not isinstance(estimator, BaseEstimator) or not isinstance(written, str | None):
        raise ValueError("its metadata are not those of an estimator")
    if written not in (None, sklearn.__version__):
        warnings.warn(
            InconsistentVersionWarning(
                estimator_name=type(estimator).__name__,
                current_sklearn_version=sklearn.__version__,
                original_sklearn_version=written,
            ),
            stacklevel=3,
        )
    return estimator


#: How to read each version of the format. A version that was released stays here.
_READERS: dict[int, Callable[[Metadata, dict[str, Array]], Any]] = {1: _read_1}
