"""
What a state is worth
=====================

``DPTDRegressor`` learns the values of states under a policy from transitions that people or
machines have made: state, reward, next state. Here they are steps of a walk whose values are
known. Noise is fresh in every fit, so three fits are drawn.
"""

# %%
# A walk in a hallway
# -------------------
# There are 11 places in a row. A walker goes right with probability 0.6, else left, and the walk
# ends beyond either side: with a reward of 1 on the right, and of 0 on the left. The value of a
# place is what is discounted of that. Three thousand walks are seen.

import matplotlib.pyplot as plt
import numpy as np

from dpsk import DPTDRegressor

PLACES, RIGHT, GAMMA = 11, 0.6, 0.9
rng = np.random.default_rng(0)
states, next_states, walks = [], [], []
for walk in range(3000):
    place = rng.integers(PLACES)
    while 0 <= place < PLACES:
        states.append(place)
        place += 1 if rng.random() < RIGHT else -1
        next_states.append(place)
        walks.append(walk)
states, next_states = (np.array(each)[:, None] / (PLACES - 1) for each in (states, next_states))
rewards = (next_states[:, 0] > 1).astype(float)
ends = (next_states[:, 0] > 1) | (next_states[:, 0] < 0)

# %%
# The values themselves, by linear equations
# ------------------------------------------

moves = RIGHT * np.eye(PLACES, k=1) + (1 - RIGHT) * np.eye(PLACES, k=-1)
exact = np.linalg.solve(np.eye(PLACES) - GAMMA * moves, RIGHT * (np.arange(PLACES) == PLACES - 1))

# %%
# Who is protected
# ----------------
# On the left the guarantee holds for a transition. A walker makes many, and consecutive ones
# share a place, so that a walker needs ``groups``, on the right: one walk is replaced, whatever
# its length. Bounds of rewards and places are declared.

places = np.linspace(0, 1, PLACES)[:, None]
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, groups in zip(axes, (None, np.array(walks)), strict=True):
    for epsilon, color in ((1.0, "tab:orange"), (4.0, "tab:blue")):
        model = DPTDRegressor(epsilon, gamma=GAMMA, reward_bounds=(0, 1), state_bounds=(0, 1))
        for fit in range(3):
            model.fit(states, rewards, next_states=next_states, terminal=ends, groups=groups)
            ax.plot(places, model.predict(places), color=color, alpha=0.5,
                    label=f"epsilon {epsilon:g}" if fit == 0 else None)
    ax.plot(places, exact, "k--", label="exact")
    ax.set_xlabel("place")
axes[0].set(ylabel="value", title=f"{len(states)} transitions, one protected")
axes[1].set_title("3000 walks, one protected")
axes[0].legend()
plt.show()

# %%
# Values of transitions come out nearly exact. A walk counts as one row, however long: at epsilon
# 1 three thousand of them say where values are high and little more, and at epsilon 4 they do
# well.
