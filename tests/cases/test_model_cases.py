"""Tokenizers and models as people bring them: T01 to T25 of the table in README.md."""

import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from atpar.canonical import read_json, write_json
from atpar.config.load import check
from atpar.config.model import ModelSource
from atpar.config.variants import Variant
from atpar.engine.batching import Grouping, Padding
from atpar.engine.clocks import Phases
from atpar.engine.devices import CpuDevice
from atpar.engine.foreseen import truncation_notes
from atpar.engine.refused import Refused
from atpar.engine.span import Plan, Span
from atpar.engine.tokens import Encoded, Encoder, usable_length
from atpar.errors import AtparError
from atpar.journal.attempts import read_attempts
from stand_ins import ArrayDevice

COMMITS = "a" * 40, "b" * 40


def run_span(texts, classify, batch_size, order="corpus", classes=2):
    """Return (scores, work) of a measured span over texts of one token a word."""
    scores = np.full((len(texts), classes), np.nan, np.float32)

    def encode(some):
        return Encoded([np.arange(1, 1 + len(text.split())) for text in some], None, 0)

    def put(rows, values):
        scores[rows] = values

    plan = Plan(Grouping(batch_size, order=order), Padding(0))
    span = Span(plan, encode, classify, ArrayDevice(), put, lambda _: None, Phases())
    return scores, span.run([(np.arange(len(texts)), texts)])


def variant_of(**options):
    """Return a row of the variants table as plain values."""
    return Variant(variant="v", **{"batch_size": 4, **options}).model_dump(mode="json")


def backend_for(campaign, device, **options):
    """Return the backend that a worker of this variant takes on a machine with this device."""
    from atpar.engine.backends import backend_of
    from atpar.engine.job import Job

    one = campaign.one_pass("asked", **options)
    given = {name: one.settings[name] for name in ("variant", "offer", "protocol")}
    job = Job("a", str(campaign.folder), one.inputs, **given, lock_folder="", threads=1)
    facts = json.loads((campaign.results / "model/fingerprint.json").read_text())
    return backend_of(job, facts, {"devices": [device], **device})


GPU = {"kind": "cuda", "name": "a GPU", "uuid": "GPU-1", "compute_capability": "9.0"}


def test_t01_a_long_text_at_the_end_is_cut_counted_and_told_before(
    campaign, split, tokenizer, write
):
    texts = [*("apple pear" for _ in range(9)), "plum " * 2000]
    words = tokenizer(["[UNK]", "[CLS]", "[SEP]", "apple", "pear", "plum"], "[CLS]", "[SEP]")
    lines = "".join(f"e{n},{text},x\n" for n, text in enumerate(texts))
    path = write("c.csv", f"id,text,label\n{lines}")
    _, facts = split(path, tokenizer=words, settings={"model_max_length": 64})
    assert facts["tokens"]["max"] == 2002
    assert [note for note in facts["notes"] if "1 evaluation entries (10.0%)" in note]
    campaign.texts = lambda entries: texts[:entries]
    campaign.write_corpus(len(texts))
    record = campaign.measure(max_length=16)
    assert (record["status"], record["entries_completed"]) == ("ok", 10), record
    assert record["entries_truncated"] == 1
    assert record["tokens_real"] == 9 * 4 + 16


def test_t01_what_each_variant_will_cut_is_told_before_any_pass(tmp_path):
    reference, facts, settings = (tmp_path / name for name in ("r.parquet", "f.json", "s.json"))
    pq.write_table(pa.table({"tokens": pa.array([*[5] * 9, 2002], pa.int32())}), reference)
    write_json(facts, {"usable_length": 512})
    write_json(settings, {"model_max_length": None})

    def told(**max_lengths):
        return truncation_notes(reference, facts, settings, max_lengths)

    said = "1 of 10 entries (10.0%) will be cut at 512 tokens; the longest has 2002"
    assert told(b1=None, b8=None) == [f"b1, b8: {said}"]
    assert told(b1=None, short=4) == [
        "short: 10 of 10 entries (100.0%) will be cut at 4 tokens; the longest has 2002",
        f"b1: {said}",
        "these variants don't cut alike: one that cuts otherwise than the reference does other "
        "work, and can't be chosen",
    ]
    write_json(facts, {"usable_length": 2002})
    assert told(b1=None) == []


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"entries_truncated": 3}, "3 entries were truncated, 0 with the reference b1"),
        ({"entries_truncated": None}, "How many entries were truncated isn't known"),
    ],
)
def test_t01_a_variant_that_cuts_more_is_not_the_same_result(recorded, other, said):
    assert said in objection_of(recorded, other)


def objection_of(recorded, other):
    """Return why a quicker variant whose records differ so can't be chosen."""
    done = recorded(protocol={"repetitions": 1, "minimum_span_s": 0})
    done.add_option("b1", [10.0])
    done.add_option("b8", [5.0], **other)
    decision, _ = done.decide()
    objections = {
        f"{option.variant} on {option.offer}": option.objections for option in decision.options
    }
    assert objections["b1 on card"] == []
    return " ".join(one.sentence for one in objections["b8 on card"] if one.check == "work")


def test_t02_the_limit_is_that_of_the_positions_where_the_tokenizer_states_none(model):
    model.save("roberta", {"model_max_length": None}, max_position_embeddings=18, pad_token_id=0)
    settings, facts = model.check()
    assert settings["model_max_length"] is None, "not 1000000000000000019884624838656"
    assert (facts["max_positions"], facts["usable_length"]) == (18, 17)
    scores = model.logits(["w1 " * 40, "w1"], batch_size=2)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("stated", [1_000_000_000_000_000_019_884_624_838_656, None])
def test_t02_without_any_limit_the_model_is_refused(model, stated):
    model.save("bloom", {"model_max_length": stated}, max_position_embeddings=None, n_head=2)
    with pytest.raises(AtparError, match=r"neither config\.json nor tokenizer_config\.json says"):
        model.check()
    model.edit("tokenizer_config.json", model_max_length=24)
    assert model.check()[0]["model_max_length"] == 24
    assert usable_length(None, None, 24) == 24


@pytest.mark.parametrize("kind", ["llama", "mistral", "gpt2"])
def test_t04_a_padding_token_is_asked_for_and_set_in_tokenizer_and_model(model, kind):
    model.save(kind, {"pad_token": None}, pad_token_id=None)
    with pytest.raises(AtparError, match=r"no padding token.*model\.pad_token .*'</s>'"):
        model.check()
    settings, facts = model.check(pad_token="[PAD]")
    assert settings["pad_token_id"] == facts["pad_token_id"] == 0
    texts = ["w1 w2", "w3 w4 w5 w6 w7", "w8"]
    alone, together = (model.logits(texts, size) for size in (1, 3))
    np.testing.assert_allclose(alone, together, atol=1e-4)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "bert"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_t04_both_sides_score_alike_or_are_refused(model, campaign, kind, side):
    # GPT-2 and BERT count positions from the left, padding included.
    fits = side == "right" or kind == "llama"
    model.save(kind, {"padding_side": side})
    if not fits:
        with pytest.raises(AtparError, match=r"padded on the left .* set padding_side"):
            model.check()
        return
    facts = model.check()[1]
    assert facts["padding_sides"] == (["right", "left"] if kind == "llama" else ["right"])
    shared = campaign.results / "model/fingerprint.json"
    write_json(shared, {**read_json(shared), "padding_sides": facts["padding_sides"]})
    if kind == "llama":
        backend_for(campaign, GPU, pad_side="left")
    else:
        with pytest.raises(Refused, match=r"pad_side is left, but .* can be padded on the right"):
            backend_for(campaign, GPU, pad_side="left")


def test_t06_an_end_of_text_token_that_is_padding_too_hides_one_in_a_text(
    model, split, tokenizer, write
):
    pairs = ["w1 w2 </s>", "w1 w2"]
    model.save("llama", pad_token_id=None)
    settings, _ = model.check(pad_token="</s>")
    hidden = model.logits(pairs, 1)
    np.testing.assert_allclose(hidden[0], hidden[1], atol=1e-6)
    distinct, _ = model.check()
    seen = model.logits(pairs, 1)
    assert np.abs(seen[0] - seen[1]).max() > 1e-3

    path = write("c.csv", f"id,text,label\n1,{pairs[0]},x\n2,{pairs[1]},x\n")
    words = tokenizer(["[UNK]", "w1", "w2", "</s>"])
    for stated, told in ((settings, True), (distinct, False)):
        notes = split(path, tokenizer=words, settings=stated)[1]["notes"]
        assert any("padding token is the end-of-text token '</s>'" in one for one in notes) == told
    clean = write("d.csv", f"id,text,label\n1,{pairs[1]},x\n")
    assert split(clean, tokenizer=words, settings=settings)[1]["notes"] == []


def test_t07_labels_that_change_with_the_batch_are_counted_and_judged_by_the_rule(recorded):
    texts = ["one two"] * 200

    def shaped(ids, _mask, _types):
        first, second = 0.500 + 0.001 * len(ids), 0.504
        return np.tile(np.float32([first, second]), (len(ids), 1))

    one, eight = (run_span(texts, shaped, size)[0].argmax(axis=1) for size in (1, 8))
    assert (one == 1).all() and (eight == 0).all()
    assert (run_span(texts, shaped, 8)[0].argmax(axis=1) == eight).all(), "repeats agree"

    done = recorded()
    changed = done.wrong([0, 1, 2])
    done.add_option("b1", [10.0, 10.1])
    done.add_option("b8", [5.0, 5.1], table=done.table(changed))
    done.judge()
    [first, _] = read_json(done.path("quality/card/b8.json"))["passes"]
    assert first["changed_labels"] == 3
    assert first["changed_ids"] == ["000", "001", "002"]
    assert first["verdict"] in ("accepted", "rejected")
    assert "determin" not in json.dumps(first)


def test_t09_names_that_never_match_are_no_accuracy_of_zero(model, labels_of):
    model.save()
    facts = model.check()[1]
    assert facts["labels"] == ["LABEL_0", "LABEL_1"]
    with pytest.raises(AtparError, match=r"index order under model\.labels"):
        labels_of(facts, ["neg", "pos"])
    named = model.check(labels=["neg", "pos"])[1]
    assert labels_of(named, ["neg", "pos"])["reference_labels"] == ["neg", "pos"]
    with pytest.raises(AtparError, match="No label is known to both"):
        labels_of(named, ["0", "1"])


def test_t10_one_logit_is_no_constant_class(model):
    model.save(num_labels=1)
    with pytest.raises(AtparError, match=r"the head has 1 output.*binary.*regression"):
        model.check()
    settings, facts = model.check(head="binary", labels=["neg", "pos"])
    from atpar.model.heads import head_of

    head = head_of(facts, None)
    texts = [f"w{n} w{(7 * n) % 20}" for n in range(20)]
    scores = head.scores(model.logits(texts, 4))
    assert scores.shape == (20, 2)
    assert len({round(float(one), 4) for one in scores[:, 1]}) > 10
    assert settings["largest_token_id"] < 25


@pytest.mark.parametrize("kind", ["multi_label_classification", "regression"])
def test_t10_other_heads_are_read_as_what_they_are(model, kind):
    from atpar.model.heads import MULTI_LABEL, REGRESSION, head_of

    model.save(num_labels=3 if kind.startswith("multi") else 1, problem_type=kind)
    head = head_of(model.check()[1], None)
    assert head.kind == (MULTI_LABEL if kind.startswith("multi") else REGRESSION)
    scores = head.scores(model.logits(["w1", "w2 w3"], 2))
    assert not np.allclose(scores.sum(axis=1), 1)


def bytes_or_spaces(kind):
    """Return a tokenizer over one vocabulary that splits by bytes or by spaces."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    names = ["[PAD]", "[UNK]", *"ab\u0120\u2581"]
    built = Tokenizer(models.BPE({name: n for n, name in enumerate(names)}, [], unk_token="[UNK]"))
    split = {"ByteLevel": pre_tokenizers.ByteLevel, "Metaspace": pre_tokenizers.Metaspace}[kind]
    built.pre_tokenizer = split()
    return built


def test_t14_the_same_vocabulary_with_other_ids_is_another_tokenizer(model, recorded):
    found = {}
    for kind in ("ByteLevel", "Metaspace"):
        shutil.rmtree(model.folder, ignore_errors=True)
        model.save(tokens={"built": bytes_or_spaces(kind)})
        found[kind] = model.check()
    (one, first), (other, second) = found.values()
    for name in ("probe_digest", "tokenizer_digest"):
        assert one[name] != other[name]
    assert first["model_digest"] != second["model_digest"]
    assert first["weights_digest"] == second["weights_digest"]
    assert "another tokenizer" in objection_of(recorded, {"tokenizer_digest": "0" * 64})


def test_t14_a_pass_whose_library_gives_other_ids_is_refused(campaign):
    path = campaign.results / "model/tokenizer_settings.json"
    encoder = Encoder(campaign.results / "model/tokenizer.json", 16)
    write_json(path, {**read_json(path), "probe_digest": encoder.probe_digest})
    encoder.check(read_json(path)["probe_digest"])
    write_json(path, {**read_json(path), "probe_digest": "0" * 64})
    record = campaign.measure()
    assert (record["status"], record["phase"]) == ("refused", "load"), record
    assert "gives other token ids" in record["reason"]
    assert set(record["software"]) >= {"tokenizers", "transformers", "torch"}
    assert record["tokenizer_digest"]


def test_t15_one_tokenizer_for_all_variants_and_its_ids_are_those_of_transformers(model):
    from transformers import AutoTokenizer

    names = ["[PAD]", "[UNK]", "\U0001f642", "\U0001f469", "\u200d", "\u2764\ufe0f"]
    built = bytes_or_spaces("ByteLevel")
    for kind in (words_of(names), built):
        shutil.rmtree(model.folder, ignore_errors=True)
        model.save(tokens={"built": kind})
        settings, _ = model.check()
        family = "\U0001f469\u200d\u2764\ufe0f\u200d\U0001f469"
        rows = ["\U0001f642", family, "\U0001f642 \U0001f642"]
        loaded = AutoTokenizer.from_pretrained(model.folder)
        own = Encoder(model.folder.parent / "tokenizer.json", 32).encode(rows)
        assert [one.tolist() for one in own.ids] == [loaded(row)["input_ids"] for row in rows]
        assert settings["class"] == type(loaded).__name__


def words_of(names):
    """Return a tokenizer with one token a word."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {name: number for number, name in enumerate(names)}
    built = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    built.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return built


def test_t15_a_slow_tokenizer_is_refused_and_no_variant_asks_for_one(model, monkeypatch):
    from atpar.model import tokenizer as room

    class Slow:
        is_fast = False

    model.save()
    monkeypatch.setattr(room, "load_tokenizer", lambda *_: Slow())
    with pytest.raises(AtparError, match="Slow has no fast backend"):
        model.check()
    with pytest.raises(AtparError, match="use_fast"):
        check(Variant, {"variant": "v", "batch_size": 1, "use_fast": False}, "variants.tsv")


@pytest.mark.parametrize("kind", ["mistral", "llama", "distilbert", "bert"])
def test_t16_token_types_go_only_to_models_that_take_them(model, kind, monkeypatch):
    from atpar.engine import tokens

    model.save(kind)
    model.edit(
        "tokenizer_config.json",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
    assert "token_type_ids" in model.check()[0]["input_names"]
    encode = tokens.Encoder.encode

    def with_types(self, texts):
        found = encode(self, texts)
        return Encoded(found.ids, [np.ones_like(one) for one in found.ids], found.truncated)

    untyped = model.logits(["w1 w2", "w3"], 2)
    monkeypatch.setattr(tokens.Encoder, "encode", with_types)
    typed = model.logits(["w1 w2", "w3"], 2)
    assert np.allclose(typed, untyped) == (kind != "bert")


def test_t16_a_forward_without_the_name_is_never_given_token_types(model):
    import torch
    from transformers import DistilBertForSequenceClassification

    from atpar.engine.classifier import Classifier

    class Strict(DistilBertForSequenceClassification):
        def forward(self, input_ids=None, attention_mask=None):
            return super().forward(input_ids=input_ids, attention_mask=attention_mask)

    model.save("distilbert")
    classifier = Classifier(
        Strict, model.folder, variant=variant_of(), target="cpu", pad_token_id=0
    )
    ids = torch.tensor([[5, 6, 7]])
    assert classifier(ids, None, torch.ones_like(ids)).shape == (1, 2)


def test_t18_flash_attention_that_is_not_there_is_a_kept_attempt(campaign):
    record = campaign.measure(precision="bf16", attention="flash")
    assert (record["status"], record["phase"]) == ("refused", "start"), record
    assert "no kernels for the CPU" in record["reason"]
    assert read_attempts(campaign.journal)[-1] == record
    assert campaign.predictions().num_rows == 0
    with pytest.raises(Refused, match="flash-attn isn't installed"):
        backend_for(campaign, GPU, precision="bf16", attention="flash")
    with pytest.raises(AtparError, match="bf16 or fp16 only"):
        check(Variant, {"variant": "v", "batch_size": 1, "attention": "flash"}, "variants.tsv")
    job = read_json(next(campaign.results.glob("attempts/*/*/*/job.json")))
    assert job["environment"]["HF_HUB_OFFLINE"] == job["environment"]["TRANSFORMERS_OFFLINE"] == "1"


def test_t18_another_implementation_than_asked_for_is_no_substitute(campaign, plain):
    import torch
    from transformers import BertForSequenceClassification

    from atpar.engine.in_effect import check_loaded

    assert plain["attention_used"] == "sdpa"
    model = BertForSequenceClassification.from_pretrained(
        campaign.model, attn_implementation="eager"
    )
    assert check_loaded(model, "eager", torch.float32, "cpu") == []
    with pytest.raises(Refused, match="attention sdpa was asked for, and the model took eager"):
        check_loaded(model, "sdpa", torch.float32, "cpu")
    with pytest.raises(Refused, match=r"parameters of bfloat16 were asked for.* of float32"):
        check_loaded(model, "eager", torch.bfloat16, "cpu")
    model.bert.pooler.half()
    [note] = check_loaded(model, "eager", torch.float32, "cpu")
    assert "2 of " in note and "parameters are of float16" in note


@pytest.mark.parametrize(
    ("precision", "capability", "refused", "emulated"),
    [
        ("bf16", "7.5", False, True),
        ("bf16", "8.0", False, False),
        ("bf16", "10.0", False, False),
        ("bf16", None, False, False),
        ("fp16", "7.5", False, False),
        ("tf32", "7.5", True, False),
        ("tf32", "9.0", False, False),
    ],
)
def test_t19_arithmetic_that_a_gpu_lacks_is_told(
    campaign, precision, capability, refused, emulated
):
    device = {**GPU, "compute_capability": capability}
    if refused:
        with pytest.raises(Refused, match=r"capability 7\.5 has no TF32"):
            backend_for(campaign, device, precision=precision)
        return
    backend = backend_for(campaign, device, precision=precision)
    if precision == "tf32":
        return
    from atpar.engine.classifier import architecture, model_class

    backend.kind = model_class(architecture(campaign.model))
    notes = backend.load(CpuDevice("a CPU"), 16).notes
    assert any("bf16 is emulated" in one for one in notes) == emulated


def test_t20_int8_without_kernels_is_kept_as_refused_and_never_run_elsewhere(campaign):
    path = campaign.results / "offers/here/environment.json"
    environment = read_json(path)
    environment["device"] |= {"kind": "cuda", "devices": [{**GPU, "kind": "cuda"}]}
    write_json(path, environment)
    record = campaign.measure(quantization="int8-dynamic")
    assert (record["status"], record["entries_completed"]) == ("refused", 0), record
    assert "no kernels for GPUs" in record["reason"]
    assert read_attempts(campaign.journal)[-1] == record


def test_t20_a_build_without_the_kernel_is_an_error_and_parts_elsewhere_are_seen(
    campaign, monkeypatch
):
    import torch
    from transformers import BertForSequenceClassification

    from atpar.engine import classifier
    from atpar.engine.in_effect import check_loaded
    from atpar.engine.outcome import outcome_of_exception

    def missing(*_):
        raise NotImplementedError("Could not run 'quantized::linear_dynamic' with 'CUDA'")

    monkeypatch.setattr(classifier, "quantized", missing)
    cpu = {**GPU, "kind": "cpu", "uuid": None}
    backend = backend_for(campaign, cpu, quantization="int8-dynamic")
    backend.kind = BertForSequenceClassification
    with pytest.raises(NotImplementedError) as caught:
        backend.load(CpuDevice("a CPU"), 16)
    outcome = outcome_of_exception(caught.value)
    assert (outcome.status, "linear_dynamic" in outcome.reason) == ("error", True)

    model = BertForSequenceClassification.from_pretrained(campaign.model)
    model.classifier.to("meta")
    with pytest.raises(Refused, match="lies on meta instead of cpu"):
        check_loaded(model, model.config._attn_implementation, torch.float32, "cpu")


@pytest.mark.parametrize(
    ("installed", "readable"), [("2.5.1", False), ("2.5.1+cu124", False), ("2.6.0", True)]
)
def test_t21_pickled_weights_name_file_and_versions(model, monkeypatch, installed, readable):
    import torch
    from safetensors.torch import load_file

    from atpar.model import stored

    model.save()
    safe = model.folder / "model.safetensors"
    torch.save(load_file(safe), model.folder / "pytorch_model.bin")
    versions = {"torch": installed, "transformers": "5.24.0"}
    monkeypatch.setattr(stored, "version", versions.__getitem__)
    assert model.check(allow_pickle=True)[1]["files"][-1]["path"] == str(safe), "preferred"
    safe.unlink()
    with pytest.raises(AtparError, match=r"pytorch_model\.bin: .*allow_pickle: true"):
        model.check()
    if readable:
        assert model.check(allow_pickle=True)[1]["dtype"] == "fp32"
        return
    with pytest.raises(AtparError) as caught:
        model.check(allow_pickle=True)
    for part in ("pytorch_model.bin", f"torch {installed} is", "torch 2.6 or newer", "5.24.0"):
        assert part in str(caught.value)


def test_t21_weights_that_are_quantized_already_are_refused(model):
    model.save()
    model.edit("config.json", quantization_config={"quant_method": "gptq", "bits": 4})
    with pytest.raises(AtparError, match=r"config\.json: .*quantized already \(gptq\)"):
        model.check()


def test_t22_a_revision_is_a_commit_and_goes_to_every_file(tmp_path, model, monkeypatch):
    import huggingface_hub

    from atpar.model.hub import fetch_model, fetch_tokenizer

    model.save()
    asked = []

    def fetch(_hub, revision, local_dir, **_patterns):
        asked.append(revision)
        shutil.copytree(model.folder, local_dir, dirs_exist_ok=True)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    for moving in ("main", "v1.0", COMMITS[0][:7], COMMITS[0].upper(), COMMITS[0] + "\n"):
        remedy = re.escape(f"revision: {moving!r} is no full commit of 40 hexadecimal digits; ")
        with pytest.raises(AtparError, match=f"{remedy}.*write the commit that it stands for"):
            check(ModelSource, {"hub": "org/name", "revision": moving}, "config.yaml")
    with pytest.raises(AtparError, match="full commit"):
        check(ModelSource, {"hub": "org/name"}, "config.yaml")
    source = ModelSource(hub="org/name", revision=COMMITS[0])
    fetch_tokenizer(source.hub, source.revision, tmp_path / "hub/TOKENIZER_FILES.json")
    fetch_model(source, tmp_path / "hub/MODEL_FILES.json")
    assert asked == [COMMITS[0]] * 2
    assert read_json(tmp_path / "hub/MODEL_FILES.json")["revision"] == COMMITS[0]


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_t22_files_of_different_commits_are_refused(model, name):
    model.save()
    notes = model.folder / ".cache/huggingface/download"
    notes.mkdir(parents=True)
    for path in model.folder.glob("*.*"):
        (notes / f"{path.name}.metadata").write_text(f"{COMMITS[0]}\netag\n1.0\n")
    assert model.check()[1]["revision"] == COMMITS[0]
    (notes / f"{name}.metadata").write_text(f"{COMMITS[1]}\netag\n2.0\n")
    with pytest.raises(AtparError, match=rf"different revisions .*{name} is of bbbbbbbbbbbb"):
        model.check()


def test_t22_a_folder_of_the_hubs_cache_names_its_commit(tmp_path, model):
    model.save()
    for commit in COMMITS:
        shutil.copytree(model.folder, tmp_path / "models--o--n/snapshots" / commit)
    (tmp_path / "models--o--n/refs").mkdir()
    (tmp_path / "models--o--n/refs/main").write_text(COMMITS[1])
    model.folder = tmp_path / "models--o--n/snapshots" / COMMITS[0]
    assert model.check()[1]["revision"] == COMMITS[0]


def test_t23_the_precision_of_matrices_is_set_and_recorded(campaign, plain, monkeypatch):
    import torch

    from atpar.engine.in_effect import torch_settings

    assert plain["in_effect"]["float32_matmul_precision"] == "highest"
    assert plain["in_effect"]["cudnn_allow_tf32"] is False
    monkeypatch.setattr(torch, "set_num_interop_threads", lambda _: None)
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    try:
        for precision, expected in (("tf32", "high"), ("fp32", "highest"), ("bf16", "highest")):
            backend_for(campaign, GPU, precision=precision)._prepare()
            assert torch_settings()["float32_matmul_precision"] == expected
            assert torch_settings()["cudnn_allow_tf32"] == (precision == "tf32")
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]
        torch.use_deterministic_algorithms(False)


def test_t23_fp32_that_is_none_is_refused_or_noted(model, campaign):
    from atpar.engine.classifier import architecture, model_class

    model.save()
    assert model.check()[1]["dtype"] == "fp32"
    model.edit("config.json", dtype="bfloat16")
    with pytest.raises(AtparError, match=r"declares weights of bf16, but they are stored as fp32"):
        model.check()
    path = campaign.results / "model/fingerprint.json"
    for stored, told in (("bf16", True), ("fp32", False)):
        write_json(path, {**read_json(path), "dtype": stored})
        backend = backend_for(campaign, {**GPU, "kind": "cpu"})
        backend.kind = model_class(architecture(campaign.model))
        notes = backend.load(CpuDevice("a CPU"), 16).notes
        assert ("the weights are stored in bf16: rounded before" in notes) == told


@pytest.mark.parametrize("batch_size", [1, 2, 3])
def test_t24_grouping_by_length_is_undone(batch_size):
    lengths = [5, 1, 3, 4, 2]

    def predicts_length(ids, mask, _types):
        real = (np.ones_like(ids) if mask is None else mask).sum(axis=1)
        return np.eye(8, dtype=np.float32)[real] * 20

    texts = [" ".join(["w"] * length) for length in lengths]
    grouped, _ = run_span(texts, predicts_length, batch_size, order="length", classes=8)
    assert grouped.argmax(axis=1).tolist() == lengths


@pytest.mark.usefixtures("plain")
def test_t24_a_grouped_pass_labels_each_id_as_the_ungrouped_one(built_campaign):
    record = built_campaign.measure("grouped", order="length", batch_size=8)
    assert record["status"] == "ok", record
    one, other = (built_campaign.predictions(name) for name in ("plain", "grouped"))
    assert one.column("id") == other.column("id")
    assert one.column("predicted") == other.column("predicted")


def test_t25_parallelism_is_said_and_recorded_whatever_the_process_did_before(
    built_campaign, plain
):
    from atpar.engine.job import worker_environment

    assert plain["in_effect"]["tokenizers_parallelism"] == "false"
    assert plain["threads_used"] == plain["in_effect"]["threads"] == 1
    job = read_json(built_campaign.results / "attempts/here/plain/1-1/job.json")
    assert job["environment"]["RAYON_NUM_THREADS"] == "1"
    assert worker_environment(4, True)["TOKENIZERS_PARALLELISM"] == "true"
