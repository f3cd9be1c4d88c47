"""The training loop."""

import copy
import itertools
import math
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.data.ahead import ahead
from regard.data.batching import Batch, Batches
from regard.decoding.request import Specials
from regard.errors import DivergedError, ModelFileError
from regard.models.interface import Seq2Seq
from regard.plain import is_plain
from regard.train.checkpoint import (
    Warn,
    average_weights,
    checkpoints,
    drop_interim,
    fill,
    forget_later,
    intact_checkpoints,
    load_weights,
    machine_changes,
    model_tensors,
    newest_checkpoint,
    prune,
    read_scores,
    restore_checkpoint,
    save_checkpoint,
    save_weights,
)
from regard.train.clip import clip_
from regard.train.config import TrainConfig
from regard.train.cores import Cores
from regard.train.ema import MovingAverage
from regard.train.guided import Guide
from regard.train.loss import Loss
from regard.train.objective import batch_loss
from regard.train.observer import Observer, StepReport
from regard.train.optimiser import build_optimiser
from regard.train.progress import Progress
from regard.train.reward import reward_loss
from regard.train.schedule import learning_rate
from regard.train.shards import Shards, learn
from regard.train.validation import Validator


class Trainer:
    """Takes optimiser steps, validates, saves, stops; tells its observers.

    A step is a function of the weights, the optimiser's memory, the random state and the
    position in the data. All four are in a checkpoint, so that a resumed training continues
    as if it had never stopped. Where minutes end it, a cosine also follows the clock, which no two
    trainings share.

    Args:
        model: what learns.
        batches: what it learns from.
        validator: what it is measured on.
        config: how.
        run: the folder that checkpoints go to.
        observers: who is told.
    """

    def __init__(
        self,
        model: Seq2Seq[Any],
        batches: Batches,
        validator: Validator,
        config: TrainConfig,
        run: Path,
        observers: Sequence[Observer] = (),
    ) -> None:
        self.model = model
        self.batches = batches
        self.validator = validator
        self.config = config
        self.run = run
        self.observers = list(observers)
        is_on_cpu = model.output.weight.device.type == "cpu"
        self._cores = Cores(torch.get_num_threads() if is_on_cpu else 1)
        self.optimiser = build_optimiser(model, config, self._cores)
        self.moving_average = MovingAverage(model, config.ema, self._cores) if config.ema else None
        self.progress = Progress()
        self.is_stopping = False
        self._guide = Guide.of(model, config) if config.guided_alignment else None
        self._shards = (
            Shards(self._loss, list(model.parameters()), self._cores)
            if self._cores.number > 1 and model.is_divisible
            else None
        )

    @property
    def is_cut_among_cores(self) -> bool:
        """Whether each core learns from parts of a batch of its own."""
        return self._shards is not None

    @property
    def averaged(self) -> Seq2Seq[Any] | None:
        """The model with the moving average of the weights, if one is kept."""
        return None if self.moving_average is None else self.moving_average.model

    def start_from(self, checkpoint: Path) -> None:
        """Begin with the weights of another training, and save them for `resume` to find."""
        load_weights(self.model, checkpoint)
        if self.averaged is not None:
            load_weights(self.averaged, checkpoint)
        self._save()

    def resume(self, warn: Warn = lambda line: None) -> bool:
        """Go back to the newest checkpoint that verifies; False if there is none at all.

        Args:
            warn: told of damaged checkpoints, which are passed over and removed, and of a
                machine on which the rest will not be bit-exact.

        Raises:
            ModelFileError: there are checkpoints, and all are damaged.
        """
        folder = newest_checkpoint(self.run, warn=warn)
        if folder is None:
            if checkpoints(self.run):
                raise ModelFileError(f"{self.run}: every checkpoint is damaged; start another run")
            return False
        self.progress = restore_checkpoint(folder, self.model, self.optimiser, self.averaged)
        changes = machine_changes(folder, self.model)
        if changes:
            warn(f"{folder}: from here not bit-exact: {'; '.join(changes)}")
        forget_later(folder)
        # What a kill between a save and its tidying left undone.
        self._tidy(folder)
        return True

    def stop(self) -> None:
        """Ask for an end: the present step is finished and saved."""
        self.is_stopping = True

    def train(self) -> None:
        """Take steps until the last one, until time or patience runs out, or until `stop`.

        Raises:
            DivergedError: a loss or gradient is not finite; the step is not taken.
        """
        progress, config = self.progress, self.config
        with closing(self._stream()) as stream:
            while not (self._is_at_the_end() or self._is_out_of_patience()):
                report = self.step(list(itertools.islice(stream, config.accumulate)))
                for observer in self.observers:
                    observer.on_step(report)
                is_last = self._is_at_the_end()
                if progress.step % config.validate_every == 0 or is_last:
                    self._validate()
                    is_last = is_last or self._is_out_of_patience()
                if progress.step % config.save_every == 0 or is_last or self.is_stopping:
                    self._tidy(self._save())
                if self.is_stopping:
                    return
        self._keep_average()

    def step(self, batches: Sequence[Batch]) -> StepReport:
        """Learn from these batches together, as one optimiser step."""
        started, started_busy = time.perf_counter(), self.busy()
        config, progress = self.config, self.progress
        rate = learning_rate(
            config.schedule,
            progress.step + 1,
            peak=config.learning_rate,
            warmup=config.warmup,
            total=self._expected_steps(),
        )
        num_tokens, smoothed, nll = self.learn(batches)
        norm = self._clip(batches)
        self.optimiser.step(rate)
        progress.step += 1
        if self.moving_average is not None:
            self.moving_average.follow(progress.step)
        progress.tokens += num_tokens
        busy = self.busy() - started_busy
        progress.seconds += busy
        return StepReport(
            step=progress.step,
            epoch=progress.epoch,
            loss=smoothed,
            nll=nll,
            learning_rate=rate,
            gradient_norm=norm,
            tokens=num_tokens,
            seconds=time.perf_counter() - started,
            busy=busy,
        )

    def busy(self) -> float:
        """Seconds of processor time so far, of the core that was the busiest.

        Of two moments, what lies between them is how long the work took if nothing else ran: a
        training that is given minutes learns as much beside other work. Not so where a model
        cannot be divided among cores: PyTorch's threads wait for one another without rest, and
        that counts. A GPU's own time is not the processor's; there it is time as it passes.
        """
        if self.model.output.weight.device.type != "cpu":
            return time.perf_counter()
        return time.thread_time() + self._cores.busy

    def learn(self, batches: Sequence[Batch]) -> tuple[int, float, float]:
        """Compute the gradients of these batches together.

        Returns:
            How many tokens they have, and a token's loss, smoothed and not.
        """
        # What is sampled for a reward must be what is scored: no dropout then.
        self.model.train(self.config.reward == 0)
        num_tokens = int(sum(batch.target_mask.sum() for batch in batches))
        smoothed = nll = 0.0
        self.optimiser.zero_grad()
        for batch in batches:
            batch_smoothed, batch_nll = self._learn(batch, num_tokens)
            smoothed += batch_smoothed
            nll += batch_nll
        return num_tokens, smoothed, nll

    def _learn(self, batch: Batch, num_tokens: int) -> tuple[float, float]:
        """Add the gradient of one batch; return its part of the loss a token."""
        parameters = list(self.model.parameters())
        if self._shards is None or is_plain():
            learned = learn(self._loss, parameters, batch, 1 / num_tokens)
        else:
            learned = self._shards.learn(batch, 1 / num_tokens)
        self._check_finite("loss", learned.smoothed, [batch])
        for parameter, gradient in zip(parameters, learned.gradients, strict=True):
            if parameter.grad is None:
                parameter.grad = gradient
            elif gradient is not None:
                parameter.grad += gradient
        return learned.smoothed / num_tokens, learned.nll / num_tokens

    def _loss(self, batch: Batch) -> Loss:
        config, device = self.config, self.model.output.weight.device.type
        loss = partial(batch_loss, self.model, batch, config.label_smoothing, config.r_drop)
        with torch.autocast(device, torch.bfloat16, enabled=config.precision == "bf16"):
            found = loss() if self._guide is None else self._guide.taught(loss, batch)
            if config.reward == 0:
                return found
            target = self.validator.tokenisers.target
            specials = Specials(target.pad, target.bos, target.eos)
            reward = reward_loss(self.model, batch, specials, config.reward_samples)
            return Loss(found.smoothed + config.reward * reward, found.nll)

    def _clip(self, batches: Sequence[Batch]) -> float:
        """Shorten the gradient to `clip`, if that is not 0; return its norm before."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        norm = clip_(gradients, self.config.clip or math.inf, self._cores)
        self._check_finite("gradient", norm, batches)
        return norm

    def _check_finite(self, what: str, value: float, batches: Sequence[Batch]) -> None:
        if math.isfinite(value):
            return
        # Counted as the store counts: without the lines that reading or holding out left out.
        pairs = np.concatenate([batch.indices for batch in batches]) + 1
        some = ", ".join(f"{pair:,}" for pair in sorted(pairs.tolist())[:5])
        saved = checkpoints(self.run)
        raise DivergedError(
            f"step {self.progress.step + 1:,}: the {what} is {value} "
            f"(training pairs {some}{f' … of {len(pairs):,}' if len(pairs) > 5 else ''}); "
            f"nothing was updated, the last checkpoint is {saved[-1].name if saved else 'none'}; "
            "lower train.learning_rate, or look at those pairs"
        )

    def _stream(self) -> Generator[Batch, None, None]:
        """Batches without end from where the progress stands, made ahead; progress follows."""
        progress = self.progress
        with closing(ahead(self._upcoming(progress.epoch, progress.batch))) as upcoming:
            for progress.epoch, progress.batch, batch in upcoming:
                yield batch

    def _upcoming(self, epoch: int, start: int) -> Iterator[tuple[int, int, Batch]]:
        """Batches without end, each with where the progress stands after it."""
        while True:
            for number, batch in enumerate(self.batches.epoch(epoch, start), start + 1):
                yield epoch, number, batch
            epoch, start = epoch + 1, 0

    def _validate(self) -> None:
        measured = self.averaged or self.model
        scores, shown = self.validator(measured, self.progress.step)
        is_best = self.progress.note(scores, self.config.stop_on)
        for observer in self.observers:
            observer.on_validation(scores, shown, is_best)
        if is_best:
            folder = self.run / f"best-{scores.step}"
            # A run killed between this save and the next checkpoint comes here twice, with the
            # same weights.
            if not folder.exists():
                save_weights(folder, model_tensors(measured), scores)
            prune(self.run, 1, "best")

    def _save(self) -> Path:
        return save_checkpoint(self.run, self.model, self.optimiser, self.progress, self.averaged)

    def _tidy(self, newest: Path) -> None:
        drop_interim(newest, self.config.save_every)
        prune(self.run, self.config.keep)

    def _expected_steps(self) -> int:
        """As many as asked for, or as the minutes allow at the pace so far."""
        config, progress = self.config, self.progress
        if not (config.minutes and progress.seconds):
            return config.steps
        return min(config.steps, round(progress.step * 60 * config.minutes / progress.seconds))

    def _is_at_the_end(self) -> bool:
        """Whether the last step is taken, or the last minute is over."""
        is_late = 0 < 60 * self.config.minutes <= self.progress.seconds
        return is_late or self.progress.step >= self.config.steps

    def _is_out_of_patience(self) -> bool:
        return 0 < self.config.patience <= self.progress.num_worse

    def _keep_average(self) -> None:
        """Keep the moving average, or that of the newest checkpoints, beside the best."""
        if self.config.average < 2:
            return
        # What a training was started from is none of its own.
        folders = [folder for folder in intact_checkpoints(self.run) if folder.name != "step-0"]
        folders = folders[-self.config.average :]
        if len(folders) < 2 and self.averaged is None:
            return
        target = self.run / f"averaged-{self.progress.step}"
        if not target.exists():
            averaged = self.averaged
            if averaged is None:
                averaged = copy.deepcopy(self.model)
                fill(averaged, average_weights(folders), target)
            scores, _ = self.validator(averaged, self.progress.step)
            save_weights(target, model_tensors(averaged), scores)
        prune(self.run, 1, "averaged")
        what = f"the last {len(folders)} checkpoints" if self.averaged is None else "every step"
        self._tell(f"averaged {what}: {read_scores(target).summary()}")

    def _tell(self, line: str) -> None:
        for observer in self.observers:
            observer.on_message(line)
