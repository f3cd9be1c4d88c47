"""Validation: the loss and the translations of sentences that training never saw."""

from collections.abc import Sequence
from typing import Any

import torch

from regard.data.batching import Batches
from regard.data.corpus import Example
from regard.decoding.config import DecodingConfig
from regard.decoding.request import Specials
from regard.decoding.search import decode
from regard.decoding.stepper import ModelStepper
from regard.metrics.scorer import Scorer
from regard.models.interface import Seq2Seq
from regard.text.pair import TokeniserPair
from regard.train.objective import batch_loss
from regard.train.observer import Shown
from regard.train.progress import Scores

GREEDY = DecodingConfig(beam=1)


class Validator:
    """Measures a model on held-out sentences; draws no random number and changes no weight.

    Args:
        batches: the held-out sentences as ids.
        examples: the same as text.
        tokenisers: of both sides.
        scorer: of their greedy translations; None makes none but those to look at.
        num_shown: how many translations to hand back for a look.
    """

    def __init__(
        self,
        batches: Batches,
        examples: Sequence[Example],
        tokenisers: TokeniserPair,
        *,
        scorer: Scorer | None,
        num_shown: int,
    ) -> None:
        self.batches = batches
        self.examples = examples
        self.tokenisers = tokenisers
        self.scorer = scorer
        self.num_shown = num_shown

    @torch.inference_mode()
    def __call__(self, model: Seq2Seq[Any], step: int) -> tuple[Scores, list[Shown]]:
        """Scores of the model as it stands, and a few translations."""
        was_training = model.training
        model.eval()
        loss = self._loss(model)
        chosen = self.examples[: self.num_shown] if self.scorer is None else self.examples
        translations = self._translate(model, chosen)
        score = None
        if self.scorer is not None:
            references = [example.target for example in chosen]
            score = self.scorer.score(translations, references, samples=0).value
        shown = [
            Shown(example.source, example.target, translation)
            for example, translation in zip(
                chosen[: self.num_shown], translations[: self.num_shown], strict=True
            )
        ]
        model.train(was_training)
        return Scores(step, loss, score), shown

    def _loss(self, model: Seq2Seq[Any]) -> float:
        total, num_tokens = 0.0, 0
        for batch in self.batches.in_order():
            total += float(batch_loss(model, batch, smoothing=0.0).nll)
            num_tokens += int(batch.target_mask.sum())
        return total / num_tokens

    def _translate(self, model: Seq2Seq[Any], examples: Sequence[Example]) -> list[str]:
        sources = self.tokenisers.source.encode_ids([example.source for example in examples])
        target = self.tokenisers.target
        specials = Specials(target.pad, target.bos, target.eos)
        device = model.output.weight.device
        found = decode(ModelStepper(model), sources, specials, GREEDY, device=device)
        return [target.decode(hypotheses[0].tokens) for hypotheses in found]
