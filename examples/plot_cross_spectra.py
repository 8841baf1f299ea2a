"""
Cross-spectral matrices
=======================

At one frequency, signals have not only powers and correlations but also lags. The cross-spectral matrix of the
channels has them all: it is Hermitian positive definite, and the argument of an entry is the phase between two
channels. Its real part, and the covariance of the signals, hardly know who comes first. Here a wave of 10 Hz
travels over eight electrodes, to the front or to the back. The signals are simulated.
"""

# %%
# A trial has two seconds of pink noise that neighbours share, and a wave whose frequency and strength vary from
# trial to trial.

import numpy as np
from matplotlib import pyplot as plt
from scipy.signal import get_window
from sklearn.model_selection import cross_val_score

from spdatoms import SPDDictionaryLearning, SPDSparseClassifier

rng = np.random.default_rng(0)
rate, samples, channels = 128, 256, 8
place = np.arange(channels)
smear = np.exp(-0.5 * (place[:, None] - place) ** 2)


def trial(direction):
    """Return the signals (channels, samples) with a wave in a direction, +1 or -1."""
    spectrum = rng.standard_normal((2, channels, samples // 2 + 1))
    pink = (spectrum[0] + 1j * spectrum[1]) / np.sqrt(1.0 + np.arange(samples // 2 + 1))
    noise = smear @ np.fft.irfft(pink, samples)
    time = np.arange(samples) / rate
    frequency, phase = rng.normal(10.0, 0.7), rng.uniform(0, 2 * np.pi)
    wave = np.cos(2 * np.pi * frequency * time - direction * 0.35 * place[:, None] + phase)
    return noise / noise.std() + rng.uniform(0.2, 0.5) * wave


y = np.repeat(["to the front", "to the back"], 60)
signals = np.stack([trial(1 if label == "to the front" else -1) for label in y])

# %%
# Welch's estimate: Fourier coefficients of overlapping windows, and the average of their products between 8 and 12
# Hz.


def cross_spectrum(signal, low=8.0, high=12.0, length=64):
    """Return the Hermitian cross-spectral matrix (channels, channels) of a band."""
    starts = range(0, signal.shape[1] - length + 1, length // 4)
    windows = np.stack([signal[:, s : s + length] for s in starts]) * get_window("hann", length)
    frequencies = np.fft.rfftfreq(length, 1 / rate)
    band = (frequencies >= low) & (frequencies <= high)
    Z = np.fft.rfft(windows)[..., band].transpose(1, 0, 2).reshape(len(signal), -1)
    return Z @ Z.conj().T / Z.shape[1]


X = np.stack([cross_spectrum(signal) for signal in signals])
X += 0.05 * np.trace(X, axis1=1, axis2=2).real[:, None, None] / channels * np.eye(channels)
print(X.shape, X.dtype)

# %%
# The classifier takes complex matrices as it takes real ones. Covariances and real parts leave it nearly blind.

described = {
    "covariances": np.stack([np.cov(signal) for signal in signals]),
    "real parts of cross-spectra": X.real,
    "cross-spectra": X,
}
for name, matrices in described.items():
    scores = cross_val_score(SPDSparseClassifier("stein"), matrices, y, cv=5)
    print(f"{name:>28}: {scores.mean():.1%}")

# %%
# Atoms are cross-spectral matrices, too, here of four kinds of trials. On the left the phase of every channel
# against the first one, in the colour of the trials that use the atom most: it falls or rises with the direction of
# the wave.

directions, colours = np.unique(y), ["tab:blue", "tab:orange"]
learner = SPDDictionaryLearning(n_atoms=4, random_state=0).fit(X)
codes = np.abs(learner.transform(X))
usage = np.stack([codes[y == direction].mean(axis=0) for direction in directions])
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for i, atom in enumerate(learner.atoms_):
    phases = np.unwrap(np.angle(atom[:, 0]))
    left.plot(place, phases, "o-", color=colours[usage[:, i].argmax()])
    left.annotate(f"atom {i}", (place[-1], phases[-1]), (5, 0), textcoords="offset points")
left.set(xlabel="channel", ylabel="phase against channel 0 (rad)", xlim=(-0.3, 8.3))
for k, direction in enumerate(directions):
    bars = np.arange(len(learner.atoms_)) + 0.4 * (k - 0.5)
    right.bar(bars, usage[k], 0.38, color=colours[k], label=f"wave {direction}")
right.set(xlabel="atom", ylabel="mean |code|", xticks=range(len(learner.atoms_)))
right.legend()
plt.show()
