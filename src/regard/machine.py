"""Facts and settings of the machine underneath: its instruction set, memory, speed and devices.

Imported before everything else and without torch, so that `guard_amx` comes in time. What
exists on one system only is a no-op on the others.
"""

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from regard.errors import ConfigError

if TYPE_CHECKING:
    from torch import Tensor

    Product = Callable[[Tensor, Tensor], object]

ISA_VARIABLE = "ONEDNN_MAX_CPU_ISA"
ISA_WITHOUT_AMX = "AVX512_CORE_FP16"

# void (eax, ecx, out): the System V calling convention's rdi, rsi, rdx; rbx is the caller's.
CPUID_CODE = bytes.fromhex(
    "53"  # push rbx
    "89f8 89f1 4989d0"  # mov eax, edi; mov ecx, esi; mov r8, rdx
    "0fa2"  # cpuid
    "418900 41895804 41894808 4189500c"  # mov [r8], eax; [r8+4], ebx; [r8+8], ecx; [r8+12], edx
    "5b c3"  # pop rbx; ret
)


def guard_amx() -> None:
    """Keep oneDNN off AMX where the processor promises it and does not deliver.

    Some virtual machines advertise `amx_tile` but leave CPUID leaf 0x1D, the list of tile
    shapes, empty. oneDNN configures its tiles from that list and the process dies with SIGILL
    in the first bfloat16 product of 64 × 64 or more: no exception, no traceback. One
    environment variable avoids it, if set before torch's first operation.
    """
    if sys.platform == "linux" and os.uname().machine == "x86_64":
        limit = isa_limit(has_amx(), num_tile_palettes(), os.environ.get(ISA_VARIABLE))
        if limit is not None:
            os.environ[ISA_VARIABLE] = limit


def isa_limit(amx_advertised: bool, num_palettes: int | None, chosen: str | None) -> str | None:
    """The instruction set that oneDNN must not exceed, or None to leave it as it is.

    A number of palettes that could not be read (None) counts as none: a limit that was not
    needed costs bfloat16 speed, a missing one costs the process. Trying a product in a
    subprocess would tell, but would cost seconds at every start.

    Args:
        amx_advertised: whether the processor says it has AMX tiles.
        num_palettes: how many tile shapes it lists.
        chosen: the limit set by the user, which is respected.
    """
    is_broken = amx_advertised and not num_palettes
    return ISA_WITHOUT_AMX if is_broken and chosen is None else None


def has_amx() -> bool:
    """Whether the processor advertises AMX tiles (CPUID leaf 7, EDX bit 24)."""
    registers = cpuid(7)
    if registers is not None:
        return bool(registers[3] >> 24 & 1)
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            flags = next((line for line in lines if line.startswith("flags")), "")
    except OSError:
        return False
    return "amx_tile" in flags.split()


def num_tile_palettes() -> int | None:
    """The number of AMX tile shapes (CPUID leaf 0x1D, EAX), or None where it cannot be read."""
    highest = cpuid(0)
    palettes = cpuid(0x1D)
    if highest is None or palettes is None:
        return None
    # A leaf above the highest one repeats another leaf instead of being empty.
    return palettes[0] if highest[0] >= 0x1D else 0


def cpuid(leaf: int, subleaf: int = 0) -> tuple[int, int, int, int] | None:
    """The registers EAX, EBX, ECX, EDX of the CPUID instruction, which Python has no call for.

    None on other processors and systems, and where executable mappings are forbidden.
    """
    if sys.platform == "linux" and os.uname().machine == "x86_64":
        import ctypes
        import mmap

        everything = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        try:
            page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE, prot=everything)
        except OSError:
            return None
        with page:
            page.write(CPUID_CODE)
            start = ctypes.c_char.from_buffer(page)
            code = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)
            registers = (ctypes.c_uint32 * 4)()
            code(ctypes.addressof(start))(leaf, subleaf, ctypes.addressof(registers))
            del start  # a mapping that is still referred to cannot be closed
        eax, ebx, ecx, edx = registers
        return eax, ebx, ecx, edx
    return None


def tune_allocator() -> bool:
    """Keep the memory of freed tensors, and in large pages. Call it before torch makes a tensor.

    By default glibc makes a large block a mapping of its own: freed, it goes back to the kernel,
    and the next training step takes a page fault for every 4 KiB of it again. Kept in one heap,
    blocks are used again as they are, by all threads. A step over 4,096 tokens with 8,000 plain
    logits each took 0.18 s instead of 0.28, for up to twice the peak memory: a heap has holes.

    Pages of 2 MiB instead of 4 KiB spare a matrix product most look-ups of addresses: PyTorch
    asks the kernel for them where it finds this variable set. A step of the base model took 0.92
    of the time, one of the tiny model 0.95.

    Returns:
        Whether the settings were accepted; False where the C library is not glibc.
    """
    if sys.platform == "linux":
        import ctypes

        os.environ["THP_MEM_ALLOC_ENABLE"] = "1"
        libc = ctypes.CDLL(None)
        if hasattr(libc, "gnu_get_libc_version"):
            settings = {-4: 0, -1: 2**31 - 1, -8: 1}  # M_MMAP_MAX, M_TRIM_THRESHOLD, M_ARENA_MAX
            return all(libc.mallopt(name, value) for name, value in settings.items())
    return False


def peak_memory() -> int:
    """The most memory that this process has held at once, in bytes of resident set."""
    if sys.platform == "win32":
        peak = _peak_working_set()
    elif sys.platform == "linux":
        # Not getrusage: its maximum survives exec, so a child starts with its parent's.
        with open("/proc/self/status", encoding="utf-8") as status:
            peak = 1024 * next(int(line.split()[1]) for line in status if line[:5] == "VmHWM")
    else:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        peak = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak


def private_memory() -> int:
    """Bytes of memory that this process shares with no other; 0 where the system does not tell."""
    if sys.platform != "linux":
        return 0
    with open("/proc/self/smaps_rollup", encoding="utf-8") as lines:
        return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def fingerprint() -> dict[str, str | int]:
    """What bit-identical results depend on besides the seed and the data.

    Sums of floating-point numbers depend on their order, the order on the kernels, and those on
    the release of torch, the instruction set, the number of threads, and on how ours were
    compiled.
    """
    import platform

    import torch

    return {
        "torch": str(torch.__version__),
        "threads": torch.get_num_threads(),
        "instruction_set": torch.backends.cpu.get_cpu_capability(),
        "onednn_limit": os.environ.get(ISA_VARIABLE, "none"),
        "kernels": _kernels(),
        "platform": f"{sys.platform}-{platform.machine()}",
        "python": platform.python_version(),
    }


def processor() -> str:
    """What computes: the processor's name, family and model, and how many threads PyTorch uses.

    Two generations of a processor may share a name, and even a family.
    """
    import platform

    import torch

    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            parts = [line.partition(":") for line in lines]
    except OSError:
        parts = []
    facts = {name.strip(): fact.strip() for name, _, fact in parts}
    name = facts.get("model name") or platform.processor() or platform.machine()
    numbers = {"family": facts.get("cpu family"), "model": facts.get("model")}
    known = [f"{kind} {number}" for kind, number in numbers.items() if number is not None]
    return ", ".join([name, *known, f"{torch.get_num_threads()} threads"])


def _kernels() -> str:
    """The beginning of a checksum of our compiled kernels."""
    import hashlib
    from importlib.util import find_spec

    spec = find_spec("regard.native._kernels")
    if spec is None or spec.origin is None:
        return "none"
    with open(spec.origin, "rb") as library:
        return hashlib.file_digest(library, "sha256").hexdigest()[:8]


def gemm_gflops(
    size: int = 1024, seconds: float = 0.3, prepare: "Callable[[Tensor], Product] | None" = None
) -> float:
    """Billions of operations per second of the fastest fp32 product of two square matrices.

    A product of size n takes 2n³ operations. The fastest of many, because other processes can
    only make one slower: this is the peak that a model's own speed is compared with.

    Args:
        size: n.
        seconds: how long to try.
        prepare: takes the second matrix, which stays, and returns what multiplies by it;
            PyTorch's product unless given.
    """
    import torch

    left, right = torch.rand(2, size, size)
    out = left @ right
    multiply = prepare(right) if prepare else lambda left, out: torch.mm(left, right, out=out)
    multiply(left, out)  # the first one also pays for the library's start
    fastest = float("inf")
    end = time.perf_counter() + seconds
    while (before := time.perf_counter()) < end:
        multiply(left, out)
        fastest = min(fastest, time.perf_counter() - before)
    return 2 * size**3 / fastest / 1e9


def has_fast_bf16(device: str) -> bool:
    """Whether products in bfloat16 are faster than in fp32.

    So they are on a GPU made for them, with AMX, and on AMD's processors with AVX512-BF16 (Zen 4:
    200 against 90 GFLOP/s a core). Intel's without AMX compute them too, but slower than in fp32.
    """
    if device.startswith("cuda"):
        import torch

        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    vendor, features, more_features = cpuid(0), cpuid(7), cpuid(7, 1)
    if device != "cpu" or vendor is None or features is None or more_features is None:
        return False
    has_amx_bf16 = bool(features[3] >> 22 & 1) and bool(num_tile_palettes())
    is_amd = b"".join(vendor[i].to_bytes(4, "little") for i in (1, 3, 2)) == b"AuthenticAMD"
    return has_amx_bf16 or (is_amd and bool(more_features[0] >> 5 & 1))


def choose_device(name: str) -> str:
    """The torch device for a name; "auto" takes CUDA, then Apple's MPS, then the CPU.

    Raises:
        ConfigError: no such device, or not on this machine.
    """
    import re

    import torch

    counts = {
        "cuda": torch.cuda.device_count() if torch.cuda.is_available() else 0,
        "mps": int(torch.backends.mps.is_available()),
        "cpu": 1,
    }
    if name == "auto":
        return next(kind for kind, count in counts.items() if count)
    if not re.fullmatch("cpu|mps|cuda(:[0-9]+)?", name):
        raise ConfigError(
            f'device = "{name}" is unknown; expected "auto", "cpu", "cuda", "cuda:N" or "mps"'
        )
    kind, _, index = name.partition(":")
    if int(index or 0) >= counts[kind]:
        raise ConfigError(
            f'device = "{name}" is not here: torch {torch.__version__} sees {counts[kind]:,} '
            f'{kind} device{"" if counts[kind] == 1 else "s"}; use "auto" or "cpu"'
        )
    return name


if sys.platform == "win32":

    def _peak_working_set() -> int:
        """The peak of the resident set, from the call that Windows has instead of getrusage."""
        import ctypes
        from ctypes import wintypes

        class Counters(ctypes.Structure):
            """PROCESS_MEMORY_COUNTERS of psapi.h."""

            _fields_ = (
                ("cb", wintypes.DWORD),
                ("PageFaultCount", wintypes.DWORD),
                ("PeakWorkingSetSize", ctypes.c_size_t),
                ("WorkingSetSize", ctypes.c_size_t),
                ("QuotaPeakPagedPoolUsage", ctypes.c_size_t),
                ("QuotaPagedPoolUsage", ctypes.c_size_t),
                ("QuotaPeakNonPagedPoolUsage", ctypes.c_size_t),
                ("QuotaNonPagedPoolUsage", ctypes.c_size_t),
                ("PagefileUsage", ctypes.c_size_t),
                ("PeakPagefileUsage", ctypes.c_size_t),
            )

        counters = Counters(cb=ctypes.sizeof(Counters))
        process = ctypes.windll.kernel32.GetCurrentProcess
        process.restype = wintypes.HANDLE
        information = ctypes.windll.psapi.GetProcessMemoryInfo
        information.argtypes = (wintypes.HANDLE, ctypes.POINTER(Counters), wintypes.DWORD)
        information(process(), ctypes.byref(counters), counters.cb)
        return int(counters.PeakWorkingSetSize)
