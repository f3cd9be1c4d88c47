"""The compiled kernels equal the lines of PyTorch beside them."""

import shutil
import subprocess
from collections.abc import Callable
from ctypes import byref, c_int64
from ctypes.util import find_library
from pathlib import Path
from unittest.mock import Mock, patch

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from regard.decoding.top import best_continuations
from regard.errors import RegardError
from regard.native import kernels
from regard.nn.int8 import int8_product, quantise_rows
from regard.nn.own import own_product
from regard.nn.product import FloatProduct, Int8Product, Product
from regard.shapes import Tensor
from tests.native.samples import (
    both,
    needs_floats,
    needs_integers,
    needs_kernels,
    numbers,
    seeds,
    sizes,
)

pytestmark = needs_kernels


@given(rows=sizes, width=st.integers(1, 400), spread=st.floats(0, 60), seed=seeds)
def test_softmax(rows: int, width: int, spread: float, seed: int) -> None:
    x = numbers(rows, width, seed=seed) * spread
    found = x.clone()
    log_sums = kernels.softmax_(found)
    torch.testing.assert_close(found, x.softmax(-1), atol=1e-7, rtol=2e-5)
    torch.testing.assert_close(log_sums, x.logsumexp(-1, keepdim=True), atol=1e-5, rtol=1e-6)


@given(names=st.lists(st.integers(0, 6), max_size=40), width=sizes, seed=seeds)
def test_add_to_rows(names: list[int], width: int, seed: int) -> None:
    rows, x = torch.tensor(names, dtype=torch.int64), numbers(len(names), width, seed=seed)
    total = numbers(7, width, seed=seed + 1)
    expected = total.index_add(0, rows, x, alpha=0.5)
    kernels.add_to_rows(total, rows, x, 0.5)
    torch.testing.assert_close(total, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("place", [0, 33])
def test_what_is_no_number_stays_none(bad: float, place: int) -> None:
    x = numbers(1, 34, seed=1)
    x[0, place] = bad
    assert kernels.softmax_(x).isnan().all()


@given(rows=sizes, width=st.integers(1, 400), spread=st.floats(0, 60), seed=seeds)
def test_log_softmax(rows: int, width: int, spread: float, seed: int) -> None:
    x = numbers(rows, width, seed=seed) * spread
    found = kernels.log_softmax_(x.clone())
    torch.testing.assert_close(found, x.log_softmax(-1), atol=1e-5, rtol=1e-5)


def test_log_softmax_of_what_is_impossible_and_of_what_is_no_number() -> None:
    x = torch.tensor([[0.0, -torch.inf, 1.0], [0.0, torch.nan, 1.0], [torch.inf, 0.0, 0.0]])
    possible, *broken = kernels.log_softmax_(x.clone())
    torch.testing.assert_close(possible, x[0].log_softmax(-1))
    assert all(row.isnan().any() for row in broken)


@given(
    batch=st.integers(1, 5),
    lanes=st.integers(1, 5),
    vocabulary=st.integers(8, 700),
    count=st.integers(1, 8),
    seed=seeds,
)
def test_best_continuations(batch: int, lanes: int, vocabulary: int, count: int, seed: int) -> None:
    scores, log_probs = numbers(batch, lanes, seed=seed), numbers(batch, lanes, vocabulary, seed=1)
    compiled, formula = both(lambda: best_continuations(scores, log_probs, count))
    for one, other in zip(compiled, formula, strict=True):
        assert torch.equal(one, other)


def test_one_that_is_no_number_is_seen() -> None:
    log_probs = torch.zeros(2, 2, 200)
    log_probs[1, 1, 150] = torch.nan
    best = best_continuations(torch.zeros(2, 2), log_probs, 4)
    assert best.totals[:, 0].isnan().tolist() == [False, True]


@given(rows=sizes, width=sizes, spread=st.floats(0, 1e6), seed=seeds)
def test_quantised_rows_to_the_last_bit(rows: int, width: int, spread: float, seed: int) -> None:
    x = numbers(rows, width, seed=seed) * spread
    compiled, formula = both(lambda: quantise_rows(x))
    assert torch.equal(compiled.values, formula.values)
    assert torch.equal(compiled.scale, formula.scale)


def test_what_is_no_number_stays_none_in_integers() -> None:
    """Or a damaged model would translate on, with whatever a cast makes of it."""
    x = numbers(2, 70, seed=0)
    x[1, 66] = torch.nan
    compiled, formula = both(lambda: quantise_rows(x).scale.isnan().flatten().tolist())
    assert compiled == formula == [False, True]


@given(rows=sizes, width=st.integers(2, 90), outputs=sizes, has_bias=st.booleans(), seed=seeds)
def test_integer_products(rows: int, width: int, outputs: int, has_bias: bool, seed: int) -> None:
    x, weight = numbers(rows, width, seed=seed), numbers(outputs, width, seed=seed + 1)
    bias = numbers(outputs, seed=seed + 2) if has_bias else None
    values, scale = quantise_rows(weight)
    compiled, formula = both(lambda: int8_product(x, values, scale.squeeze(1), bias))
    torch.testing.assert_close(compiled, formula, atol=1e-5, rtol=1e-5)


def integers(outputs: int, width: int, seed: int, has_bias: bool) -> Int8Product:
    values, scale = quantise_rows(numbers(outputs, width, seed=seed))
    bias = numbers(outputs, seed=seed + 1) if has_bias else None
    return Int8Product(values, scale.squeeze(1), bias)


@needs_integers
@given(rows=sizes, quads=st.integers(1, 40), outputs=sizes, has_bias=st.booleans(), seed=seeds)
def test_products_with_packed_integers(
    rows: int, quads: int, outputs: int, has_bias: bool, seed: int
) -> None:
    x, product = (
        numbers(rows, 4 * quads, seed=seed + 2),
        integers(outputs, 4 * quads, seed, has_bias),
    )
    with patch.object(kernels, "call", wraps=kernels.call) as call:
        product(x)
    assert "multiply_integers" in [each.args[0] for each in call.mock_calls]
    compiled, formula = both(lambda: product(x))
    torch.testing.assert_close(compiled, formula, atol=1e-5, rtol=1e-5)


@needs_integers
def test_sums_of_packed_integers_are_exact() -> None:
    """The largest sums there can be, and with weights that take the shift to its ends."""
    x = torch.tensor([[1.0] * 4096, [-1.0] * 4096])
    weight = torch.tensor([[127] * 4096, [-127] * 4096], dtype=torch.int8)
    product = Int8Product(weight, torch.ones(2), None)
    found = product(x).double() * 127
    assert torch.equal(found.round(), torch.tensor([[1, -1], [-1, 1]]) * 4096.0 * 127 * 127)


@needs_integers
def test_a_width_that_is_no_multiple_of_four_is_left_to_pytorch() -> None:
    product = integers(5, 10, 0, has_bias=False)
    assert product.packed() is None
    assert product(numbers(3, 10, seed=1)).shape == (3, 5)


@pytest.mark.parametrize("kind", ["floats", "integers"])
@given(
    lists=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    lanes=st.integers(1, 7),
    has_bias=st.booleans(),
    seed=seeds,
)
def test_outputs_that_each_sentence_has_to_itself(
    kind: str, lists: list[int], lanes: int, has_bias: bool, seed: int
) -> None:
    dice = torch.Generator().manual_seed(seed)
    product: Product = integers(60, 12, seed, has_bias)
    if kind == "floats":
        bias = numbers(60, seed=seed + 1) if has_bias else None
        product = FloatProduct(numbers(60, 12, seed=seed), bias)
    own = torch.randint(60, (len(lists), 48), generator=dice)
    counts = torch.tensor(lists)
    places = torch.randperm(len(lists), generator=dice)[: (len(lists) + 1) // 2]
    x = numbers(len(places) * lanes, 12, seed=seed + 2)
    compiled, formula = both(lambda: own_product(product, own, counts)(x, places))
    torch.testing.assert_close(compiled, formula, atol=1e-4, rtol=1e-4)
    everything = product(x)
    for row, found in enumerate(compiled):
        place = places[row // lanes]
        count = int(counts[place])
        torch.testing.assert_close(
            found[:count], everything[row, own[place, :count]], atol=1e-4, rtol=1e-4
        )
        assert (found[count:] == -torch.inf).all()


@pytest.mark.parametrize("kind", ["floats", "integers"])
def test_own_outputs_of_rows_in_another_precision_are_left_to_pytorch(kind: str) -> None:
    product: Product = integers(60, 12, 0, has_bias=False)
    if kind == "floats":
        product = FloatProduct(numbers(60, 12, seed=0), None)
    own, counts = torch.arange(32).view(2, 16), torch.tensor([16, 9])
    multiply = own_product(product, own, counts)
    x, places = numbers(4, 12, seed=1), torch.tensor([0, 1])
    with torch.autocast("cpu", torch.bfloat16):
        found = multiply(x.bfloat16(), places)
    torch.testing.assert_close(found.float(), multiply(x, places), atol=0.1, rtol=0.1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_single_row_of_another_precision_is_left_to_pytorch(dtype: torch.dtype) -> None:
    product = FloatProduct(numbers(4, 6, seed=0), None)
    with pytest.raises(RuntimeError, match="dtype"):
        product(numbers(1, 6, seed=1).to(dtype))


def test_a_single_row_that_needs_gradients_is_left_to_pytorch() -> None:
    product = FloatProduct(numbers(4, 6, seed=0), None)
    assert product(numbers(1, 6, seed=1).requires_grad_()).requires_grad


def test_what_needs_gradients_is_left_to_pytorch() -> None:
    x = numbers(3, 4, seed=0)
    assert kernels.can_take(x)
    assert not kernels.can_take(x, x.clone().requires_grad_())
    assert not kernels.can_take(x.double())


@given(width=st.integers(1, 300), outputs=sizes, has_bias=st.booleans(), seed=seeds)
def test_a_single_row(width: int, outputs: int, has_bias: bool, seed: int) -> None:
    x, weight = numbers(1, width, seed=seed), numbers(outputs, width, seed=seed + 1)
    bias = numbers(outputs, seed=seed + 2) if has_bias else None
    compiled, formula = both(lambda: FloatProduct(weight, bias)(x))
    torch.testing.assert_close(compiled, formula, atol=1e-4, rtol=1e-4)


@needs_floats
@given(rows=sizes, width=st.integers(1, 150), outputs=sizes, has_bias=st.booleans(), seed=seeds)
def test_products_with_packed_floats(
    rows: int, width: int, outputs: int, has_bias: bool, seed: int
) -> None:
    x, weight = numbers(rows, width, seed=seed), numbers(outputs, width, seed=seed + 1)
    bias = numbers(outputs, seed=seed + 2) if has_bias else None
    product = FloatProduct(weight, bias)
    with patch.object(kernels, "call", wraps=kernels.call) as call:
        found = product(x)
    assert "multiply_floats" in [each.args[0] for each in call.mock_calls]
    torch.testing.assert_close(found, F.linear(x, weight, bias), atol=1e-4, rtol=1e-4)
    alone = [product(row.unsqueeze(0)) for row in x]
    assert torch.equal(found, torch.cat(alone))


@pytest.mark.parametrize("kind", ["rows", "floats", "integers"])
def test_a_product_does_not_depend_on_the_threads(kind: str) -> None:
    x, weight = numbers(5, 300, seed=0), numbers(701, 300, seed=1)
    multiply: dict[str, Callable[[Tensor], Tensor]] = {
        "rows": lambda x: kernels.multiply_rows(x, weight, None),
        "floats": FloatProduct(weight, None),
        "integers": integers(701, 300, 1, has_bias=True),
    }
    found, threads = [], torch.get_num_threads()
    for count in (1, 2, 3, 7):
        torch.set_num_threads(count)
        try:
            found.append(multiply[kind](x))
        finally:
            torch.set_num_threads(threads)
    assert all(torch.equal(each, found[0]) for each in found)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler")
def test_other_processors_have_all_kernels_but_packed_products(tmp_path: Path) -> None:
    sources = map(str, Path(kernels.__file__).parent.glob("*.c"))
    library = tmp_path / "portable.so"
    command = ["cc", "-shared", "-fPIC", "-std=gnu11", "-w", "-DREGARD_PORTABLE", *sources, "-lm"]
    subprocess.run([*command, "-o", str(library)], check=True)
    with patch.object(kernels, "find_spec", lambda _: Mock(origin=str(library))):
        found = kernels._library.__wrapped__()
    assert found is not None and set(found) >= set(kernels._SIGNATURES)
    answer = c_int64(7)
    found["can_multiply_floats"](byref(answer))
    assert answer.value == 0


def test_a_library_that_cannot_be_loaded_is_none(tmp_path: Path) -> None:
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    spec = patch.object(kernels, "find_spec", lambda _: Mock(origin=str(broken)))
    with spec:
        assert kernels._library.__wrapped__() is None


def test_a_library_of_an_older_version_is_refused() -> None:
    libc = patch.object(kernels, "find_spec", lambda _: Mock(origin=find_library("c")))
    with libc, pytest.raises(RegardError, match="install the package again"):
        kernels._library.__wrapped__()


@given(rows=st.integers(1, 9), width=st.integers(1, 300), outputs=st.integers(1, 90), seed=seeds)
def test_a_row_is_the_same_beside_others(rows: int, width: int, outputs: int, seed: int) -> None:
    x, weight = numbers(rows, width, seed=seed), numbers(outputs, width, seed=seed + 1)
    bias = numbers(outputs, seed=seed + 2)
    together = kernels.multiply_rows(x, weight, bias)
    alone = [kernels.multiply_rows(row.unsqueeze(0), weight, bias) for row in x]
    assert torch.equal(together, torch.cat(alone))
    torch.testing.assert_close(together, F.linear(x, weight, bias), atol=1e-4, rtol=1e-4)
