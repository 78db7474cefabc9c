"""Compare samplers on functions whose optimum is known.

Examples
--------
    run --problems report --rivals gp,tpe,AddGPUCBSampler --seeds 0-9 --out results.jsonl
    run --problems trimodal-16-4-3 --rivals AddGPUCBSampler:n_cyc=10,max_group_size=3
        --seeds 1000-1004 --out tuning.jsonl
    report results.jsonl --plot regret.png
    overhead --rivals gp,tpe,AddGPUCBSampler --sizes 20x150,50x300
    constraints --rivals random,gp,GPUCBSampler --seeds 0-9
    pruning --rivals random,tpe-default,HDBOSampler --seeds 0-9
    structure --rivals random,tpe --seeds 0-4
    groups --seeds 0-9 --trials 200,300
    speed --out before.json
    speed --against before.json
    endurance --rivals random,GPUCBSampler --problems levy-20 --trials 3000

A sampler of this package takes settings after a colon: "published" for the settings of its paper,
"keyword=value" for anything its constructor accepts, and decomposition=known for the true groups
of a trimodal problem. "8*" before any sampler keeps eight trials under way, as eight workers do.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path

import optuna

from optuna_hdbo._core.checks import check_integer
from optuna_hdbo.benchmarks import use_one_thread
from optuna_hdbo.benchmarks.arguments import PROBLEMS
from optuna_hdbo.benchmarks.arguments import counts
from optuna_hdbo.benchmarks.arguments import parse_seeds
from optuna_hdbo.benchmarks.arguments import problem_names
from optuna_hdbo.benchmarks.arguments import rival_labels
from optuna_hdbo.benchmarks.measure import constrained
from optuna_hdbo.benchmarks.measure import endurance
from optuna_hdbo.benchmarks.measure import groups
from optuna_hdbo.benchmarks.measure import noisy
from optuna_hdbo.benchmarks.measure import overhead
from optuna_hdbo.benchmarks.measure import pruning
from optuna_hdbo.benchmarks.measure import runner
from optuna_hdbo.benchmarks.measure import speed
from optuna_hdbo.benchmarks.measure import structure
from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems import structured
from optuna_hdbo.benchmarks.problems.suites import multi
from optuna_hdbo.benchmarks.report import pages
from optuna_hdbo.benchmarks.report import tables
from optuna_hdbo.benchmarks.rivals import registry


STUDIES_FILE = "file with a line per study; those that it has are not run again"


def _add_run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--problems", required=True, help=PROBLEMS)
    add("--rivals", required=True, help="samplers, separated by commas; see 'list'")
    add("--seeds", required=True, help="such as 0-4 or 0,2,5-7; of the problems and the samplers")
    add("--trials", type=int, default=200, help="trials per run (default: %(default)s)")
    add("--jobs", type=int, default=1, help="runs at a time (default: %(default)s)")
    add("--out", type=Path, required=True, help="results file; runs that it holds are skipped")


def _run(args: argparse.Namespace) -> int:
    runner.check_out(args.out)
    check_integer("jobs", args.jobs, 1)
    runs = runner.plan(
        problem_names(args.problems),
        rival_labels(args.rivals),
        parse_seeds(args.seeds),
        args.trials,
    )
    return 1 if runner.run_all(runs, args.out, args.jobs) else 0


def _add_report(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("results", type=Path, nargs="+", help="results files")
    add("--purpose", choices=list(catalogue.NAMES), default="report", help="default: %(default)s")
    add("--problems", help="only these")
    add("--rivals", help="only these, in this order")
    add("--baseline", default="gp", help="sampler whose time is 1 (default: %(default)s)")
    add("--common-seeds", action="store_true", help="only seeds that all samplers have")
    add("--plot", type=Path, help="also draw the regret curves into this image")


def _report(args: argparse.Namespace) -> int:
    for path in args.results:
        if not path.exists():
            raise ValueError(f"there is no results file {path}.")
    if args.plot is not None:
        runner.check_out(args.plot, "--plot")
    results = [result for path in args.results for result in runner.read(path)]
    grouped = tables.group(
        results,
        purpose=args.purpose,
        labels=rival_labels(args.rivals) if args.rivals else None,
        names=problem_names(args.problems) if args.problems else None,
        common_seeds=args.common_seeds,
    )
    if not grouped:
        raise ValueError(tables.nothing(results))
    print(tables.markdown(grouped, baseline=args.baseline))
    if args.plot is not None:
        tables.plot(grouped, args.plot)
    return 0


def _add_overhead(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--rivals", required=True, help="samplers; ratios are to the first")
    add("--sizes", default="20x150,50x300,100x200", help="parameters x trials (%(default)s)")
    add(
        "--trials",
        type=int,
        default=12,
        help="trials to time; at least one full cycle of a sampler that refits every n_cyc trials "
        "(default: %(default)s)",
    )


def _overhead(args: argparse.Namespace) -> int:
    sizes = [overhead.Size.parse(text) for text in args.sizes.split(",")]
    measured = overhead.measure_all(rival_labels(args.rivals), sizes, args.trials)
    print(overhead.table(measured))
    return 0


def _add_constraints(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--problems",
        default="islands-2,ackley-10",
        help=f"names out of {constrained.NAMES} (default: %(default)s)",
    )
    add("--rivals", required=True, help="samplers, separated by commas")
    add("--seeds", required=True, help="such as 0-4 or 0,2,5-7; of the samplers")
    add("--trials", type=int, default=100, help="trials per run (default: %(default)s)")


def _constraints(args: argparse.Namespace) -> int:
    labels, seeds = rival_labels(args.rivals), parse_seeds(args.seeds)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    print(constrained.compare(constrained.split(args.problems), labels, seeds, args.trials))
    return 0


def _add_noise(parser: argparse.ArgumentParser) -> None:
    _add_compared(parser, 150)
    parser.add_argument(
        "--level",
        type=float,
        default=0.3,
        help="standard deviation of the noise, divided by the distance from the median to the "
        "best of a thousand random values (default: %(default)s)",
    )


def _add_compared(parser: argparse.ArgumentParser, n_trials: int) -> None:
    add = parser.add_argument
    add("--problems", default="hartmann6-6", help=f"{PROBLEMS} (default: %(default)s)")
    add("--rivals", required=True, help="samplers, separated by commas")
    add("--seeds", required=True, help="such as 0-4 or 0,2,5-7; of problems, samplers and noise")
    add("--trials", type=int, default=n_trials, help="trials per run (default: %(default)s)")


def _noise(args: argparse.Namespace) -> int:
    names, labels = problem_names(args.problems), rival_labels(args.rivals)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    print(noisy.compare(names, labels, parse_seeds(args.seeds), args.trials, args.level))
    return 0


def _add_pruning(parser: argparse.ArgumentParser) -> None:
    _add_compared(parser, 60)
    every = ",".join(pruning.PRUNERS)
    parser.add_argument("--pruners", default=every, help="default: %(default)s")


def _pruning(args: argparse.Namespace) -> int:
    names, labels = problem_names(args.problems), rival_labels(args.rivals)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    seeds, pruners = parse_seeds(args.seeds), args.pruners.split(",")
    print(pruning.compare(names, labels, pruners, seeds, args.trials))
    return 0


def _add_endurance(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--problems", required=True, help=PROBLEMS)
    add("--rivals", required=True, help="samplers, separated by commas")
    add("--seed", type=int, default=0, help="of problem and sampler (default: %(default)s)")
    add("--trials", type=int, default=3000, help="trials per study (default: %(default)s)")


def _endurance(args: argparse.Namespace) -> int:
    names, labels = problem_names(args.problems), rival_labels(args.rivals)
    runner.plan(names, labels, [args.seed], args.trials)  # refuses what cannot be run
    use_one_thread()
    print(endurance.compare(names, labels, args.seed, args.trials))
    return 0


def _add_speed(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--rivals", default="HDBOSampler,GPUCBSampler", help="samplers (default: %(default)s)")
    add("--sizes", default="20x150,50x300,100x200", help="parameters x trials (%(default)s)")
    add("--times", type=int, default=20, help="calls and trials to time (default: %(default)s)")
    add("--out", type=Path, help="file for the times, for later comparisons on this machine")
    add("--against", type=Path, help="file of earlier times; the exit status is 1 if one is worse")


def _speed(args: argparse.Namespace) -> int:
    earlier = {} if args.against is None else speed.read(args.against)
    if args.out is not None:
        runner.check_out(args.out)
    sizes = [overhead.Size.parse(text) for text in args.sizes.split(",")]
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    use_one_thread()
    check_integer("times", args.times, 1)
    times = speed.measure_speed(rival_labels(args.rivals), sizes, args.times)
    print(speed.table(times, earlier))
    if args.out is not None:
        args.out.write_text(json.dumps(times, indent=1) + "\n", encoding="utf-8")
    for name in (slower := speed.worse(times, earlier)):
        print(f"Slower than before: {name}", file=sys.stderr)
    return 1 if slower else 0


def _add_structure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--problems", default="report", help=PROBLEMS)
    add("--rivals", default="random", help="samplers of the studies (default: %(default)s)")
    add("--seeds", required=True, help="such as 0-4 or 0,2,5-7; of the problems and the samplers")
    add("--out", type=Path, help=STUDIES_FILE)


def _structure(args: argparse.Namespace) -> int:
    known = {str(purpose): names for purpose, names in structured.NAMES.items()}
    names = [n for piece in args.problems.split(",") for n in known.get(piece, (piece,))]
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    use_one_thread()
    labels, seeds = rival_labels(args.rivals), parse_seeds(args.seeds)
    print(structure.compare(names, labels, seeds, args.out))
    return 0


def _add_groups(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--sums", default=",".join(groups.SUMS), help="kinds of sums (default: %(default)s)")
    add("--seeds", required=True, help="such as 0-4 or 0,2,5-7; of the draws")
    add("--trials", default="200", help="random trials, such as 200,300 (default: %(default)s)")
    add("--out", type=Path, help=STUDIES_FILE)


def _groups(args: argparse.Namespace) -> int:
    use_one_thread()
    sums, trials = args.sums.split(","), counts("trials", args.trials)
    print(groups.compare(sums, parse_seeds(args.seeds), trials, args.out))
    return 0


def _add_page(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", choices=_pages(), help="whose figures")
    add("results", type=Path, nargs="*", help="results files")
    add("--out", type=Path, required=True, help="folder for the page and its images")


def _pages() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(pages.__path__))


def _page(args: argparse.Namespace) -> int:
    if args.out.exists() and not args.out.is_dir():
        raise ValueError(f"--out must be a folder, but {args.out} is a file.")
    args.out.mkdir(parents=True, exist_ok=True)
    module = importlib.import_module(f"{pages.__name__}.{args.name}")
    text = module.make([r for path in args.results for r in runner.read(path)], args.out)
    (args.out / f"{args.name}.md").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


def _add_list(parser: argparse.ArgumentParser) -> None:
    del parser  # no arguments


def _list(args: argparse.Namespace) -> int:
    del args
    for purpose, names in catalogue.NAMES.items():
        seeds = catalogue.SEEDS[purpose]
        print(f"{purpose} (seeds {seeds[0]}-{seeds[-1]}): {', '.join(names)}")
    for family, names in catalogue.FAMILIES.items():
        seeds = catalogue.SEEDS[catalogue.purpose_of(names[0])]
        print(f"{family} (seeds {seeds[0]}-{seeds[-1]}): {names[0]} ... {names[-1]}")
    for family, names in multi.NAMES.items():
        print(f"{family} (several objectives): {', '.join(names)}")
    print(f"rivals: {', '.join([*registry.RIVALS, *registry.own_samplers()])}")
    return 0


_COMMANDS = {
    "run": (_add_run, _run, "run samplers on problems; resumes where it stopped"),
    "report": (_add_report, _report, "print Markdown tables of results, and draw them"),
    "page": (_add_page, _page, "draw a paper's figures from results"),
    "overhead": (_add_overhead, _overhead, "time samplers per trial in large studies"),
    "constraints": (_add_constraints, _constraints, "compare samplers under constraints"),
    "noise": (_add_noise, _noise, "compare samplers on problems with noise"),
    "pruning": (_add_pruning, _pruning, "compare samplers with pruners"),
    "speed": (_add_speed, _speed, "time kernels and trials, and compare with earlier times"),
    "structure": (_add_structure, _structure, "measure how often known interactions are found"),
    "groups": (_add_groups, _groups, "measure how close learned groups are to known ones"),
    "endurance": (_add_endurance, _endurance, "measure time and memory of long studies"),
    "list": (_add_list, _list, "name the problems, their seeds, and the rivals"),
}


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="python -m optuna_hdbo.benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (add_arguments, _, summary) in _COMMANDS.items():
        add_arguments(commands.add_parser(name, help=summary, description=f"{summary}."))
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    args = make_parser().parse_args(arguments)
    try:
        return _COMMANDS[args.command][1](args)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
