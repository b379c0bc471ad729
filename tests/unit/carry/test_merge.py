"""Shares are taken in whole, once, anywhere; what contradicts is refused by name."""

import errno
import json
import multiprocessing
import os
import shutil
import signal
import zipfile

import pytest

from atpar.canonical import read_json, write_json, write_text
from atpar.carry import archive as archive_room
from atpar.carry import commit
from atpar.carry.archive import read_manifest
from atpar.carry.export import export_pass, export_share
from atpar.carry.merge import merge_shares
from atpar.carry.receipts import look, with_measured_rounds
from atpar.config.campaign import Campaign
from atpar.config.load import Plan
from atpar.config.offers import Offer
from atpar.config.variants import Variant
from atpar.errors import AtparError
from atpar.journal import journal
from atpar.journal.attempts import read_attempts


def packed(node, *offers, name=None):
    path = node.results / "export" / f"{name or '+'.join(offers)}.zip"
    export_share(node.results, "three", offers, path)
    return path


def hand_in(archive, checkout):
    target = checkout.results / "incoming" / archive.name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(archive, target)
    return target


def take_in(checkout, configured, *archives, here=(), **changes):
    return merge_shares(
        [hand_in(archive, checkout) for archive in archives],
        checkout.results,
        configured(here, **changes),
    )


def test_three_nodes_make_one_campaign(node, laptop, configured):
    nodes = [node(name).measure(name, 1, 2) for name in "abc"]
    lines = take_in(laptop, configured, *map(packed, nodes, "abc"))
    assert all("4 passes and 4 attempts are new" in line for line in lines)
    together = {}
    for one in nodes:
        together |= one.files()
    kept = {path: text for path, text in together.items() if not path.endswith("/alive")}
    assert laptop.files() == kept


def test_the_same_share_is_the_same_bytes(node):
    one = node("a").measure("a", 1, 2)
    first = packed(one, "a").read_bytes()
    for path in one.results.rglob("*"):
        os.utime(path, (1, 1))
    assert packed(one, "a").read_bytes() == first


def test_taking_in_twice_changes_nothing(node, laptop, configured):
    archive = packed(node("a").measure("a", 1, 2), "a")
    take_in(laptop, configured, archive)
    before = laptop.files()
    times = {path: path.stat().st_mtime_ns for path in laptop.results.rglob("*.json")}
    assert "holds nothing new" in take_in(laptop, configured, archive)[0]
    assert laptop.files() == before
    again = {path: path.stat().st_mtime_ns for path in times if "merged" not in path.parts}
    # Unchanged files keep their times, so that Snakemake reruns nothing for them.
    assert again.items() <= times.items()


def test_a_later_share_of_the_same_node_adds_what_is_new(node, laptop, configured):
    one = node("a").measure("a", 1)
    running = one.start("a", "b1", 2)
    early = packed(one, "a", name="early")
    take_in(laptop, configured, early)
    path = laptop.results / "journal/a.jsonl"
    assert [row["status"] for row in read_attempts(path)] == ["ok", "ok", "interrupted"]
    one.finish(running, text="at last")
    late = packed(one, "a", name="late")
    take_in(laptop, configured, late)
    assert [row["status"] for row in read_attempts(path)] == ["ok"] * 3
    assert (laptop.results / "passes/a/b1/2.json").exists()
    before = laptop.files()
    # An old archive that turns up once more takes nothing back.
    take_in(laptop, configured, early)
    assert laptop.files() == before


def test_a_second_attempt_replaces_the_record_and_keeps_the_first_attempt(node, laptop, configured):
    one = node("a").measure("a", 1, variants=["b1"])
    take_in(laptop, configured, packed(one, "a", name="first"))
    one.finish(one.start("a", "b1", 1, number=2), text="second")
    take_in(laptop, configured, packed(one, "a", name="second"))
    assert read_json(laptop.results / "passes/a/b1/1.json")["attempt_number"] == 2
    assert (laptop.results / "predictions/a/b1/1.parquet").read_text() == "second a/b1/1/2"
    attempts = laptop.results / "attempts/a/b1"
    assert sorted(path.name for path in attempts.iterdir()) == ["1-1", "1-2"]
    # And in the other order, the older share doesn't bring its record back.
    take_in(laptop, configured, one.results / "export/first.zip")
    assert read_json(laptop.results / "passes/a/b1/1.json")["attempt_number"] == 2


def test_two_attempts_under_one_id_are_refused(node, laptop, configured):
    one, other = node("one").measure("a", 1), node("other").measure("a", 2)
    other.finish(other.start("a", "b1", 1) | {"started_utc": "elsewhere"}, text="other")
    take_in(laptop, configured, packed(one, "a", name="one"))
    before = laptop.files()
    with pytest.raises(AtparError, match=r"other\.zip: attempt a/b1/1/1 is another one"):
        take_in(laptop, configured, packed(other, "a", name="other"))
    assert laptop.files() == before


def test_two_attempts_under_one_id_in_one_batch_are_refused(node, laptop, configured):
    one, other = node("one").measure("a", 1), node("other")
    other.finish(other.start("a", "b1", 1), text="other")
    with pytest.raises(AtparError, match=r"two\.zip: attempt a/b1/1/1"):
        take_in(laptop, configured, packed(one, "a", name="one"), packed(other, "a", name="two"))
    assert laptop.files() == {}


@pytest.mark.parametrize(
    ("what", "message"),
    [("seal", "sealed protocol"), ("corpus", "corpus"), ("model", "model"),
     ("evaluation", "corpus")],
)  # fmt: skip
def test_another_seal_corpus_or_model_is_refused(node, laptop, configured, what, message):
    take_in(laptop, configured, packed(node("a").measure("a", 1), "a"))
    before = laptop.files()
    archive = packed(node("b", **{what: "f" * 64}).measure("b", 1), "b")
    with pytest.raises(AtparError, match=rf"b\.zip: measured with another {message}"):
        take_in(laptop, configured, archive)
    assert laptop.files() == before


def test_one_bad_archive_keeps_the_others_out_and_all_faults_are_named(node, laptop, configured):
    good = packed(node("a").measure("a", 1), "a")
    foreign = packed(node("b", seal="f" * 64).measure("b", 1), "b")
    torn = packed(node("c").measure("c", 1), "c")
    torn.write_bytes(torn.read_bytes()[:-40])
    with pytest.raises(AtparError) as caught:
        take_in(laptop, configured, good, foreign, torn)
    assert "b.zip: measured with another sealed protocol" in str(caught.value)
    assert "c.zip: damaged" in str(caught.value)
    assert laptop.files() == {}


@pytest.mark.parametrize(
    "member", ["manifest.json", "journal/a.jsonl", "passes/a/b4/2.json", "corpus/reference.parquet"]
)
def test_a_changed_byte_is_found(node, laptop, configured, member):
    archive = packed(node("a").measure("a", 1, 2), "a")
    with zipfile.ZipFile(archive) as pack:
        info = pack.getinfo(member)
    content = bytearray(archive.read_bytes())
    lengths = content[info.header_offset + 26 : info.header_offset + 30]
    name, extra = int.from_bytes(lengths[:2], "little"), int.from_bytes(lengths[2:], "little")
    content[info.header_offset + 30 + name + extra + info.compress_size // 2] ^= 1
    archive.write_bytes(content)
    with pytest.raises(AtparError, match=r"a\.zip: damaged"):
        take_in(laptop, configured, archive)
    assert laptop.files() == {}


def rewritten(archive, change):
    """Write the archive anew with `change(name, content) -> [(ZipInfo or name, content)]`."""
    with zipfile.ZipFile(archive) as pack:
        members = [(name, pack.read(name)) for name in pack.namelist()]
    with zipfile.ZipFile(archive, "w") as pack:
        for name, content in members:
            for new, text in change(name, content):
                pack.writestr(new, text)
    return archive


def in_manifest(change):
    def apply(name, content):
        if name == "manifest.json":
            manifest = json.loads(content)
            change(manifest)
            content = json.dumps(manifest).encode()
        return [(name, content)]

    return apply


@pytest.mark.parametrize(
    "path",
    ["../outside.json", "/etc/passwd", "passes/a/../../b.json", "passes/a/b1/1.json/x",
     "passes\\a", "journal/..jsonl", "attempts/a/b1/1-1/.hidden", "corpus/entries.parquet"],
)  # fmt: skip
def test_no_path_leaves_the_campaigns_folder(node, laptop, configured, path, tmp_path):
    archive = packed(node("a").measure("a", 1), "a")

    def add(name, content):
        if name != "manifest.json":
            return [(name, content)]
        manifest = json.loads(content)
        manifest["files"].append({**manifest["files"][0], "path": path})
        return [(name, json.dumps(manifest)), (path, b"bad")]

    with pytest.raises(AtparError, match=r"a\.zip: .* is no file of a share"):
        take_in(laptop, configured, rewritten(archive, add))
    assert laptop.files() == {}
    assert not (tmp_path / "outside.json").exists()


def test_a_member_that_the_manifest_does_not_name_is_refused(node, laptop, configured):
    archive = packed(node("a").measure("a", 1), "a")
    with zipfile.ZipFile(archive, "a") as pack:
        pack.writestr("../../evil", "x")
    with pytest.raises(AtparError, match="isn't named in its manifest"):
        take_in(laptop, configured, archive)


def test_links_are_refused(node, laptop, configured):
    archive = packed(node("a").measure("a", 1), "a")

    def link(name, content):
        info = zipfile.ZipInfo(name)
        if name == "journal/a.jsonl":
            info.external_attr = (0o120777) << 16
            content = b"/etc/passwd"
        return [(info, content)]

    with pytest.raises(AtparError, match=r"journal/a\.jsonl' is no plain file"):
        take_in(laptop, configured, rewritten(archive, link))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: one.update(definition=2), "under definition 2"),
        (lambda one: one.update(campaign="four"), "a share of campaign 'four'"),
        (lambda one: one.pop("offers"), "doesn't list"),
        (lambda one: one.update(offers=["aa"]), "belongs to no offer"),
        (lambda one: one["files"].pop(0), "isn't named"),
        (lambda one: one["files"].append(one["files"][0]), "names a file twice"),
        (lambda one: one["files"][0].update(sha256="0" * 64), "differs from its checksum|twin"),
        (lambda one: one["files"][0].update(bytes=3), "isn't as long as"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(node, laptop, configured, change, message):
    archive = rewritten(packed(node("a").measure("a", 1), "a"), in_manifest(change))
    with pytest.raises(AtparError, match=message):
        take_in(laptop, configured, archive)
    assert laptop.files() == {}


def test_an_archive_that_would_fill_the_disk_is_refused(node, laptop, configured, monkeypatch):
    archive = packed(node("a").measure("a", 1), "a")
    little = shutil.disk_usage(archive.parent)._replace(free=100)
    monkeypatch.setattr("atpar.carry.archive.shutil.disk_usage", lambda _: little)
    with pytest.raises(AtparError, match=r"a\.zip: unpacks to \d+ bytes, but 100 are free"):
        take_in(laptop, configured, archive)
    assert laptop.files() == {}


def test_a_member_that_unpacks_to_more_than_it_says_is_refused(node, laptop, configured):
    """A bomb: a short file in the manifest, a long one in the archive."""

    def blow_up(name, content):
        return [(name, b" " * 10**6 if name == "journal/a.jsonl" else content)]

    archive = rewritten(packed(node("a").measure("a", 1), "a"), blow_up)
    with pytest.raises(AtparError, match=r"journal/a\.jsonl isn't as long as manifest\.json says"):
        take_in(laptop, configured, archive)
    assert laptop.files() == {}


def test_an_offer_that_is_unknown_here_is_refused(node, laptop, configured):
    archive = packed(node("a").measure("a", 1), "a")
    with pytest.raises(AtparError, match=r"offer 'a', which isn't in the offers table.*'aa'"):
        take_in(laptop, configured, archive, offers=("aa", "b"))


def test_a_variant_that_means_something_else_here_is_refused(node, laptop, configured):
    archive = packed(node("a").measure("a", 1), "a")
    here = {"b1": {"variant": "b1", "series": "other", "batch_size": 1}, "b4": {"batch_size": 8}}
    with pytest.raises(AtparError, match=r"b4/1\.json was measured with batch_size 4, but 'b4'"):
        take_in(laptop, configured, archive, variants=here)


def test_an_offer_that_means_another_device_here_is_refused(node, laptop, configured):
    one = node("a")
    one.environment("a")
    one.finish(one.start("a", "b1", 1) | {"offer_settings": {"device": "cpu", "threads": 1}})
    devices = {"a": {"device": "cpu", "threads": 2}}
    with pytest.raises(AtparError, match=r"threads 1, but 'a' has 2 in the offers table here"):
        take_in(laptop, configured, packed(one, "a"), devices=devices)
    take_in(laptop, configured, packed(one, "a"), devices={"a": {"device": "cpu", "threads": 1}})


def test_a_record_that_its_journal_does_not_tell_of_is_refused(node, laptop, configured):
    one = node("a").measure("a", 1)
    path = one.results / "journal/a.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    with pytest.raises(AtparError, match="whose end its journal doesn't tell"):
        take_in(laptop, configured, packed(one, "a"))


def test_predictions_that_are_not_the_records_are_refused(node, laptop, configured):
    one = node("a").measure("a", 1)
    write_text(one.results / "predictions/a/b1/1.parquet", "other")
    write_text(one.results / "attempts/a/b1/1-1/predictions.parquet", "other")
    with pytest.raises(AtparError, match="speaks of other predictions"):
        take_in(laptop, configured, packed(one, "a"))


def test_another_driver_is_kept_beside(node, laptop, configured):
    one = node("one").measure("a", 1)
    two = node("two").measure("a", 2)
    two.environment("a", driver="580.2")
    for part in (packed(one, "a", name="one"), packed(two, "a", name="two")):
        take_in(laptop, configured, part)
    found = sorted((laptop.results / "offers/a").iterdir())
    assert [read_json(path)["driver"] for path in found] == ["580.2", "570.1"]
    assert found[0].name == f"environment-{read_json(found[0])['digest'][:12]}.json"


def test_what_runs_here_is_not_overwritten(node, configured):
    here = node("here").measure("a", 1)
    early = packed(here, "a", name="early")
    running = here.start("a", "b1", 2)
    stale = packed(here, "a", name="stale")
    write_text(here.attempt(running) / "worker.log", "further\n")
    before = here.files()
    take_in(here, configured, early, stale, here=["a"])
    assert here.files() == before


def test_a_new_node_goes_on_where_a_lost_one_stopped(node, configured):
    lost = node("lost").measure("a", 1)
    archive = packed(lost, "a")
    fresh = node("fresh")
    take_in(fresh, configured, archive, here=["a"])
    fresh.measure("a", 2)
    assert len(read_attempts(fresh.results / "journal/a.jsonl")) == 4


def _merge_and_die(archives, results, configuration, die_at):
    """Take shares in, and be killed at the n-th change that is made."""
    put, left = commit._put, [die_at]

    def count(*arguments):
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        put(*arguments)

    commit._put = count
    merge_shares(archives, results, configuration)


@pytest.mark.parametrize("die_at", [0, 1, 7, 12, 13, 14])
def test_killed_in_the_middle_the_next_start_completes_it(node, laptop, configured, die_at):
    one = node("a").measure("a", 1, 2, variants=["b1"])
    archive = hand_in(packed(one, "a"), laptop)
    process = multiprocessing.get_context("fork").Process(
        target=_merge_and_die, args=([archive], laptop.results, configured(), die_at)
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    cut_off = laptop.files()
    records = {name for name in cut_off if name.startswith("passes/")}
    # A record that is seen has everything that belongs to it.
    for name in records:
        attempts = {row["attempt_id"] for row in read_attempts(laptop.results / "journal/a.jsonl")}
        assert read_json(laptop.results / name)["attempt_id"] in attempts
    # Until it is completed the workflow knows that something is due.
    assert look(laptop.results, ["a"], []).due
    # Snakemake removes what a failed job declared as its outputs.
    for name in records:
        (laptop.results / name).unlink()
    merge_shares([archive], laptop.results, configured())
    merged = {name: text for name, text in one.files().items() if not name.endswith("/alive")}
    assert laptop.files() == merged
    assert look(laptop.results, ["a"], []).due == ()


def _merge_and_die_unpacking(archives, results, configuration):
    from atpar.carry import plan

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    plan.Plan._add_records = die
    merge_shares(archives, results, configuration)


def test_killed_before_the_decision_nothing_was_taken(node, laptop, configured):
    archive = hand_in(packed(node("a").measure("a", 1), "a"), laptop)
    process = multiprocessing.get_context("fork").Process(
        target=_merge_and_die_unpacking, args=([archive], laptop.results, configured())
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not any((laptop.results / name).exists() for name in ("passes", "journal", "protocol"))
    merge_shares([archive], laptop.results, configured())
    assert not list(laptop.results.glob(".merging-*"))


def test_two_merges_at_once_exclude_each_other(node, laptop, configured):
    archive = packed(node("a").measure("a", 1), "a")
    with commit.alone(laptop.results), pytest.raises(AtparError, match="by another process"):
        take_in(laptop, configured, archive)


def test_export_reads_up_to_the_last_whole_line(node, laptop, configured):
    one = node("a").measure("a", 1)
    with (one.results / "journal/a.jsonl").open("ab") as stream:
        stream.write(b'{"event":"started","attempt_id":"a/b4/9/1","rec')
    take_in(laptop, configured, packed(one, "a"))
    assert len(journal.read(laptop.results / "journal/a.jsonl")) == 4


def test_export_of_nothing_says_what_to_do(node, tmp_path):
    with pytest.raises(AtparError, match="nothing was measured of a"):
        export_share(node("a").results, "three", ["a"], tmp_path / "a.zip")
    with pytest.raises(AtparError, match="measures no offer"):
        export_share(node("b").results, "three", [], tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()


def test_export_of_one_pass_holds_all_its_attempts_and_no_other(node, laptop, configured):
    one = node("a").measure("a", 1, 2)
    one.finish(one.start("a", "b1", 1, number=2))
    archive = one.results / "export/one.zip"
    export_pass(one.results, "three", "a", "b1", 1, archive)
    take_in(laptop, configured, archive)
    rows = read_attempts(laptop.results / "journal/a.jsonl")
    assert [row["attempt_id"] for row in rows] == ["a/b1/1/1", "a/b1/1/2"]
    paths = {entry["path"] for entry in read_manifest(archive)["files"]}
    assert {path for path in paths if path.startswith("passes")} == {"passes/a/b1/1.json"}
    # The share of the whole then brings the rest.
    take_in(laptop, configured, packed(one, "a"))
    assert len(read_attempts(laptop.results / "journal/a.jsonl")) == 5


def test_what_waits_is_promised_and_known_as_taken_in_afterwards(node, laptop, configured):
    archive = hand_in(packed(node("a").measure("a", 1), "a"), laptop)
    before = look(laptop.results, ["a", "b"], [])
    record = str(laptop.results / "passes/a/b1/1.json")
    assert record in before.promised and before.has(record) and before.evaluates_only
    assert before.waiting == (archive,) and before.receipts("b") == []
    merge_shares([archive], laptop.results, configured())
    after = look(laptop.results, ["a", "b"], [])
    assert (after.waiting, after.due, after.promised) == ((), (), frozenset())
    assert after.receipts("a") == before.receipts("a") == after.receipts() != []
    assert after.evaluates_only
    # Where something is measured, corpus and model are built, and own passes never promised.
    assert not look(laptop.results, ["a", "b"], ["b"]).evaluates_only
    os.utime(archive)
    assert look(laptop.results, ["a"], ["a"]).promised == frozenset()


def planned(mode, limit, variant="b1"):
    rule = {"mode": mode, "limit": limit}
    campaign = Campaign(
        campaign="three",
        corpus={"files": ["corpus.csv"]},
        model={"path": "model"},
        protocol={"tolerance": {"reference": variant}, "extension": rule},
    )
    offer = Offer(offer="a", provider="acme", gpu="card")
    return Plan(campaign, (Variant(variant=variant, batch_size=1),), (offer,))


def test_rounds_that_a_node_granted_itself_come_with_its_records(node, laptop, configured):
    archive = hand_in(packed(node("a").measure("a", *range(1, 8)), "a"), laptop)
    for _ in ("promised", "taken in"):
        carried = look(laptop.results, ["a"], [])
        for plan, repetitions in (
            (planned("automatic", 10), 7),
            (planned("automatic", 6), 6),
            (planned("automatic", 10).with_granted(3), 8),
            (planned("automatic", 10, variant="b8"), 5),
            (planned("propose", 10), 5),
        ):
            assert with_measured_rounds(plan, carried).repetitions == repetitions
        merge_shares([archive], laptop.results, configured())


def test_a_laptop_needs_no_corpus_before_it_fetches(laptop):
    assert look(laptop.results, ["a"], [], shared=True).evaluates_only
    assert not look(laptop.results, ["a"], [], shared=False).evaluates_only
    assert not look(laptop.results, ["a"], ["a"], shared=True).evaluates_only


def test_a_damaged_archive_does_not_keep_the_workflow_from_starting(laptop):
    path = laptop.results / "incoming" / "half.zip"
    write_text(path, "half")
    found = look(laptop.results, ["a"], [])
    assert "half.zip: damaged" in found.faults[0]
    assert found.receipts("a") == [str(found.due[0])]


def test_an_unknown_identity_file_is_needed_for_export(node, tmp_path):
    one = node("a").measure("a", 1)
    (one.results / "protocol/seal.json").unlink()
    with pytest.raises(AtparError, match="run `snakemake seal` first"):
        export_share(one.results, "three", ["a"], tmp_path / "a.zip")


def test_records_differing_under_one_attempt_are_refused(node, laptop, configured):
    one = node("a").measure("a", 1)
    archive = packed(one, "a")
    take_in(laptop, configured, archive)
    path = laptop.results / "passes/a/b1/1.json"
    write_json(path, {**read_json(path), "main_time_s": 1.0})
    with pytest.raises(AtparError, match="differs from the record of the same attempt"):
        take_in(laptop, configured, archive)


def test_two_exports_at_once_both_leave_a_whole_archive(node):
    one = node("a").measure("a", 1, 2)
    path = one.results / "export" / "a.zip"
    fork = multiprocessing.get_context("fork")
    exports = [
        fork.Process(target=export_share, args=(one.results, "three", ["a"], path))
        for _ in range(4)
    ]
    for export in exports:
        export.start()
    for export in exports:
        export.join()
    assert [export.exitcode for export in exports] == [0] * 4
    assert zipfile.ZipFile(path).testzip() is None
    assert [entry.name for entry in path.parent.iterdir()] == ["a.zip"]


def test_clocks_that_differ_change_no_order_and_no_instant(node, laptop, configured):
    one, other = node("one").measure("a", 1, 2), node("other")
    other.finish(other.start("b", "b1", 2))
    other.finish(other.start("b", "b4", 1))
    take_in(laptop, configured, packed(one, "a"), packed(other, "b"))
    for name, source in (("a", one), ("b", other)):
        merged = read_attempts(laptop.results / f"journal/{name}.jsonl")
        assert merged == read_attempts(source.results / f"journal/{name}.jsonl")
    # The clock was set back between the two: what was measured first stays first.
    rows = read_attempts(laptop.results / "journal/b.jsonl")
    assert [row["attempt_id"] for row in rows] == ["b/b1/2/1", "b/b4/1/1"]
    assert rows[0]["started_utc"] > rows[1]["started_utc"]


@pytest.mark.parametrize("step", ["unpack", "commit"])
def test_a_full_disk_is_said_and_loses_nothing(node, laptop, configured, monkeypatch, step):
    archive = packed(node("a").measure("a", 1), "a")
    put, left = commit._put, [3]

    def full(*arguments):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device", "x")
        return put(*arguments) if step == "commit" else None

    target = commit if step == "commit" else archive_room
    monkeypatch.setattr(target, "_put" if step == "commit" else "_extract", full)
    with pytest.raises(AtparError, match="can't be written \\(No space left on device"):
        take_in(laptop, configured, archive)
    monkeypatch.undo()
    if step == "unpack":
        assert laptop.files() == {}
    take_in(laptop, configured, archive)
    assert len(read_attempts(laptop.results / "journal/a.jsonl")) == 2
    assert (laptop.results / "passes/a/b4/1.json").exists()
