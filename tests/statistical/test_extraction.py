"""Phrase pairs: exactly those that the definition allows."""

from hypothesis import given
from hypothesis import strategies as st

from regard.align.links import Links
from regard.statistical.extraction import Span, consistent_spans, extract, pack_links, unpack_links

SOURCE, TARGET = 5, 4
alignments = st.frozensets(
    st.tuples(st.integers(0, SOURCE - 1), st.integers(0, TARGET - 1)), max_size=8
)


def is_consistent(links: Links, span: Span) -> bool:
    """The definition of Och & Ney: no link leaves the pair, and one lies inside."""
    inside = [(span.i <= i < span.i_end, span.j <= j < span.j_end) for i, j in links]
    return all(a == b for a, b in inside) and (True, True) in inside


def all_spans(max_length: int) -> list[Span]:
    sources = [(i, k) for i in range(SOURCE) for k in range(i + 1, SOURCE + 1)]
    targets = [(j, k) for j in range(TARGET) for k in range(j + 1, TARGET + 1)]
    spans = [Span(*source, *target) for source in sources for target in targets]
    return [s for s in spans if max(s.i_end - s.i, s.j_end - s.j) <= max_length]


@given(alignments, st.integers(1, 5))
def test_the_pairs_are_those_of_the_definition(links: Links, max_length: int) -> None:
    found = list(consistent_spans(links, SOURCE, TARGET, max_length))
    expected = {span for span in all_spans(max_length) if is_consistent(links, span)}
    assert len(found) == len(set(found))
    assert set(found) == expected


@given(alignments, alignments)
def test_occurrences_are_counted_through_the_corpus(first: Links, second: Links) -> None:
    found = extract([first, second], [SOURCE] * 2, [TARGET] * 2, 3)
    rows = zip(
        *(each.tolist() for each in (found.source, found.source_length)),
        *(each.tolist() for each in (found.target, found.target_length, found.inner)),
        strict=True,
    )
    expected = []
    for number, links in enumerate((first, second)):
        for s in consistent_spans(links, SOURCE, TARGET, 3):
            inner = [(i - s.i, j - s.j) for i, j in links if s.i <= i < s.i_end]
            source, target = number * SOURCE + s.i, number * TARGET + s.j
            row = source, s.i_end - s.i, target, s.j_end - s.j, pack_links(inner)
            expected.append(row)
    assert list(rows) == expected


@given(st.frozensets(st.tuples(st.integers(0, 6), st.integers(0, 6))))
def test_links_survive_packing(links: Links) -> None:
    packed = pack_links(sorted(links))
    assert unpack_links(packed) == tuple(sorted(links))
    assert packed < 1 << 63


def test_the_sentence_of_the_lectures_has_its_phrases() -> None:
    # Jane visite l' Afrique en septembre . / Jane visits Africa in September .
    links = frozenset({(0, 0), (1, 1), (3, 2), (4, 3), (5, 4), (6, 5)})
    spans = set(consistent_spans(links, 7, 6, 3))
    assert Span(4, 6, 3, 5) in spans  # en septembre, in September
    assert {Span(3, 4, 2, 3), Span(2, 4, 2, 3)} <= spans  # (l') Afrique, Africa
    assert Span(1, 2, 2, 3) not in spans  # visite, Africa
