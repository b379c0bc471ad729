"""The model: a local folder, or a hub id with its revision."""

import re
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from atpar.config.base import Model

COMMIT = r"^[0-9a-f]{40}$"
"""A full commit."""


class ModelSource(Model):
    """Where the model comes from."""

    path: str | None = None
    """A local model folder, relative to the working directory."""
    hub: str | None = Field(None, pattern=r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?$")
    """A hub id such as `organisation/name`; needs `revision`."""
    revision: str | None = Field(None, pattern=COMMIT)
    """The hub revision as a full commit (40 hexadecimal digits): a branch moves [P6]."""
    labels: list[str] | None = None
    """Label names in index order, for a model whose own are LABEL_0, LABEL_1, ..."""
    head: Literal["single_label", "binary", "multi_label", "regression"] | None = None
    """What the outputs mean: one label an entry (softmax over the outputs); one label from a single
    output (`binary`, with two names under `labels`, that of a low score first); any number of
    labels (a score each); a number. null: as `problem_type` of config.json says."""
    pad_token: str | None = None
    """The padding token, for a tokenizer that has none."""
    trust_remote_code: bool = False
    """Run Python code that comes with the model. Off: such a model is refused."""
    allow_pickle: bool = False
    """Load weights from pickle files, which can run code. Off: only safetensors."""

    @field_validator("revision", mode="before")
    @classmethod
    def _full_commit(cls, revision: Any) -> Any:
        if isinstance(revision, str) and not re.fullmatch(COMMIT, revision):
            raise ValueError(
                f"{revision!r} is no full commit of 40 hexadecimal digits; a branch or tag moves, "
                "and a short commit is ambiguous: write the commit that it stands for now, as the "
                "hub's page of the model lists it"
            )
        return revision

    @model_validator(mode="after")
    def _one_source(self) -> "ModelSource":
        if (self.path is None) == (self.hub is None):
            raise ValueError("state either `path` (a local folder) or `hub` (with `revision`)")
        if self.hub is not None and self.revision is None:
            raise ValueError("`hub` needs `revision`, the full commit of 40 hexadecimal digits")
        return self
