"""A real Slurm of one node with two fake GPUs, started and ended by whoever uses it. Needs root; installs Debian's slurm-wlm and munge when they are absent.

with OneNode(folder) as slurm: …        or: python -m tests.sweep.one_node_slurm FOLDER COMMAND…
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

CONF = """
ClusterName=popcorn
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
KillWait=5
MinJobAge=600
InactiveLimit=0
OverTimeLimit=0
SlurmctldPort={port}
SlurmdPort={port2}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 RealMemory=1000 Gres=gpu:2 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str | None:
    """Why there can be no Slurm here."""
    if os.geteuid() != 0:
        return "starting Slurm needs root"
    if shutil.which("slurmctld") and shutil.which("munged"):
        return None
    if not shutil.which("apt-get"):
        return "slurmctld is not installed and there is no apt-get to install it with"
    install = "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends slurm-wlm munge"
    done = subprocess.run(["bash", "-c", install], capture_output=True, text=True, timeout=300, check=False)
    return None if done.returncode == 0 else f"slurm-wlm cannot be installed: {done.stderr[-300:]}"


class OneNode:
    """Munge, slurmctld, slurmd. Their ids are remembered, and these alone are ended."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.conf = folder / "slurm.conf"
        self._made: list[str] = []
        self._munge: subprocess.Popen | None = None
        self._daemons: list[subprocess.Popen] = []

    def __enter__(self) -> "OneNode":
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        host, port = socket.gethostname(), 21817 + os.getpid() % 2000 * 2
        self.conf.write_text(CONF.format(host=host, folder=self.folder, port=port, port2=port + 1))
        for index in range(2):
            device = f"/dev/fakegpu{index}"
            if not Path(device).exists():
                subprocess.run(["mknod", device, "c", "1", "3"], check=True)  # plain files are refused
                self._made.append(device)
        (self.folder / "gres.conf").write_text("Name=gpu File=/dev/fakegpu[0-1]\n")
        os.environ["SLURM_CONF"] = str(self.conf)
        if subprocess.run(["munge", "-n"], capture_output=True, check=False).returncode != 0:
            for place in ("/run/munge", "/var/log/munge", "/var/lib/munge"):
                subprocess.run(["install", "-d", "-o", "munge", "-g", "munge", "-m", "755", place], check=True)
            self._munge = subprocess.Popen(["runuser", "-u", "munge", "--", "/usr/sbin/munged", "--foreground"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
            time.sleep(1)
        for daemon in ("slurmctld", "slurmd"):
            out = (self.folder / f"{daemon}.out").open("w")
            self._daemons.append(subprocess.Popen([shutil.which(daemon) or daemon, "-D", "-f", str(self.conf)], stdout=out, stderr=out))
            time.sleep(1.5)
        until = time.monotonic() + 30
        while "idle" not in self.ask("sinfo", "-h", "-o", "%T"):
            if time.monotonic() > until:
                raise RuntimeError((self.folder / "slurmctld.log").read_text()[-1500:] + (self.folder / "slurmd.log").read_text()[-1500:])
            time.sleep(0.5)
        return self

    def __exit__(self, *_: object) -> None:
        self.ask("scancel", "--name=popcorn-sweep")
        time.sleep(1)
        for daemon in [*reversed(self._daemons), *([self._munge] if self._munge else [])]:
            daemon.terminate()
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
        for device in self._made:
            Path(device).unlink(missing_ok=True)
        os.environ.pop("SLURM_CONF", None)

    def ask(self, *command: str) -> str:
        """What a Slurm command prints."""
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout

    def states(self) -> dict[str, str]:
        """Job id → state, of every job that Slurm remembers."""
        lines = self.ask("squeue", "-h", "-a", "-t", "all", "-o", "%A %T").split("\n")
        return dict(line.split() for line in lines if line.strip())


if __name__ == "__main__":
    with OneNode(Path(sys.argv[1])):
        sys.exit(subprocess.run(sys.argv[2:], check=False).returncode)
