"""Values of states on classic control: lstd, sgda, privatediff, networks, and no privacy.

    python -m benchmarks.paper.temporal_differences [--seeds 5] [--only CartPole]
        [--output docs/results]

Pong needs ale-py, of the extra `rl`. Prints rows of docs/results/temporal_differences.md.
"""

import argparse
import time
import warnings
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.paper.classic_control import Acrobot, CartPole, collect, returns
from dpsk import DPTDRegressor
from dpsk._models.states import LinearValues
from dpsk._solvers.saddle.path import TailMean

GAMMA, EPSILON, SIZES = 0.95, 1.0, (20_000, 100_000)
#: Rounds of differences that evaluate as many gradients as SGDA_STEPS steps: a round asks for a
#: dual gradient, and for a primal one at one point or at two by turns.
SGDA_STEPS, ROUNDS = 300, 120
#: States of the comparison, runs from each of them, and the seeds of both.
STATES, REPEATS, APART = 1000, 50, 10_000

METHODS = {
    "lstd (default)": {}, "lstd, network (distilled)": {"features": "network"},
    "lstd, linear features": {"features": "linear"},
    "lstd, an episode protected": {"grouped": True},
    "td": {"solver": "td"}, "td, network": {"features": "network", "solver": "td"},
    "sgda": {"solver": "sgda"},
    "privatediff, defaults": {"solver": "privatediff"},
    "privatediff, work of sgda": {"solver": "privatediff", "max_iter": ROUNDS},
    "sgda, network": {"features": "network", "solver": "sgda", "max_iter": SGDA_STEPS},
    "privatediff, network": {"features": "network", "solver": "privatediff", "max_iter": ROUNDS},
    "not private, lstd": {"epsilon": np.inf}}
#: Saddle fits of networks take minutes: two of them, on the smaller table of CartPole.
SLOW = {"sgda, network", "privatediff, network"}


class Task:
    """Transitions of one environment by seed, and the values of some states by simulation."""

    def __init__(self, env):
        self.env = env
        rng = np.random.default_rng(APART)
        states = collect(env, 20 * STATES, APART)[0]
        chosen = states[rng.choice(len(states), STATES, replace=False)]
        self.states = env.observed(chosen)
        self.values = returns(env, chosen, GAMMA, REPEATS, APART)

    def table(self, count, seed):
        """Return the arguments of a fit."""
        states, rewards, later, ends, episodes = collect(self.env, count, seed)
        return {"groups": episodes, "states": self.env.observed(states), "rewards": rewards,
                "next_states": self.env.observed(later), "terminal": ends}

    def error(self, predicted):
        """Return the root mean square error over the deviation of the values."""
        return np.sqrt(np.mean((predicted - self.values)**2)) / self.values.std()

    def fitted(self, table, seed, grouped=False, **params):
        """Return an estimator fitted on a table, with its episodes or without."""
        given = {name: part for name, part in table.items() if grouped or name != "groups"}
        return self.model(seed, **params).fit(**given)

    def model(self, seed, epsilon=EPSILON, **params):
        """Return an estimator."""
        return DPTDRegressor(epsilon=epsilon, gamma=GAMMA, random_state=seed,
                             reward_bounds=self.env.reward_bounds,
                             state_bounds=self.env.state_bounds, **params)


class ProjectedError:
    """The mean-squared projected Bellman error of linear values, exactly, on a table."""

    def __init__(self, model, table):
        size = model.dimension
        self.matrix, self.moment = np.zeros((size, size)), np.zeros((size, size))
        self.rewarded, count = np.zeros(size), len(table["rewards"])
        for start in range(0, count, 5000):
            part = slice(start, start + 5000)
            now, later = (model.features(table[name][part]) for name in ("states", "next_states"))
            later *= ~table["terminal"][part][:, None]
            self.matrix += now.T @ (now - GAMMA * later) / count
            self.moment += now.T @ now / count
            self.rewarded += now.T @ table["rewards"][part] / count

    def __call__(self, theta):
        mean = self.rewarded - self.matrix @ theta
        return 0.5 * mean @ np.linalg.lstsq(self.moment, mean, rcond=1e-10)[0]


def curve(task, table, seed, points=30, **params):
    """Return, at some steps, the share of the steps, the projected error and that of values."""
    seen, add = [], TailMean.add

    def watched(tail, primal, dual):
        seen.append(primal.copy())
        return add(tail, primal, dual)

    with mock.patch.object(TailMean, "add", watched):
        model = task.fitted(table, seed, **params)
    linear = _features_of(model, table)
    projected = ProjectedError(linear, table)
    chosen = np.unique(np.linspace(0, len(seen) - 1, points).astype(int))
    unit = max(map(abs, model.reward_bounds))
    found = []
    for t in chosen:
        theta = unit * seen[t]
        found.append(((t + 1) / len(seen), projected(theta),
                      task.error(linear.values(theta, task.states))))
    return np.array(found)


def _features_of(model, table):
    """Return the linear values of a fitted estimator."""
    return LinearValues(table["states"].shape[1], model.state_bounds_,
                        frequencies=model.frequencies_)


def curves(task):
    """Return the curves of both saddle solvers by name, and where the others end."""
    table = task.table(SIZES[1], 0)
    kinds = {"sgda": {"solver": "sgda", "max_iter": SGDA_STEPS},
             "privatediff": {"solver": "privatediff", "max_iter": ROUNDS},
             "sgda, no noise": {"solver": "sgda", "epsilon": np.inf, "max_iter": SGDA_STEPS}}
    found = {name: [curve(task, table, seed, **params) for seed in range(2)]
             for name, params in kinds.items()}
    for name, epsilon in (("lstd", EPSILON), ("lstd, no noise", np.inf)):
        model = task.fitted(table, 0, epsilon=epsilon)
        projected = ProjectedError(_features_of(model, table), table)
        found[name] = [[(1.0, projected(model.coef_), task.error(model.predict(task.states)))]]
    return found


def draw(found, title, path):
    """Draw the projected error and that of values against the share of the work."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.5))
    for label, runs in found.items():
        mean = np.mean(runs, axis=0)
        for column, ax in enumerate(axes):
            ax.plot(mean[:, 0], mean[:, column + 1], "o" if len(mean) == 1 else "-", label=label)
            ax.set(yscale="log", title=title, xlabel="share of the work",
                   ylabel=("projected Bellman error", "RMSE / deviation")[column])
    # Without noise it is 0 but for rounding.
    axes[0].set_ylim(bottom=1e-2)
    axes[0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def pong(count, seed):
    """Return transitions of Pong under uniform actions, and the return from each state.

    States are the 128 bytes of memory. Returns are those of the one run that was made.
    """
    from ale_py import ALEInterface, LoggerMode, roms

    ALEInterface.setLoggerMode(LoggerMode.Error)
    game, rng = ALEInterface(), np.random.default_rng(seed)
    game.setInt("random_seed", int(seed))
    game.setFloat("repeat_action_probability", 0.25)
    game.loadROM(roms.get_rom_path("pong"))
    actions = game.getMinimalActionSet()
    states, rewards, ends = np.empty((count + 1, 128)), np.empty(count), np.zeros(count, bool)
    later = np.empty((count, 128))
    game.reset_game()
    for t in range(count):
        states[t] = game.getRAM()
        action = actions[rng.integers(len(actions))]
        rewards[t] = sum(game.act(action) for _ in range(4))
        later[t], ends[t] = game.getRAM(), game.game_over()
        if ends[t]:
            game.reset_game()
    total, found = 0.0, np.empty(count)
    for t in range(count - 1, -1, -1):
        total = rewards[t] + (0.0 if ends[t] else GAMMA * total)
        found[t] = total
    return {"states": states[:-1], "rewards": np.clip(rewards, -1, 1), "next_states": later,
            "terminal": ends}, found


def of_pong(seeds):
    """Yield rows of the page."""
    test, truth = pong(20_000, APART)
    keep = slice(0, -200)
    for count in SIZES:
        found = {"lstd (default)": [], "sgda": [], "not private, lstd": [], "constant": []}
        for seed in range(seeds):
            table = pong(count, seed)[0]
            for name, params in (("lstd (default)", {}), ("sgda", {"solver": "sgda"}),
                                 ("not private, lstd", {"epsilon": np.inf})):
                model = DPTDRegressor(**{"epsilon": EPSILON, **params}, gamma=GAMMA,
                                      reward_bounds=(-1, 1), state_bounds=(0, 255),
                                      random_state=seed).fit(**table)
                errors = model.predict(test["states"][keep]) - truth[keep]
                found[name].append(np.sqrt(np.mean(errors**2)) / truth[keep].std())
            found["constant"].append(np.sqrt(np.mean(
                (table["rewards"].mean() / (1 - GAMMA) - truth[keep])**2)) / truth[keep].std())
        for name, errors in found.items():
            yield f"| Pong | {count} | {name} | {np.mean(errors):.3f} ± {np.std(errors):.3f} | |"


def measured(task, seeds):
    """Yield rows of the page."""
    for count in SIZES:
        tables = [task.table(count, seed) for seed in range(seeds)]
        errors = [task.error(table["rewards"].mean() / (1 - GAMMA)) for table in tables]
        yield f"| {task.env.name} | {count} | constant | {np.mean(errors):.3f} | |"
        for name, params in METHODS.items():
            slow = name in SLOW
            if slow and (count != SIZES[0] or task.env.name != "CartPole"):
                continue
            errors, start = [], time.perf_counter()
            for seed, table in enumerate(tables[:2] if slow else tables):
                errors.append(task.error(task.fitted(table, seed, **params).predict(
                    task.states)))
            seconds = (time.perf_counter() - start) / len(errors)
            yield (f"| {task.env.name} | {count} | {name} | {np.mean(errors):.3f} ± "
                   f"{np.std(errors):.3f} | {seconds:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", choices=["CartPole", "Acrobot", "Pong"])
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for env in (CartPole(), Acrobot()):
            if options.only not in (None, env.name):
                continue
            task = Task(env)
            for line in measured(task, options.seeds):
                print(line, flush=True)
            found = curves(task)
            for name, runs in found.items():
                mean = np.mean(runs, axis=0)
                for part in mean[[0, len(mean) // 4, len(mean) // 2, -1]]:
                    print(f"{env.name}, {name}, share {part[0]:.2f}: projected error "
                          f"{part[1]:.3g}, values {part[2]:.3g}", flush=True)
            draw(found, env.name, options.output / f"temporal_differences_{env.name.lower()}.png")
        if options.only in (None, "Pong"):
            for line in of_pong(min(3, options.seeds)):
                print(line, flush=True)


if __name__ == "__main__":
    main()
