"""The race: every system on the same corpus, for the same time or the same arithmetic.

    out/race.json             what it is a race on
    out/tokeniser/            one vocabulary for all learned systems
    out/NAME/run/             a run folder, or what a system of counts keeps
    out/NAME/training.json    of a system of counts, how long it took to count
    out/NAME/test.txt         its translations of the test set
    out/NAME/result.json      once it is measured
    out/results.json, table.md, *.png

It can be stopped at any point: what is measured is not measured again, and a training goes on
from its checkpoint.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.api import load
from regard.build import Run, build_trainer, create_run, open_run
from regard.config import RunConfig, config_of
from regard.data.batching import Batches
from regard.data.store import Rows, Store
from regard.errors import ConfigError, ModelFileError
from regard.lens.published import flops_by_time
from regard.loading import choose_checkpoint
from regard.machine import processor
from regard.road.corpus import RaceCorpus
from regard.road.cost import Epoch
from regard.road.measure import Contestant, Counted, Learned, measure, scorer_for
from regard.road.result import (
    CurvePoint,
    Result,
    read_kept,
    read_result,
    write_kept,
    write_lines,
)
from regard.road.systems import System, with_bases
from regard.road.terms import RUN, TOKENISER, Budget, Tables, Terms, agree
from regard.sealed import sealing
from regard.statistical.system import load_system, train_system
from regard.text.pair import TokeniserPair
from regard.text.train import train_tokenisers
from regard.train.checkpoint import Warn
from regard.train.config import TrainConfig
from regard.train.console import ConsoleObserver
from regard.train.history import read_events
from regard.train.observer import JsonLog
from regard.train.progress import Progress
from regard.train.signals import stopping_politely
from regard.train.trainer import Trainer

LOG = "log.jsonl"
COUNTING = "training.json"
TRANSLATIONS = "test.txt"
# Ablations are compared with one another, and get this share of a system's budget.
ABLATION = 0.5
# More steps than any budget allows; a budget ends a training, not their number.
ENDLESS = 1_000_000


class Stopped(Exception):  # noqa: N818, an answer to a person rather than an error
    """A signal came, and the training that it found is saved.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by signal {number}; the same command goes on from here")
        self.number = number


@dataclass(frozen=True, kw_only=True)
class Counting:
    """What is kept of the training of a system of counts besides the system itself.

    Attributes:
        minutes: it took.
    """

    minutes: float


class Race:
    """Trains and measures systems one after the other.

    Args:
        corpus: what they learn from and are measured on.
        out: where everything is kept.
        budget: what each may spend.
        settings: of every learned system's run file, unless its own say otherwise.
        sentence: that every system is shown on; None for the first of the test set.
        display: shows a training to a person while it is open, and is told of its steps.
        tokenisers: unless given, they are learned from the corpus.
        warn: told of checkpoints that are damaged, and of a machine that is another one.
        overrides: of every learned system's run file, whatever its own say.
    """

    def __init__(
        self,
        corpus: RaceCorpus,
        out: Path,
        budget: Budget,
        settings: Tables,
        sentence: str | None,
        display: Callable[[Trainer], ConsoleObserver],
        tokenisers: TokeniserPair | None = None,
        warn: Warn = lambda line: None,
        overrides: Tables | None = None,
    ) -> None:
        self.corpus = corpus
        self.out = out
        self.budget = budget
        self.settings = settings
        self.overrides = overrides or {}
        self.sentence = sentence
        self.display = display
        self.warn = warn
        self._tokenisers = tokenisers
        self._scorer = scorer_for(corpus.target)
        self._terms: Terms | None = None

    def hold(self) -> Terms:
        """Make the folder this race's, before anything is taken from it or put there.

        Raises:
            ConfigError: it holds another race.
        """
        if self._terms is None:
            terms = Terms(
                task=self.corpus.title,
                corpus=self.corpus.identity(),
                pair=self.corpus.pair,
                budget=self.budget,
                settings=self.settings,
                overrides=self.overrides,
                sentence=self.sentence,
            )
            self._terms = agree(self.out, terms)
        return self._terms

    def folder(self, name: str) -> Path:
        """Where a system is kept, or what all have in common.

        Raises:
            ConfigError: the folder of the race holds another one.
        """
        self.hold()
        return self.out / name

    def enter(self, system: System) -> Result:
        """Train and measure a system, or take what was found before this race was stopped.

        What a fine-tuning starts from has been entered before it.

        Raises:
            ConfigError: the folder holds another race.
            DivergedError: its loss is no longer a number.
            ModelFileError: weights that it starts from are missing.
            Stopped: a signal came.
        """
        folder = self.folder(system.name)
        found = read_result(folder)
        if found is not None:
            return found
        folder.mkdir(parents=True, exist_ok=True)
        found = self._learned(system) if system.kind == "learned" else self._counted(system)
        found.save(folder)
        return found

    def ensemble(self, name: str, voters: Sequence[System]) -> Result:
        """Measure several trained systems that vote.

        Raises:
            ConfigError: the folder holds another race.
            Stopped: a signal came.
        """
        folder = self.folder(name)
        found = read_result(folder)
        if found is None:
            entered = {system.name: self.enter(system) for system in with_bases(voters)}
            members = [entered[system.name] for system in voters]
            # The costs of a fine-tuning include those of what it started from.
            included = {system.starts_from for system in voters}
            paid = [member for member in members if member.system not in included]
            folder.mkdir(parents=True, exist_ok=True)
            translator = load([self.folder(member.system) / RUN for member in members])
            found = self._result(
                name,
                "Ensemble of " + ", ".join(member.system for member in members),
                Learned(translator),
                parameters=sum(member.parameters for member in members),
                steps=sum(member.steps for member in members),
                minutes=sum(member.minutes for member in paid),
                flops=sum(member.flops for member in paid),
            )
            found.save(folder)
        return found

    @cached_property
    def tokenisers(self) -> TokeniserPair:
        """One vocabulary for all, learned once."""
        if self._tokenisers is not None:
            return self._tokenisers
        folder = self.folder(TOKENISER)
        if not folder.exists():
            config = config_of({"text": self.settings.get("text", {})}, "road")
            examples = self.corpus.examples("train")
            made = train_tokenisers(
                config.text, (e.source for e in examples), (e.target for e in examples)
            )
            with sealing(folder) as unsealed:
                made.save(unsealed)
        return TokeniserPair.load(folder)

    @cached_property
    def store(self) -> Store:
        """The training corpus in pieces, cut once."""
        examples = self.corpus.examples("train")
        source = self.tokenisers.source.encode_ids([e.source for e in examples])
        target = self.tokenisers.target.encode_ids([e.target for e in examples])
        return Store(Rows.of(source), Rows.of(target))

    def epoch(self, config: TrainConfig) -> Epoch:
        """What a training learns from in a pass, in its own batches."""
        batches = Batches(
            self.store,
            self.tokenisers,
            batch_tokens=config.batch_tokens,
            seed=config.seed,
            max_length=config.max_length,
        )
        return Epoch.of(batches)

    def config(self, system: System) -> RunConfig:
        """The run file of a learned system."""
        tables: dict[str, dict[str, Any]] = {"data": asdict(self.corpus.config())}
        for settings in (self.settings, system.settings, self.overrides):
            for name, values in settings.items():
                tables.setdefault(name, {}).update(values)
        budget = self.budget.share(ABLATION) if system.is_ablation else self.budget
        train = {"steps": ENDLESS, "minutes": budget.minutes, **tables.pop("train", {})}
        config = config_of({**tables, "train": train}, system.name)
        if budget.flops:
            epoch = self.epoch(config.train)
            per_step = epoch.flops_per_step(config, len(self.tokenisers.target))
            train["steps"] = max(1, round(budget.flops / per_step))
            config = config_of({**tables, "train": train}, system.name)
        return config

    def run_of(self, system: System) -> Run:
        """The run folder of a learned system, new or as it was when this race was stopped.

        Raises:
            ConfigError: it was begun with other settings than the system has now.
        """
        folder, config = self.folder(system.name) / RUN, self.config(system)
        if not folder.exists():
            return create_run(folder, config, self.tokenisers)
        run = open_run(folder)
        if run.config != config:
            raise ConfigError(
                f"{folder} was begun with other settings than {system.name} has now, or with a "
                "corpus that stood elsewhere; give another --out, or remove it"
            )
        return run

    def _learned(self, system: System) -> Result:
        base = None
        if system.starts_from is not None:
            base = read_result(self.folder(system.starts_from))
            if base is None:
                raise ModelFileError(f"it needs {system.starts_from}, which was left out")
        run = self.run_of(system)
        trainer = build_trainer(run)
        if not trainer.resume(self.warn) and base is not None:
            trainer.start_from(choose_checkpoint(open_run(self.folder(base.system) / RUN)))
        log = JsonLog(run.folder / LOG, trainer.progress.step)
        with closing(log), self.display(trainer) as display:
            trainer.observers += [log, display]
            with stopping_politely(trainer.stop) as received:
                trainer.train()
        if received:
            raise Stopped(received[0])
        progress = trainer.progress
        epoch = self.epoch(run.config.train)
        per_token = epoch.flops_per_token(run.config, len(run.tokenisers.target))
        minutes, flops = (0.0, 0.0) if base is None else (base.minutes, base.flops)
        return self._result(
            system.name,
            system.title,
            Learned(load(run.folder)),
            parameters=trainer.model.num_parameters(),
            steps=progress.step,
            minutes=minutes + progress.seconds / 60,
            flops=flops + per_token * progress.tokens,
            tokens_per_second=_speed(progress),
            curve=curve_of(run.folder / LOG, minutes),
        )

    def _counted(self, system: System) -> Result:
        assert system.kind != "learned"
        folder = self.folder(system.name)
        if not (folder / RUN).exists():
            started = time.process_time()
            made = train_system(
                system.kind, self.corpus.examples("train"), self.corpus.examples("valid")
            )
            counting = Counting(minutes=(time.process_time() - started) / 60)
            # Before the system, so that there is none whose minutes are not known.
            write_kept(folder / COUNTING, asdict(counting))
            made.save(folder / RUN)
        counting = read_kept(folder / COUNTING, Counting, "remove the system's folder")
        made = load_system(folder / RUN)
        return self._result(
            system.name,
            system.title,
            Counted(made),
            parameters=made.num_parameters(),
            minutes=counting.minutes,
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
        test = self.corpus.examples("test")
        sentence = test[0].source if self.sentence is None else self.sentence
        found = measure(contestant, test, self._scorer)
        write_lines(self.folder(name) / TRANSLATIONS, found.translations)
        looked = contestant.look(sentence)
        sustained = self.hold().machines[processor()]
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
            flops_by_time=flops_by_time(minutes, sustained) if flops else 0.0,
            processor=processor(),
            tokens_per_second=tokens_per_second,
            decoded_per_second=found.words_per_second,
            by_length=found.by_length,
            curve=curve,
            sentence=sentence,
            translation=looked.translation,
            words=looked.words,
            source_words=looked.source_words,
            alignment=looked.alignment,
        )


def curve_of(log: Path, minutes: float = 0.0) -> tuple[CurvePoint, ...]:
    """The validations of a training, each with the minutes of training before it.

    Args:
        log: of the training.
        minutes: before it began, of what it started from.
    """
    seconds = 60 * minutes
    points = []
    for event in read_events(log):
        if event["event"] == "step":
            seconds += event["busy"]
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
