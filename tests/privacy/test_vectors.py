"""Published reference values: every noise scale and every curve within its tolerance."""

import json
import math
from pathlib import Path

import pytest

from dpsk._privacy import accountant, sensitivity
from dpsk._privacy.calibration import calibrate, noise_scale
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk._privacy.events import Composed, Gaussian, Pure, Repeated, SampledGaussian

_PATH = Path(__file__).with_name("calibration_vectors.json")
CASES = json.loads(_PATH.read_text())["cases"]


def full_batch_gaussian(inputs):
    n, steps = inputs["n"], inputs["T"]
    total = noise_scale(inputs["epsilon"], inputs["delta"], steps=steps, n_samples=n,
                        sensitivity=inputs["clip_norm"])
    return {"mu": gaussian_mu(inputs["epsilon"], inputs["delta"]), "noise_std_on_mean": total / n,
            "noise_multiplier_sum_over_clip": total / inputs["clip_norm"]}


def output_perturbation(inputs):
    common = {"lipschitz": inputs["lipschitz"], "n_samples": inputs["n"],
              "strong_convexity": inputs["alpha"]}
    if inputs["kind"] == "approximate_minimiser":
        moved = sensitivity.minimizer_sensitivity(
            tolerance=inputs["gradient_norm_tolerance"], **common)
    else:
        moved = sensitivity.gradient_descent_sensitivity(
            step=inputs["step"], n_steps=inputs["T"], smoothness=inputs["beta"], **common)
    if inputs["delta"] == 0:
        scale = calibrate(lambda z: Pure(moved / z), inputs["epsilon"], 0.0)
        return {"sensitivity": moved, "gamma_scale": scale}
    scale = calibrate(lambda z: Gaussian(moved / z), inputs["epsilon"], inputs["delta"])
    return {"sensitivity": moved, "noise_std": scale}


def last_iterate_gaussian(inputs):
    effective = sensitivity.effective_steps(inputs["contraction"], inputs["T"])
    shift = 2 * inputs["clip_norm"] / inputs["n"]
    scale = calibrate(lambda z: Gaussian(shift / z * math.sqrt(effective)),
                      inputs["epsilon"], inputs["delta"])
    return {"effective_T": effective, "noise_std_on_mean": scale}


def stgd_laplace(inputs):
    moved = 2 * inputs["clip_l1"] / inputs["half_size"]
    scale = calibrate(lambda z: Repeated(Composed((Pure(moved / z), Pure(moved / (4 * z)))),
                                         inputs["T"]), inputs["epsilon"], 0.0)
    return {"sigma": scale}


def stgd_gaussian(inputs):
    moved = 2 * inputs["clip_norm"] / inputs["half_size"]
    scale = calibrate(
        lambda z: Repeated(Composed((Gaussian(moved / z), Gaussian(moved / (4 * z)))),
                           inputs["T"]), inputs["epsilon"], inputs["delta"])
    return {"sigma": scale}


def poisson(inputs):
    return lambda z: Repeated(SampledGaussian(inputs["q"], z), inputs["T"])


def svrg(inputs):
    ratio = inputs["anchor_multiplier_over_inner"]
    return lambda z: Composed((
        Repeated(Gaussian(2 / (ratio * z)), inputs["anchor_releases"]),
        Repeated(SampledGaussian(inputs["q"], z), inputs["noisy_inner_steps"])))


def privatediff(inputs):
    return lambda z: Composed((
        Repeated(SampledGaussian(inputs["q_inner"], z), inputs["inner_steps"]),
        Repeated(SampledGaussian(inputs["q_anchor"], z), inputs["anchors"]),
        Repeated(SampledGaussian(inputs["q_diff"], z), inputs["diffs"])))


def sgda(inputs):
    return lambda z: Composed((
        Repeated(SampledGaussian(inputs["q"], z / math.sqrt(2)), inputs["T"]),
        Gaussian(inputs.get("mu_ratio", 0.0))))


def sampled_delta(inputs):
    event = Repeated(SampledGaussian(inputs["q"], inputs["noise_multiplier"]), inputs["T"])
    return {"delta": accountant.delta(event, inputs["epsilon"])}


def pure_optimal(inputs):
    event = Repeated(Pure(inputs["epsilon0"]), inputs["T"])
    return {"epsilon": accountant.epsilon(event, inputs["delta"])}


def gaussian_curve(inputs):
    return {"delta": accountant.delta(Gaussian(inputs["mu"]), inputs["epsilon"])}


def gaussian_epsilon(inputs):
    return {"epsilon": accountant.epsilon(Gaussian(inputs["mu"]), inputs["delta"])}


def classical_gaussian(inputs):
    mu = inputs["epsilon"] / math.sqrt(2 * math.log(inputs["k"] / inputs["delta"]))
    true = accountant.delta(Gaussian(mu), inputs["epsilon"])
    assert true > inputs["delta"]
    return {"true_delta": true}


FAMILIES = {"poisson_gaussian_replace_one": poisson, "svrg": svrg, "privatediff": privatediff,
            "sgda_joint": sgda, "sgda_joint_with_private_ratio": sgda}
VALUES = {"full_batch_gaussian": full_batch_gaussian, "output_perturbation": output_perturbation,
          "last_iterate_gaussian": last_iterate_gaussian, "stgd_laplace": stgd_laplace,
          "stgd_gaussian": stgd_gaussian, "poisson_gaussian_replace_one_delta": sampled_delta,
          "pure_optimal_composition": pure_optimal, "gaussian_curve": gaussian_curve,
          "gaussian_epsilon": gaussian_epsilon,
          "classical_gaussian_must_be_rejected": classical_gaussian}


def ids(case):
    return case["id"]


@pytest.mark.parametrize("case", [c for c in CASES if "lower" in c], ids=ids)
def test_noise_multiplier_is_sound_and_tight(case):
    inputs = case["inputs"]
    scale = calibrate(FAMILIES[case["mechanism"]](inputs), inputs["epsilon"], inputs["delta"])
    assert case["lower"] <= scale <= case["upper"]


@pytest.mark.parametrize("case", [c for c in CASES if "lower" not in c], ids=ids)
def test_value_agrees(case):
    values = VALUES[case["mechanism"]](case["inputs"])
    assert values.keys() == case["expected"].keys()
    for name, expected in case["expected"].items():
        assert values[name] == pytest.approx(expected, rel=case["rel_tol"]), name
        if "one_sided" in case:
            assert values[name] >= expected * (1 - 1e-9), name


def test_every_case_is_covered():
    assert len(CASES) == 57
    assert {c["mechanism"] for c in CASES} == FAMILIES.keys() | VALUES.keys()
