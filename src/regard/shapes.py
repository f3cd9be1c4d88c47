"""The one alphabet of shapes, used in every signature.

    B  batch            T  target or query    S  source or key    D  model width
    H  heads            K  head width         F  feed-forward     V  vocabulary
    L  layers           N  beam               R  rows = B · N     E  experts

`Float[Tensor, "B T D"]` reads: a float tensor of batch × target × width. The shapes
are checked while the tests run, and cost nothing otherwise.
"""

from jaxtyping import Bool, Float, Int, Int8, UInt8
from torch import Tensor

__all__ = ["Bool", "Float", "Int", "Int8", "Tensor", "UInt8"]
