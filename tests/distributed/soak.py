"""Workers on PostgreSQL behind Optuna's proxy, one of which is killed every few seconds.

``python tests/distributed/soak.py --minutes 30 --out soak.json`` with ``tests`` on the path. It
checks that no point was asked for twice and that no told value was lost. It prints the CPU time
per ask and the memory of the workers over time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import TrialState
from servers import grpc_proxy
from servers import open_storage
from servers import postgres

import optuna_hdbo


NAME = "soak"
MEGABYTE = 1024.0


def objective(trial: optuna.Trial) -> float:
    """Return a sum, which is best in one corner: there every worker wants to go."""
    x = [trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(6)]
    return sum(x) + 5 * (trial.suggest_categorical("kind", ["a", "b", "c"]) == "b")


def memory() -> float:
    """Return this process's resident memory in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / MEGABYTE**2


def work(url: str, sampler: str, seconds: float, path: Path) -> None:
    """Run trials without end; what has been told is written to a file, line by line."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(
        study_name=NAME, storage=open_storage(url), sampler=getattr(optuna_hdbo, sampler)(seed=0)
    )
    with path.open("a", encoding="utf-8") as told:
        while True:
            start = time.process_time()
            trial = study.ask()
            value = objective(trial)
            cpu = time.process_time() - start
            time.sleep(seconds * random.uniform(0.5, 1.5))
            study.tell(trial, value)
            line = {"number": trial.number, "value": value, "cpu": cpu, "mb": memory()}
            told.write(json.dumps({**line, "at": time.time()}) + "\n")
            told.flush()


def read(folder: Path) -> list[dict[str, Any]]:
    """Return what workers have told, by time. A line that was cut off has not been told."""
    lines = []
    for path in folder.glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            lines.append({**json.loads(line), "worker": path.stem})
    return sorted(lines, key=lambda line: line["at"])


def soak(url: str, args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Keep workers running and kill one every now and then; return what is to be said of it."""
    command = [sys.executable, __file__, "--url", url, "--sampler", args.sampler]
    command += ["--seconds", str(args.seconds)]
    processes: dict[Path, subprocess.Popen[bytes]] = {}
    n_started = n_killed = n_died = 0
    end, next_kill = time.time() + 60 * args.minutes, time.time() + args.every
    try:
        while time.time() < end:
            for path in [
                path for path, process in processes.items() if process.poll() is not None
            ]:
                n_died += processes.pop(path).returncode != -signal.SIGKILL
            while len(processes) < args.workers:
                path = folder / f"{n_started}.jsonl"
                processes[path] = subprocess.Popen([*command, "--work", str(path)])
                n_started += 1
            if time.time() >= next_kill:
                started = [path for path in processes if path.exists() and path.stat().st_size]
                if started:
                    processes[random.choice(started)].kill()
                    n_killed, next_kill = n_killed + 1, next_kill + args.every
            time.sleep(0.2)
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    return {**report(url, read(folder)), "killed": n_killed, "died": n_died, "started": n_started}


def report(url: str, told: list[dict[str, Any]]) -> dict[str, Any]:
    """Compare what was told with what the storage has."""
    study = optuna.load_study(study_name=NAME, storage=open_storage(url))
    trials = {trial.number: trial for trial in study.trials}
    points = Counter(repr(sorted(t.params.items())) for t in trials.values() if len(t.params) == 7)
    lost = [
        line["number"]
        for line in told
        if line["number"] not in trials
        or trials[line["number"]].state != TrialState.COMPLETE
        or trials[line["number"]].value != line["value"]
    ]
    if len(told) < 4:
        raise SystemExit("The workers had no time to tell anything; let them run for longer.")
    quarter = len(told) // 4
    states = Counter(trial.state.name for trial in trials.values())
    own = [t for t in trials.values() if "hdbo:predicted" in t.user_attrs]
    return {
        "trials": len(trials),
        "states": dict(states),
        "told": len(told),
        "lost": len(lost),
        "repeated": sum(n - 1 for n in points.values()),
        "predicted": len(own),
        "cpu_ms": [
            round(1000 * statistics.median(line["cpu"] for line in told[i : i + quarter]), 1)
            for i in range(0, 4 * quarter, quarter)
        ],
        "mb": [
            round(statistics.median(line["mb"] for line in told[i : i + quarter]))
            for i in range(0, 4 * quarter, quarter)
        ],
        "best": study.best_value,
    }


def main() -> None:
    """Run servers and workers, or be one of the workers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--every", type=float, default=20.0, help="seconds between two kills")
    parser.add_argument("--seconds", type=float, default=1.0, help="of an evaluation, on average")
    parser.add_argument("--sampler", default="HDBOSampler")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work is not None:
        work(args.url, args.sampler, args.seconds, args.work)
        return
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with postgres() as database, grpc_proxy(database) as url, tempfile.TemporaryDirectory() as tmp:
        optuna.create_study(study_name=NAME, storage=open_storage(url))
        found = {"minutes": args.minutes, **soak(url, args, Path(tmp))}
    text = json.dumps(found, indent=1)
    print(text)  # noqa: T201
    if args.out is not None:
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
