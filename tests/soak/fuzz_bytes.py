"""Coverage-guided fuzzing of everything that reads bytes: python -m tests.soak.fuzz_bytes -max_total_time=600 CORPUS.

Needs atheris (pip install atheris), which the tests do not need. Checksums are disabled, so that the fuzzer reaches the
code after their check. Any exception but `FormatError` is an error, and so is a peak of memory above 64 times the size
of the input plus 1 MB.
"""

from __future__ import annotations

import sys
import tempfile
import tracemalloc
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["streameval"]):
    import streameval as se
    from streameval.delivery.checkpoint import decoded
    from streameval.wire import envelope
from tests.golden import write

HEAD = b"\x89SEV\r\n\x02"


class NoChecksum:
    """Replaces `zlib`; every checksum is 0."""

    @staticmethod
    def crc32(_data: bytes) -> int:
        return 0


@atheris.instrument_func
def one(data: bytes) -> None:
    data = HEAD + data + bytes(4)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        result = decoded(data)
    except se.FormatError:
        result = None
    peak = tracemalloc.get_traced_memory()[1] - before
    assert peak <= 64 * len(data) + 2**20, f"{peak} bytes of memory for {len(data)} bytes"
    if result is not None:
        assert result.to_bytes() == data


def main() -> None:
    envelope.zlib = NoChecksum  # type: ignore[assignment]
    start = len(HEAD)
    corpus = Path(sys.argv[-1]) if len(sys.argv) > 1 and not sys.argv[-1].startswith("-") else Path(tempfile.mkdtemp())
    corpus.mkdir(parents=True, exist_ok=True)
    for name, make in write.MAKE.items():
        (corpus / name).write_bytes(make().to_bytes()[start:-4])
    for make in write.MAKE.values():  # imports all modules before memory is measured
        decoded(make().to_bytes())
    tracemalloc.start()
    options = [part for part in sys.argv if part != str(corpus)]
    atheris.Setup([*options, str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
