"""The corpus: files, columns, and the evaluation sample drawn from them."""

from typing import Literal

from pydantic import Field, model_validator

from atpar.config.base import Model, Name


class Columns(Model):
    """Names of the columns in the corpus files."""

    id: str = "id"
    """Stable identifier of an entry, read as text, byte for byte."""
    text: str = "text"
    """The text to classify."""
    label: str | None = "label"
    """The reference answer; null where quality is judged by agreement with a reference run."""
    label_kind: Literal["single", "multiple", "number"] = "single"
    """What an answer is: one label; several labels, or none, in any order (multi-label models); or
    a number (regression)."""
    label_separator: str | None = Field(None, min_length=1)
    """`label_kind: multiple`: the characters between the labels of a cell, such as `;`. null: lists
    (Parquet, Arrow, JSONL), or JSON arrays as text."""
    split: str | None = None
    """Column that says `evaluation` or `tuning`; the latter stays out of the evaluation [P5]."""
    subgroups: list[str] = Field(default_factory=list)
    """Further columns kept for subgroup checks, as text."""

    @model_validator(mode="after")
    def _subgroups_are_columns_of_their_own(self) -> "Columns":
        own = {"id", "text", "label", "split", "order", "tokens", "bucket"}
        taken = sorted(own & set(self.subgroups))
        if taken:
            raise ValueError(
                f"columns.subgroups names {taken[0]!r}, which is a column of the product's own "
                "tables; rename it in the files (buckets and labels are subgroups anyway)"
            )
        if len(set(self.subgroups)) != len(self.subgroups):
            raise ValueError(f"columns.subgroups names a column twice: {self.subgroups}")
        return self

    @model_validator(mode="after")
    def _separator_has_something_to_part(self) -> "Columns":
        if self.label_separator is not None and self.label_kind != "multiple":
            raise ValueError(
                f"columns.label_separator is {self.label_separator!r}, but an entry has one label; "
                "set columns.label_kind: multiple, or take the separator out"
            )
        return self


class Dialect(Model):
    """How CSV and TSV files are written. TSV files take a tab whatever is said here."""

    delimiter: str = Field(",", min_length=1, max_length=1)
    """The character between cells."""
    quote: str = Field('"', min_length=1, max_length=1)
    """The character around cells that hold a delimiter or a line end."""
    encoding: Literal["utf-8"] = "utf-8"
    """Only UTF-8, with or without a byte order mark."""

    @model_validator(mode="after")
    def _one_byte_each_and_different(self) -> "Dialect":
        for name in ("delimiter", "quote"):
            character = getattr(self, name)
            if not character.isascii() or character in "\0\r\n":
                raise ValueError(
                    f"dialect.{name} is {character!r}; expected one ASCII character that is no "
                    "line end"
                )
        if self.delimiter == self.quote:
            raise ValueError(f"dialect.delimiter and dialect.quote are both {self.quote!r}")
        return self


class Bucket(Model):
    """A range of token counts and how many evaluation entries it gets."""

    name: Name
    """Its name in every table."""
    up_to_tokens: int | None = Field(None, ge=1)
    """Largest token count in the bucket, special tokens included; null: no upper bound."""
    entries: int = Field(ge=1)
    """Exact number of entries drawn for the evaluation corpus."""


class Sample(Model):
    """The evaluation corpus: so many entries of each bucket, classes in natural proportion."""

    seed: int = Field(20260924, ge=0)
    """Seed of the draw; the same files and seed give the same corpus."""
    order: Literal["shuffled", "source"] = "shuffled"
    """Order of passage: drawn at random once, or as in the files."""
    rare_classes: Literal["keep", "leave_out"] = "keep"
    """A class too rare for a place by its proportion: it gets one all the same, or is left out."""
    buckets: list[Bucket] = Field(min_length=1)
    """Ranges of token counts, from short to long."""

    @model_validator(mode="after")
    def _bounds_rise(self) -> "Sample":
        bounds = [bucket.up_to_tokens for bucket in self.buckets]
        if None in bounds[:-1] or bounds[-1] is not None:
            raise ValueError("the last bucket, and only it, has `up_to_tokens: null`")
        finite = bounds[:-1]
        if finite != sorted(set(finite)):
            raise ValueError(f"`up_to_tokens` must rise from bucket to bucket, found {finite}")
        names = [bucket.name.lower() for bucket in self.buckets]
        if len(set(names)) != len(names):
            raise ValueError(f"bucket names must differ, found {names}")
        return self


class Policy(Model):
    """What is done with texts that are odd; every case is counted in the fingerprint."""

    empty_text: Literal["reject", "accept"] = "reject"
    """Empty or blank texts: stop with the row named, or keep them."""
    missing_text: Literal["reject", "empty"] = "reject"
    """A text that is absent (null): stop with the row named, or read it as an empty one."""
    invalid_unicode: Literal["reject", "replace"] = "reject"
    """Bytes of a text that are no UTF-8: stop with the row named, or put U+FFFD in their place. In
    ids and labels they always stop the load."""
    duplicate_text: Literal["accept", "reject"] = "accept"
    """The same text under two ids: keep and count, or stop."""
    control_characters: Literal["accept", "reject"] = "accept"
    """Control characters other than tab and line ends: keep and count, or stop."""


class Corpus(Model):
    """What is processed."""

    files: list[str] = Field(min_length=1)
    """Parquet, Arrow/Feather, CSV, TSV or JSONL files (the last three also .gz or .zst), folders of
    Parquet files, or folders that `save_to_disk` wrote; relative to the working directory."""
    columns: Columns = Columns()
    """Which column is what."""
    dialect: Dialect = Dialect()
    """How CSV files are written."""
    policy: Policy = Policy()
    """What is done with odd texts."""
    sample: Sample | None = None
    """null: the files hold the evaluation corpus itself, all of it, in one bucket `all`."""
    label_map: dict[str, str] = Field(default_factory=dict)
    """Corpus label -> model label, where they are spelt differently. Never guessed."""

    @model_validator(mode="after")
    def _map_has_labels_to_rename(self) -> "Corpus":
        if self.label_map and self.columns.label is None:
            raise ValueError("label_map maps labels, but columns.label is null: there are none")
        return self

    @model_validator(mode="after")
    def _numbers_have_no_spelling(self) -> "Corpus":
        if self.label_map and self.columns.label_kind == "number":
            raise ValueError("label_map maps labels, but columns.label_kind is `number`")
        return self
