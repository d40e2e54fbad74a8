"""How often studies without any effect have p < 0.05: by the bootstrap alone, and by the test of comparisons and verdicts.

The accuracies of the trained models have a standard deviation of 10 points over seeds. Takes about 40 seconds:
``python benchmarks/false_verdicts.py``.
"""

from __future__ import annotations

import numpy as np

from ticketlab.statistics.bootstrap import paired_bootstrap
from ticketlab.statistics.paired import compare_outcomes

STUDIES, EXAMPLES, DEVIATION = 1000, 1000, 0.1


def main() -> None:
    """Print the fractions for two, three and five seeds."""
    rng = np.random.default_rng(0)
    ids = [str(number) for number in range(EXAMPLES)]
    print(f"{STUDIES} studies without an effect, {EXAMPLES} examples: fractions with p < 0.05")
    for seeds in (2, 3, 5):
        alone = both = 0
        for _ in range(STUDIES):
            chances = rng.uniform(0.3, 0.7, EXAMPLES)
            models = [rng.random(EXAMPLES) < np.clip(chances + rng.normal(0, DEVIATION), 0, 1) for _ in range(2 * seeds)]
            pairs = list(zip(models[::2], models[1::2], strict=True))
            outcomes = [(dict(zip(ids, map(int, one), strict=True)), dict(zip(ids, map(int, other), strict=True))) for one, other in pairs]
            bootstrap, found = paired_bootstrap(outcomes, resamples=2000), compare_outcomes(dict(enumerate(outcomes)), resamples=2000)
            assert bootstrap is not None
            assert found is not None
            alone += bootstrap.p < 0.05
            both += found.p is not None and found.p < 0.05
        print(f"{seeds} seeds: bootstrap {alone / STUDIES:.3f}, bootstrap and t test {both / STUDIES:.3f}", flush=True)


if __name__ == "__main__":
    main()
