"""What is recognised in place of matrices, and that the advice gives the matrices that were meant."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from spdatoms import check_spd
from spdatoms.geometry import logm, unvech, vech
from spdatoms.geometry.recognition import readings

SIGNALS = np.random.default_rng(0).standard_normal((20, 5, 100))
X = SIGNALS @ SIGNALS.swapaxes(1, 2) / 100
_TRACES = np.random.default_rng(1).standard_normal((60, 3, 30))
TENSORS = _TRACES @ _TRACES.swapaxes(1, 2) / 30


def correlations(X: Any) -> Any:
    deviations = np.sqrt(np.einsum("mii->mi", X))
    return X / deviations[:, None] / deviations[:, :, None]


def of_nilearn(X: Any, discard_diagonal: bool = False) -> Any:
    connectome = pytest.importorskip("nilearn.connectome")
    return connectome.sym_matrix_to_vec(X, discard_diagonal=discard_diagonal)


def refusal(data: Any, kind: type[Exception] = ValueError) -> str:
    with pytest.raises(kind) as error:
        check_spd(data)
    return str(error.value)


def advised(message: str, data: Any) -> list[Any]:
    """Return what the calls of an error message give."""
    import spdatoms

    calls = re.findall(
        r"(?:np\.sqrt\(2\) \* )?spdatoms\.geometry\.unvech\((?:[^()]|\([^()]*\))*\)", message
    )
    assert calls
    return [eval(call, {"np": np, "spdatoms": spdatoms, "X": data}) for call in calls]


def test_vectors_of_nilearn_with_a_unit_diagonal_have_one_reading() -> None:
    C = correlations(X)
    rows = of_nilearn(C)
    (found,) = advised(refusal(rows), rows)
    np.testing.assert_allclose(found, C, rtol=1e-12)


def test_vectors_of_nilearn_are_among_the_readings_of_half_vectors() -> None:
    rows = of_nilearn(X)
    message = refusal(rows)
    assert "nilearn (vectorize=True)" in message
    assert any(np.allclose(found, X) for found in advised(message, rows))


def test_correlations_whose_diagonal_is_one_are_not_of_nilearn() -> None:
    C = correlations(X)
    rows = vech(C)
    (found,) = advised(refusal(rows), rows)
    np.testing.assert_allclose(found, C)


@pytest.mark.parametrize("order", ["upper", "diagonal"])
def test_the_order_of_half_vectors_is_recognised(order: str) -> None:
    rows = vech(X, order=order)
    (found,) = advised(refusal(rows), rows)
    np.testing.assert_array_equal(found, X)


@pytest.mark.parametrize("order", ["fsl", "mrtrix", "dipy"])
def test_the_order_of_tensors_is_named_by_the_tool(order: str) -> None:
    volume = vech(TENSORS, order=order).reshape(3, 4, 5, 6)
    message = refusal(volume)
    assert (f'order="{order}"' in message) or order == "dipy"
    assert any(np.allclose(found, TENSORS) for found in advised(message, volume))


def test_correlations_without_a_diagonal_and_tangent_vectors_are_no_half_vectors() -> None:
    assert "without their diagonal" in refusal(of_nilearn(correlations(X), discard_diagonal=True))
    logs = logm(X) - logm(X).mean(axis=0)
    assert "look like tangent vectors" in refusal(vech(5 * logs, order="upper", weighted=True))


@pytest.mark.parametrize(
    ("read", "right"), [("dipy", "fsl"), ("fsl", "mrtrix"), ("mrtrix", "dipy")]
)
def test_tensors_in_another_order_are_named(read: str, right: str) -> None:
    message = refusal(unvech(vech(TENSORS, order=right), order=read))
    assert "unfit" in message
    assert {read, right} == set(re.findall("fsl|mrtrix|dipy", message.partition("They")[2]))


def test_tangent_matrices_partial_correlations_and_square_signals_are_named() -> None:
    logs = logm(X) - logm(X).mean(axis=0)
    assert "look like tangent vectors" in refusal(logs)
    assert "look like signals" in refusal(SIGNALS[:, :, :5])
    mixing = np.random.default_rng(2).standard_normal((20, 8, 8))
    precision = np.linalg.inv(mixing @ mixing.swapaxes(1, 2))
    partial = 2 * np.eye(8) - correlations(precision)
    assert "look like partial correlations" in refusal(partial)


def test_matrices_that_are_merely_unfit_look_like_nothing_else() -> None:
    assert "look like" not in refusal(X - 3 * np.eye(5))
    bad = X.copy()
    bad[3] = -bad[3]
    assert "look like" not in refusal(bad)


def test_bands_and_raw_diffusion_images_are_named_by_their_shape() -> None:
    message = refusal(np.stack([X, X], axis=1))
    assert "X[:, 0] for one band" in message
    assert "np.repeat(y, 2)" in message
    images = np.random.default_rng(0).uniform(0, 1000, (4, 4, 4, 33))
    assert "fit tensors first" in refusal(images)
    assert "fit tensors first" in refusal(images[..., :28])  # 28 = 7·8/2, but nothing is negative


def test_objects_of_mne_are_named() -> None:
    mne = pytest.importorskip("mne")
    info = mne.create_info(5, 100.0, "eeg", verbose="error")
    epochs = mne.EpochsArray(SIGNALS, info, verbose="error")
    assert "X.get_data()" in refusal(epochs, TypeError)
    assert "before they are averaged" in refusal(epochs.average(), TypeError)
    raw = mne.io.RawArray(SIGNALS[0], info, verbose="error")
    assert "make_fixed_length_epochs(X" in refusal(raw, TypeError)


def test_tables_of_pandas_with_a_column_of_arrays_are_named() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"label": list("ab") * 10, "cov": list(X)})
    assert "np.stack(X['cov'])" in refusal(table, TypeError)
    assert "np.stack(X)" in refusal(table["cov"], TypeError)


def test_readings_of_rows_that_are_not_finite() -> None:
    rows = vech(X)
    rows[0, 0] = np.nan
    assert readings(rows)["lower"] == 1.0
    assert readings(np.full((2, 6), np.nan)) == {}
