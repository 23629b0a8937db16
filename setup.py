"""Builds the compiled kernel, if it can be built.

``STREAMEVAL_BUILD`` says what to do: ``auto`` (the default) compiles the kernel, and installs only the numpy kernel if
that fails; ``require`` raises an error if it fails; ``skip`` does not compile. ``STREAMEVAL_CHECKS=1`` builds a kernel
that checks bounds and runs under the address and undefined-behaviour sanitizers: for tests, not for use.

Either all extensions of the kernel are built or none, and the tag of a wheel says which. With extensions marked as
optional, a wheel with only some of them would have the tag of a complete wheel.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from setuptools import Extension, setup
from setuptools._distutils.ccompiler import new_compiler
from setuptools._distutils.sysconfig import customize_compiler
from setuptools.command.build_ext import build_ext

MODE = os.environ.get("STREAMEVAL_BUILD", "auto")
FLAGS = ["/O2"] if sys.platform == "win32" else ["-O3", "-g0"]
KERNEL = Path("streameval/kernel")
"""Each ``.pyx`` file in a folder below it is an extension; includes of headers are relative to it."""

SHARED = "streameval.kernel.shared"
"""An extension with Cython's memoryview code, which Cython would otherwise generate in each extension."""

SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", "-g", "-O1"]


def works() -> str:
    """An empty string if a C extension can be compiled, otherwise the reason why not."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text("#include <Python.h>\nint probe(void) { return PY_VERSION_HEX != 0; }\n")
        try:
            compiler = new_compiler()
            customize_compiler(compiler)
            compiler.compile([str(source)], output_dir=folder, include_dirs=[sysconfig.get_paths()["include"]])
        except Exception as error:  # toolchains raise various exceptions; each means that it cannot compile
            return f"{type(error).__name__}: {error}"
    return ""


def extensions() -> list[Extension]:
    """The extensions of the kernel; none if it is not to be built."""
    if MODE not in ("auto", "require", "skip"):
        raise SystemExit(f"STREAMEVAL_BUILD must be auto, require or skip, not {MODE!r}")
    if sys.maxsize < 2**63 - 1:  # a 32-bit Python cannot import the package with either kernel
        raise SystemExit("error: streameval requires a 64-bit Python, and this one has 32 bits; install a 64-bit one")
    if MODE == "skip":
        return []
    problem = works()
    if problem and MODE == "require":
        raise SystemExit(f"STREAMEVAL_BUILD=require, but no C extension can be compiled: {problem}")
    if problem:
        fall_back(f"no C compiler works ({problem})")
        return []
    import Cython
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
        "auto_pickle": False,  # states are pickled as bytes, and kernel tables are never pickled
    }
    # the generated code depends on the versions of Cython and numpy
    folder = f"build/cython-{Cython.__version__}-numpy-{np.__version__}"
    return cythonize(
        [*kernel, Extension(SHARED, [], extra_compile_args=FLAGS)],
        compiler_directives=directives,
        build_dir=folder,
        shared_utility_qualified_name=SHARED,
    )


def fall_back(problem: str) -> None:
    """Print why the numpy kernel is installed instead of the compiled one."""
    print(f"streameval: {problem}, installing the slower numpy kernel", file=sys.stderr)


class BuildKernel(build_ext):
    """Builds all extensions, or none if one fails and ``STREAMEVAL_BUILD`` is ``auto``."""

    def build_extension(self, extension: Extension) -> None:
        """Compile one extension, and print its name: ``pip install -v`` shows the lines as they come."""
        started = time.monotonic()
        super().build_extension(extension)
        print(f"streameval: compiled {extension.name} in {time.monotonic() - started:.0f} s", flush=True)

    def run(self) -> None:
        """Build the extensions, or fall back to a pure Python package."""
        print(f"streameval: compiling {len(self.extensions)} extensions, which takes about a minute", flush=True)
        try:
            super().run()
        except Exception as error:  # toolchains raise various exceptions; each means that the build failed
            if MODE == "require":
                raise
            fall_back(f"the kernel cannot be built ({type(error).__name__}: {error})")
            build_py = self.get_finalized_command("build_py")
            for extension in self.extensions:
                for file in self._get_inplace_equivalent(build_py, extension):
                    Path(file).unlink(missing_ok=True)
            self.extensions = self.distribution.ext_modules = []
            wheel = self.distribution.get_command_obj("bdist_wheel", create=False)
            if wheel is not None:  # it has already chosen a tag for the extensions that were to be built
                wheel.root_is_pure = True


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildKernel}, options={"build_ext": {"parallel": True}})
