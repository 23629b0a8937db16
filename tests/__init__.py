"""All tests."""

import sys

# Python 3.12 says nothing of instructions before a frame has asked for them and tracing begins anew.
sys._getframe().f_trace_opcodes = True
