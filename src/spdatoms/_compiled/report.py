"""What the solvers of the Lasso report of each query: the columns of an array (m, REPORT)."""

#: The largest violation of optimality in h = k − Ky.
VIOLATION = 0
#: yᵀk, yᵀKy and ‖y‖₁.
LINEAR, QUADRATIC, NORM = 1, 2, 3
#: The largest h, |h| unless codes are positive.
PEAK = 4
#: The number of rounds.
ROUNDS = 5
#: The largest violation of optimality in h_j/√K_jj.
EXCESS = 6
#: The number of entries of y that are not zero.
NONZEROS = 7
REPORT = 8
