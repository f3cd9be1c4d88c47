"""Another name or number on both sides, and nothing else."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.corpus import Example
from regard.data.names import KNOWN, another_name, begins_with_vowel, names_of, numbers_of, renamed

TOM = Example("Tom aime Paris, et Tom est à Paris.", "Tom likes Paris, and Tom is in Paris.")


def test_names_begin_with_a_capital_and_go_on_without() -> None:
    assert names_of("Où va Tom, de l'ONU, avec Zoé et Al en juin ?") == {"Tom", "Zoé"}


@pytest.mark.parametrize("seed", range(20))
def test_one_name_changes_everywhere_on_both_sides(seed: int) -> None:
    pair = renamed(TOM, Random(seed))
    (new,) = names_of(pair.source) - {"Tom", "Paris"}
    (old,) = {"Tom", "Paris"} - names_of(pair.source)
    assert pair == Example(TOM.source.replace(old, new), TOM.target.replace(old, new))


@pytest.mark.parametrize("seed", range(20))
def test_one_number_changes_on_both_sides_and_keeps_its_length(seed: int) -> None:
    pair = renamed(Example("En 1789, 1 homme et 25 %.", "In 1789, 1 man and 25%."), Random(seed))
    assert numbers_of(pair.source) == numbers_of(pair.target) != {"1789", "25"}
    assert sorted(map(len, numbers_of(pair.source))) == [2, 4]
    assert pair.source.count("1 homme") == pair.target.count("1 man") == 1


@given(st.text("ab É'.TomMary", max_size=40), st.text("ab É'.TomMary", max_size=40), st.integers())
def test_a_pair_without_a_name_of_both_sides_stays(source: str, target: str, seed: int) -> None:
    pair = Example(source, target)
    changed = renamed(pair, Random(seed))
    assert (changed == pair) or bool(names_of(source) & names_of(target))


def test_a_part_of_a_word_is_no_name() -> None:
    pair = renamed(Example("Tom et Tomas", "Tom and Thomas"), Random(0))
    assert pair.source.endswith(" et Tomas") and pair.target.endswith(" and Thomas")
    assert "Tom " not in pair.source


@pytest.mark.parametrize("name", ["Tom", "Anna", "Émile", "Hélène"])
def test_a_vowel_follows_a_vowel_and_half_of_the_names_are_people_s(name: str) -> None:
    drawn = [another_name(name, Random(seed)) for seed in range(400)]
    assert {begins_with_vowel(new) for new in drawn} == {name != "Tom"}
    assert all(names_of(new) == {new} and re.fullmatch("[A-Za-z]+", new) for new in drawn)
    assert 0.4 < sum(new in KNOWN for new in drawn) / len(drawn) < 0.6
    assert len(set(drawn)) > 150
