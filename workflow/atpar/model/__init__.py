"""Models: their files, tokenizer, labels, and the checks before any pass."""
