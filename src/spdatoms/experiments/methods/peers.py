"""The classifiers of SPD matrices that are compared over many data sets, each in its usual best form."""

from __future__ import annotations

from typing import Any

from spdatoms.experiments.experiment import Method, Setting
from spdatoms.experiments.methods.classifiers import Make, made, plain_sparse

#: The classifier that chooses its parameters by cross-validation.
CHOSEN = "SPDSparseClassifierCV"
_C_CHOSEN = "C chosen by cross-validation"


def compared_classifiers() -> dict[str, Method]:
    """Return the classifiers of this library and their peers, by name."""
    return {method.name: method for method in _COMPARED}


def _in_tangent_space(model: str) -> Make:
    """Return what makes a classifier of tangent vectors."""

    def make(setting: Setting) -> Any:
        from sklearn.pipeline import make_pipeline

        from spdatoms.experiments.methods.tangent_vectors import TangentVectors

        return make_pipeline(TangentVectors(), _vector_classifier(model))

    return make


def _behind_landmarks(model: str) -> Make:
    """Return what makes a classifier of the vectors of `SPDNystroem`."""

    def make(setting: Setting) -> Any:
        from sklearn.pipeline import make_pipeline

        from spdatoms.kernels import SPDNystroem

        landmarks = SPDNystroem(random_state=setting.seed, n_jobs=setting.n_jobs)
        return make_pipeline(landmarks, _vector_classifier(model))

    return make


def _vector_classifier(model: str) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC, LinearSVC

    from spdatoms.experiments.methods.kernel_machines import with_chosen_c

    if model == "LDA":
        return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    machines = {"LR": LogisticRegression(max_iter=500), "LinearSVC": LinearSVC(), "SVC": SVC()}
    return with_chosen_c(machines[model])


def _tangent(model: str, note: str, make: Make | None = None) -> Method:
    return Method(
        f"tangent space + {model}",
        make or _in_tangent_space(model),
        note=f"tangent vectors at the mean (pyRiemann), {note}",
        kind="external",
    )


def _discriminant(pooled: bool) -> Make:
    def make(setting: Setting) -> Any:
        from spdatoms.experiments.methods.tangent_vectors import TangentDiscriminant

        return TangentDiscriminant(pooled)

    return make


def _machine(name: str, metric: str, note: str, kind: Any = "usual") -> Method:
    make = made("experiments.methods.kernel_machines", "KernelSVM", metric=metric)
    note = f"SVM with the kernel exp(−β·d), {note}; C and β chosen by cross-validation"
    return Method(f"kernel SVM {name}", make, note=note, kind=kind)


_COMPARED = (
    Method(
        "RSR-S",
        plain_sparse("stein"),
        note="the paper's sparse representation, Stein kernel",
    ),
    Method(
        "RSR-J",
        plain_sparse("jeffrey"),
        note="the paper's sparse representation, Jeffrey kernel",
    ),
    Method(
        "SPDSparseClassifier",
        made("classification", "SPDSparseClassifier"),
        note="with its defaults: an average over sixteen kernels and penalties",
    ),
    Method(
        CHOSEN,
        made("classification", "SPDSparseClassifierCV"),
        note="with its defaults: thirty of them weighted by cross-validation",
    ),
    Method(
        "MDM", made("baselines", "MinimumDistanceToMean"), note="nearest mean, affine-invariant"
    ),
    Method(
        "FgMDM",
        made("experiments.methods.tangent_vectors", "FilteredMeans"),
        note="nearest mean after a projection on discriminant directions of the tangent space (pyRiemann)",
        kind="external",
    ),
    _tangent("LR", f"logistic regression, {_C_CHOSEN}"),
    _tangent("LinearSVC", f"linear SVM, {_C_CHOSEN}"),
    _tangent(
        "LDA",
        "linear discriminant, scikit-learn's shrinkage='auto' (of the covariance of each class)",
    ),
    _tangent(
        "LDA LW",
        "linear discriminant, Ledoit and Wolf's shrinkage of the covariance of each class",
        _discriminant(pooled=False),
    ),
    _tangent(
        "LDA pooled",
        "linear discriminant, Ledoit and Wolf's shrinkage of one covariance of all classes",
        _discriminant(pooled=True),
    ),
    _tangent("SVC", f"SVM with a Gaussian kernel of the usual width, {_C_CHOSEN}"),
    _machine("Stein", "stein", "Stein divergence"),
    _machine("logEuc", "logeuclid", "log-Euclidean"),
    _machine("tangent", "tangent", "squared distances of tangent vectors (pyRiemann)", "external"),
    Method(
        "1-NN AIRM",
        made("classification", "SPDKNeighborsClassifier", metric="riemann"),
        note="nearest neighbour, affine-invariant",
    ),
    Method(
        "1-NN Stein",
        made("classification", "SPDKNeighborsClassifier", metric="stein"),
        note="nearest neighbour, Stein divergence",
    ),
    Method(
        "SPDNystroem + LinearSVC",
        _behind_landmarks("LinearSVC"),
        note=f"landmark vectors of the Stein kernel, linear SVM, {_C_CHOSEN}",
    ),
    Method(
        "SPDNystroem + LR",
        _behind_landmarks("LR"),
        note=f"landmark vectors of the Stein kernel, logistic regression, {_C_CHOSEN}",
    ),
    Method(
        "DivergenceKernel + SVC",
        made("experiments.methods.kernel_machines", "PrecomputedSVM"),
        note=f"SVC(kernel='precomputed') on the Stein kernel with the automatic β, {_C_CHOSEN}",
    ),
)
