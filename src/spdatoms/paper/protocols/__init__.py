"""The protocols of the paper, one file per table or figure.

Each file defines one `Experiment`: how its data become matrices, how they are divided in a repeat, which
methods are compared, and what the paper reports. `spdatoms.paper.experiments.get_experiment` finds it by name.
"""
