"""How fast it is: `test_benchmarks` times single calls and checks their answers, `table` compares with others."""
