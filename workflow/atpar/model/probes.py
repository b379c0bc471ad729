"""Texts by which one installed tokenizer is told from another: hard ones, in many scripts."""

from typing import Any

from atpar.canonical import digest

PROBES = (
    "The quick brown fox jumps over the lazy dog.",
    "naïve café — Zoë’s 3½ €uro, 100 % ＡＢＣ",
    "e\u0301 \u00e9 ﬁ ß İ ı Σς",
    "日本語と中文 한국어 العربية हिन्दी ไทย",
    "🙂👩‍👩‍👧‍👦🏳️‍🌈 \u200b\u00a0\ufeff",
    "line\nbreak\ttab  two  spaces ",
    "[CLS] [SEP] [PAD] [MASK] <s> </s> <pad> <unk>",
    "CreateVpcEndpointServiceConfiguration x_y-z.9 https://example.org/?a=b&c=%20",
    "",
    " ",
    "\x00\x01\x7f\u202e",
)


def probe_digest(tokenizer: Any) -> str:
    """Return a digest of the token ids that a `tokenizers` backend, untruncated, gives the probes.

    Two versions of a library that read one tokenizer.json otherwise give other digests.
    """
    return digest([tokenizer.encode(text).ids for text in PROBES])
