"""What an evaluator says about the recent past: sliding, tumbling and fading windows over a stream."""
