"""How good is the rule that tells options apart? Campaigns with known truth, read by its code.

A simulated campaign measures three variants in the rotated order of `atpar.protocol.schedule`. In
one kind of campaign the three are equal: whatever is told apart is a mistake. In the others the
first is quicker than the two others by 2, 5 or 20 %: what isn't told apart is missed.

Run from the repository: python benchmarks/separation.py [--campaigns N] [--seed N]
Prints the tables of benchmarks/README-separation.md.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from atpar.decision.separation import Rule, figures, told_apart
from atpar.protocol.schedule import schedule

VARIANTS = ("a", "b", "c")
CAMPAIGN_SIZES = (2, 3, 5, 8)
DEFAULT = "ranks 0.01, gap > middle spread"
REPETITIONS = (5, 7, 10)
DIFFERENCES = (0.02, 0.05, 0.20)
RULES = {
    "ranges, gap > spread": Rule("ranges-and-gap", gap_factor=1.0),
    "ranges alone": Rule("ranges-and-gap", gap_factor=0.0),
    "ranks 0.01, gap > middle spread": Rule("ranks-and-gap", level=0.01, gap_factor=1.0),
    "ranks 0.01 alone": Rule("ranks-and-gap", level=0.01, gap_factor=0.0),
    "ranks 0.02, gap > middle spread": Rule("ranks-and-gap", level=0.02, gap_factor=1.0),
    "ranks 0.02 alone": Rule("ranks-and-gap", level=0.02, gap_factor=0.0),
}

Noise = Callable[[np.random.Generator, int, int, int, float], np.ndarray]
"""(generator, campaigns, rounds, places, sigma) -> log of the factor of each pass."""


def steady(generator, campaigns, rounds, places, sigma):
    """Independent noise of relative size sigma."""
    return generator.normal(0, sigma, (campaigns, rounds, places))


def drifting(generator, campaigns, rounds, places, sigma):
    """The same, and a trend of 5 % over the campaign with a random walk of steps of sigma / 2."""
    passes = rounds * places
    trend = 0.05 * generator.choice([-1, 1], (campaigns, 1)) * np.linspace(0, 1, passes)
    walk = np.cumsum(generator.normal(0, sigma / 2, (campaigns, passes)), axis=1)
    whole = (trend + walk).reshape(campaigns, rounds, places)
    return whole + steady(generator, campaigns, rounds, places, sigma)


def position(generator, campaigns, rounds, places, sigma):
    """The same as steady, and the first pass of each round takes 5 % more."""
    noise = steady(generator, campaigns, rounds, places, sigma)
    noise[:, :, 0] += np.log(1.05)
    return noise


def outliers(generator, campaigns, rounds, places, sigma):
    """The same as steady, and one pass in twenty takes 30 to 200 % more."""
    noise = steady(generator, campaigns, rounds, places, sigma)
    hit = generator.random(noise.shape) < 0.05
    return noise + hit * np.log1p(generator.uniform(0.3, 2.0, noise.shape))


def neighbour(generator, campaigns, rounds, places, sigma):
    """The same as steady, and two to five passes in a row take 30 % more, once a campaign."""
    place = np.arange(rounds * places)
    start = generator.integers(0, len(place), (campaigns, 1))
    length = generator.integers(2, 6, (campaigns, 1))
    busy = (place >= start) & (place < start + length)
    noise = steady(generator, campaigns, rounds, places, sigma)
    return noise + np.log(1.3) * busy.reshape(campaigns, rounds, places)


NOISES: dict[str, Noise] = {
    "steady": steady,
    "drifting": drifting,
    "position effect": position,
    "rare long outliers": outliers,
    "busy neighbour": neighbour,
}


def durations(
    noise: Noise,
    generator: np.random.Generator,
    campaigns: int,
    repetitions: int,
    sigma: float,
    difference: float,
    variants: Sequence[str] = VARIANTS,
) -> dict[str, np.ndarray]:
    """Return the durations (campaigns, repetitions) of each variant, the first the quicker one."""
    factors = np.exp(noise(generator, campaigns, repetitions, len(variants), sigma))
    times = {name: np.empty((campaigns, repetitions)) for name in variants}
    for place in schedule(["offer"], variants, repetitions):
        slower = 1.0 if place.variant == variants[0] else 1.0 + difference
        column = factors[:, place.round - 1, place.position]
        times[place.variant][:, place.repetition - 1] = slower * column
    return times


def equal_told_apart(times: dict[str, np.ndarray]) -> dict[str, float]:
    """Return, by rule, the share of campaigns in which any two of the equal variants differ."""
    read = [figures(times[one], times[other]) for one, other in combinations(times, 2)]
    return {
        name: float(np.any([told_apart(found, rule) for found in read], axis=0).mean())
        for name, rule in RULES.items()
    }


def different_told_apart(times: dict[str, np.ndarray]) -> dict[str, float]:
    """Return, by rule, the share of campaigns in which `a` is told apart from `b`."""
    found = figures(times["a"], times["b"])
    return {name: float(told_apart(found, rule).mean()) for name, rule in RULES.items()}


def table(generator: np.random.Generator, campaigns: int, sigma: float) -> Iterator[str]:
    """Give the lines of the table for one size of noise, a line each rule and kind of noise."""
    passes = " / ".join(map(str, REPETITIONS))
    apart = " | ".join(f"{100 * difference:g} % apart" for difference in DIFFERENCES)
    yield f"| rule | noise | equal ({passes} passes) | {apart} |"
    yield "|---|---|---|" + "---|" * len(DIFFERENCES)
    shares: dict[tuple[str, str, float], list[str]] = {}
    for kind, noise in NOISES.items():
        for difference in (0.0, *DIFFERENCES):
            read = different_told_apart if difference else equal_told_apart
            for repetitions in REPETITIONS:
                times = durations(noise, generator, campaigns, repetitions, sigma, difference)
                for rule, share in read(times).items():
                    shares.setdefault((rule, kind, difference), []).append(f"{100 * share:.1f}")
    for rule in RULES:
        for kind in NOISES:
            cells = (" / ".join(shares[rule, kind, one]) for one in (0.0, *DIFFERENCES))
            yield f"| {rule} | {kind} | {' | '.join(cells)} |"


def sizes_table(generator: np.random.Generator, campaigns: int, sigma: float) -> Iterator[str]:
    """Give the lines of the table of the default rule by the number of equal variants."""
    passes = " / ".join(map(str, REPETITIONS))
    counts = " | ".join(f"{size} variants" for size in CAMPAIGN_SIZES)
    yield f"| noise ({passes} passes) | {counts} |"
    yield "|---|" + "---|" * len(CAMPAIGN_SIZES)
    for kind, noise in NOISES.items():
        cells = []
        for size in CAMPAIGN_SIZES:
            names = [f"v{number}" for number in range(size)]
            read = [
                equal_told_apart(
                    durations(noise, generator, campaigns, repetitions, sigma, 0.0, names)
                )[DEFAULT]
                for repetitions in REPETITIONS
            ]
            cells.append(" / ".join(f"{100 * share:.1f}" for share in read))
        yield f"| {kind} | {' | '.join(cells)} |"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=10_000, help="campaigns in each cell")
    parser.add_argument("--seed", type=int, default=20260924)
    parser.add_argument(
        "--noise", type=float, nargs="+", default=[0.01, 0.03], help="relative size of the noise"
    )
    given = parser.parse_args()
    generator = np.random.default_rng(given.seed)
    for sigma in given.noise:
        print(f"\nNoise of {100 * sigma:g} %: share of {given.campaigns} campaigns told apart, %\n")
        print("\n".join(table(generator, given.campaigns, sigma)))
    sigma = given.noise[0]
    print(f"\nThe default rule, noise of {100 * sigma:g} %: equal variants told apart, %\n")
    print("\n".join(sizes_table(generator, given.campaigns, sigma)))


if __name__ == "__main__":
    main()
