"""How the library is compared with its paper: other methods, data sets, experiments, tables and figures.

`baselines` has the methods that are compared with, `datasets` the loaders, `methods` how the rows of tables are made,
`protocols` an experiment per file with its texts and published figures, `experiments` what runs them, `reporting` and
`plotting` what shows the results.

It uses all of the library, and nothing of the library needs it. On the command line it adds ``spdatoms reproduce``.
What it needs comes with ``pip install 'spdatoms[paper]'``. The modules are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spdatoms._utils.lazy_imports import lazy_names

if TYPE_CHECKING:
    from spdatoms.paper import baselines as baselines
    from spdatoms.paper import datasets as datasets
    from spdatoms.paper import experiments as experiments
    from spdatoms.paper import plotting as plotting
    from spdatoms.paper import reporting as reporting

__all__: list[str] = []

__getattr__, __dir__ = lazy_names(
    __name__, {}, ("baselines", "datasets", "experiments", "plotting", "reporting")
)
