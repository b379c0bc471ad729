"""Which files of a model folder are the tokenizer's and which the model's.

Light on purpose: this runs every time the Snakefile is parsed.
"""

import json
from pathlib import Path

from atpar.config.model import ModelSource
from atpar.errors import AtparError

TOKENIZER_NAMES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
)
SAFE_WEIGHTS = ("*.safetensors", "*.safetensors.index.json")
PICKLED_WEIGHTS = ("pytorch_model*.bin", "pytorch_model.bin.index.json")

EXAMPLE_FOLDERS = ("resources/example/model", "resources/example/model-quick")
EXAMPLE_TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
)
EXAMPLE_MODEL = ("config.json", "model.safetensors")

HUB_FOLDER = "resources/hub"
HUB_TOKENIZER_LIST = "TOKENIZER_FILES.json"
HUB_MODEL_LIST = "MODEL_FILES.json"


def model_folder(source: ModelSource) -> str:
    """Return the folder that holds the model: the user's own, or a hub revision's."""
    if source.hub is not None:
        return f"{HUB_FOLDER}/{source.hub.replace('/', '--')}/{source.revision}"
    return str(Path(source.path))


def tokenizer_files(source: ModelSource) -> list[str]:
    """Return the files that decide how texts are tokenized, as inputs of a rule.

    For a hub model that is one list that the fetching rule writes; for the example, whose folder
    is made by the workflow, a fixed list. `config.json` belongs to them only if the tokenizer's
    own files don't name its class. Raises AtparError for a folder without a tokenizer.
    """
    folder = Path(model_folder(source))
    if source.hub is not None:
        return [str(folder / HUB_TOKENIZER_LIST)]
    if str(folder) in EXAMPLE_FOLDERS:
        return [str(folder / name) for name in EXAMPLE_TOKENIZER]
    _check_folder(folder)
    return [str(path) for path in tokenizer_files_in(folder)]


def model_files(source: ModelSource) -> list[str]:
    """Return configuration and weights of the model, as inputs of a rule; tokenizer left out.

    Raises AtparError for a folder that holds no model that may be loaded.
    """
    folder = Path(model_folder(source))
    if source.hub is not None:
        return [str(folder / HUB_MODEL_LIST)]
    if str(folder) in EXAMPLE_FOLDERS:
        return [str(folder / name) for name in EXAMPLE_MODEL]
    _check_folder(folder)
    return [str(path) for path in model_files_in(folder, source)]


def tokenizer_files_in(folder: Path) -> list[Path]:
    """Return the tokenizer's files that are in a folder, in the order of their names."""
    found = sorted(path for name in TOKENIZER_NAMES if (path := folder / name).is_file())
    if not found:
        raise AtparError(
            f"{folder}: no tokenizer files; expected tokenizer.json and tokenizer_config.json "
            "beside config.json. Save the model's tokenizer there with `save_pretrained`"
        )
    configuration = folder / "config.json"
    if not _names_its_class(folder / "tokenizer_config.json") and configuration.is_file():
        found.append(configuration)
    return found


def model_files_in(folder: Path, source: ModelSource) -> list[Path]:
    """Return config.json, the weights that will be loaded, and Python files if they are allowed."""
    configuration = folder / "config.json"
    if not configuration.is_file():
        raise AtparError(f"{folder}: no config.json, so this is no transformers model folder")
    weights = _matching(folder, SAFE_WEIGHTS)
    if not any(path.suffix == ".safetensors" for path in weights):
        pickled = _matching(folder, PICKLED_WEIGHTS)
        if not pickled:
            raise AtparError(f"{folder}: no weights; expected model.safetensors")
        if not source.allow_pickle:
            raise AtparError(
                f"{pickled[0]}: the weights are only there as a pickle file, which can run code "
                "when it is loaded. Convert them (load the model where you trust it, then "
                "`save_pretrained`, which writes safetensors), or set model.allow_pickle: true"
            )
        weights = pickled
    code = _matching(folder, ["*.py"]) if source.trust_remote_code else []
    return [configuration, *weights, *code]


def _matching(folder: Path, patterns: tuple[str, ...] | list[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in folder.glob(pattern)})


def _names_its_class(path: Path) -> bool:
    """Return whether a tokenizer_config.json (there may be none) says what class it is for."""
    try:
        stated = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        return False
    except ValueError as error:
        raise AtparError(f"{path}: can't be read as JSON ({error})") from None
    if not isinstance(stated, dict):
        raise AtparError(
            f"{path}: holds no JSON object; save the model's tokenizer with `save_pretrained`"
        )
    return bool(stated.get("tokenizer_class"))


def _check_folder(folder: Path) -> None:
    if not folder.exists():
        raise AtparError(
            f"model.path is {str(folder)!r}, but there is no such folder; it is relative to the "
            "working directory"
        )
    if not folder.is_dir():
        raise AtparError(
            f"model.path is {str(folder)!r}, which is a file; name the folder that holds "
            "config.json, the weights and the tokenizer"
        )
