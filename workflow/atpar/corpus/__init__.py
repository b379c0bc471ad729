"""Corpora: reading, fingerprint, token counts, buckets, and the evaluation sample."""
