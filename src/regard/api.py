"""What a notebook uses: `regard.load(folder).translate([...])`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, overload

import torch

from regard.build import Run, open_run
from regard.config import changed
from regard.decoding.config import DecodingConfig
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.request import Request, Specials, always
from regard.decoding.search import requests
from regard.decoding.shortlist import Shortlist
from regard.decoding.stepper import Ensemble, ModelStepper, Stepper
from regard.decoding.trace import Tell, Tracer
from regard.errors import ConfigError
from regard.lens.capture import Capture
from regard.lens.record import AttentionRecord, mean_cross, record_of
from regard.lens.unknown import replace_unknown
from regard.lens.words import Alignment, align_words
from regard.loading import check_can_quantise, load_model, read_chosen
from regard.machine import choose_device
from regard.models.interface import Seq2Seq
from regard.nn.int8 import quantise_model
from regard.planning import Plan, plan_text
from regard.searching import Searcher
from regard.text import capitals
from regard.text.encoded import Encoded
from regard.text.pair import TokeniserPair
from regard.train.checkpoint import is_int8
from regard.translation import Candidate, SentenceTranslation, Translation

Progress = Callable[[int], None]


class Translator:
    """A trained model, or several that vote, ready to translate.

    Args:
        models: one, or the members of an ensemble.
        tokenisers: of both languages, the same for all members.
        decoding: how to search unless told otherwise.
        source_language: for splitting sentences; may be empty.
        target_language: for people; may be empty.
        max_pieces: of a source sentence; a longer one is translated in parts.
        max_positions: of a target sentence, its end included, where the model has no more.
        shortlist: the target tokens that each source token may become; all, if None.
    """

    def __init__(
        self,
        models: Sequence[Seq2Seq[Any]],
        tokenisers: TokeniserPair,
        decoding: DecodingConfig,
        source_language: str = "",
        *,
        target_language: str = "",
        max_pieces: int | None = None,
        max_positions: int | None = None,
        shortlist: Shortlist | None = None,
    ) -> None:
        self.models = [model.eval() for model in models]
        self.tokenisers = tokenisers
        self.decoding = decoding
        self.source_language = source_language
        self.target_language = target_language
        self.max_pieces = max_pieces
        self.max_positions = max_positions
        steppers: list[Stepper] = [ModelStepper(model) for model in self.models]
        stepper = steppers[0] if len(steppers) == 1 else Ensemble(steppers)
        target = tokenisers.target
        specials = Specials(target.pad, target.bos, target.eos)
        self.searcher = Searcher(stepper, self.models, specials, shortlist)

    @overload
    def translate(self, texts: str, **options: Any) -> Translation: ...

    @overload
    def translate(self, texts: Sequence[str], **options: Any) -> list[Translation]: ...

    def translate(
        self,
        texts: str | Sequence[str],
        *,
        align: bool = True,
        attention: bool = False,
        prefix: str = "",
        workers: int = 1,
        progress: Progress = lambda num_done: None,
        **options: Any,
    ) -> Translation | list[Translation]:
        """Translate one text, or many; each may be a sentence or a paragraph.

        Control characters are read as in training (`text.normal`), a lone surrogate as U+FFFD.
        A sentence longer than the model takes is translated in parts (`text.long`).

        Args:
            texts: what to translate.
            align: whether to say which word came from which.
            attention: whether to keep every layer and head of the attention.
            prefix: what each translation must begin with.
            workers: how many batches are decoded at a time, on a core each. Where attention is
                needed, for `align` say, there is one, which watches.
            progress: told how many more sentences are done.
            options: fields of `DecodingConfig` to change, such as `beam=1`.

        Returns:
            One translation for one text, a list in the same order for many.

        Raises:
            ConfigError: there is no such option, no worker, or no place for the prefix.
        """
        config = changed(self.decoding, options, "decoding")
        given = [texts] if isinstance(texts, str) else list(texts)
        plans = [self.plan(text, config) for text in given]
        sources = [part for plan in plans for part in plan.parts]
        found: dict[int, SentenceTranslation] = {}
        for batch in self.sentences(
            sources, config, prefix=prefix, align=align, attention=attention, workers=workers
        ):
            found |= batch
            progress(len(batch))
        ordered = iter(found[number] for number in range(len(sources)))
        translations = [plan.join([next(ordered) for _ in plan.parts]) for plan in plans]
        return translations[0] if isinstance(texts, str) else translations

    def sentences(
        self,
        sources: Sequence[Encoded],
        config: DecodingConfig,
        *,
        prefix: str = "",
        align: bool = True,
        attention: bool = False,
        is_wanted: Callable[[int], bool] = always,
        workers: int = 1,
    ) -> Iterator[dict[int, SentenceTranslation]]:
        """Translate sentences, batch after batch, those of similar length together.

        Args:
            sources: what `plan` made of texts.
            config: how to search.
            prefix: what each translation must begin with.
            align: whether to say which word came from which.
            attention: whether to keep every layer and head of the attention.
            is_wanted: whether anybody still waits for a sentence, given its number; one that is
                not wanted ends early, or is left out.
            workers: how many batches are decoded at a time; as for `translate`.

        Yields:
            The sentences of a batch, by their number in `sources`.
        """
        if workers < 1:
            raise ConfigError(f"workers = {workers}: expected 1 or more")
        yield from self._sentences(
            self.searcher,
            sources,
            config,
            self.forced(prefix),
            align,
            attention,
            is_wanted,
            workers,
        )

    def traced(
        self,
        source: Encoded,
        config: DecodingConfig,
        tell: Tell,
        *,
        prefix: str = "",
        num_rivals: int = 5,
        is_wanted: Callable[[int], bool] = always,
    ) -> SentenceTranslation | None:
        """Translate one sentence and tell every step of the search as it is taken.

        A traced search has the whole vocabulary: it shows what the model would say.

        Args:
            source: one of the parts that `plan` made of a text.
            config: how to search.
            tell: told the beginnings kept at each step, and at last the end of each candidate.
            prefix: what the translation must begin with.
            num_rivals: how many tokens are told that might have come instead.
            is_wanted: as for `sentences`.

        Returns:
            What `sentences` gives without alignment; nothing if nobody waited from the start.
        """
        forced = self.forced(prefix)
        stepper, specials = self.searcher.stepper, self.searcher.specials
        tracer = Tracer(stepper, specials, tell, prefix=forced, num_rivals=num_rivals)
        searcher = Searcher(tracer, self.models, specials)
        for found in self._sentences(searcher, [source], config, forced, False, False, is_wanted):
            tell(tuple(tracer.end(each.target.ids) for each in found[0].candidates))
            return found[0]
        return None

    def forced(self, prefix: str) -> list[int]:
        """The tokens of a prefix.

        Raises:
            ConfigError: the model has no place for so many.
        """
        tokens = self.tokenisers.target.encode_ids([prefix])[0] if prefix else []
        if self.max_positions is not None and len(tokens) >= self.max_positions:
            raise ConfigError(
                f"the prefix has {len(tokens):,} pieces, and the model takes "
                f"{self.max_positions - 1:,} at most; shorten it"
            )
        return tokens

    def _sentences(
        self,
        searcher: Searcher,
        sources: Sequence[Encoded],
        config: DecodingConfig,
        forced: Sequence[int],
        align: bool,
        attention: bool,
        is_wanted: Callable[[int], bool],
        workers: int = 1,
    ) -> Iterator[dict[int, SentenceTranslation]]:
        is_seen = align or attention
        if is_seen or config.needs_attention:
            workers = 1
        asked = [
            self._within(request)
            for request in requests(
                [source.ids for source in sources],
                searcher.specials,
                config,
                prefixes=[forced] * len(sources),
                device=self.models[0].output.weight.device,
                is_wanted=is_wanted,
                workers=workers,
            )
        ]
        batches = searcher.results(asked, config, is_watched=is_seen, workers=workers)
        for request, results in batches:
            found: dict[int, SentenceTranslation] = {}
            for place, number in enumerate(request.numbers):
                source = sources[number]
                candidates = tuple(
                    Candidate(self._spell(h, seen, source, config), h.score, h.log_probs)
                    for h, seen in results[place]
                )
                best, seen = results[place][0]
                target = candidates[0].target
                looks = seen if is_seen else []
                records = [self._record(each, best, place, source, target) for each in looks]
                alignment = _align(records, source, target) if align else None
                found[number] = SentenceTranslation(
                    source, candidates, alignment, records[0] if attention else None
                )
            yield found

    def _spell(
        self,
        hypothesis: Hypothesis,
        seen: Sequence[Capture],
        source: Encoded,
        config: DecodingConfig,
    ) -> Encoded:
        """The text of a hypothesis, unknown words replaced if that is asked for.

        Who writes in capitals is answered in capitals.
        """
        target = self.tokenisers.target
        spelled = target.spell(hypothesis.tokens)
        if config.replace_unknown and target.unk in hypothesis.tokens:
            weights = mean_cross(seen, hypothesis, len(source.ids) + 1)
            spelled = replace_unknown(spelled, source, weights, target.unk)
        return capitals.in_capitals(spelled) if source.is_lowered else spelled

    def _record(
        self, seen: Capture, best: Hypothesis, place: int, source: Encoded, target: Encoded
    ) -> AttentionRecord:
        source_end = self.tokenisers.source.piece(self.tokenisers.source.eos)
        target_end = self.tokenisers.target.piece(self.tokenisers.target.eos)
        return record_of(
            seen, best, place, (*source.pieces, source_end), (*target.pieces, target_end)
        )

    def plan(self, given: str, config: DecodingConfig) -> Plan:
        """The sentences of a text, or their parts; none where it is empty."""
        return plan_text(
            given,
            self.tokenisers.source,
            self.source_language,
            max_pieces=self.max_pieces,
            is_split=config.split_sentences,
        )

    def _within(self, request: Request) -> Request:
        """The request with no target longer than the model has positions, a prefix apart."""
        if self.max_positions is None:
            return request
        lengths = [
            max(min(length, self.max_positions), len(prefix) + 1)
            for length, prefix in zip(request.max_lengths, request.prefixes, strict=True)
        ]
        return replace(request, max_lengths=tuple(lengths))


def load(
    folder: str | Path | Sequence[str | Path],
    *,
    checkpoint: str | None = None,
    device: str = "auto",
    int8: bool = False,
    shortlist: str | Path | None = None,
    warn: Callable[[str], None] = lambda line: None,
) -> Translator:
    """Open a run folder, or several as an ensemble.

    Args:
        folder: what `regard train` wrote.
        checkpoint: which of its weights: "best", "averaged", "last", or a folder's name such
            as "step-500". Unless given, the better of best and averaged by validation.
        device: "auto", "cpu", "cuda" or "mps".
        int8: whether to compute linear layers in 8-bit integers; what `regard quantise` wrote
            always is.
        shortlist: a file of `regard shortlist`; only its candidates are considered.
        warn: told of damaged checkpoints that were passed over.

    Raises:
        ModelFileError: a folder is missing, damaged or without weights.
        ConfigError: the members of an ensemble do not share their vocabularies.
    """
    folders = [folder] if isinstance(folder, str | Path) else list(folder)
    runs = [open_run(Path(each)) for each in folders]
    for run in runs[1:]:
        if run.tokenisers.fingerprint() != runs[0].tokenisers.fingerprint():
            raise ConfigError(
                f"{run.folder} and {runs[0].folder} cut text differently; the members of an "
                "ensemble need the same tokeniser (train the second with --init-from the first)"
            )
    place = choose_device(device)
    models = [
        read_chosen(run, checkpoint, warn, partial(_load_member, run, place, int8)) for run in runs
    ]
    first = runs[0].config
    shapes = [run.config.model for run in runs]
    return Translator(
        models,
        runs[0].tokenisers,
        first.decoding,
        first.data.source_language,
        target_language=first.data.target_language,
        # Training saw none longer, and the end of a sentence takes a position too.
        max_pieces=min(
            [
                *(run.config.train.max_length for run in runs),
                *(max(s.max_source - 1, 1) for s in shapes if s.max_source is not None),
            ]
        ),
        max_positions=min((s.max_target for s in shapes if s.max_target is not None), default=None),
        shortlist=None if shortlist is None else _read_shortlist(Path(shortlist), runs[0]),
    )


def _load_member(run: Run, place: str, int8: bool, checkpoint: Path) -> Seq2Seq[Any]:
    model = load_model(run, checkpoint)
    if int8 or is_int8(checkpoint):
        if place != "cpu":
            raise ConfigError(f'device = "{place}": 8-bit integers are for "cpu"')
        check_can_quantise(run)
        quantise_model(model)
    return model.to(place)


def _read_shortlist(path: Path, run: Run) -> Shortlist:
    found = Shortlist.load(path)
    found.check(run.tokenisers, path)
    return found


def _align(
    records: Sequence[AttentionRecord], source: Encoded, target: Encoded
) -> Alignment | None:
    """The word alignment that the mean cross-attention suggests; none without such."""
    crosses = [record.mean("cross") for record in records if "cross" in record.weights]
    return align_words(torch.stack(crosses).mean(0), target, source) if crosses else None
