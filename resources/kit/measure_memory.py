#!/usr/bin/env python3
"""Measure memory while a model classifies texts: peaks by counter, each with what it covers.

    python measure_memory.py --model FOLDER --texts texts.txt --batch-size 8

`texts.txt` holds one text a line. Needs torch and transformers; a GPU is used if there is one.
Counters are never added: they overlap, and their peaks fall at different moments. A counter that
isn't there is null with its reason, never 0. An estimate is no observation, so none is printed.
"""

import argparse
import json
import resource
import sys
from pathlib import Path

SCOPES = {
    "parameter_bytes": "the model's parameters as loaded",
    "host_rss_peak_bytes": "largest resident set of this process since its start",
    "allocated_peak_bytes": "largest sum of tensors on the device while classifying",
    "reserved_peak_bytes": "largest pool of the allocator while classifying",
    "device_used_bytes": "memory in use on the whole device afterwards, by its driver",
}


def host_peak_bytes() -> int:
    """Return the largest resident set of this process so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def load(folder, device):
    """Return tokenizer and model of a folder, ready to classify on `device`."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).to(device).eval()
    return tokenizer, model


def classify(tokenizer, model, texts, batch_size, max_length, device) -> int:
    """Run the model over all texts and return how many were done."""
    import torch

    done = 0
    with torch.inference_mode():
        for start in range(0, len(texts), batch_size):
            batch = tokenizer(
                texts[start : start + batch_size],
                padding=True,
                truncation=max_length is not None,
                max_length=max_length,
                return_tensors="pt",
            ).to(device)
            # Labels on the host: until then the work may only be queued.
            done += len(model(**batch).logits.argmax(-1).cpu())
    return done


def measure(folder, texts, batch_size=8, max_length=None) -> dict:
    """Return the counters, reasons for those that are missing, and what was done."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer, model = load(folder, device)
    counters = dict.fromkeys(SCOPES)
    reasons = {}
    counters["parameter_bytes"] = sum(one.nbytes for one in model.parameters())
    failure = None
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    try:
        done = classify(tokenizer, model, texts, batch_size, max_length, device)
    except torch.cuda.OutOfMemoryError as error:
        done, failure = None, f"out of memory: {error}"
    counters["host_rss_peak_bytes"] = host_peak_bytes()
    if device == "cuda":
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        counters["allocated_peak_bytes"] = torch.cuda.max_memory_allocated()
        counters["reserved_peak_bytes"] = torch.cuda.max_memory_reserved()
        counters["device_used_bytes"] = total - free
    else:
        for name in ("allocated_peak_bytes", "reserved_peak_bytes", "device_used_bytes"):
            reasons[name] = "the model ran on the CPU"
    return {
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "entries": len(texts),
        "entries_done": done,
        "failure": failure,
        "batch_size": batch_size,
        "max_length": max_length,
        "counters": counters,
        "reasons": reasons,
        "scopes": SCOPES,
    }


def read_texts(path) -> list:
    """Return the lines of a UTF-8 file that aren't blank."""
    lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    return [line for line in lines if line.strip()]


def main(argv=None) -> int:
    """Print the measurement as JSON."""
    parser = argparse.ArgumentParser(description="measure memory while a model classifies texts")
    parser.add_argument("--model", required=True, help="folder with model and tokenizer")
    parser.add_argument("--texts", required=True, help="file with one text a line")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--max-length", type=int, help="truncate to so many tokens")
    arguments = parser.parse_args(argv)
    texts = read_texts(arguments.texts)
    if not texts or arguments.batch_size < 1:
        print("error: the texts are empty, or --batch-size is below 1", file=sys.stderr)
        return 2
    found = measure(arguments.model, texts, arguments.batch_size, arguments.max_length)
    print(json.dumps(found, indent=2))
    return 1 if found["failure"] else 0


if __name__ == "__main__":
    sys.exit(main())
