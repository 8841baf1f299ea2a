"""Pedestrians and films drawn by a program, in place of data that are not at hand.

They let a reader run the protocols and see their figures. They say nothing about people: what is hard about
the real images and films is not in them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spdatoms._utils.typing import Array, Floats

_HEIGHT, _WIDTH = 64, 32
_SIDE, _FRAMES = 64, 18


def pedestrians(people: int = 30, images: int = 20, seed: int = 0) -> tuple[list[Array], Array]:
    """Return colour images of standing figures, 64×32 pixels, and the number of the person in each."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(people):
        coat, trousers = rng.uniform(30, 220, (2, 3))
        stripes = rng.uniform(0, 40), rng.uniform(3, 9)
        found += [_pedestrian(coat, trousers, stripes, rng) for _ in range(images)]
    return found, np.repeat(np.arange(people), images)


def _pedestrian(
    coat: Floats, trousers: Floats, stripes: tuple[float, float], rng: np.random.Generator
) -> Array:
    """Draw a head, a striped coat and legs before a wall, at another place and in another light every time."""
    row, column = np.mgrid[:_HEIGHT, :_WIDTH]
    row, column = row - rng.normal(0, 2.0), column - _WIDTH / 2 - rng.normal(0, 2.0)
    image = rng.uniform(60, 200, 3) + rng.normal(0, 1.0, 3) * (row[..., None] - _HEIGHT / 2)
    image += 15 * rng.normal() * np.sin(column[..., None] / rng.uniform(2, 6))
    contrast, period = stripes
    striped = coat + contrast * np.sin(2 * np.pi * row[..., None] / period)
    stance = rng.uniform(2, 6)
    legs = (abs(abs(column) - stance) < 3) & (row > 36) & (row < 60)
    image = np.where(legs[..., None], trousers, image)
    image = np.where(((abs(column) < 8) & (row > 14) & (row < 40))[..., None], striped, image)
    head = (column / 4) ** 2 + ((row - 9) / 5) ** 2 < 1
    image = np.where(head[..., None], np.array([200.0, 160.0, 130.0]), image)
    lit = image * rng.normal(1.0, 0.12, 3) + rng.normal(0, 10.0, image.shape)
    return np.clip(lit, 0, 255).astype(np.uint8)


@dataclass(frozen=True)
class Motion:
    """How a body and its limb move: pixels and radians per frame, or amplitudes of a swing."""

    speed: float = 0.0
    fall: float = 0.0
    bob: float = 0.0
    turn: float = 0.0
    swing: float = 0.0
    lift: float = 0.0
    tempo: float = 0.4
    length: float = 12.0


#: By the paper's letters of the ten actions.
MOTIONS = {
    "D": Motion(speed=0.6, fall=0.16, turn=0.15),
    "GS": Motion(swing=1.6, tempo=0.35, length=20.0),
    "K": Motion(swing=1.0, tempo=0.8),
    "RH": Motion(speed=1.6, bob=3.0, tempo=0.9),
    "R": Motion(speed=2.0, swing=0.9, tempo=1.1),
    "S": Motion(speed=1.8),
    "PH": Motion(turn=0.55, length=16.0),
    "HS": Motion(turn=0.25, length=24.0),
    "W": Motion(speed=0.8, swing=0.5, tempo=0.6),
    "L": Motion(lift=10.0, tempo=0.3, length=16.0),
}


def films(per_action: int = 3, seed: int = 0) -> tuple[list[Floats], Array]:
    """Return grey films of a body with a limb, 18 frames of 64×64 pixels from 0 to 1, and their actions."""
    rng = np.random.default_rng(seed)
    names = np.repeat(list(MOTIONS), per_action)
    return [_film(MOTIONS[name], rng) for name in names], names


def _film(motion: Motion, rng: np.random.Generator) -> Floats:
    """Draw a film with a wall, a body, a start and a pace of its own."""
    wall, pace = _texture(rng), rng.normal(1.0, 0.15)
    start, phase = rng.uniform(-1, 1) * 5, rng.uniform(0, 2 * np.pi)
    angle, skin = rng.uniform(0, 2 * np.pi), 0.3 * _texture(rng)
    row, column = np.mgrid[:_SIDE, :_SIDE].astype(float)
    found = np.empty((_FRAMES, _SIDE, _SIDE))
    for frame in range(_FRAMES):
        t = pace * (frame - _FRAMES / 2)
        beat = np.sin(motion.tempo * t + phase)
        y = row - 32 - motion.bob * beat - 0.5 * motion.fall * t * abs(t)
        x = column - 32 - start - motion.speed * t
        body = (x / 6) ** 2 + (y / 14) ** 2 < 1
        theta = angle + motion.turn * t + motion.swing * beat
        along = x * np.cos(theta) + (y - motion.lift * beat) * np.sin(theta)
        across = -x * np.sin(theta) + (y - motion.lift * beat) * np.cos(theta)
        limb = (along > -3) & (along < motion.length) & (abs(across) < 2.5)
        found[frame] = np.where(limb, 0.9, np.where(body, 0.15 + skin, 0.3 + 0.4 * wall))
    return np.clip(found + rng.normal(0, 0.02, found.shape), 0.0, 1.0)


def _texture(rng: np.random.Generator) -> Floats:
    """Return smooth noise from 0 to 1."""
    waves = rng.normal(0, 0.25, (6, 2))
    row, column = np.mgrid[:_SIDE, :_SIDE]
    shifts = rng.uniform(0, 2 * np.pi, 6)
    sum_of_waves = sum(
        np.sin(a * row + b * column + shift) for (a, b), shift in zip(waves, shifts, strict=True)
    )
    return np.asarray(0.5 + sum_of_waves / 12)
