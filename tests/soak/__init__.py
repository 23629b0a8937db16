"""Long runs, by hand: docs/reliability.md says what they showed. Each fails at the first fault."""
