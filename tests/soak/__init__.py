"""Long runs, by hand; docs/reliability.md says what they showed. Each tells what it did, and fails at the first fault."""
