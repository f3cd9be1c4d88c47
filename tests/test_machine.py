"""The machine underneath: what is read, what is set, and what must not be imported."""

import os
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
import torch

from regard import machine
from regard.errors import ConfigError
from regard.machine import (
    ISA_VARIABLE,
    ISA_WITHOUT_AMX,
    choose_device,
    cpuid,
    fingerprint,
    gemm_gflops,
    guard_amx,
    has_amx,
    isa_limit,
    num_tile_palettes,
    processor,
    tune_allocator,
)

SOURCE = Path(machine.__file__).parents[1]

x86_linux = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64",
    reason="CPUID is read on x86-64 Linux only",
)


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter that has not yet heard of oneDNN's limit."""
    environment = {key: value for key, value in os.environ.items() if key != ISA_VARIABLE}
    environment |= {"PYTHONPATH": str(SOURCE)} | variables
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("advertised", "palettes", "chosen", "limit"),
    [
        (False, 0, None, None),
        (False, 1, None, None),
        (False, None, None, None),
        (True, 1, None, None),
        (True, 0, None, ISA_WITHOUT_AMX),
        (True, None, None, ISA_WITHOUT_AMX),
        (True, 0, "AVX2", None),
        (True, 1, "AVX2", None),
        (False, 0, "AVX2", None),
    ],
)
def test_onednn_is_limited_only_where_amx_has_no_tiles_and_nobody_chose(
    advertised: bool, palettes: int | None, chosen: str | None, limit: str | None
) -> None:
    assert isa_limit(advertised, palettes, chosen) == limit


@x86_linux
@pytest.mark.parametrize(("palettes", "limit"), [(0, ISA_WITHOUT_AMX), (1, None)])
def test_the_guard_sets_the_environment_variable(
    monkeypatch: pytest.MonkeyPatch, palettes: int, limit: str | None
) -> None:
    monkeypatch.setenv(ISA_VARIABLE, "")  # so that what the guard sets is undone
    monkeypatch.delenv(ISA_VARIABLE)
    monkeypatch.setattr(machine, "has_amx", lambda: True)
    monkeypatch.setattr(machine, "num_tile_palettes", lambda: palettes)
    guard_amx()
    assert os.environ.get(ISA_VARIABLE) == limit


def test_the_guard_does_nothing_on_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ISA_VARIABLE, "")
    monkeypatch.delenv(ISA_VARIABLE)
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(machine, "has_amx", lambda: True)
    monkeypatch.setattr(machine, "num_tile_palettes", lambda: 0)
    guard_amx()
    assert ISA_VARIABLE not in os.environ


@x86_linux
@pytest.mark.parametrize(
    ("flag", "leaf", "register", "bit"),
    [
        ("sse2", 1, 3, 26),
        ("avx", 1, 2, 28),
        ("avx2", 7, 1, 5),
        ("avx512f", 7, 1, 16),
        ("amx_tile", 7, 3, 24),
    ],
)
def test_cpuid_agrees_with_the_kernel(flag: str, leaf: int, register: int, bit: int) -> None:
    registers = cpuid(leaf)
    if registers is None:
        pytest.skip("executable mappings are forbidden here")
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    flags = next(line for line in text.splitlines() if line.startswith("flags")).split()
    assert bool(registers[register] >> bit & 1) == (flag in flags)


@pytest.mark.parametrize("bit", [22, 23, 24, 25])
def test_amx_is_bit_24_and_no_other(monkeypatch: pytest.MonkeyPatch, bit: int) -> None:
    monkeypatch.setattr(machine, "cpuid", lambda leaf: (0, 0, 0, 1 << bit))
    assert has_amx() == (bit == 24)


@x86_linux
def test_the_kernel_answers_for_amx_where_executable_mappings_are_forbidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = has_amx()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr("mmap.mmap", refuse)
    assert (has_amx(), num_tile_palettes()) == (expected, None)


def test_a_leaf_above_the_highest_lists_no_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cpuid", lambda leaf: (0x1C, 0, 0, 0))
    assert num_tile_palettes() == 0


def test_importing_regard_does_not_import_torch() -> None:
    ran = run("import regard, sys; sys.exit('torch' in sys.modules)")
    assert ran.returncode == 0, ran.stderr


def test_importing_regard_sets_what_the_machine_needs() -> None:
    limit = isa_limit(has_amx(), num_tile_palettes(), None)
    ran = run(f"import regard, os; print(os.environ.get('{ISA_VARIABLE}'))")
    assert ran.stdout.strip() == str(limit)


def test_importing_regard_leaves_the_users_choice() -> None:
    ran = run(f"import regard, os; print(os.environ['{ISA_VARIABLE}'])", **{ISA_VARIABLE: "AVX2"})
    assert ran.stdout.strip() == "AVX2"


@pytest.mark.parametrize("imports", ["import regard, torch", "import torch, regard"])
def test_bfloat16_survives_after_importing_regard(imports: str) -> None:
    ran = run(
        f"""
{imports}
for size in (64, 256, 1024):
    square = torch.ones(size, size, dtype=torch.bfloat16)
    assert (square @ square == size).all()
with torch.autocast("cpu", dtype=torch.bfloat16):
    torch.nn.Linear(512, 512)(torch.ones(256, 512))
query = torch.ones(1, 4, 768, 64, dtype=torch.bfloat16)
torch.nn.functional.scaled_dot_product_attention(query, query, query)
"""
    )
    assert ran.returncode == 0, f"exit code {ran.returncode} (-4 is SIGILL) {ran.stderr}"


def test_the_peak_of_memory_counts_what_was_freed() -> None:
    ran = run(
        """
from regard.machine import peak_memory
before = peak_memory()
held = bytearray(64 << 20)
del held
print(peak_memory() - before)
"""
    )
    assert 60 << 20 < int(ran.stdout) < 70 << 20


def test_the_peak_of_memory_is_the_processes_own() -> None:
    held = bytearray(256 << 20)
    ran = run("from regard.machine import peak_memory; print(peak_memory())")
    assert 1 << 20 < int(ran.stdout) < len(held) // 2


def test_the_fingerprint_knows_the_number_of_threads() -> None:
    import torch

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert fingerprint()["threads"] == 1
    finally:
        torch.set_num_threads(before)


def test_the_fingerprint_is_the_same_twice() -> None:
    assert fingerprint() == fingerprint()


def test_other_kernels_have_another_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {fingerprint()["kernels"]}
    for content in (b"one build", b"another build"):
        library = tmp_path / content.decode()
        library.write_bytes(content)
        spec = ModuleSpec("regard.native._kernels", None, origin=str(library))
        monkeypatch.setattr("importlib.util.find_spec", lambda name, spec=spec: spec)
        found.add(fingerprint()["kernels"])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found.add(fingerprint()["kernels"])
    assert len(found) == 4


def test_the_processor_has_the_name_that_the_kernel_gives_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    facts = tmp_path / "cpuinfo"
    facts.write_text(
        "cpu family\t: 25\nmodel\t\t: 1\nmodel name\t: A: B\n\n\nmodel\t\t: 1\n", "utf-8"
    )
    monkeypatch.setattr("builtins.open", lambda path, **_: facts.open("r", encoding="utf-8"))
    monkeypatch.setattr("torch.get_num_threads", lambda: 3)
    assert processor() == "A: B, family 25, model 1, 3 threads"


def test_the_processor_has_a_name_where_the_kernel_gives_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(path: str, **_: object) -> None:
        raise FileNotFoundError(path)

    monkeypatch.setattr("builtins.open", missing)
    monkeypatch.setattr("platform.processor", lambda: "arm")
    assert processor() == f"arm, {torch.get_num_threads()} threads"


def test_the_speed_of_matrix_products_is_plausible() -> None:
    assert 0.01 < gemm_gflops(size=128, seconds=0.02) < 1e6


def _gives_large_pages() -> bool:
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return setting.exists() and "[never]" not in setting.read_text("utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="mallopt belongs to glibc")
def test_a_tuned_allocator_keeps_freed_memory() -> None:
    ran = run(
        """
import ctypes
from regard.machine import tune_allocator

def resident():
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * 4096

accepted = tune_allocator()
before = resident()
held = bytearray(128 << 20)
del held
print(int(accepted), resident() - before)
"""
    )
    accepted, kept = map(int, ran.stdout.split())
    assert not accepted or kept > 100 << 20


@pytest.mark.skipif(not _gives_large_pages(), reason="the kernel gives no large pages")
def test_a_tuned_allocator_puts_tensors_in_large_pages() -> None:
    ran = run(
        """
from regard.machine import tune_allocator

tune_allocator()
import torch

held = torch.ones(32 << 20)
with open("/proc/self/smaps_rollup") as lines:
    print(next(line.split()[1] for line in lines if line.startswith("AnonHugePages")))
"""
    )
    assert int(ran.stdout) > 100 << 10  # of 128 MiB, in KiB


@pytest.mark.skipif(sys.platform == "linux", reason="mallopt exists on Linux")
def test_there_is_nothing_to_tune_without_glibc() -> None:
    assert not tune_allocator()


def test_the_device_called_auto_is_one_that_can_be_asked_for() -> None:
    chosen = choose_device("auto")
    assert choose_device(chosen) == chosen


@pytest.mark.parametrize(
    ("cuda", "mps", "chosen"),
    [(2, True, "cuda"), (0, True, "mps"), (0, False, "cpu")],
)
def test_auto_prefers_cuda_to_mps_to_the_processor(
    monkeypatch: pytest.MonkeyPatch, cuda: int, mps: bool, chosen: str
) -> None:
    pretend(monkeypatch, cuda=cuda, mps=mps)
    assert choose_device("auto") == chosen


@pytest.mark.parametrize("name", ["cpu", "cuda", "cuda:0", "cuda:1", "mps"])
def test_a_device_that_is_here_keeps_its_name(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    pretend(monkeypatch, cuda=2, mps=True)
    assert choose_device(name) == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpu", 'device = "gpu" is unknown; expected "auto", "cpu", "cuda", "cuda:N" or "mps"'),
        ("cuda:", 'device = "cuda:" is unknown'),
        ("cuda:x", 'device = "cuda:x" is unknown'),
        ("cpu:0", 'device = "cpu:0" is unknown'),
        ("", 'device = "" is unknown'),
        ("mps", 'device = "mps" is not here: torch .* sees 0 mps devices; use "auto" or "cpu"'),
        ("cuda:1", 'device = "cuda:1" is not here: torch .* sees 1 cuda device; use "auto"'),
    ],
)
def test_a_device_that_is_not_here_is_an_error(
    monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    pretend(monkeypatch, cuda=1, mps=False)
    with pytest.raises(ConfigError, match=message):
        choose_device(name)


def pretend(monkeypatch: pytest.MonkeyPatch, *, cuda: int, mps: bool) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: cuda > 0)
    monkeypatch.setattr("torch.cuda.device_count", lambda: cuda)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: mps)
