"""`SPDEnsembleClassifier`: sparse codes and class means under several kernels, averaged and calibrated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.domains import domain_of_each
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.folds import CV
from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms._utils.warning import holding_warnings
from spdatoms._utils.weights import CLASS_WEIGHT, labelled_weights
from spdatoms.base import check_labels, check_streamable, checked_fit
from spdatoms.classification._atom_choice import Remembered, chosen_rows
from spdatoms.classification._left_out import CellClassifier
from spdatoms.classification.average import AverageMargins, KernelAverage, average
from spdatoms.classification.cells import RIDGE_SHARE, Cell, code_cells, mean_cells
from spdatoms.classification.classifier import prior_answers
from spdatoms.classification.explanation import Explanation, Explanations, taken_apart, two_best
from spdatoms.classification.kernel_ensemble import KernelEnsemble, Metrics, References, listed
from spdatoms.classification.named_atoms import Listing
from spdatoms.classification.relevance import Relevance
from spdatoms.divergences.registry import SYMMETRIC_METRICS
from spdatoms.geometry.channels import Mask
from spdatoms.layout import Part, holds

#: Which cells there are, by the weights: shrinkages of codes; shrinkages and multiples of β of class means; shares of
#: the ridge of codes.
CELLS = {
    "uniform": ((0.1, 1.0), (0.1, 0.3), (0.3,), (RIDGE_SHARE,)),
    "cv": ((0.1, 0.3, 1.0), (0.03, 0.1, 0.3), (0.3, 1.0), (RIDGE_SHARE,)),
}
#: The same for several domains: what varies within classes differs between domains, so that
#: whitening fits the wrong ones, and strong ridges average over many atoms.
DOMAIN_CELLS = {
    "uniform": ((1.0,), (), (), (1.0,)),
    "cv": ((0.3, 1.0), (0.3, 1.0), (0.3, 1.0), (0.3, 1.0, 10.0)),
}
#: Codes over several domains have this penalty and multiple of β.
DOMAIN_ALPHA, DOMAIN_FACTOR = 0.02, 3.0
#: Codes have this penalty and multiple of β.
ALPHA, FACTOR = 0.1, 2.0
#: Of the weights "cv", this part follows the log-loss of left-out matrices; the rest is the same for all cells.
TRUST = 0.5


@allow.with_parameters
class SPDEnsembleClassifier(Threaded, CellClassifier, KernelEnsemble):
    """Classification of SPD matrices by sparse codes and class means under several kernels, averaged.

    ℓ_c = Σ_cells g·(s_c − s̄)/σ: the logit of class c is a weighted sum of the standardised class scores of a few
    cells. There is nothing to choose, and probabilities are calibrated. For accuracy this is what to take first.

    Parameters
    ----------
    weights : {"uniform", "cv"}, default="uniform"
        How much the cells count: all the same, or by their log-loss on left-out training matrices. The second has more
        cells, takes about twice the time, and is often a little more accurate.
    cv : int or scikit-learn splitter, default=5
        What is left out in turn. An integer is a number of stratified folds; fewer than 200 matrices
        are cut into folds several times. Where training matrices overlap (epochs of one recording), give a
        splitter, and ``groups`` to `fit` if it wants them.
    max_atoms : int, default=1500
        At most this number of training matrices are atoms, taken evenly from the classes. So time and memory of a
        large training set stay bounded. `partial_fit` forgets the oldest.

    Attributes
    ----------
    classes_
    atoms_ : ndarray of shape (N, n, n)
        The training matrices that are atoms.
    atom_labels_, atom_indices_, atom_weights_
    cv_results_ : dict of str to ndarray
        For every cell its parameters (``param_metric`` and so on), the accuracy and the log-loss on left-out
        matrices (``mean_test_score``, ``mean_test_log_loss``) and its ``weight``.
    left_out_probabilities_ : ndarray of shape (N, n_classes)
        What the ensemble says of each atom when it is left out; the same for all classes where that cannot be
        known, because a class has no other member.
    domains_ : ndarray of shape (m,) or None
        The names of the domains of the training matrices, if they were given.
    average_
    n_samples_seen_ : int
        The number of matrices that were given to `fit` and `partial_fit`.
    n_features_in_

    See Also
    --------
    SPDSparseClassifier : One kernel and one sparse code: the method of the paper.
    SPDSparseClassifierCV : One kernel, chosen by cross-validation.

    Notes
    -----
    For each divergence there are two cells of sparse codes (α = 0.1, a ridge of 0.3·(1 − e⁻²), β twice the
    automatic one, the rule ``"sum"``), whitened within classes with δ = 0.1 and not whitened; and two
    cells that compare the distances to the class means, whitened with δ = 0.1 and 0.3. With the weights ``"cv"``
    there are three and six of them. Left-out matrices tell how sharp the scores of each cell and of their sum are.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDEnsembleClassifier
    >>> rng = np.random.default_rng(0)
    >>> samples = rng.standard_normal((40, 3, 20))
    >>> samples[20:, 2] *= 3.0
    >>> X = samples @ samples.swapaxes(1, 2) / 20
    >>> y = np.repeat(["round", "long"], 20)
    >>> SPDEnsembleClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    1.0
    """

    __metadata_request__partial_fit: ClassVar = {"domains": True}
    _stored = holds(
        "classes_ atoms_ atom_labels_ atom_indices_ _atom_classes",
        average_=Part(KernelAverage),
        _references=Part(References),
    )
    weights: str = allow.parameter(allow.choice("uniform", "cv"), default="uniform")
    metrics: Metrics = allow.parameter(SYMMETRIC_METRICS, default=("stein", "logeuclid"))
    _: KW_ONLY
    cv: Any = allow.parameter(CV, default=5)
    max_atoms: int = allow.parameter(allow.integer(1), default=1500)
    class_weight: str | Mapping[Any, float] | None = allow.parameter(CLASS_WEIGHT, default=None)

    # For models of earlier versions:
    n_samples_seen_ = 0
    _due = 0

    @checked_fit
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        domains: ArrayLike | None = None,
    ) -> SPDEnsembleClassifier:
        """Fit all cells to labelled matrices, and learn from left-out ones how much they say.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. Of a Dask array or a long memory map only the atoms are kept.
        sample_weight : array-like of shape (m,), default=None
            Weights of the matrices, not negative, as in `SPDSparseClassifier`. A matrix of weight 0 is left out.
        domains : array-like of shape (m,), default=None
            The name of the domain of each matrix (subject, session, site), if queries will be of new domains. A ``cv``
            that is a number then leaves out whole domains, cells are not whitened and have strong ridges, and `explain`
            names domains. Bring the matrices to a common centre first, by `SPDRecentre` or `SPDAlign`.
        """
        matrices = check_streamable(X, self.n_jobs)
        self.n_features_in_ = matrices.shape[-1]
        self.classes_, labels = check_labels(y, len(matrices))
        own, weights = chosen_rows(
            labels, self.classes_, sample_weight, self.class_weight, self.max_atoms
        )
        rows = np.arange(len(labels))[own]
        folds = self._folds(labels, groups, domains, rows)
        references = self._take_atoms(matrices, rows, weights, folds)
        self._atom_domains = None if self.domains_ is None else self.domains_[rows]
        self._atom_classes = labels[self.atom_indices_]
        self.atom_labels_ = self.classes_[self._atom_classes]
        left_out = self._compare(references, self._atom_classes, weights, folds)
        shares = np.full(len(left_out.cells), 1.0 / len(left_out.cells))
        if self.weights == "cv":
            counts = left_out.soft_weights()
            shares = TRUST * counts / counts.sum() + (1.0 - TRUST) * shares
        self.average_: KernelAverage = average(left_out, shares)
        self.cv_results_ = left_out.results(listed(self.metrics)) | {"weight": shares}
        self.left_out_probabilities_ = left_out.probabilities(self.average_.gains, len(self.atoms_))
        self.n_samples_seen_ = len(labels)
        self._due = self.n_samples_seen_ + len(self.atoms_)
        return self

    @checked_fit
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, domains: ArrayLike | None = None
    ) -> SPDEnsembleClassifier:
        """Add labelled matrices to the atoms, and forget the oldest if there are more than ``max_atoms``.

        The oldest of the class that has most are forgotten first. What left-out matrices tell, that is β, weights
        and sharpness of the cells, and the common centre, stays what it was. It is found anew, by `fit` to the
        matrices that are kept, as soon as the stream has brought as many matrices since the last time as there were
        atoms, or a new class, or the second of all domains. If anything is wrong with the matrices or their labels, the
        classifier stays as it was.

        Parameters
        ----------
        domains : array-like of shape (m,), default=None
            The names of their domains, as in `fit`: either all matrices have one, or none. As long as there is one
            domain, the classifier is that of matrices without domains.
        """
        kept = Remembered.of(self, X, y, self.max_atoms)
        names = self._domains_kept(kept, domains, np.shape(y)[0])
        before = getattr(self, "atom_indices_", np.zeros(0, np.intp))
        first = max(self.n_samples_seen_, int(before.max(initial=-1)) + 1)
        seen = first + np.shape(y)[0]
        several = _if_several(names)
        if (
            hasattr(self, "classes_")
            and seen < self._due
            and np.array_equal(kept.classes, self.classes_)
            and (several is None or self.domains_ is not None)
        ):
            self._change(kept)
        else:
            with holding_warnings():  # a stream may begin with one class
                self.fit(kept.matrices, kept.classes[kept.labels], domains=several)
            self._due = seen + len(self.atoms_)
        self._atom_domains = names
        self.atom_indices_ = np.concatenate([before[kept.old], first + kept.new])
        self.n_samples_seen_ = seen
        return self

    def _domains_kept(
        self, kept: Remembered, domains: ArrayLike | None, count: int
    ) -> Array | None:
        """Return the domains of the matrices that are kept, given those of ``count`` new ones."""
        fitted = hasattr(self, "atoms_")
        old = self._domains_of_atoms() if fitted else None
        if fitted and (old is None) != (domains is None):
            raise ValueError(
                "The matrices so far have domains: give those of the new ones, too."
                if domains is None
                else "The matrices so far have no domains: leave out those of the new ones, or fit to all of them."
            )
        if domains is None:
            return None
        new = domain_of_each(domains, count)[kept.new]
        return new if old is None else np.concatenate([old[kept.old], new])

    def _domains_of_atoms(self) -> Array | None:
        """Return the domains of the atoms, if they are known."""
        if self._atom_domains is None and self.domains_ is not None:  # of an earlier version
            return self.domains_[self.atom_indices_]
        return self._atom_domains

    def _change(self, kept: Remembered) -> None:
        """Take other atoms, without asking left-out ones again."""
        count = len(kept.old)
        self._references, among = self._references.changed(
            kept.old, kept.matrices[count:], self.average_.divergences, self.n_jobs
        )
        _, self.atom_weights_ = labelled_weights(kept.labels, kept.classes, None, self.class_weight)
        self.average_ = replace(
            self.average_, divergences=among, labels=kept.labels, weights=self.atom_weights_
        )
        self.average_.prepare()
        self.atoms_, self._atom_classes = kept.matrices, kept.labels
        self.atom_labels_ = self.classes_[kept.labels]
        self._sides = None
        unknown = np.full((len(kept.new), len(self.classes_)), 1.0 / len(self.classes_))
        self.left_out_probabilities_ = np.concatenate(
            [self.left_out_probabilities_[kept.old], unknown]
        )

    def _cells(self) -> Iterator[Cell]:
        count, plain = len(listed(self.metrics)), self.domains_ is None
        alpha, factor = (ALPHA, FACTOR) if plain else (DOMAIN_ALPHA, DOMAIN_FACTOR)
        shrinkages, of_means, factors, shares = (CELLS if plain else DOMAIN_CELLS)[self.weights]
        yield from code_cells(count, shrinkages, (factor,), alpha, shares)
        yield from mean_cells(count, of_means, factors)

    def _explained(self, X: FloatArray, listing: Listing) -> Explanations:
        listing.check(len(self.atoms_))
        listing = replace(listing, indices=self.atom_indices_)
        self.average_.prepare()  # before several threads ask for it

        def explain(divergences: Sequence[Floats]) -> list[Explanation]:
            totals = self.average_.scores(divergences)
            added = self.average_.contributions(divergences)
            atoms = self.classes_, self._atom_classes, listing, self._domains_of_atoms()
            return [*taken_apart(totals, added, *atoms)]

        found = self._references.of_blocks(explain, X, self.n_jobs)
        explanations = Explanations([*chain.from_iterable(found)])
        classes = two_best(explanations.totals)
        margins = AverageMargins(self.average_, self._references, X, classes)
        return explanations.with_relevance(Relevance(margins, X))

    def _cut(self, known: Mask) -> Self:
        domains = None if self.domains_ is None else _if_several(self._domains_of_atoms())
        return self._cut_to(known, self.atom_labels_, domains)

    def _answers_to_nothing(self) -> dict[str, Array]:
        return prior_answers(self.classes_, self._atom_classes, self.atom_weights_)

    def _scores(self, X: FloatArray) -> Floats:
        self.average_.prepare()  # before several threads ask for it
        return np.concatenate(self._references.of_blocks(self.average_.scores, X, self.n_jobs))


def _if_several(domains: Array | None) -> Array | None:
    """Return the names of domains; None for a single one, which nothing can be learned of others from."""
    return domains if domains is not None and len(np.unique(domains)) > 1 else None
