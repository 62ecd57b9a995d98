from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from keras_slstm.ops.kernels.gated_mean import gated_mean
from tests.ops.kernel_cases import Case, cases_of


@cases_of(gated_mean)
def draw(rng: np.random.Generator) -> Iterator[Case]:
    for count, shape in ((1, (4,)), (2, (3, 4, 2)), (7, (2, 5, 3))):
        a, v = 3 * rng.normal(size=(2, count, *shape))
        yield Case(f"{count} gates", {"pre_activations": list(a), "values": list(v)})
