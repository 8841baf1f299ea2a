"""Tensor sparse coding: non-negative codes and dictionaries under the Burg divergence."""
