"""Parameters of each mechanism: plans of each mode, and of what cannot be drawn."""

_CAPPED = {"p": 0.3, "p_cap": 0.4}
_SAMPLED = {
    "epsilon": 1.0,
    "delta": 1e-6,
    "sampling_rate": 0.1,
    "least_records": 100_000,
    "trade_off": 0.001,
}
_STABLE = {"epsilon": 1.0, "delta": 1e-6, "least_records": 1000}
QUESTIONS = {
    "perturbation": [
        {"beta": 1.0},
        {"beta": 1.0, "mode": "paper"},
        {"beta": 1.0, "alpha_floor": 0.9999},
        {"beta": 2.0, "reference": {"v0": 5, "v1": 2, "v2": 3}},
    ],
    "uniform_perturbation": [
        *(_CAPPED | {"criterion": own} for own in ("exact_total", "exact_min", "chernoff_full")),
        {"p": 0.3, "rho_1": 0.1, "rho_2": 0.2},
        {"p": 0.5, "p_cap": 0.4},
    ],
    "sample_perturb_scale": [
        *(_CAPPED | {"mode": own} for own in ("balanced_fixed", "balanced")),
        _CAPPED | {"mode": "paper", "accept_known_leak": True},
        {"p": 0.3, "rho_1": 0.1, "rho_2": 0.2, "bound": "chernoff_full"},
        {"p": 0.5, "p_cap": 0.4},
    ],
    "stability_histogram": [
        _STABLE,
        _STABLE | {"dictionary": {"illness": ("v0", "v1")}, "trade_off": 0.5},
    ],
    "laplace_histogram": [{"epsilon": 1.0}],
    "sampled_generalisation": [
        _SAMPLED,
        _SAMPLED | {"least_records": 10},
        _SAMPLED | {"dictionary": {"illness": ("v0", "v1")}, "exponent_range": 1.0},
    ],
    "sampled_generalisation_published": [_SAMPLED | {"least_share": 0.01}],
    "dirichlet_multinomial": [
        {"partition": ["age"], "epsilon": 1.0},
        {"partition": ["age"], "epsilon": 2.0, "delta": 1e-6, "certificate": "exact_tail"},
    ],
}
