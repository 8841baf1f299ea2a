"""Which classes of scikit-learn a file may name, and what their objects hold."""

from __future__ import annotations

from importlib import import_module

from spdatoms.layout import OF_SCIKIT_LEARN, Held, Labels, Maybe, Numbers, Size, Stored, holds

#: Of scikit-learn: what stands after features in a pipeline and consists of arrays that NumPy alone
#: computes with, and splitters. (A support vector machine with a kernel hands its arrays to C code that
#: trusts their lengths.)
_LISTED = {
    "sklearn.decomposition": "PCA",
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis",
    "sklearn.linear_model": "LogisticRegression",
    "sklearn.model_selection": "GroupKFold GroupShuffleSplit KFold LeaveOneGroupOut LeaveOneOut ShuffleSplit "
    "StratifiedGroupKFold StratifiedKFold StratifiedShuffleSplit",
    "sklearn.pipeline": "Pipeline",
    "sklearn.preprocessing": "StandardScaler",
    "sklearn.svm": "LinearSVC",
}
_LINEAR = holds(
    n_features_in_=Size("f"),
    classes_=Labels("C"),
    coef_=Numbers("rows f"),
    intercept_=Numbers("rows"),
)
_DISCRIMINANT: dict[str, Held] = {
    "means_": Numbers("C f"),
    "priors_": Numbers("C"),
    "scalings_": Numbers("f k"),
    "xbar_": Numbers("f"),
}
_COMPONENTS: dict[str, Held] = {
    "n_features_in_": Size("f"),
    "n_components_": Size("k"),
    "components_": Numbers("k f"),
    "mean_": Numbers("f"),
    "explained_variance_": Numbers("k"),
    "singular_values_": Numbers("k"),
}
_SCALES: dict[str, Held] = {"n_features_in_": Size("f")} | dict.fromkeys(
    ("mean_", "var_", "scale_"), Maybe(Numbers("f"))
)
OF_SCIKIT_LEARN |= {
    "LogisticRegression": _LINEAR,
    "LinearSVC": _LINEAR,
    "LinearDiscriminantAnalysis": Stored(_LINEAR.needed, {**_LINEAR.held, **_DISCRIMINANT}),
    "PCA": Stored(("n_features_in_", "components_", "mean_", "explained_variance_"), _COMPONENTS),
    "StandardScaler": Stored(("n_features_in_", "mean_", "scale_"), _SCALES),
}


def of_scikit_learn(name: str) -> type | None:
    """Return the class of scikit-learn that a file calls ``sklearn.<name>``, None if it is not listed."""
    library, _, own = name.partition(".")
    for module, names in _LISTED.items():
        if library == "sklearn" and own in names.split():
            cls: type = getattr(import_module(module), own)
            return cls
    return None
