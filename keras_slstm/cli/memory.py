"""Settings of the memory allocator."""

from __future__ import annotations

import ctypes

# Parameters of glibc's `mallopt`, with the largest values that it accepts or, for the padding, a few large tensors.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_VALUES = {_TRIM_THRESHOLD: 2**31 - 1, _TOP_PAD: 2**26, _MMAP_THRESHOLD: 2**25}


def keep_freed_memory() -> bool:
    """Tell glibc to keep freed memory for the next tensors, and return whether it will.

    Otherwise it returns the memory of large tensors to the system after each update, and the system clears the pages
    again for the next: a sixth of the time of `keras-slstm classify` on TensorFlow and two cores.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return False
    return all(mallopt(parameter, value) for parameter, value in _VALUES.items())
