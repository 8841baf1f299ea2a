"""
A number from a covariance
==========================

How strong is a rhythm in the brain? The power of a source is spread over all channels, and a recording shows it
together with all other sources: in its covariance. Three regressors predict such a number, here from simulated EEG:
:class:`~spdatoms.SPDEnsembleRegressor` from all training matrices, with several kernels at once,
:class:`~spdatoms.SPDSparseRegressor` from those that represent a query, and
:class:`~spdatoms.SPDKNeighborsRegressor` from those that are nearest to it.
"""

# %%
# Six channels record six sources. The logarithm of the power of the first source is to be predicted; the others
# are of varying power, too, and the electrodes of every recording sit a little differently.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from spdatoms import (
    SPDEnsembleRegressor,
    SPDKNeighborsRegressor,
    SPDSparseCoder,
    SPDSparseRegressor,
)

rng = np.random.default_rng(0)
m, n = 200, 6
mixing = rng.standard_normal((n, n))
log_power = rng.normal(0.0, 0.35, (m, n))
t = log_power[:, 0] = rng.uniform(-1.5, 1.5, m)
sources = np.exp(0.5 * log_power)[:, :, None] * rng.standard_normal((m, n, 200))
channels = (mixing + 0.05 * rng.standard_normal((m, n, n))) @ sources
X = channels @ channels.swapaxes(1, 2) / 200

# %%
# Parameters are chosen by cross-validation inside the training data; the ensemble has none. A linear model on the
# entries of the matrices shows what is lost without their geometry.

entries = make_pipeline(FunctionTransformer(lambda X: X.reshape(len(X), -1)), Ridge())
regressors = {
    "linear, on the entries": GridSearchCV(entries, {"ridge__alpha": [0.1, 1.0, 10.0, 100.0]}),
    "15 nearest neighbours": SPDKNeighborsRegressor(15, weights="distance"),
    "sparse codes": GridSearchCV(
        SPDSparseRegressor("logeuclid", alpha=0.03), {"beta": [0.1, 0.3], "ridge": [0.01, 0.1]}
    ),
    "ensemble": SPDEnsembleRegressor(),
}
figure, axes = plt.subplots(1, 4, figsize=(13, 3.6), layout="constrained", sharey=True)
for ax, (name, regressor) in zip(axes, regressors.items(), strict=True):
    predicted = cross_val_predict(regressor, X, t)
    ax.plot([-1.5, 1.5], [-1.5, 1.5], color="0.7", zorder=0)
    ax.scatter(t, predicted, s=12, alpha=0.7)
    ax.set(title=f"{name}: R² = {r2_score(t, predicted):.2f}", xlabel="log power")
axes[0].set_ylabel("predicted")
plt.show()

# %%
# The ensemble also tells how wrong it may be. Nine of ten intervals should hold the number.

train, test = slice(0, None, 2), slice(1, None, 2)
ensemble = SPDEnsembleRegressor().fit(X[train], t[train])
low, high = ensemble.predict_interval(X[test], coverage=0.9).T
print(
    f"{np.mean((low <= t[test]) & (t[test] <= high)):.0%} of {len(low)} intervals hold the number"
)
print(ensemble.explain(X[test][:1], n_atoms=3))

# %%
# A prediction can be taken apart: its code names the training matrices that it consists of. The greater α, the
# fewer they are.

alphas = np.geomspace(1e-3, 0.3, 9)
used, quality = [], []
for alpha in alphas:
    model = SPDSparseRegressor("logeuclid", 0.1, alpha, ridge=0.01).fit(X[train], t[train])
    coder = SPDSparseCoder(X[train], "logeuclid", 0.1, alpha, ridge=0.01).fit(X[train])
    used.append((coder.transform(X[test]) != 0).sum(axis=1).mean())
    quality.append(model.score(X[test], t[test]))
figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.plot(used, quality, marker="o")
for i in (0, 4, 6, 8):
    ax.annotate(f"α = {alphas[i]:.1g}", (used[i], quality[i]), (8, -12), textcoords="offset points")
ax.set(xlabel="training matrices in a prediction, on average", ylabel="R² of other recordings")
ax.margins(0.15)
plt.show()
