"""Tensor sparse coding: codes and dictionaries under the Burg divergence."""
