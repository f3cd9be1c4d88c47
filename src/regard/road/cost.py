"""What a training costs by formula, from the batches that it takes."""

from dataclasses import dataclass

from regard.config import RunConfig
from regard.data.batching import Batches
from regard.models.flops import reward_flops, training_flops


@dataclass(frozen=True, slots=True)
class Epoch:
    """A pass over the training corpus.

    Attributes:
        pairs: of each sentence pair the tokens read and predicted, the end tokens included.
        num_batches: that they make.
    """

    pairs: list[tuple[int, int]]
    num_batches: int

    @classmethod
    def of(cls, batches: Batches) -> "Epoch":
        """The first pass; others are the same pairs in other company."""
        pairs: list[tuple[int, int]] = []
        num_batches = 0
        for batch in batches.epoch(0):
            num_batches += 1
            sources, targets = batch.source_mask.sum(1), batch.target_mask.sum(1)
            pairs += zip(sources.tolist(), targets.tolist(), strict=True)
        return cls(pairs, num_batches)

    def flops(self, config: RunConfig, vocabulary: int) -> int:
        """Operations to learn from every pair once, and from the rewards of what is drawn.

        Differs from what is done: what is drawn counts as long as the reference.

        Args:
            config: the run file.
            vocabulary: number of target tokens.
        """
        flops = training_flops(config.model, vocabulary, self.pairs)
        if config.train.reward > 0:
            samples = config.train.reward_samples
            flops += reward_flops(config.model, vocabulary, self.pairs, samples)
        return flops

    def flops_per_token(self, config: RunConfig, vocabulary: int) -> float:
        """The same for one target token."""
        return self.flops(config, vocabulary) / sum(target for _, target in self.pairs)

    def flops_per_step(self, config: RunConfig, vocabulary: int) -> float:
        """The same for one optimiser step, in the mean."""
        per_batch = self.flops(config, vocabulary) / self.num_batches
        return per_batch * config.train.accumulate
