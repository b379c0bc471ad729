"""The processes that stand beside a pass: as new as its own, and warmed up too.

- bare: the model over the pass's own batches, tokenized and padded beforehand, and nothing else;
- pipeline: `transformers.pipeline("text-classification")` over the texts, in corpus order;
- sorted: texts sorted by their length in characters, tokenized and padded batch by batch, results
  put back in order, as `SentenceTransformer.encode` does it;
- gemm: nothing but the matrix products of the model's layers, in the variant's precision.

All have a worker's environment, the bare loop its allocator too; the pipeline and the sorted loop
allocate as they do for their own users.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from atpar.engine.job import ALLOCATOR, Inputs, worker_environment

ROWS = (256, 1024, 4096)
"""Rows (tokens of a batch) with which the peak of matrix products is looked for."""
EACH_S = 0.3
OTHERS = ("pipeline", "sorted")
"""Loops as others write them."""


class Loop:
    """A process that has loaded and warmed up; `settings` are a pass's."""

    def __init__(self, kind: str, inputs: Inputs, settings: dict, threads: int) -> None:
        self.kind = kind
        self.request = {
            "kind": kind,
            "inputs": inputs.__dict__,
            "variant": settings["variant"],
            "threads": threads,
        }
        environment = worker_environment(threads, deterministic=True)
        if kind in OTHERS:
            for name in ALLOCATOR:
                del environment[name]
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environment},
            text=True,
        )
        self._say(json.dumps(self.request))
        # Nothing is timed while a loop starts up.
        self.answer()

    def run(self) -> Any:
        """Run the loop once and return what it answers: its seconds, for `gemm` FLOP/s."""
        self.start()
        return self.answer()

    def start(self) -> None:
        """Begin a run."""
        self._say("go")

    def answer(self) -> Any:
        """Wait for the end of a run and return what it answers."""
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"the {self.kind} loop failed; run {__file__} by hand to see why")
        return json.loads(line)

    def _say(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def close(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.wait()


def serve() -> None:
    """The process: a line of JSON says what, each further line asks for a run."""
    request = json.loads(sys.stdin.readline())
    import torch

    torch.set_num_threads(request["threads"])
    kind = request["kind"]
    run = {"bare": bare, "pipeline": pipeline, "sorted": by_length, "gemm": gemm}[kind](request)
    if kind != "gemm":
        run(slice(0, 64))
    print(json.dumps("ready"), flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        found = run(slice(None))
        seconds = time.perf_counter() - start
        print(json.dumps(seconds if found is None else found), flush=True)


def batches_of(request: dict) -> list[Any]:
    """Return the batches that a pass of this variant computes."""
    from atpar.engine.batching import Grouping, Padding
    from atpar.engine.clocks import Phases
    from atpar.engine.corpus import windows
    from atpar.engine.feeding import Feed, Plan
    from atpar.engine.tokens import Encoder

    inputs, variant = request["inputs"], request["variant"]
    fingerprint = json.loads(Path(inputs["fingerprint"]).read_text())
    encoder = Encoder(Path(inputs["tokenizer"]), fingerprint["usable_length"])
    grouping = Grouping(variant["batch_size"], variant["token_budget"], variant["order"])
    padding = Padding(fingerprint["pad_token_id"], packed=variant["padding"] == "none")
    feed = Feed(Plan(grouping, padding), encoder.encode, Phases())
    return list(feed.batches(windows(Path(inputs["corpus"]), None)))


def bare(request: dict) -> Callable[[slice], None]:
    """Return a function that computes the pass's own batches and nothing else."""
    import torch

    batches = [
        (torch.from_numpy(one.ids), None if one.mask is None else torch.from_numpy(one.mask))
        for one in batches_of(request)
    ]
    model = _model(request)

    @torch.inference_mode()
    def run(part: slice) -> None:
        for ids, mask in batches[part]:
            model(input_ids=ids, attention_mask=mask)

    return run


def pipeline(request: dict) -> Callable[[slice], None]:
    """Return a function that runs transformers' pipeline over the texts in corpus order."""
    from transformers import pipeline as make

    texts = _texts(request)
    classify = make("text-classification", model=_model(request), tokenizer=_tokenizer(request))
    size = request["variant"]["batch_size"]

    def run(part: slice) -> None:
        classify(texts[part], batch_size=size, truncation=True, top_k=None)

    return run


def by_length(request: dict) -> Callable[[slice], None]:
    """Return a function that sorts the texts by length and classifies them batch by batch."""
    import numpy as np
    import torch

    texts, tokenizer, model = _texts(request), _tokenizer(request), _model(request)
    size = request["variant"]["batch_size"]

    @torch.inference_mode()
    def run(part: slice) -> None:
        chosen = texts[part]
        order = np.argsort([-len(text) for text in chosen], kind="stable")
        found = []
        for start in range(0, len(order), size):
            batch = [chosen[index] for index in order[start : start + size]]
            features = tokenizer(batch, padding=True, truncation=True, return_tensors="pt")
            found.extend(model(**features).logits.softmax(-1).float())
        np.asarray([found[index] for index in np.argsort(order)])

    return run


def gemm(request: dict) -> Callable[[slice], dict]:
    """Return a function that measures the peak of the products of the model's linear layers.

    It answers with FLOP/s for each shape (inputs x outputs of a layer), best of a few numbers of
    rows, and with the reason where this torch has no such product.
    """
    import torch

    variant = request["variant"]
    shapes = {
        (one.in_features, one.out_features)
        for one in _model(request).base_model.encoder.modules()
        if isinstance(one, torch.nn.Linear)
    }
    eight_bits = variant["quantization"] == "int8-dynamic"
    dtype = torch.int8 if eight_bits else _dtype(variant)

    def made(rows: int, columns: int) -> torch.Tensor:
        if eight_bits:
            return torch.randint(-100, 100, (rows, columns), dtype=dtype)
        return torch.randn(rows, columns).to(dtype)

    def peak(inputs: int, outputs: int) -> float:
        product = torch._int_mm if eight_bits else torch.mm
        best = 0.0
        for rows in ROWS:
            left, right = made(rows, inputs), made(inputs, outputs)
            product(left, right)
            start, count = time.perf_counter(), 0
            while (elapsed := time.perf_counter() - start) < EACH_S:
                product(left, right)
                count += 1
            best = max(best, 2 * rows * inputs * outputs * count / elapsed)
        return best

    def run(_: slice) -> dict:
        try:
            return {"peaks": [[i, o, peak(i, o)] for i, o in sorted(shapes)]}
        except RuntimeError as error:
            return {"reason": str(error).splitlines()[0]}

    return run


def _texts(request: dict) -> list[str]:
    from atpar.engine.corpus import windows

    return next(windows(Path(request["inputs"]["corpus"]), None))[1]


def _tokenizer(request: dict) -> Any:
    from transformers import PreTrainedTokenizerFast

    settings = json.loads(Path(request["inputs"]["tokenizer_settings"]).read_text())
    return PreTrainedTokenizerFast(
        tokenizer_file=request["inputs"]["tokenizer"],
        pad_token=settings["pad_token"],
        model_max_length=settings["model_max_length"],
    )


def _dtype(variant: dict) -> Any:
    import torch

    return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(variant["precision"], torch.float32)


def _model(request: dict) -> Any:
    import transformers

    from atpar.engine.classifier import architecture
    from atpar.engine.job import model_folder

    folder = model_folder(json.loads(Path(request["inputs"]["fingerprint"]).read_text()))
    kind = getattr(transformers, architecture(folder))
    model = kind.from_pretrained(
        folder, dtype=_dtype(request["variant"]), attn_implementation="sdpa"
    )
    return model.eval()


if __name__ == "__main__":
    serve()
