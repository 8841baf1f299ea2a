"""
Motor imagery: a pipeline from signals to classes
=================================================

When somebody imagines moving a hand, the rhythm over the opposite side of the brain weakens, and the
covariance of the channels shows it. Here pyRiemann's `Covariances` and :class:`~spdatoms.SPDSparseClassifier`
make one scikit-learn pipeline, side by side with the two standards of the field: minimum distance to mean
(MDM) and the tangent space. The signals are simulated, with three nuisances that real ones have: the strategy
of the imagination changes from trial to trial, an average reference takes away a rank, and the cap sits
differently in the second recording.
"""

# %%
# Sixteen channels in volt (so covariances are of the order of 1e-11), two kinds of trial.

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from pyriemann.classification import MDM
from pyriemann.estimation import Covariances
from pyriemann.spatialfilters import Whitening
from pyriemann.tangentspace import TangentSpace
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from spdatoms import SPDRecentre, SPDSparseClassifier, check_spd

CHANNELS, TIMES, TRIALS = 16, 200, 120
rng = np.random.default_rng(1)
sources_to_channels = rng.standard_normal((CHANNELS, CHANNELS)) / 4


def record(shift):
    """Return trials of one recording, (120, 16, 200), and which hand was imagined."""
    y = np.repeat(["left", "right"], TRIALS // 2)
    log_power = 0.4 * rng.standard_normal((TRIALS, CHANNELS, 1))
    # Sources 0 to 3 are on the left, 4 to 7 on the right; two of them weaken, which two varies.
    for trial, hand in enumerate(y):
        weakened = rng.choice(4, 2, replace=False) + (4 if hand == "left" else 0)
        log_power[trial, weakened] -= 1.2
    noise = rng.standard_normal((TRIALS, CHANNELS, TIMES))
    mixing = sources_to_channels + shift * rng.standard_normal((CHANNELS, CHANNELS)) / 4
    signals = 1e-5 * mixing @ (np.exp(log_power / 2) * noise)
    return signals - signals.mean(axis=1, keepdims=True), y  # average reference


monday, y_monday = record(shift=0.0)
tuesday, y_tuesday = record(shift=0.6)

# %%
# The average reference makes every covariance singular. This is an error, and not an arbitrary number:

try:
    check_spd(Covariances("scm").transform(monday))
except ValueError as error:
    print(error)

# %%
# The remedy is to reduce the dimension to the rank: pyRiemann's `Whitening` with 15 components, fitted
# within each fold like any other step.

classifiers = {
    "sparse, Stein": SPDSparseClassifier("stein"),
    "sparse, log-Euclidean": SPDSparseClassifier("logeuclid"),
    "MDM": MDM(),
    "tangent space": make_pipeline(TangentSpace(), LogisticRegression(max_iter=1000)),
}


def pipeline(classifier):
    """Return a classifier of signals."""
    return make_pipeline(
        Covariances("scm"), Whitening(dim_red={"n_components": CHANNELS - 1}), classifier
    )


within = {
    name: cross_val_score(pipeline(classifier), monday, y_monday, cv=5).mean()
    for name, classifier in classifiers.items()
}

# %%
# From Monday to Tuesday. The displaced cap changes every covariance :math:`X` to :math:`AXA^\top` with
# an unknown :math:`A`. That divergences are invariant to congruence does not help: the *same*
# :math:`A` on both sides cancels, but here only one side changes. **Re-centring** removes it: each
# recording is whitened by its own Riemannian mean (:class:`~spdatoms.SPDRecentre`), for which no labels are needed.

whiten = make_pipeline(Covariances("scm"), Whitening(dim_red={"n_components": CHANNELS - 1}))
train, test = whiten.fit_transform(monday), whiten.transform(tuesday)
centred_train, centred_test = (SPDRecentre().fit_transform(X) for X in (train, test))
across, centred = {}, {}
for name, classifier in classifiers.items():
    across[name] = classifier.fit(train, y_monday).score(test, y_tuesday)
    centred[name] = classifier.fit(centred_train, y_monday).score(centred_test, y_tuesday)

table = pd.DataFrame(
    {"within Monday": within, "Monday to Tuesday": across, "the same, re-centred": centred}
)
table.round(3)

# %%
# Within a recording, and for the second one after re-centring:

figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
for place, name, ink in (
    (-0.2, "within Monday", "#9aa7b4"),
    (0.2, "the same, re-centred", "#1f3b57"),
):
    label = "from Monday to Tuesday, re-centred" if place > 0 else name
    bars = ax.bar(np.arange(len(table)) + place, 100 * table[name], 0.38, color=ink, label=label)
    ax.bar_label(bars, fmt="%.0f")
ax.axhline(50, color="0.4", linewidth=0.8, linestyle=":", label="chance")
ax.set_xticks(range(len(table)), [name.replace(", ", ",\n") for name in table.index])
ax.set(ylabel="accuracy (%)", ylim=(0, 105))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %%
# After re-centring, combinations of a few training matrices are better than one mean per class and than a
# hyperplane, because each kind of trial has several strategies. Without re-centring sparse codes fail first:
# the warning that many codes are zero means that Tuesday's matrices are far from all of Monday's, so always
# re-centre between recordings. How accuracy depends on the number of training matrices is shown by
# :ref:`sphx_glr_gallery_plot_few_samples.py`.
