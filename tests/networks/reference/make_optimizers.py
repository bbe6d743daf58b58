"""Write optimizers.json: what torch.optim does in 50 steps, in float64.

Run it in an environment that holds torch 2.13.0 and NumPy:

    python tests/networks/reference/make_optimizers.py

The first problem feeds every optimizer the same stored gradients, among them zeros,
tiny and large ones. The second is the bowl (w1^2 + 25 w2^2) / 2, whose gradient is
computed by autograd. The third is the first again, with the learning rate halved after
25 steps. JSON keeps every digit of a float64.
"""

import json
from pathlib import Path

import numpy as np
import torch

STEPS = 50
HALVE_AFTER = 25
START = [0.5, -1.0, 2.0]
BOWL = {"curvature": [1.0, 25.0], "start": [-4.0, 1.5]}

# Our class, our parameters, torch's class, torch's parameters.
SETTINGS = [
    ("SGD", {"learning_rate": 0.01}, "SGD", {"lr": 0.01}),
    ("SGD", {"learning_rate": 0.07}, "SGD", {"lr": 0.07}),
    *(
        (
            name,
            {"learning_rate": lr, "momentum": mu},
            "SGD",
            {"lr": lr, "momentum": mu, "nesterov": name == "Nesterov"},
        )
        for name in ("Momentum", "Nesterov")
        for lr, mu in ((0.01, 0.9), (0.03, 0.5))
    ),
    ("AdaGrad", {}, "Adagrad", {}),
    (
        "AdaGrad",
        {"learning_rate": 0.5, "epsilon": 0.1},
        "Adagrad",
        {"lr": 0.5, "eps": 0.1},
    ),
    ("RMSProp", {}, "RMSprop", {}),
    (
        "RMSProp",
        {"learning_rate": 0.05, "decay": 0.8, "epsilon": 0.1},
        "RMSprop",
        {"lr": 0.05, "alpha": 0.8, "eps": 0.1},
    ),
    ("Adam", {}, "Adam", {}),
    (
        "Adam",
        {"learning_rate": 0.1, "beta1": 0.7, "beta2": 0.95, "epsilon": 0.1},
        "Adam",
        {"lr": 0.1, "betas": (0.7, 0.95), "eps": 0.1},
    ),
    ("AdamW", {}, "AdamW", {}),
    (
        "AdamW",
        {"learning_rate": 0.1, "beta1": 0.8, "epsilon": 0.01, "weight_decay": 0.3},
        "AdamW",
        {"lr": 0.1, "betas": (0.8, 0.999), "eps": 0.01, "weight_decay": 0.3},
    ),
]


def fixed_gradients() -> np.ndarray:
    rng = np.random.default_rng(7)
    gradients = rng.normal(size=(STEPS, 3)) * [1e-4, 1.0, 20.0]
    gradients[:3, 0] = 0.0  # the first parameter starts without a gradient
    gradients[10:13] = 0.0
    return gradients.round(6)


def run(torch_name, torch_parameters, start, gradient, halve_after=STEPS):
    w = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimizer = getattr(torch.optim, torch_name)([w], **torch_parameters)
    path = []
    for t in range(STEPS):
        if t == halve_after:
            optimizer.param_groups[0]["lr"] /= 2
        w.grad = gradient(t, w)
        optimizer.step()
        path.append(w.detach().tolist())
    return path


def bowl_gradient(t, w):
    curvature = torch.tensor(BOWL["curvature"], dtype=torch.float64)
    return torch.autograd.grad((curvature * w**2).sum() / 2, w)[0]


def main() -> None:
    gradients = fixed_gradients()

    def stored_gradient(t, w):
        return torch.tensor(gradients[t])

    runs = [
        {
            "optimizer": name,
            "parameters": parameters,
            "fixed": run(torch_name, torch_parameters, START, stored_gradient),
            "bowl": run(torch_name, torch_parameters, BOWL["start"], bowl_gradient),
            "halved": run(
                torch_name, torch_parameters, START, stored_gradient, HALVE_AFTER
            ),
        }
        for name, parameters, torch_name, torch_parameters in SETTINGS
    ]
    reference = {
        "made_with": f"torch {torch.__version__.split('+')[0]}",
        "start": START,
        "gradients": gradients.tolist(),
        "bowl": BOWL,
        "halve_after": HALVE_AFTER,
        "runs": runs,
    }
    path = Path(__file__).with_name("optimizers.json")
    path.write_text(json.dumps(reference).replace("], [", "],\n[") + "\n")


if __name__ == "__main__":
    main()
