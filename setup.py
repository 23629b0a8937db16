"""Builds the compiled kernel, if it can be built.

``STREAMEVAL_BUILD`` says what to do: ``auto`` (the default) compiles if there is a working C compiler and otherwise
installs the numpy kernel alone, ``require`` fails without a compiler, ``skip`` does not try. ``STREAMEVAL_CHECKS=1``
builds a kernel that checks bounds, under the address and undefined-behaviour sanitizers: for tests, not for use.

Whether it works is tried before setuptools decides what kind of wheel this is: an extension that is merely optional
would leave a wheel without it under the tag of one with it.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools._distutils.ccompiler import new_compiler
from setuptools._distutils.sysconfig import customize_compiler

FLAGS = ["/O2"] if sys.platform == "win32" else ["-O3", "-g0"]
KERNEL = Path("streameval/kernel")
"""Each ``.pyx`` file in a folder below it is an extension; headers are named from here."""

SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", "-g", "-O1"]


def works() -> str:
    """Nothing if a C extension can be compiled here, else why not."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text("#include <Python.h>\nint probe(void) { return PY_VERSION_HEX != 0; }\n")
        try:
            compiler = new_compiler()
            customize_compiler(compiler)
            compiler.compile([str(source)], output_dir=folder, include_dirs=[sysconfig.get_paths()["include"]])
        except Exception as error:  # whatever a toolchain raises, it cannot compile
            return f"{type(error).__name__}: {error}"
    return ""


def extensions() -> list[Extension]:
    """The kernel, or nothing."""
    mode = os.environ.get("STREAMEVAL_BUILD", "auto")
    if mode not in ("auto", "require", "skip"):
        raise SystemExit(f"STREAMEVAL_BUILD must be auto, require or skip, not {mode!r}")
    if mode == "skip":
        return []
    problem = works()
    if problem and mode == "require":
        raise SystemExit(f"STREAMEVAL_BUILD=require, but no C extension can be compiled: {problem}")
    if problem:
        print(f"streameval: no C compiler works here, installing the slower numpy kernel ({problem})", file=sys.stderr)
        return []
    import numpy as np
    from Cython.Build import cythonize

    checks = os.environ.get("STREAMEVAL_CHECKS") == "1"
    kernel = [
        Extension(
            ".".join(source.with_suffix("").parts),
            [str(source)],
            depends=[str(header) for folder in (KERNEL, source.parent) for header in sorted(folder.glob("*.h"))],
            include_dirs=[str(KERNEL), np.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
            extra_compile_args=FLAGS + SANITIZERS * checks,
            extra_link_args=SANITIZERS * checks,
        )
        for source in sorted(KERNEL.rglob("*.pyx"))
    ]
    directives = {
        "language_level": 3,
        "boundscheck": checks,
        "initializedcheck": checks,
        "wraparound": False,
        "cdivision": True,
    }
    found: list[Extension] = cythonize(kernel, compiler_directives=directives)
    return found


setup(ext_modules=extensions(), options={"build_ext": {"parallel": True}})
