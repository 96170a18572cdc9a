"""Tables for fits of additive models to declared knots and categories.

A function of the number of rows and a random generator returns a frame, scores of its rows, the
knots (or their number) and categories of its columns, and pairs of columns.
"""

import numpy as np
import pandas as pd

__all__ = ["FRESH", "JUDGED", "MENDED", "TOLD", "TUNED"]


def smooth(n, rng):
    X = pd.DataFrame({"a": rng.uniform(0, 10, n), "b": rng.normal(5, 2, n),
                      "c": rng.uniform(-1, 1, n), "d": rng.normal(0, 1, n)})
    score = np.abs(X.a - 5) / 2.5 - 1 + np.sin(X.b) - 0.5 * X.c + 0.5 * X.d
    return X, score, {"a": 9, "b": 7, "c": 5, "d": 9}, 0


def flags(n, rng):
    X = pd.DataFrame((rng.random((n, 6)) < np.linspace(0.2, 0.6, 6)).astype(float),
                     columns=list("abcdef")).assign(x=rng.uniform(0, 1, n))
    score = X[list("abcdef")].to_numpy() @ [1, -1, 0.5, -0.5, 0, 0.8] + 2 * X.x
    return X, score - score.mean(), {"x": 6, **{
        name: (0.0, 0.5, 1.0) if name < "d" else [0.0, 1.0] for name in "abcdef"}}, 0


def words(n, rng):
    X = pd.DataFrame({"t": rng.choice(list("abcde"), n, p=[0.4, 0.25, 0.15, 0.1, 0.1]),
                      "u": rng.choice(list("abcdefgh"), n), "x": rng.normal(0, 1, n)})
    score = X.t.map(dict(zip("abcde", [1, -1, 0, 0.5, -0.5], strict=True))) + 0.7 * X.x
    score += X.u.map(dict(zip("abcdefgh", np.linspace(-1, 1, 8), strict=True)))
    return X, score, {"t": list("abcde"), "u": list("abcdefgh"), "x": 7}, 0


def related(n, rng):
    z = rng.normal(size=(n, 1))
    X = pd.DataFrame(np.sqrt(0.6) * z + np.sqrt(0.4) * rng.normal(size=(n, 3)),
                     columns=list("abc"))
    X["t"] = np.array(list("abcd"))[np.digitize(z[:, 0] + rng.normal(size=n), [-1, 0, 1.5])]
    score = X.a - 0.5 * X.b + 0.7 * np.abs(X.c) - 0.6
    score += X.t.map(dict(zip("abcd", [0.5, 0, -0.5, 0.3], strict=True)))
    return X, score, {"a": 6, "b": 6, "c": 6, "t": list("abcd")}, 0


def chain(n, rng):
    a = rng.normal(size=n)
    b = 0.85 * a + np.sqrt(1 - 0.85**2) * rng.normal(size=n)
    X = pd.DataFrame({"a": a, "b": b, "c": 0.8 * b + 0.6 * rng.normal(size=n)})
    X["t"] = np.array(list("abc"))[np.digitize(a + 0.7 * rng.normal(size=n), [-0.5, 0.7])]
    score = X.a - X.b + 0.8 * X.c + 0.5 * np.abs(X.a) - 0.4
    score += X.t.map({"a": 0.4, "b": 0, "c": -0.4})
    return X, score, {"a": 7, "b": 7, "c": 7, "t": list("abc")}, 0


def rare_flag(n, rng):
    X = pd.DataFrame({"f": (rng.random(n) < 0.03).astype(float), "x": rng.uniform(0, 10, n),
                      "t": rng.choice(list("abc"), n, p=[0.6, 0.3, 0.1])})
    score = 1.5 * X.f + np.abs(X.x - 5) / 2 - 1.2 + X.t.map({"a": 0, "b": 0.7, "c": -0.7})
    return X, score, {"f": (0.0, 0.5, 1.0), "x": 7, "t": list("abc")}, 0


def heavy_tails(n, rng):
    X = pd.DataFrame({"a": rng.lognormal(0, 1.5, n), "b": rng.standard_t(2, n),
                      "c": rng.pareto(1.5, n)})
    score = np.log(X.a) / 1.5 + np.tanh(X.b) - 0.5 * np.log1p(X.c)
    inner = {name: X[name].quantile([0.05, 0.2, 0.4, 0.6, 0.8, 0.95]) for name in X}
    return X, score - score.mean(), {
        name: tuple(np.append(inner[name], X[name].max() * 0.3)) for name in X}, 0


def gaps(n, rng):
    X = pd.DataFrame({"a": rng.normal(0, 1, n), "b": rng.uniform(0, 1, n),
                      "f": (rng.random(n) < 0.3).astype(float)})
    score = X.a + np.cos(6 * X.b) - X.f
    X.loc[rng.random(n) < 0.2, "a"] = np.nan
    X.loc[rng.random(n) < 0.4, "b"] = np.nan
    return X, score, {"a": 6, "b": 6, "f": (0.0, 0.5, 1.0)}, 0


def forty_words(n, rng):
    shares, names = 1 / np.arange(1, 41), [f"w{i}" for i in range(40)]
    codes = rng.choice(40, n, p=shares / shares.sum())
    X = pd.DataFrame({"w": np.array(names)[codes], "x": rng.normal(0, 1, n)})
    return X, 0.8 * rng.normal(size=40)[codes] + 0.8 * X.x, {"w": names, "x": 6}, 0


def collinear(n, rng):
    z = rng.normal(size=(n, 1))
    X = pd.DataFrame(np.sqrt(0.9) * z + np.sqrt(0.1) * rng.normal(size=(n, 3)),
                     columns=list("abc"))
    X["f"] = (z[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(float)
    score = X.a - 0.5 * X.b + np.abs(X.c) + X.f - 1.2
    return X, score, {"a": 6, "b": 6, "c": 6, "f": (0.0, 0.5, 1.0)}, 0


def interactions(n, rng):
    X = pd.DataFrame({"a": rng.uniform(0, 1, n), "b": rng.normal(0, 1, n),
                      "t": rng.choice(list("abc"), n, p=[0.5, 0.3, 0.2])})
    score = 2 * (X.a - 0.5) * X.t.map({"a": 1.0, "b": -1.0, "c": 0.0}) + 0.8 * X.b
    return X, score, {"a": 5, "b": 5, "t": list("abc")}, [("a", "t"), ("a", "b")]


def counts(n, rng):
    X = pd.DataFrame({"k": rng.poisson(2, n).astype(float), "m": rng.geometric(0.3, n) * 1.0})
    return X, 0.6 * X.k - 0.3 * X.m, {"k": (0.0, 1.0, 2.0, 3.0, 5.0, 8.0),
                                      "m": (1.0, 2.0, 3.0, 5.0, 9.0)}, 0


def nothing(n, rng):
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    return X, 0.0 * X.a, {"a": 6, "b": 6, "c": 6}, 0


def rare_cases(n, rng):
    X, score, columns, pairs = smooth(n, rng)
    return X, score - 3.2, columns, pairs


def season(n, rng):
    month = rng.integers(12, size=n)
    X = pd.DataFrame({"month": np.array([f"m{i}" for i in range(12)])[month],
                      "warm": 10 - 10 * np.cos(month / 6 * np.pi) + 3 * rng.normal(size=n)})
    return X, 0.1 * X.warm - 1 + 0.5 * (month == 7), {
        "month": [f"m{i}" for i in range(12)], "warm": 7}, 0


def twice(n, rng):
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    X["again"] = X.a
    return X, X.a + np.sin(X.b), {"a": 5, "b": 5, "again": 5}, 0


TUNED = {"smooth": smooth, "flags": flags, "words": words, "related": related, "chain": chain}
JUDGED = {"a flag of 3 %": rare_flag, "heavy tails": heavy_tails, "gaps": gaps,
          "40 categories": forty_words, "collinear": collinear, "interactions": interactions,
          "counts": counts, "no signal": nothing, "rare cases": rare_cases, "season": season,
          "a column twice": twice}


def two_clusters(n, rng):
    cluster = rng.random(n) < 0.35
    X = pd.DataFrame({"a": rng.normal(3.0 * cluster, 0.7), "b": rng.normal(-2.0 * cluster, 1.0),
                      "f": (rng.random(n) < np.where(cluster, 0.8, 0.1)).astype(float)})
    return X, 0.8 * X.a - 0.5 * X.f - 0.6 + 0.4 * np.cos(X.b), {
        "a": 7, "b": 6, "f": (0.0, 0.5, 1.0)}, 0


def many_zeros(n, rng):
    worked = rng.random(n) < 0.7
    X = pd.DataFrame({"hours": np.where(worked, rng.gamma(4.0, 8.0, n), 0.0)})
    X["income"] = X.hours * rng.lognormal(0.0, 0.6, n)
    X["age"] = rng.uniform(18, 80, n)
    score = 0.03 * X.hours + 0.02 * np.sqrt(X.income) - np.abs(X.age - 45) / 25
    return X, score - score.mean(), {"hours": (0.0, 10.0, 20.0, 30.0, 45.0, 80.0),
                                     "income": (0.0, 15.0, 35.0, 70.0, 200.0), "age": 6}, 0


def a_sum(n, rng):
    X = pd.DataFrame({"a": rng.uniform(0, 5, n), "b": rng.uniform(0, 3, n)})
    X["total"] = X.a + X.b
    return X, 0.5 * X.a - 0.4 * np.abs(X.total - 4), {"a": 6, "b": 5, "total": 7}, 0


def hours(n, rng):
    hour = rng.choice(24, n, p=(w := 1.5 + np.sin(np.arange(24) / 24 * 2 * np.pi)) / w.sum())
    X = pd.DataFrame({"hour": np.array([f"h{i}" for i in range(24)])[hour],
                      "day": ((hour > 6) & (hour < 19)).astype(float),
                      "load": rng.normal(2 + np.cos(hour / 12 * np.pi), 0.5)})
    return X, 0.7 * X.load - 1.5 + 0.5 * X.day, {
        "hour": [f"h{i}" for i in range(24)], "day": (0.0, 0.5, 1.0), "load": 6}, 0


def mostly_noise(n, rng):
    X = pd.DataFrame(rng.uniform(-1, 1, (n, 8)), columns=list("abcdefgh"))
    return X, 1.2 * X.a, dict.fromkeys("abcdefgh", 4), 0


def grades(n, rng):
    skill = rng.normal(size=n)
    X = pd.DataFrame({f"g{i}": np.clip(np.round(3.4 + skill + rng.normal(0, 0.8, n)), 1, 5)
                      for i in range(4)})
    X = X.mask(rng.random(X.shape) < 0.1)
    return X, 0.7 * skill, dict.fromkeys(X, (1.0, 2.0, 3.0, 4.0, 5.0)), 0


def nearly_all(n, rng):
    X = pd.DataFrame({"x": rng.exponential(1, n), "t": rng.choice(list("abcd"), n),
                      "y": rng.beta(2, 5, n)})
    score = 3.0 + 0.8 * np.minimum(X.x, 2) - 2 * X.y
    return X, score + X.t.map(dict(zip("abcd", [0, 0.4, -0.4, 0], strict=True))), {
        "x": 6, "t": list("abcd"), "y": 6}, 0


def twins(n, rng):
    place = rng.choice(9, n, p=np.arange(9, 0, -1) / 45)
    X = pd.DataFrame({"town": np.array([f"t{i}" for i in range(9)])[place],
                      "region": np.array(list("nsw"))[place // 3], "x": rng.normal(size=n)})
    return X, 0.3 * (place % 3) + 0.6 * (place > 5) - 0.7 * X.x - 0.5, {
        "town": [f"t{i}" for i in range(9)], "region": list("nsw"), "x": 6}, 0


def lags(n, rng):
    steps = rng.normal(size=n + 2)
    for place in range(1, n + 2):
        steps[place] += 0.7 * steps[place - 1]
    X = pd.DataFrame({"now": steps[2:], "last": steps[1:-1], "before": steps[:-2]})
    return X, 0.6 * X.now - 0.4 * np.abs(X["last"]) + 0.3, {
        "now": 6, "last": 6, "before": 6}, 0


def squares(n, rng):
    X = pd.DataFrame({"side": rng.uniform(0, 4, n)})
    X["area"] = X.side**2 * rng.uniform(0.9, 1.1, n)
    X["color"] = rng.choice(list("rgb"), n, p=[0.7, 0.25, 0.05])
    return X, 0.2 * X.area - 1.6 + X.color.map({"r": 0.0, "g": 0.6, "b": -0.6}), {
        "side": 5, "area": 6, "color": list("rgb")}, 0


def weak(n, rng):
    X = pd.DataFrame({"a": rng.logistic(size=n), "b": rng.triangular(0, 1, 3, n),
                      "f": (rng.random(n) < 0.15).astype(float)})
    return X, 0.1 * X.a + 0.1 * X.f, {"a": 6, "b": 5, "f": (0.0, 0.5, 1.0)}, 0


def steep(n, rng):
    X = pd.DataFrame({"dose": rng.uniform(0, 1, n), "weight": rng.normal(70, 12, n),
                      "ward": rng.choice(list("abcde"), n)})
    return X, 4 * (X.dose > 0.6) - 2 + 0.02 * (X.weight - 70), {
        "dose": 9, "weight": 6, "ward": list("abcde")}, 0


def survey(n, rng):
    mood = rng.normal(size=n)
    X = pd.DataFrame({f"q{i}": np.digitize(0.6 * mood + rng.normal(size=n), [-1, 0, 1]) + 1.0
                      for i in range(5)})
    X["age"] = rng.integers(18, 90, n).astype(float)
    return X, 0.4 * X.q0 - 0.3 * X.q3 + 0.01 * X.age - 1, {
        **{f"q{i}": (1.0, 2.0, 3.0, 4.0) for i in range(5)}, "age": 6}, 0


def sensors(n, rng):
    heat = rng.standard_t(4, size=n)
    X = pd.DataFrame({"heat": heat, "flow": 0.5 * heat + rng.standard_t(4, size=n),
                      "state": rng.choice(["on", "off", "idle"], n, p=[0.8, 0.15, 0.05])})
    return X, np.tanh(X.heat) + 0.5 * np.tanh(X.flow) - 0.7 * (X.state == "off"), {
        "heat": 7, "flow": 7, "state": ["on", "off", "idle"]}, 0


def claims(n, rng):
    X = pd.DataFrame({"km": rng.gamma(2, 5, n), "power": rng.normal(90, 20, n),
                      "zone": rng.choice(list("abcdef"), n), "new": (rng.random(n) < 0.2) * 1.0})
    score = 0.04 * X.km + 0.01 * (X.power - 90) + 0.4 * X.new - 4.6
    score += X.zone.map(dict(zip("abcdef", [0, 0.3, -0.3, 0.5, 0, -0.5], strict=True)))
    return X, score, {"km": 6, "power": 5, "zone": list("abcdef"), "new": (0.0, 0.5, 1.0)}, 0


def churn(n, rng):
    X = pd.DataFrame({"months": rng.integers(1, 60, n) * 1.0, "fee": rng.uniform(10, 90, n),
                      "plan": rng.choice(list("xyz"), n, p=[0.5, 0.4, 0.1])})
    score = -0.03 * X.months + 0.01 * X.fee - 3.9 + 0.6 * (X.plan == "z")
    return X, score, {"months": 7, "fee": 5, "plan": list("xyz")}, 0


def blank(n, rng):
    X = pd.DataFrame({"u": rng.uniform(0, 1, n), "v": rng.exponential(1, n),
                      "t": rng.choice(list("abc"), n), "f": (rng.random(n) < 0.3) * 1.0})
    return X, 0 * X.u - 0.8, {"u": 5, "v": 5, "t": list("abc"), "f": (0.0, 0.5, 1.0)}, 0


def volumes(n, rng):
    X = pd.DataFrame({"w": rng.uniform(1, 3, n), "h": rng.uniform(1, 3, n)})
    X["volume"] = X.w * X.h * rng.uniform(0.95, 1.05, n)
    X["kind"] = rng.choice(list("abc"), n, p=[0.5, 0.3, 0.2])
    return X, 0.4 * X.volume - 1.6 + X.kind.map({"a": 0, "b": 0.5, "c": -0.5}), {
        "w": 5, "h": 5, "volume": 6, "kind": list("abc")}, 0


def a_mean(n, rng):
    skill = rng.normal(size=n)
    X = pd.DataFrame({"math": skill + 0.5 * rng.normal(size=n),
                      "lang": skill + 0.7 * rng.normal(size=n)})
    X["mean"] = (X.math + X.lang) / 2
    return X, 0.8 * X["mean"], {"math": 5, "lang": 5, "mean": 6}, 0


def rent(n, rng):
    rooms = rng.integers(1, 6, n) * 1.0
    X = pd.DataFrame({"rooms": rooms, "area": 25 * rooms * rng.lognormal(0, 0.25, n),
                      "city": rng.choice(list("uvwx"), n, p=[0.4, 0.3, 0.2, 0.1])})
    score = X.city.map(dict(zip("uvwx", [0.5, 0, -0.3, -0.6], strict=True)))
    return X, 0.01 * (X.area - 75) + score, {
        "rooms": (1.0, 2.0, 3.0, 4.0, 5.0), "area": 7, "city": list("uvwx")}, 0


def energy_bill(n, rng):
    X = pd.DataFrame({"degree_days": rng.gamma(6, 40, n), "size": rng.lognormal(4.5, 0.35, n)})
    X["use"] = X.degree_days * X["size"] / 100 * rng.lognormal(0, 0.1, n)
    X["heat"] = rng.choice(["gas", "oil", "pump"], n, p=[0.55, 0.25, 0.2])
    score = 0.004 * X.use - 1 + X.heat.map({"gas": 0, "oil": 0.4, "pump": -0.5})
    return X, score.clip(-3, 3), {
        "degree_days": 6, "size": 6, "use": 7, "heat": ["gas", "oil", "pump"]}, 0


def exam(n, rng):
    hours = rng.gamma(3, 2, n)
    X = pd.DataFrame({"hours": hours, "sleep": 9 - 0.3 * hours + rng.normal(0, 1, n),
                      "age": rng.integers(18, 40, n) * 1.0, "repeat": (rng.random(n) < 0.2) * 1.0})
    return X, 0.2 * (X.hours - 6) + 0.1 * (X.sleep - 7) - 0.5 * X.repeat, {
        "hours": 6, "sleep": 6, "age": 5, "repeat": (0.0, 0.5, 1.0)}, 0


def age_bands(n, rng):
    age = rng.integers(18, 90, n) * 1.0
    X = pd.DataFrame({"age": age, "band": np.array(list("abcde"))[np.digitize(
        age, [30, 45, 60, 75])], "retired": (age >= 65) * 1.0, "pay": rng.lognormal(0, 0.5, n)})
    return X, 0.03 * (age - 50) - 0.8 * X.retired + 0.3 * np.log(X.pay), {
        "age": 7, "band": list("abcde"), "retired": (0.0, 0.5, 1.0), "pay": 6}, 0


def powers(n, rng):
    x, place = rng.normal(size=n), rng.choice(3, n, p=[0.6, 0.3, 0.1])
    X = pd.DataFrame({"x": x, "square": x**2,
                      **{f"is_{name}": (place == i) * 1.0 for i, name in enumerate("abc")}})
    return X, 0.6 * x - 0.3 * (x**2 - 1) + 0.5 * X.is_b, {
        "x": 7, "square": 6, **{f"is_{name}": (0.0, 0.5, 1.0) for name in "abc"}}, 0


MENDED = {"two clusters": two_clusters, "many zeros": many_zeros, "a sum of columns": a_sum,
          "hours": hours, "mostly noise": mostly_noise, "grades": grades,
          "nearly all cases": nearly_all, "twins": twins, "lags": lags}
#: Tables that told of the last change.
TOLD = {"squares": squares, "weak": weak, "sensors": sensors, "blank": blank, "volumes": volumes,
        "a mean": a_mean}
FRESH = {"steep": steep, "survey": survey, "claims, 2 % cases": claims,
         "churn, 2 % cases": churn, "rent": rent, "energy bill": energy_bill, "exam": exam,
         "age bands": age_bands, "powers": powers}
