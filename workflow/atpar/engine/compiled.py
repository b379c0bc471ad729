"""torch.compile for a pass: what was compiled when, counted by the compiler itself."""

from typing import Any

DYNAMIC = {None: None, "auto": None, "dynamic": True, "static": False}
GRAPHED = ("reduce-overhead", "max-autotune")
"""Modes that replay CUDA graphs on a GPU: each run overwrites what the run before returned."""


def compiled(model: Any, mode: str, shapes: str | None) -> Any:
    """Return the model to be compiled at its first calls.

    `shapes`: `static` compiles for each width met, `dynamic` once for all, `auto` first for one
    width and again for all of them when a second comes.
    """
    import torch

    # With the default limit of 8 a pass over many widths would fall back to plain execution
    # midway, unseen.
    torch._dynamo.config.recompile_limit = 1024
    torch._dynamo.config.accumulated_recompile_limit = 4096
    # Beyond that the pass ends as an error, never as a compiled pass that wasn't one.
    torch._dynamo.config.fail_on_recompile_limit_hit = True
    options = {} if mode == "default" else {"mode": mode}
    return torch.compile(model, dynamic=DYNAMIC[shapes], **options)


def graphs() -> int:
    """Return how many graphs the compiler has made in this process."""
    from torch._dynamo.utils import counters

    return int(counters["stats"]["unique_graphs"])


def breaks() -> int:
    """Return how often the compiler left its graph and ran Python in between."""
    from torch._dynamo.utils import counters

    return sum(counters["graph_break"].values())
