"""Windows over a stream, in which metrics describe the recent past: sliding, tumbling and fading ones."""
