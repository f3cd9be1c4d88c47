"""How to train."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt
from typing_extensions import Doc

from regard.errors import ConfigError
from regard.train.schedule import ScheduleKind

Count = Annotated[int, Gt(0)]
CountOrNone = Annotated[int, Ge(0)]


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How to train; Adam's numbers and the label smoothing are the paper's (section 5)."""

    seed: Annotated[CountOrNone, Doc("of weights, dropout and the order of the data")] = 1
    device: Annotated[str, Doc("auto, cpu, cuda or mps")] = "auto"
    steps: Annotated[Count, Doc("optimiser steps")] = 10_000
    minutes: Annotated[
        float,
        Ge(0),
        Doc("of processor time, after which a training and its cosine end, if sooner; 0 is never"),
    ] = 0.0
    batch_tokens: Annotated[Count, Doc("most source or target tokens in a batch")] = 4096
    accumulate: Annotated[Count, Doc("batches added up to one step")] = 1
    precision: Annotated[
        Literal["fp32", "bf16"], Doc("of the layers' products; bf16 needs a processor made for it")
    ] = "fp32"
    recompute: Annotated[
        bool, Doc("compute each block again on the way back: less memory, a third more time")
    ] = False
    max_length: Annotated[Count, Doc("longer pairs are left out of training, in pieces")] = 256
    optimiser: Annotated[Literal["adam", "adamw"], Doc("adamw decouples the weight decay")] = "adam"
    learning_rate: Annotated[float, Gt(0), Doc("its peak, at the end of the warm-up")] = 1e-3
    schedule: Annotated[ScheduleKind, Doc("what follows the warm-up")] = "inverse_sqrt"
    warmup: Annotated[CountOrNone, Doc("steps of linear climb")] = 1000
    beta1: Annotated[float, Ge(0), Lt(1), Doc("Adam's memory of the gradient")] = 0.9
    beta2: Annotated[float, Ge(0), Lt(1), Doc("Adam's memory of its square")] = 0.98
    epsilon: Annotated[float, Gt(0), Doc("Adam's guard against division by zero")] = 1e-9
    weight_decay: Annotated[float, Ge(0), Doc("0 is none")] = 0.0
    clip: Annotated[float, Ge(0), Doc("largest norm of the gradient; 0 is no clipping")] = 1.0
    label_smoothing: Annotated[float, Ge(0), Lt(1), Doc("mass kept for all tokens")] = 0.1
    r_drop: Annotated[
        float,
        Ge(0),
        Doc("α of R-Drop: two passes with different dropout should agree (5 there); 0 is one pass"),
    ] = 0.0
    guided_alignment: Annotated[
        float,
        Ge(0),
        Doc("λ of guided alignment: attention is taught the links of data.alignment; 0 is off"),
    ] = 0.0
    guided_layer: Annotated[
        CountOrNone, Doc("decoder layer that is taught, counted from 1; 0 is the last")
    ] = 0
    guided_head: Annotated[
        CountOrNone, Doc("head that is taught, counted from 1; 0 is the mean of all")
    ] = 1
    guided_shift: Annotated[
        bool,
        Doc(
            "teach the step that is fed a word where it came from, not the step that writes it "
            "and has to guess it: better links for a given text (regard align --shift)"
        ),
    ] = False
    reward: Annotated[
        float,
        Ge(0),
        Doc(
            "weight of expected sentence GLEU, for fine-tuning: 1/α of GNMT's equation 9 "
            "(α = 0.017 there); 0 is none"
        ),
    ] = 0.0
    reward_samples: Annotated[
        int, Ge(2), Le(1000), Doc("translations drawn of each source to estimate it")
    ] = 8
    validate_every: Annotated[Count, Doc("steps between validations")] = 500
    validate_bleu: Annotated[bool, Doc("also translate the validation set, greedily")] = True
    paper_bleu: Annotated[
        bool,
        Doc("score it as papers on Multi30k do: lowercased, cut by Moses"),
    ] = False
    patience: Annotated[
        CountOrNone, Doc("validations without a better one before training stops; 0 is never")
    ] = 0
    stop_on: Annotated[Literal["loss", "bleu"], Doc("what makes a validation better")] = "loss"
    save_every: Annotated[Count, Doc("steps between checkpoints")] = 500
    keep: Annotated[Count, Doc("checkpoints kept, the newest")] = 5
    average: Annotated[
        CountOrNone, Doc("newest checkpoints averaged at the end; 0 or 1 is no averaging")
    ] = 5
    ema: Annotated[
        float,
        Ge(0),
        Lt(1),
        Doc("decay of the weights' moving average, which is then validated and kept; 0 is none"),
    ] = 0.0
    source_vectors: Annotated[
        str, Doc("word vectors (.vec text) that the source embedding starts from")
    ] = ""
    target_vectors: Annotated[str, Doc("the same for the target embedding")] = ""
    show: Annotated[CountOrNone, Doc("validation translations shown")] = 2
    tensorboard: Annotated[bool, Doc("also write TensorBoard events into the run folder")] = False

    def __post_init__(self) -> None:
        if self.average > self.keep:
            raise ConfigError(
                f"train.average = {self.average} needs as many checkpoints, but train.keep = "
                f"{self.keep}; set train.keep = {self.average}"
            )
        if self.reward > 0 and self.r_drop > 0:
            raise ConfigError(
                f"train.r_drop = {self.r_drop} needs dropout, and with train.reward = "
                f"{self.reward} there is none; set one of them to 0"
            )
        if self.stop_on == "bleu" and not self.validate_bleu:
            raise ConfigError(
                'train.stop_on = "bleu" needs train.validate_bleu = true; '
                'set it, or train.stop_on = "loss"'
            )
