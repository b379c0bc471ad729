"""A cluster job knows the run of Snakemake and the Slurm job that it belongs to."""

import os

from atpar.engine.parents import SESSION, allocation_notes, session_id


def test_a_job_belongs_to_the_run_that_sent_it_away(monkeypatch):
    monkeypatch.delenv(SESSION, raising=False)
    own = session_id(os.getpid())
    assert own.endswith(f"-{os.getpid()}")
    monkeypatch.setenv(SESSION, "20261130T090000Z-7")
    assert session_id(os.getpid()) == "20261130T090000Z-7" != own


def test_the_slurm_job_is_noted():
    environment = {"SLURM_JOB_ID": "12", "SLURMD_NODENAME": "gpu07"}
    assert allocation_notes(environment) == ["Slurm job 12 on node gpu07"]
    assert allocation_notes({}) == []
