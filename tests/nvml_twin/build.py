"""The twin's library, compiled once for each state of its source and of NVIDIA's header."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SONAME = "libnvidia-ml.so.1"
_HERE = Path(__file__).resolve().parent


class TwinUnavailable(RuntimeError):
    """The twin cannot be built here; the message says what is missing."""


@functools.cache
def twin_library() -> Path:
    """Compile the library, or find it compiled; returns its path, in a folder of its own."""
    compiler = shutil.which("gcc")
    if compiler is None:
        raise TwinUnavailable("the NVML twin needs gcc, which is not on PATH")
    header = _header()
    sources = sorted(_HERE.glob("*.c"))
    text = b"".join(path.read_bytes() for path in [header, *sorted(_HERE.glob("*.h")), *sources])
    digest = hashlib.sha256(text).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"gridpace-nvml-twin-{os.getuid()}" / digest
    library = folder / SONAME
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        made = folder / f"{os.getpid()}.so"
        options = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-fvisibility=hidden"]
        command = [compiler, *options, f"-Wl,-soname,{SONAME}", f"-I{header.parent}", "-o", made, *sources, "-lm"]
        done = subprocess.run([*command, "-lpthread"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"the NVML twin does not compile:\n{done.stderr}")
        made.replace(library)  # two test processes may compile at once
    return library


def _header() -> Path:
    try:
        files = importlib.metadata.files("nvidia-nvml-dev") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "nvml.h":
            return Path(str(file.locate()))
    raise TwinUnavailable("the NVML twin needs NVIDIA's header, from the package nvidia-nvml-dev")


@functools.cache
def twin_functions() -> ctypes.CDLL:
    """Load the library into this process; from here on `pynvml` finds it under its own name."""
    library = ctypes.CDLL(str(twin_library()))
    state, text, index, real = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_double
    for name, result, arguments in (
        ("twin_create", state, [text, index]),
        ("twin_open", state, [text]),
        ("twin_close", None, [state]),
        ("twin_boards", index, [state]),
        ("twin_get", real, [state, index, text]),
        ("twin_set", ctypes.c_int, [state, index, text, real]),
        ("twin_text", text, [state, index, text]),
        ("twin_set_text", ctypes.c_int, [state, index, text, text]),
        ("twin_add_slice", ctypes.c_int, [state, index, text, text, index, index]),
        ("twin_stop_clock", None, [state]),
        ("twin_pass", None, [state, real]),
        ("twin_now_s", real, [state]),
        ("twin_set_latency", None, [state, real]),
        ("twin_reset", None, [state, index]),
        ("twin_set_driver", None, [state, ctypes.c_int]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
