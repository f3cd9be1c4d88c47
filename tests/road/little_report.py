"""The results of a race that nobody ran: a dictionary and a GRU, one with an alignment."""

from pathlib import Path

from regard.road.result import Result, keep

TASK = "corpus, fr → en"
SENTENCE = "Jane visite la gare."


def little_result(system: str, flops: float, alignment: tuple[tuple[float, ...], ...]) -> Result:
    return Result(
        system=system,
        title=f"A {system}",
        bleu=20.0,
        low=18.0,
        high=22.0,
        signature="BLEU",
        parameters=100,
        steps=1,
        minutes=0.5,
        flops=flops,
        flops_by_time=flops,
        processor="A processor",
        tokens_per_second=10.0,
        decoded_per_second=10.0,
        by_length=(),
        curve=(),
        sentence=SENTENCE,
        translation="Jane visits",
        words=("Jane", "visits"),
        source_words=("Jane", "visite", "la"),
        alignment=alignment,
    )


def little_results() -> tuple[Result, ...]:
    return (
        little_result("dictionary", 0.0, ((1.0, 0.0, 0.0), (0.0, 0.75, 0.25))),
        little_result("gru", 1e12, ()),
    )


def keep_little_report(folder: Path, num_results: int = 2) -> None:
    """Write what a race would have kept."""
    keep(little_results()[:num_results], "| table |", folder, TASK)
