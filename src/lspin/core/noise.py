"""Random numbers by hashing a counter: cheap beside a matrix product, and the same in JAX and NumPy.

A key is one unsigned 32-bit integer (a scalar array). It is split where it is used and never used twice.
"""

from math import prod, sqrt

from lspin.core.arrays import Array

_BYTE_SUM_MEAN = 4 * 127.5
_BYTE_SUM_SCALE = sqrt(4 * (256**2 - 1) / 12)


def random_bits(key: Array, count: int) -> Array:
    """``count`` unsigned 32-bit integers: each index scrambled with the key by a two-round integer hash."""
    xp = key.__array_namespace__()
    bits = xp.arange(count, dtype=xp.uint32) * xp.uint32(0x9E3779B9) + key
    bits = (bits ^ (bits >> 16)) * xp.uint32(0x7FEB352D)
    bits = (bits ^ (bits >> 15)) * xp.uint32(0x846CA68B)
    return bits ^ (bits >> 16)


def split_key(key: Array, count: int) -> Array:
    """``count`` new keys."""
    return random_bits(key, count)


def uniform(key: Array, shape: tuple[int, ...]) -> Array:
    """Numbers in [0, 1)."""
    xp = key.__array_namespace__()
    # 24 bits are all a single-precision number in [0, 1) can hold.
    fractions = xp.astype(random_bits(key, prod(shape)) >> 8, xp.float32) * 2.0**-24
    return xp.reshape(fractions, shape)


def normal(key: Array, shape: tuple[int, ...]) -> Array:
    """Numbers of mean 0 and variance 1, close to normal.

    Notes
    -----
    The four bytes of a hashed index are added up: a sum of four uniforms, whose tails end at 3.45 standard
    deviations. At thousands of features a library generator costs more than the networks do.

    """
    xp = key.__array_namespace__()
    bits = random_bits(key, prod(shape))
    total = (bits & 255) + ((bits >> 8) & 255) + ((bits >> 16) & 255) + (bits >> 24)
    noise = (xp.astype(total, xp.float32) - _BYTE_SUM_MEAN) * (1 / _BYTE_SUM_SCALE)
    return xp.reshape(noise, shape)
