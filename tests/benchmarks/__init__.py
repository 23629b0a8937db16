"""Benchmarks: `test_benchmarks` times single calls and checks their results, `table` compares with other packages."""
