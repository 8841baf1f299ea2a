"""The methods that experiments compare, beyond the estimators of the library.

- `classifiers`: the rows of the tables, each a `Method` with its name and what makes its estimator;
- `peers`: the classifiers that are compared over many data sets;
- `tangent_vectors`, `chosen_parameters`: what these are made of;
- `nearest_class`: nearest neighbours with a score for every class;
- `dictionary_codes`: codes over learned and k-means dictionaries, parameters chosen;
- `codes`: codes as vectors for a classifier, and how sparse codes are.
"""
