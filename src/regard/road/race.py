"""The race: every system on the same corpus, for the same time or the same arithmetic.

    out/tokeniser/            one vocabulary for all learned systems
    out/NAME/run/             a run folder, or what a system of counts keeps
    out/NAME/result.json      once it is measured
    out/results.json, table.md, *.png

It can be stopped at any point: what is measured is not measured again, and a training goes on
from its checkpoint.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.api import load
from regard.build import Run, build_trainer, create_run, open_run
from regard.config import RunConfig, config_of
from regard.loading import choose_checkpoint
from regard.machine import gemm_gflops
from regard.models.flops import training_flops
from regard.road.corpus import RaceCorpus
from regard.road.measure import Contestant, Counted, Learned, measure, scorer_for
from regard.road.result import CurvePoint, Result, read_result
from regard.road.systems import System
from regard.statistical.system import load_system, train_system
from regard.text.pair import TokeniserPair
from regard.text.train import train_tokenisers
from regard.train.console import ConsoleObserver
from regard.train.history import read_events
from regard.train.observer import JsonLog
from regard.train.progress import Progress
from regard.train.signals import stopping_politely
from regard.train.trainer import Trainer

TOKENISER = "tokeniser"
RUN = "run"
LOG = "log.jsonl"
# Ablations are compared with one another, and get this share of a system's budget.
ABLATION = 0.5
# More steps than any budget allows; a budget ends a training, not their number.
ENDLESS = 1_000_000


@dataclass(frozen=True, slots=True)
class Budget:
    """What each system may spend: minutes of training, or operations by formula."""

    minutes: float = 0.0
    flops: float = 0.0

    def share(self, part: float) -> "Budget":
        """A part of it."""
        return Budget(self.minutes * part, self.flops * part)


class Stopped(Exception):  # noqa: N818, an answer to a person rather than an error
    """A signal came, and the training that it found is saved.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by signal {number}; the same command goes on from here")
        self.number = number


@dataclass(frozen=True, slots=True)
class Lengths:
    """The training corpus in pieces.

    Attributes:
        pairs: of each sentence pair the tokens read and predicted, the end tokens included.
    """

    pairs: list[tuple[int, int]]

    @property
    def targets(self) -> int:
        """Tokens predicted in an epoch."""
        return sum(target for _, target in self.pairs)

    def flops_per_token(self, config: RunConfig, vocabulary: int) -> float:
        """Operations of training by formula, for one target token."""
        return training_flops(config.model, vocabulary, self.pairs) / self.targets


class Race:
    """Trains and measures systems one after the other.

    Args:
        corpus: what they learn from and are measured on.
        out: where everything is kept.
        budget: what each may spend.
        settings: of every learned system's run file, unless its own say otherwise.
        sentence: that every system is shown on.
        display: shows a training to a person while it is open, and is told of its steps.
        tokenisers: unless given, they are learned from the corpus.
    """

    def __init__(
        self,
        corpus: RaceCorpus,
        out: Path,
        budget: Budget,
        settings: dict[str, dict[str, Any]],
        sentence: str,
        display: Callable[[Trainer], ConsoleObserver],
        tokenisers: TokeniserPair | None = None,
    ) -> None:
        self.corpus = corpus
        self.out = out
        self.budget = budget
        self.settings = settings
        self.sentence = sentence
        self.display = display
        self._tokenisers = tokenisers
        self._scorer = scorer_for(corpus.target)

    def enter(self, system: System) -> Result:
        """Train and measure a system, or take what an earlier race found.

        Raises:
            Stopped: a signal came.
        """
        folder = self.out / system.name
        found = read_result(folder)
        if found is not None:
            return found
        folder.mkdir(parents=True, exist_ok=True)
        found = self._learned(system) if system.kind == "learned" else self._counted(system)
        found.save(folder)
        return found

    def ensemble(self, name: str, systems: Sequence[System]) -> Result:
        """Measure several trained systems that vote."""
        folder = self.out / name
        found = read_result(folder)
        if found is None:
            folder.mkdir(parents=True, exist_ok=True)
            members = [self.enter(system) for system in systems]
            translator = load([self.out / system.name / RUN for system in systems])
            found = self._result(
                name,
                "Ensemble of " + ", ".join(system.name for system in systems),
                Learned(translator),
                parameters=sum(member.parameters for member in members),
                steps=sum(member.steps for member in members),
                minutes=sum(member.minutes for member in members),
                flops=sum(member.flops for member in members),
            )
            found.save(folder)
        return found

    @cached_property
    def tokenisers(self) -> TokeniserPair:
        """One vocabulary for all, learned once."""
        if self._tokenisers is not None:
            return self._tokenisers
        folder = self.out / TOKENISER
        if not folder.exists():
            config = config_of({"text": self.settings.get("text", {})}, "road")
            examples = self.corpus.examples("train")
            made = train_tokenisers(
                config.text, (e.source for e in examples), (e.target for e in examples)
            )
            made.save(folder)
        return TokeniserPair.load(folder)

    @cached_property
    def lengths(self) -> Lengths:
        """The training corpus, counted once."""
        examples = self.corpus.examples("train")
        source = self.tokenisers.source.encode_ids([e.source for e in examples])
        target = self.tokenisers.target.encode_ids([e.target for e in examples])
        return Lengths([(len(s) + 1, len(t) + 1) for s, t in zip(source, target, strict=True)])

    @cached_property
    def gflops(self) -> float:
        """What the machine sustains, for the paper's estimate of a training's cost."""
        return gemm_gflops(seconds=1.0)

    def config(self, system: System) -> RunConfig:
        """The run file of a learned system."""
        tables = {name: dict(values) for name, values in self.settings.items()}
        for name, values in system.settings.items():
            tables.setdefault(name, {}).update(values)
        budget = self.budget.share(ABLATION) if system.is_ablation else self.budget
        train = {"steps": ENDLESS, "minutes": budget.minutes, **tables.pop("train", {})}
        config = config_of({**tables, "train": train}, system.name)
        if budget.flops:
            per_token = self.lengths.flops_per_token(config, len(self.tokenisers.target))
            tokens = config.train.batch_tokens * config.train.accumulate
            train["steps"] = max(1, round(budget.flops / (per_token * tokens)))
            config = config_of({**tables, "train": train}, system.name)
        return replace(config, data=self.corpus.config())

    def run_of(self, system: System) -> Run:
        """The run folder of a learned system, new or as an earlier race left it."""
        folder = self.out / system.name / RUN
        if folder.exists():
            return open_run(folder)
        return create_run(folder, self.config(system), self.tokenisers)

    def _learned(self, system: System) -> Result:
        run = self.run_of(system)
        trainer = build_trainer(run)
        if not trainer.resume() and system.starts_from is not None:
            base = open_run(self.out / system.starts_from / RUN)
            trainer.start_from(choose_checkpoint(base))
        log = JsonLog(run.folder / LOG, trainer.progress.step)
        with closing(log), self.display(trainer) as display:
            trainer.observers += [log, display]
            with stopping_politely(trainer.stop) as received:
                trainer.train()
        if received:
            raise Stopped(received[0])
        progress = trainer.progress
        per_token = self.lengths.flops_per_token(run.config, len(run.tokenisers.target))
        return self._result(
            system.name,
            system.title,
            Learned(load(run.folder)),
            parameters=trainer.model.num_parameters(),
            steps=progress.step,
            minutes=progress.seconds / 60,
            flops=per_token * progress.tokens,
            tokens_per_second=_speed(progress),
            curve=curve_of(run.folder / LOG),
        )

    def _counted(self, system: System) -> Result:
        assert system.kind != "learned"
        folder = self.out / system.name / RUN
        started = time.perf_counter()
        if not folder.exists():
            train_system(
                system.kind, self.corpus.examples("train"), self.corpus.examples("valid")
            ).save(folder)
        minutes = (time.perf_counter() - started) / 60
        made = load_system(folder)
        return self._result(
            system.name,
            system.title,
            Counted(made),
            parameters=made.num_parameters(),
            minutes=minutes,
        )

    def _result(
        self,
        name: str,
        title: str,
        contestant: Contestant,
        *,
        parameters: int,
        steps: int = 0,
        minutes: float = 0.0,
        flops: float = 0.0,
        tokens_per_second: float = 0.0,
        curve: tuple[CurvePoint, ...] = (),
    ) -> Result:
        found = measure(contestant, self.corpus.examples("test"), self._scorer)
        looked = contestant.look(self.sentence)
        interval = found.score.interval
        assert interval is not None
        return Result(
            system=name,
            title=title,
            bleu=found.score.value,
            low=interval.low,
            high=interval.high,
            signature=found.score.signature,
            parameters=parameters,
            steps=steps,
            minutes=minutes,
            flops=flops,
            flops_by_time=60 * minutes * self.gflops * 1e9 if flops else 0.0,
            tokens_per_second=tokens_per_second,
            decoded_per_second=found.words_per_second,
            by_length=found.by_length,
            curve=curve,
            sentence=self.sentence,
            translation=looked.translation,
            words=looked.words,
            source_words=looked.source_words,
            alignment=looked.alignment,
        )


def curve_of(log: Path) -> tuple[CurvePoint, ...]:
    """The validations of a training, each with the minutes of training before it."""
    seconds = 0.0
    points = []
    for event in read_events(log):
        if event["event"] == "step":
            seconds += event["seconds"]
        elif event["event"] == "validation":
            points.append(
                CurvePoint(
                    minutes=seconds / 60,
                    step=event["step"],
                    loss=event["loss"],
                    bleu=event["bleu"],
                )
            )
    return tuple(points)


def _speed(progress: Progress) -> float:
    return progress.tokens / progress.seconds if progress.seconds else 0.0
