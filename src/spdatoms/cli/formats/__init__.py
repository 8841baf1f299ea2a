"""Files of matrices and labels: the ending of a name is its format.

One file per kind of format. A reader returns arrays by name; `matrices.read_matrices` chooses one and brings it
into the shape (m, n, n). What is wrong with a file is said after its name, in words of the command line.
"""
