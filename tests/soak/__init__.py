"""Long runs, started by hand; docs/reliability.md has their results. Each stops at the first error."""
