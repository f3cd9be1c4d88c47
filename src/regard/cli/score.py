"""`regard score`: how good a translation is, and whether it is better than another."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from regard.errors import ConfigError
from regard.metrics.options import SAMPLES, TOKENIZE, Language, MetricName, Tokenize


def score(
    hypotheses: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    reference: Path,
    *,
    baseline: Path | None = None,
    paper_bleu: Language | None = None,
    lowercase: Annotated[bool, Parameter(negative="")] = False,
    tokenize: Tokenize = TOKENIZE,
    metrics: Annotated[tuple[MetricName, ...], Parameter(consume_multiple=True, negative="")] = (
        "bleu",
        "chrf",
    ),
    samples: Annotated[int, Parameter(validator=Number(gte=0))] = SAMPLES,
    lines: Annotated[int, Parameter(validator=Number(gte=0))] = 0,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Score translations against a reference, one sentence a line, and print the signatures.

    Args:
        hypotheses: detokenised translations; `-` reads standard input, gzipped or not.
        reference: what they are compared with.
        baseline: another system's translations of the same lines: adds a paired bootstrap test.
        paper_bleu: also give the BLEU that papers on Multi30k report for this target language.
        lowercase: ignore case.
        tokenize: what sacreBLEU's BLEU takes for a word.
        metrics: which scores, in this order.
        samples: bootstrap samples for intervals and tests; 0 for neither.
        lines: show so many of the lines on which system and baseline differ most.
        as_json: print one JSON object instead of a table.
    """
    if lines and baseline is None:
        raise ConfigError("--lines compares two systems; name the other one with --baseline FILE")
    if not metrics and paper_bleu is None:
        raise ConfigError("--metrics names none; expected at least one, such as --metrics bleu")
    import json
    from dataclasses import asdict

    from rich.console import Console

    from regard.metrics.report import make_report, make_scorers
    from regard.metrics.show import show_report
    from regard.metrics.text import read_text

    report = make_report(
        make_scorers(metrics, tokenize=tokenize, lowercase=lowercase, paper_bleu=paper_bleu),
        read_text(hypotheses),
        read_text(reference),
        read_text(baseline) if baseline else None,
        samples=samples,
        num_different_lines=lines,
    )
    if as_json:
        print(json.dumps(asdict(report), ensure_ascii=False, indent=2))
    else:
        show_report(report, Console())
