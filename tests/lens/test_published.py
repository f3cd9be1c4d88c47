"""The paper's table is consistent with itself."""

import pytest

from regard.lens.published import BASE, BIG, P100, Published, flops_by_time


@pytest.mark.parametrize(("row", "hours"), [(BASE, 12.0), (BIG, 3.5 * 24)], ids=["base", "big"])
def test_the_transformers_flops_are_their_hours_on_eight_gpus(row: Published, hours: float) -> None:
    # Section 5.2 has the hours and the eight P100s, footnote 5 what one sustains: 9.5 TFLOP/s.
    assert f"{flops_by_time(60 * hours, P100, processors=8):.1e}" == f"{row.flops:.1e}"


def test_a_row_s_flops_are_those_of_the_cheaper_training() -> None:
    assert Published("both", 20.0, 2e18, 30.0, 1e18).flops == 1e18
    assert Published("one", None, None, 30.0, 3e18).flops == 3e18
    assert Published("neither", 20.0, None, None, None).flops is None
