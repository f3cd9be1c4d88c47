"""The results table of "Attention Is All You Need": BLEU on WMT 2014, and what training cost."""

from dataclasses import dataclass

P100 = 9_500.0
"""Billions of operations a second that the paper takes a P100 to sustain (footnote 5).

The others there: 2.8, 3.7 and 6.0 TFLOP/s for K80, K40 and M40.
"""


@dataclass(frozen=True, slots=True)
class Published:
    """A row of Vaswani et al. 2017, table 2; None where the paper has nothing.

    Attributes:
        system: what it is called there.
        en_de: BLEU English to German.
        en_de_flops: operations of that training, as estimated there.
        en_fr: BLEU English to French.
        en_fr_flops: operations of that training.
    """

    system: str
    en_de: float | None
    en_de_flops: float | None
    en_fr: float | None
    en_fr_flops: float | None

    @property
    def flops(self) -> float | None:
        """Of the cheaper training."""
        known = [flops for flops in (self.en_de_flops, self.en_fr_flops) if flops is not None]
        return min(known, default=None)


BYTENET = Published("ByteNet", 23.75, None, None, None)
DEEP_ATT = Published("Deep-Att + PosUnk", None, None, 39.2, 1.0e20)
GNMT_RL = Published("GNMT + RL", 24.6, 2.3e19, 39.92, 1.4e20)
CONVS2S = Published("ConvS2S", 25.16, 9.6e18, 40.46, 1.5e20)
MOE = Published("Mixture of experts", 26.03, 2.0e19, 40.56, 1.2e20)
DEEP_ATT_ENSEMBLE = Published("Deep-Att + PosUnk, ensemble", None, None, 40.4, 8.0e20)
GNMT_RL_ENSEMBLE = Published("GNMT + RL, ensemble", 26.30, 1.8e20, 41.16, 1.1e21)
CONVS2S_ENSEMBLE = Published("ConvS2S, ensemble", 26.36, 7.7e19, 41.29, 1.2e21)
BASE = Published("Transformer, base", 27.3, 3.3e18, 38.1, 3.3e18)
BIG = Published("Transformer, big", 28.4, 2.3e19, 41.8, 2.3e19)

TABLE = (
    BYTENET,
    DEEP_ATT,
    GNMT_RL,
    CONVS2S,
    MOE,
    DEEP_ATT_ENSEMBLE,
    GNMT_RL_ENSEMBLE,
    CONVS2S_ENSEMBLE,
    BASE,
    BIG,
)


def flops_by_time(minutes: float, gflops: float, *, processors: int = 1) -> float:
    """Operations of a training as the paper estimates them (section 6.1).

        time × number of processors × what one of them sustains

    Args:
        minutes: of training.
        gflops: billions of operations a second that a processor sustains.
        processors: how many trained.
    """
    return 60 * minutes * processors * gflops * 1e9
