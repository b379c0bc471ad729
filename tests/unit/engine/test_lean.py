"""The lean start: the same model and scores, without what a pass never calls."""

import json
import subprocess
import sys
import types

import pytest

from atpar.engine import lean

START = """
import json, sys
from pathlib import Path
from atpar.engine.lean import import_class, lean_start, load_pretrained
with lean_start({arguments}):
    kind = import_class({name!r})
    model = load_pretrained(kind, Path({folder!r}), local_files_only=True) if {folder!r} else None
logits = None
if model is not None:
    import torch
    with torch.inference_mode():
        logits = model.eval()(input_ids=torch.arange(14)[None]).logits.tolist()
heavy = ["sympy", "torch._dynamo", "torch._decomp", "transformers.models.gpt2.modeling_gpt2"]
print(json.dumps([kind.__name__, logits, [one for one in heavy if one in sys.modules]]))
"""


def started(name: str, folder: str = "", arguments: str = "") -> list:
    """Return (class, logits, heavy modules) of a start in a process of its own."""
    code = START.format(name=name, folder=folder, arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_lean_start_computes_what_a_whole_one_does(built_campaign):
    name, folder = "BertForSequenceClassification", str(built_campaign.model)
    lean_name, lean_logits, heavy = started(name, folder)
    assert (lean_name, heavy) == (name, [])
    whole_name, whole_logits, heavy = started(name, folder, "compiler=True")
    assert whole_name == name
    assert "torch._decomp" in heavy, "a variant that compiles starts with all of torch"
    assert lean_logits == whole_logits


def test_arrays_are_made_without_pandas():
    code = (
        "import sys, numpy as np, pyarrow as pa\n"
        "from atpar.engine.lean import arrays_without_pandas\n"
        "arrays_without_pandas()\n"
        "assert np.from_dlpack(pa.array(np.arange(3))).tolist() == [0, 1, 2]\n"
        "assert 'pandas' not in sys.modules\n"
        "import pandas"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_class_that_its_folder_is_not_named_for_is_found_all_the_same():
    assert started("OpenAIGPTForSequenceClassification")[0] == "OpenAIGPTForSequenceClassification"


def test_a_class_that_is_nowhere_is_an_attribute_error():
    with pytest.raises(AssertionError, match="AttributeError: module transformers has no"):
        started("NoSuchForSequenceClassification")


def test_a_model_that_needs_the_shape_functions_gets_them(monkeypatch):
    import torch
    import torch._meta_registrations as real

    class Kind:
        tries = 0

        @classmethod
        def from_pretrained(cls, folder):
            cls.tries += 1
            if torch._meta_registrations is not real:
                raise NotImplementedError("no kernel for the Meta backend")
            return folder

    monkeypatch.setattr(torch, "_meta_registrations", types.ModuleType(lean.SHAPE_FUNCTIONS))
    monkeypatch.setattr(
        lean.importlib,
        "import_module",
        lambda _: monkeypatch.setattr(torch, "_meta_registrations", real),
    )
    assert lean.load_pretrained(Kind, "folder") == "folder"
    assert Kind.tries == 2


def test_an_error_of_the_model_itself_is_not_tried_twice():
    import torch._meta_registrations  # noqa: F401

    class Kind:
        tries = 0

        @classmethod
        def from_pretrained(cls, _):
            cls.tries += 1
            raise NotImplementedError("forward isn't there")

    with pytest.raises(NotImplementedError):
        lean.load_pretrained(Kind, "folder")
    assert Kind.tries == 1
