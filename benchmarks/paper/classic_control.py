"""The dynamics of CartPole and Acrobot, many at a time, and fixed policies on them.

Those of gymnasium 1.x (classic_control), which `python -m benchmarks.paper.classic_control`
compares them with where it is installed: ``pip install 'dpsk[rl]'``.
"""

import numpy as np

__all__ = ["Acrobot", "CartPole", "collect", "returns"]

#: Steps after which an episode is cut off, which does not end it.
LIMIT = 500


class CartPole:
    """A pole on a cart under a uniform random policy; reward 1 a step until it falls.

    Barto, Sutton, Anderson (1983). Velocities have no bounds: those here are cut to.
    """

    name, reward_bounds = "CartPole", (0.0, 1.0)
    state_bounds = np.array([[-2.4, 2.4], [-3.0, 3.0], [-0.2095, 0.2095], [-3.5, 3.5]])

    def start(self, count, rng):
        return rng.uniform(-0.05, 0.05, (count, 4))

    def observed(self, states):
        return states

    def act(self, states, rng):
        return rng.integers(0, 2, len(states))

    def step(self, states, actions):
        x, v, angle, turn = states.T
        mass, pole = 1.1, 0.05
        force = np.where(actions == 1, 10.0, -10.0)
        cosine, sine = np.cos(angle), np.sin(angle)
        push = (force + pole * turn**2 * sine) / mass
        turning = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / mass))
        moving = push - pole * turning * cosine / mass
        later = np.stack([x + 0.02 * v, v + 0.02 * moving, angle + 0.02 * turn,
                          turn + 0.02 * turning], axis=1)
        ends = (np.abs(later[:, 0]) > 2.4) | (np.abs(later[:, 2]) > 12 * np.pi / 180)
        return later, np.ones(len(states)), ends


class Acrobot:
    """Two links of which the second is driven; reward -1 a step until the tip is high.

    Sutton (1996). The policy drives the second joint the way it turns with probability 0.4, and
    is uniform otherwise.
    """

    name, reward_bounds = "Acrobot", (-1.0, 0.0)
    state_bounds = np.array([[-1.0, 1.0]] * 4 + [[-4 * np.pi, 4 * np.pi], [-9 * np.pi, 9 * np.pi]])
    random_share = 0.6

    def start(self, count, rng):
        return rng.uniform(-0.1, 0.1, (count, 4))

    def observed(self, states):
        first, second = states[:, 0], states[:, 1]
        return np.column_stack([np.cos(first), np.sin(first), np.cos(second), np.sin(second),
                                states[:, 2:]])

    def act(self, states, rng):
        any_action = rng.integers(0, 3, len(states))
        with_it = np.where(states[:, 3] > 0, 2, 0)
        return np.where(rng.random(len(states)) < self.random_share, any_action, with_it)

    def step(self, states, actions):
        torque, h = actions - 1.0, 0.2
        k1 = _turned(states, torque)
        k2 = _turned(states + 0.5 * h * k1, torque)
        k3 = _turned(states + 0.5 * h * k2, torque)
        k4 = _turned(states + h * k3, torque)
        later = states + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        later[:, :2] = (later[:, :2] + np.pi) % (2 * np.pi) - np.pi
        later[:, 2] = np.clip(later[:, 2], -4 * np.pi, 4 * np.pi)
        later[:, 3] = np.clip(later[:, 3], -9 * np.pi, 9 * np.pi)
        ends = -np.cos(later[:, 0]) - np.cos(later[:, 0] + later[:, 1]) > 1.0
        return later, np.where(ends, 0.0, -1.0), ends


def _turned(states, torque):
    """Return the time derivative of the Acrobot's angles and velocities."""
    a, b, va, vb = states.T
    d1 = 0.25 + (1.25 + np.cos(b)) + 2.0
    d2 = 0.25 + 0.5 * np.cos(b) + 1.0
    g2 = 0.5 * 9.8 * np.cos(a + b - np.pi / 2)
    g1 = (-0.5 * vb**2 * np.sin(b) - vb * va * np.sin(b) + 1.5 * 9.8 * np.cos(a - np.pi / 2)
          + g2)
    second = (torque + d2 / d1 * g1 - 0.5 * va**2 * np.sin(b) - g2) / (1.25 - d2**2 / d1)
    return np.stack([va, vb, -(d2 * second + g1) / d1, second], axis=1)


def collect(env, count, seed, parallel=64):
    """Return transitions (states, rewards, next states, ends, episodes), by the policy.

    States are those of the dynamics, not observed. `parallel` episodes run side by side; those
    that end, or are cut off after LIMIT steps, start again.
    """
    rng = np.random.default_rng(seed)
    states, ages = env.start(parallel, rng), np.zeros(parallel, int)
    episodes, following, parts = np.arange(parallel), parallel, []
    for _ in range(-(-count // parallel)):
        later, rewards, ends = env.step(states, env.act(states, rng))
        parts.append((states, rewards, later, ends, episodes.copy()))
        ages += 1
        over = ends | (ages >= LIMIT)
        states = later.copy()
        states[over], ages[over] = env.start(over.sum(), rng), 0
        episodes[over] = following + np.arange(over.sum())
        following += over.sum()
    return [np.concatenate(part)[:count] for part in zip(*parts, strict=True)]


def returns(env, states, gamma, repeats, seed):
    """Return the mean discounted return of `repeats` runs of the policy from each state."""
    rng = np.random.default_rng(seed)
    total = np.zeros(len(states))
    steps = int(np.ceil(np.log(1e-5) / np.log(gamma)))
    for _ in range(repeats):
        points, alive = states.copy(), np.ones(len(states), bool)
        for t in range(steps):
            later, rewards, ends = env.step(points, env.act(points, rng))
            total += gamma**t * rewards * alive
            alive &= ~ends
            points = np.where(alive[:, None], later, points)
            if not alive.any():
                break
    return total / repeats


def main():
    """Compare the dynamics with gymnasium's."""
    import gymnasium

    rng = np.random.default_rng(0)
    for env, key in ((CartPole(), "CartPole-v1"), (Acrobot(), "Acrobot-v1")):
        theirs = gymnasium.make(key).unwrapped
        furthest = 0.0
        for _ in range(2000):
            theirs.reset(seed=0)
            state = env.start(1, rng) * rng.uniform(0.0, 20.0)
            if env.name == "CartPole":
                state *= [1.0, 1.0, 0.15, 1.0]
            action = rng.integers(0, theirs.action_space.n)
            theirs.state = state[0].copy()
            observed, reward, ends, _, _ = theirs.step(action)
            later, own_reward, own_ends = env.step(state, np.array([action]))
            furthest = max(furthest, np.abs(env.observed(later)[0] - observed).max())
            assert bool(ends) == bool(own_ends[0]) and reward == own_reward[0]
        print(f"{key}: 2000 steps, furthest {furthest:.2g}")


if __name__ == "__main__":
    main()
