"""A real Slurm on this machine: two nodes with different (fake) GPU types, files of its own."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import psutil

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol")
COMMANDS = ("sbatch", "srun", "squeue", "scontrol", "scancel", "sinfo", "sacct", "sacctmgr")
CONFIGURATION = """\
ClusterName=atpar-test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
SlurmctldPort={ports[0]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
KillWait=5
MinJobAge=3600
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
GresTypes=gpu
NodeName=one NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs={cpus} \
Gres=gpu:rtx4090:1 Feature=ada State=UNKNOWN
NodeName=two NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs={cpus} \
Gres=gpu:b200:2 Feature=blackwell State=UNKNOWN
PartitionName=main Nodes=one,two Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=one,two MaxTime=INFINITE State=UP PriorityTier=10
"""
# A device file is demanded for each GPU: a plain count drains the node.
GPUS = """\
NodeName=one Name=gpu Type=rtx4090 File=/dev/null
NodeName=two Name=gpu Type=b200 File=/dev/zero,/dev/full
"""


def lacking() -> str | None:
    """Return why no Slurm can be started here, None if it can."""
    missing = [name for name in PROGRAMS if not shutil.which(name, path=_path())]
    if missing:
        return f"{', '.join(missing)} not installed (Debian: slurm-wlm, munge)"
    return None if os.geteuid() == 0 else "starting Slurm's daemons takes root"


def _path() -> str:
    return f"{os.environ['PATH']}:/usr/sbin:/sbin"


def _free_ports(count: int) -> list[int]:
    """Return ports that nothing listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return


class Cluster:
    """Daemons with their files under `folder`; nothing of the system's own Slurm is touched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.daemons: list[subprocess.Popen] = []
        self.nodes: dict[str, subprocess.Popen] = {}

    @property
    def environment(self) -> dict[str, str]:
        """Variables with which the commands reach this cluster, also from inside its jobs."""
        return {"PATH": f"{self.folder / 'bin'}:{_path()}"}

    def start(self) -> "Cluster":
        """Start munge, the controller and both nodes, and wait until they are idle."""
        for name in ("munge", "state", "spool-one", "spool-two", "bin"):
            (self.folder / name).mkdir(parents=True, mode=0o700)
        (self.folder / "slurm.conf").write_text(
            CONFIGURATION.format(
                folder=self.folder,
                host=socket.gethostname().partition(".")[0],
                ports=_free_ports(3),
                cpus=len(os.sched_getaffinity(0)),
            )
        )
        (self.folder / "gres.conf").write_text(GPUS)
        for name in COMMANDS:
            # Snakemake's plugin clears SLURM_CONF inside of a job; a wrapper keeps it.
            wrapper = self.folder / "bin" / name
            real = shutil.which(name, path=_path())
            wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {real} "$@"\n')
            wrapper.chmod(0o755)
        self._munge()
        self._daemon("slurmctld", "-D")
        for node in ("one", "two"):
            self._node(node)
        self._wait_for_idle_nodes()
        return self

    def _node(self, name: str) -> None:
        self._daemon("slurmd", "-D", "-N", name)
        self.nodes[name] = self.daemons[-1]

    def _wait_for_idle_nodes(self) -> None:
        def idle() -> bool:
            return set(self.run("sinfo", "-h", "-N", "-o", "%T").split()) == {"idle"}

        self._wait(idle, "idle nodes")

    def lose(self, node: str, job: str) -> None:
        """Let a node vanish as in a power cut: its daemon and all of a job's processes at once."""
        daemon = self.nodes.pop(node)
        daemon.kill()
        daemon.wait()
        self.daemons.remove(daemon)
        steps = self._steps(node, job)
        inside = [process for step in steps for process in step.children(recursive=True)]
        # Their daemons first: one that sees its step end still reports that the job failed.
        for process in [*steps, *inside]:
            _kill(process)
        # What the controller does by itself when a node doesn't answer for long enough.
        self.run("scontrol", "update", f"nodename={node}", "state=down", "reason=power cut")

    def _steps(self, node: str, job: str) -> list[psutil.Process]:
        """Return the daemons that watch over a job's steps, found by their sockets."""
        socket = f"{self.folder}/spool-{node}/{node}_{job}."
        found = []
        for process in psutil.process_iter():
            try:
                if process.name() == "slurmstepd" and any(
                    str(one.laddr).startswith(socket) for one in process.net_connections("unix")
                ):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def bring_back(self, node: str) -> None:
        """Start a lost node again."""
        self._node(node)
        self.run("scontrol", "update", f"nodename={node}", "state=resume")
        self._wait_for_idle_nodes()

    def _munge(self) -> None:
        folder = self.folder / "munge"
        (folder / "key").write_bytes(os.urandom(128))
        (folder / "key").chmod(0o400)
        files = {
            "key-file": "key", "socket": "socket", "log-file": "log", "pid-file": "pid",
            "seed-file": "seed",
        }  # fmt: skip
        options = [f"--{option}={folder / name}" for option, name in files.items()]
        self._start("munged", "--foreground", "--force", *options)
        self._wait((folder / "socket").exists, "munge's socket")

    def _daemon(self, program: str, *options: str) -> None:
        self._start(program, "-f", str(self.folder / "slurm.conf"), *options)

    def _start(self, program: str, *options: str) -> None:
        with (self.folder / f"{program}.out").open("ab") as out:
            self.daemons.append(
                subprocess.Popen(
                    [shutil.which(program, path=_path()), *options],
                    stdout=out,
                    stderr=out,
                    env={**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")},
                    start_new_session=True,
                )
            )

    def run(self, command: str, *arguments: str) -> str:
        """Return what one of Slurm's commands prints."""
        done = subprocess.run(
            [self.folder / "bin" / command, *arguments], capture_output=True, text=True, check=False
        )
        return done.stdout

    def jobs(self) -> dict[str, dict[str, str]]:
        """Return job id -> its fields, finished jobs included (for five minutes)."""
        found = {}
        for text in self.run("scontrol", "show", "job", "--oneliner").splitlines():
            fields = dict(re.findall(r"(\S+?)=(\S*)", text))
            found[fields["JobId"]] = fields
        return found

    def _wait(self, ready, what: str, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > deadline:
                logs = "".join(path.read_text()[-2000:] for path in self.folder.glob("*.log"))
                raise AssertionError(f"waited {seconds} s for {what}\n{logs}")
            time.sleep(0.2)

    def stop(self) -> None:
        """End the jobs, then the daemons, in the order opposite to their start."""
        self.run("scancel", "--full", "--signal=KILL", "--user=root")
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
