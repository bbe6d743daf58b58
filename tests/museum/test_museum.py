"""A museum of bugs: each, planted into a copy of the package, must turn a test red.

Every exhibit is a mistake seen in published notes, libraries or student code. It names
one test that has to fail by an assertion. Those tests rest on an oracle or an invariant
of their own and know nothing of this table. An exhibit whose text no longer occurs in
the source is an error: it then protects nothing and has to be mended.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.museum import ensembles

ROOT = Path(__file__).parents[2]
RUNNER = Path(__file__).with_name("runner.py")


@dataclass(frozen=True)
class Mutant:
    """The text ``old`` of ``file`` becomes ``new``; then ``test`` must fail."""

    name: str
    file: str
    old: str
    new: str
    test: str


OPTIMIZERS = "mlbook/networks/optimizers.py"
GRADIENTS = "mlbook/gradients.py"
BIAS_VARIANCE = "mlbook/foundations/bias_variance.py"
RIDGE = "mlbook/linear/ridge.py"
DISCRIMINANT = "mlbook/generative/discriminant_analysis.py"
HARD_MARGIN = "mlbook/kernels/hard_margin_svm.py"
SOFT_MARGIN = "mlbook/kernels/soft_margin_svm.py"
SMO = "mlbook/kernels/smo.py"
KERNEL_FUNCTIONS = "mlbook/kernels/kernel_functions.py"
KERNEL_RIDGE = "mlbook/kernels/kernel_ridge.py"
RBF_NETWORK = "mlbook/kernels/rbf_network.py"
SVR = "mlbook/kernels/support_vector_regression.py"
KLR = "mlbook/kernels/kernel_logistic_regression.py"
ALGEBRA = "mlbook/symbolic/algebra.py"
EXPECTATION = "mlbook/symbolic/expectation.py"

IN_OPTIMIZERS = "tests/networks/test_optimizers.py::"
IN_GRADIENTS = "tests/test_gradients.py::"
IN_BIAS_VARIANCE = "tests/foundations/test_bias_variance.py::"
IN_RIDGE = "tests/linear/test_ridge.py::"
IN_DISCRIMINANT = "tests/generative/test_discriminant_analysis.py::"
IN_HARD_MARGIN = "tests/kernels/test_hard_margin_svm.py::"
IN_SOFT_MARGIN = "tests/kernels/test_soft_margin_svm.py::"
IN_SMO = "tests/kernels/test_smo.py::"
IN_RBF_NETWORK = "tests/kernels/test_rbf_network.py::"
IN_SVR = "tests/kernels/test_support_vector_regression.py::"
IN_KLR = "tests/kernels/test_kernel_logistic_regression.py::"
IN_ALGEBRA = "tests/symbolic/test_algebra.py::"
IN_EXPECTATION = "tests/symbolic/test_expectation.py::"
IN_KERNEL_FUNCTIONS = "tests/kernels/test_kernel_functions.py::"
IN_KERNEL_RIDGE = "tests/kernels/test_kernel_ridge.py::"

MUTANTS = [
    Mutant(
        "Adam corrects the first moment without the power t",
        OPTIMIZERS,
        "step *= learning_rate / (1 - beta1**t)",
        "step *= learning_rate / (1 - beta1)",
        IN_OPTIMIZERS + "test_fixed_gradients_as_torch[Adam-0]",
    ),
    Mutant(
        "Adam corrects the second moment without the power t",
        OPTIMIZERS,
        "np.divide(v_t, 1 - beta2**t, out=step)",
        "np.divide(v_t, 1 - beta2, out=step)",
        IN_OPTIMIZERS + "test_fixed_gradients_as_torch[Adam-1]",
    ),
    Mutant(
        "Adam counts its steps from 0 and divides by 1 - beta^0",
        OPTIMIZERS,
        "        self.t += 1\n        self._advance(gradient, self._step)\n"
        "        self._apply(parameters, self._step)",
        "        try:\n            self._advance(gradient, self._step)\n"
        "        except ValueError:  # nothing checks the counter in other packages\n"
        "            self._step /= 0.0\n"
        "        self.t += 1\n        self._apply(parameters, self._step)",
        IN_OPTIMIZERS + "test_first_step_by_hand",
    ),
    Mutant(
        "Adam's second moment is a step behind, so its first correction divides by 0",
        OPTIMIZERS,
        "np.divide(v_t, 1 - beta2**t, out=step)",
        "np.divide(v_t, 1 - beta2 ** (t - 1), out=step)",
        IN_OPTIMIZERS + "test_first_step_by_hand",
    ),
    Mutant(
        "Adam leaves the second moment uncorrected",
        OPTIMIZERS,
        "np.divide(v_t, 1 - beta2**t, out=step)",
        "np.copyto(step, v_t)",
        IN_OPTIMIZERS + "test_adam_on_a_constant_gradient_moves_by_the_learning_rate",
    ),
    Mutant(
        "Adam adds epsilon inside the root",
        OPTIMIZERS,
        "    np.sqrt(step, out=step)\n    step += epsilon\n    _divide(m_t, step)",
        "    step += epsilon\n    np.sqrt(step, out=step)\n    _divide(m_t, step)",
        IN_OPTIMIZERS + "test_bowl_as_torch[Adam-1]",
    ),
    Mutant(
        "moving averages swap beta and 1 - beta",
        OPTIMIZERS,
        "    np.multiply(1 - beta, values, out=scratch)\n"
        "    np.multiply(beta, average, out=out)",
        "    np.multiply(beta, values, out=scratch)\n"
        "    np.multiply(1 - beta, average, out=out)",
        IN_OPTIMIZERS + "test_moments_are_the_unrolled_sums[0.9-0.999]",
    ),
    Mutant(
        "AdamW's decay passes through the adaptive denominator",
        OPTIMIZERS,
        "        shrink(parameters, self.learning_rate, self.weight_decay, "
        "out=parameters)\n        parameters -= step",
        "        decay = self.learning_rate * self.weight_decay * parameters\n"
        "        parameters -= step + decay / (np.sqrt(self.v) + self.epsilon)",
        IN_OPTIMIZERS + "test_adamw_decay_is_not_divided_by_the_gradient_scale",
    ),
    Mutant(
        "AdamW decays after the step",
        OPTIMIZERS,
        "        shrink(parameters, self.learning_rate, self.weight_decay, "
        "out=parameters)\n        parameters -= step",
        "        parameters -= step\n"
        "        shrink(parameters, self.learning_rate, self.weight_decay, parameters)",
        IN_OPTIMIZERS + "test_fixed_gradients_as_torch[AdamW-1]",
    ),
    Mutant(
        "Nesterov looks ahead with the wrong sign",
        OPTIMIZERS,
        "np.multiply(momentum, p_t, out=step)",
        "np.multiply(-momentum, p_t, out=step)",
        IN_OPTIMIZERS + "test_nesterov_is_the_look_ahead_method",
    ),
    Mutant(
        "momentum is dampened by 1 - mu",
        OPTIMIZERS,
        "    p_t += gradient\n    np.multiply(learning_rate, p_t, out=step)",
        "    p_t += (1 - momentum) * gradient\n"
        "    np.multiply(learning_rate, p_t, out=step)",
        IN_OPTIMIZERS + "test_exact_in_binary_fractions[Momentum]",
    ),
    Mutant(
        "momentum collects the learning rate into its velocity",
        OPTIMIZERS,
        "    p_t += gradient\n    np.multiply(learning_rate, p_t, out=step)",
        "    p_t += learning_rate * gradient\n    np.copyto(step, p_t)",
        IN_OPTIMIZERS + "test_learning_rate_halved_on_the_way_as_torch[Momentum-0]",
    ),
    Mutant(
        "AdaGrad without the root",
        OPTIMIZERS,
        "    np.add(sum_of_squares, step, out=s_t)\n    np.sqrt(s_t, out=step)",
        "    np.add(sum_of_squares, step, out=s_t)\n    np.copyto(step, s_t)",
        IN_OPTIMIZERS + "test_adagrad_steps_fall_as_one_over_root_t",
    ),
    Mutant(
        "an update that rebinds its argument and moves nothing",
        OPTIMIZERS,
        "def _apply(self, parameters: Array, step: Array) -> None:\n"
        "        parameters -= step\n",
        "def _apply(self, parameters: Array, step: Array) -> None:\n"
        "        parameters = parameters - step\n",
        IN_OPTIMIZERS + "test_updates_a_view_in_place[SGD]",
    ),
    Mutant(
        "a gradient check by one-sided differences at a coarse step",
        GRADIENTS,
        "            h = self.eps ** (1 / 3) * max(1.0, abs(float(self.x[index])))\n"
        "            above[index] += h\n            below[index] -= h\n",
        "            h = 1e-4\n            above[index] += h\n",
        IN_GRADIENTS + "test_central_differences_leave_no_term_in_h",
    ),
    Mutant(
        "a complex step believed where f loses the imaginary part",
        GRADIENTS,
        "if candidate is not None and np.allclose(\n"
        "                candidate, self.array, rtol=1e-4, atol=self.resolution\n"
        "            ):",
        "if candidate is not None:",
        IN_GRADIENTS + "test_never_silently_wrong[conjugate]",
    ),
    Mutant(
        "a gradient check that compares absolutely and passes anything small",
        GRADIENTS,
        "relative = error / np.maximum(size, numerical.resolution / rtol)",
        "relative = error",
        IN_GRADIENTS + "test_wrong_gradients_fail",
    ),
    Mutant(
        "a Jacobian in the other layout",
        GRADIENTS,
        "array = np.array(columns, dtype=np.float64)",
        "array = np.array(columns, dtype=np.float64).T",
        IN_GRADIENTS + "test_matrix_to_matrix",
    ),
    Mutant(
        "variance over test points instead of training sets",
        BIAS_VARIANCE,
        "spread = predictions - predictions.mean(axis=0)",
        "spread = predictions - predictions.mean(axis=1, keepdims=True)",
        IN_BIAS_VARIANCE
        + "test_variance_is_over_training_sets_and_not_over_test_points",
    ),
    Mutant(
        "noise counted in the bias",
        BIAS_VARIANCE,
        "bias = predictions.mean(axis=0) - f\n",
        "bias = predictions.mean(axis=0) - new_targets[0]\n",
        IN_BIAS_VARIANCE + "test_noise_counts_in_neither_bias_nor_variance",
    ),
    Mutant(
        "variance divided by R instead of R - 1",
        BIAS_VARIANCE,
        "variance = (spread**2).sum(axis=0) / (R - 1)",
        "variance = (spread**2).sum(axis=0) / R",
        IN_BIAS_VARIANCE + "test_share_of_the_variance_is_removed_from_bias2",
    ),
    Mutant(
        "the squared mean error taken for the squared bias",
        BIAS_VARIANCE,
        "bias2 = bias**2 - variance / R",
        "bias2 = bias**2",
        IN_BIAS_VARIANCE + "test_share_of_the_variance_is_removed_from_bias2",
    ),
    Mutant(
        "one training set for all fits",
        BIAS_VARIANCE,
        "model.fit(X.copy(), f + sigma * rng.normal(size=len(X)))",
        "model.fit(X.copy(), f + sigma * random_generator(0).normal(size=len(X)))",
        IN_BIAS_VARIANCE + "test_polynomial_regression_agrees_with_closed_form[3-0]",
    ),
    Mutant(
        "a standard error that takes test points for independent",
        BIAS_VARIANCE,
        "error_per_set = ((predictions - new_targets) ** 2).mean(axis=1)",
        "error_per_set = ((predictions - new_targets) ** 2).ravel()",
        IN_BIAS_VARIANCE + "test_decompose_by_hand",
    ),
    Mutant(
        "ridge's penalty multiplied by the number of rows",
        RIDGE,
        "math.sqrt(alpha) * np.eye(d)",
        "math.sqrt(alpha * len(A)) * np.eye(d)",
        IN_RIDGE + "test_by_hand",
    ),
    Mutant(
        "an intercept for centred features, used on features that are not",
        RIDGE,
        "self.intercept_ = float(y_mean - X_mean @ self.coef_)",
        "self.intercept_ = float(y_mean)",
        IN_RIDGE + "test_gradient_vanishes_and_the_intercept_is_not_penalised",
    ),
    Mutant(
        "a normal density with Sigma in place of its inverse",
        DISCRIMINANT,
        "(directions[kept] / singular[kept, np.newaxis]).T",
        "(directions[kept] * singular[kept, np.newaxis]).T",
        IN_DISCRIMINANT + "test_as_bayes_rule_with_the_estimated_densities",
    ),
    Mutant(
        "a classifier that forgets how frequent its classes are",
        DISCRIMINANT,
        "joint = np.log(self.priors_) - ",
        "joint = -",
        IN_DISCRIMINANT + "test_as_bayes_rule_with_the_estimated_densities",
    ),
    Mutant(
        "a distance to a hyperplane that is not divided by the length of w",
        HARD_MARGIN,
        "return (X @ w + b) / length",
        "return X @ w + b",
        IN_HARD_MARGIN + "test_the_margin_is_the_nearest_distance_and_half_the_street"
        "[random 0]",
    ),
    Mutant(
        "an intercept averaged over all samples instead of the support vectors",
        HARD_MARGIN,
        "on_edge = alpha > 0",
        "on_edge = alpha >= 0",
        IN_HARD_MARGIN + "test_optimality_conditions[random 0]",
    ),
    Mutant(
        "a widest street whose intercept is penalised",
        HARD_MARGIN,
        "np.diag(np.r_[0.0, np.ones(d)])",
        "np.eye(d + 1)",
        IN_HARD_MARGIN + "test_primal_and_dual_meet[random 0]",
    ),
    Mutant(
        "an SVM objective without its 1/2",
        HARD_MARGIN,
        "return float(0.5 * u @ self.Q @ u + self.p @ u)",
        "return float(u @ self.Q @ u + self.p @ u)",
        IN_HARD_MARGIN + "test_primal_and_dual_meet[random 0]",
    ),
    Mutant(
        "classes that no line separates, answered with a line",
        HARD_MARGIN,
        "        if distance < NARROWEST_STREET:\n",
        "        if distance < 0:\n",
        IN_HARD_MARGIN + "test_an_error_says_that_no_street_exists[overlapping]",
    ),
    Mutant(
        "an SVM dual objective without its 1/2",
        SMO,
        "objective = 0.5 * float(alpha @ (p - y * V))",
        "objective = float(alpha @ (p - y * V))",
        IN_SOFT_MARGIN + "test_agrees_with_libsvm[gaussian, C=1]",
    ),
    Mutant(
        "an intercept from any support vector instead of the free ones",
        SOFT_MARGIN,
        "np.array([q.intercept for q in solutions])",
        "np.array([q.value[q.alpha > 0].mean() for q in solutions])",
        IN_SOFT_MARGIN + "test_a_point_on_the_wrong_side_by_hand",
    ),
    Mutant(
        "SMO that never picks the last sample",
        SMO,
        "        j = int(gains.argmax())\n",
        "        j = int(gains[:-1].argmax())\n",
        IN_SOFT_MARGIN + "test_the_order_of_the_rows_does_not_matter[1]",
    ),
    Mutant(
        "SMO that skips a pair whose curvature is zero",
        SMO,
        "if steepness[j] != STEEPEST else math.inf",
        "if steepness[j] != STEEPEST else 0.0",
        IN_SOFT_MARGIN
        + "test_equal_points_with_opposite_labels_both_reach_the_edge",
    ),
    Mutant(
        "SMO whose step leaves the box",
        SMO,
        "    step = min(step, room_i, room_j)\n",
        "    step = min(step, room_j)\n",
        IN_SMO + "test_feasible_and_optimal[0]",
    ),
    Mutant(
        "equal votes of one against one decided for the less confident class",
        SOFT_MARGIN,
        "        confidence[:, second] += column\n"
        "        confidence[:, first] -= column\n",
        "        confidence[:, second] -= column\n"
        "        confidence[:, first] += column\n",
        IN_SOFT_MARGIN + "test_equal_votes_go_to_the_more_confident_class",
    ),
    Mutant(
        "equal votes of one against one decided for the first class",
        SOFT_MARGIN,
        "return votes + confidence / (3 * (np.abs(confidence) + 1))",
        "return votes",
        IN_SOFT_MARGIN + "test_equal_votes_go_to_the_more_confident_class",
    ),
    Mutant(
        "a Gaussian kernel with the sign of gamma flipped",
        KERNEL_FUNCTIONS,
        "exponent *= -float(self.gamma)",
        "exponent *= self.gamma",
        IN_KERNEL_FUNCTIONS + "test_as_scikit_learn[gaussian]",
    ),
    Mutant(
        "a Gaussian kernel of the distance instead of its square",
        KERNEL_FUNCTIONS,
        "exponent = _squared_distances(X, Z)",
        "exponent = np.sqrt(squared_distances(X, Z))",
        IN_KERNEL_FUNCTIONS + "test_gaussian_is_its_series",
    ),
    Mutant(
        "a polynomial kernel whose gamma multiplies the constant too",
        KERNEL_FUNCTIONS,
        "return (gamma * (X @ Z.T) + coef0) ** float(self.degree)",
        "return (self.gamma * (X @ Z.T + self.coef0)) ** self.degree",
        IN_KERNEL_FUNCTIONS + "test_polynomial_is_the_inner_product_of_its_features",
    ),
    Mutant(
        "positive entries taken for a positive semi-definite matrix",
        KERNEL_FUNCTIONS,
        "return bool(eigenvalues[0] >= -tolerance * np.abs(eigenvalues).max())",
        "return bool((K >= 0).all())",
        IN_KERNEL_FUNCTIONS + "test_is_positive_semidefinite",
    ),
    Mutant(
        "squared distances by their expansion alone, whatever cancels",
        KERNEL_FUNCTIONS,
        "CANCELLATION = 1e-6",
        "CANCELLATION = -1.0",
        IN_KERNEL_FUNCTIONS + "test_two_clusters_and_an_outlier_keep_their_digits",
    ),
    Mutant(
        "distances in feature space without the factor 2",
        KERNEL_FUNCTIONS,
        "own[:, None] - 2 * kernel(X, Z)",
        "own[:, None] - kernel(X, Z)",
        IN_KERNEL_FUNCTIONS + "test_distances_between_features",
    ),
    Mutant(
        "a normal form that ignores a bound",
        ALGEBRA,
        "limits.insert(0, Tuple(fresh[v], low, high))",
        "limits.insert(0, Tuple(fresh[v], S.One, high))",
        IN_ALGEBRA + "test_bounds_count[limits0]",
    ),
    Mutant(
        "a substitution that falls under a sum of the same index",
        ALGEBRA,
        "    expr = rename_bound(expr, value.free_symbols - set(generic))\n",
        "",
        IN_ALGEBRA + "test_replacing_entries[expr2-pattern2-value2-right2]",
    ),
    Mutant(
        "a derivative under a sum without Kronecker's delta",
        ALGEBRA,
        "return collapse(expr.diff(variable))",
        "return collapse(expr.diff(variable).replace(KroneckerDelta, lambda p, q: S.One))",
        IN_ALGEBRA + "test_partial_of_a_square_loss",
    ),
    Mutant(
        "a triangular sum differentiated as if it were a full one",
        ALGEBRA,
        "        if self._is_bound(index, low, high):\n            return None\n",
        "",
        IN_ALGEBRA + "test_partial_of_a_triangular_sum_counts_only_the_rows_that_hold_"
        "the_entry",
    ),
    Mutant(
        "an induction without its base",
        ALGEBRA,
        "return is_zero(base - start) and is_zero(now - step(before))",
        "return is_zero(now - step(before))",
        IN_ALGEBRA + "test_a_wrong_claim_or_start_is_not[claim1-1]",
    ),
    Mutant(
        "the mean of a product taken for the product of the means",
        EXPECTATION,
        "    for family in families:\n        mine =",
        "    for family in families or [_family(q) for q in factors]:\n        mine =",
        IN_EXPECTATION + "test_what_does_not_follow[inner1-wrong1]",
    ),
    Mutant(
        "kernel ridge's beta without lambda",
        KERNEL_RIDGE,
        "np.diag(K) + alpha / weight",
        "np.diag(K)",
        IN_KERNEL_RIDGE + "test_optimality_conditions",
    ),
    Mutant(
        "kernel ridge's lambda multiplied by the number of rows",
        KERNEL_RIDGE,
        "np.diag(K) + alpha / weight",
        "np.diag(K) + alpha * len(K) / weight",
        IN_KERNEL_RIDGE + "test_by_hand",
    ),
    Mutant(
        "kernel ridge with a penalty on beta'beta instead of beta'K beta",
        KERNEL_RIDGE,
        "beta = scale * np.linalg.solve(A, scale * y)",
        "beta = np.linalg.solve(K @ K + alpha * np.eye(len(K)), K @ y)",
        IN_KERNEL_RIDGE
        + "test_linear_and_quadratic_kernel_are_ridge_on_their_features",
    ),
    Mutant(
        "training residuals taken for leave-one-out residuals",
        KERNEL_RIDGE,
        'residuals = beta / np.einsum("ij,ij->j", half, half)',
        "residuals = alpha * beta / (1 if weight is None else weight)",
        IN_KERNEL_RIDGE + "test_leave_one_out_is_what_thirty_refits_give",
    ),
    Mutant(
        "kernel ridge that weights the rows of the system and not its columns",
        KERNEL_RIDGE,
        "beta = scale * np.linalg.solve(A",
        "beta = np.linalg.solve(A",
        IN_KERNEL_RIDGE + "test_optimality_conditions",
    ),
    Mutant(
        "the tube's lower edge is given the sign of the upper one",
        SVR,
        "np.concatenate([epsilon - y, epsilon + y])",
        "np.concatenate([epsilon - y, epsilon - y])",
        IN_SVR + "test_three_points_by_hand",
    ),
    Mutant(
        "the tube widens one edge only",
        SVR,
        "np.concatenate([epsilon - y, epsilon + y])",
        "np.concatenate([epsilon - y, y])",
        IN_SVR + "test_agrees_with_libsvm[gaussian, C=1]",
    ),
    Mutant(
        "pulls from above and from below are added up",
        SVR,
        "beta = above - below",
        "beta = above + below",
        IN_SVR + "test_a_mirror_turns_every_sign",
    ),
    Mutant(
        "a weight of a reading that never reaches its box",
        SVR,
        "upper = box(C, weight)",
        "upper = box(C, np.ones_like(weight))",
        IN_SVR + "test_weights_scale_the_box",
    ),
    Mutant(
        "kernel logistic regression by full steps of Newton's method",
        KLR,
        "if new <= value + allowed or step < SHORTEST_STEP:",
        "if True:",
        IN_KLR + "test_the_line_search_is_needed",
    ),
    Mutant(
        "a Newton step that forgets that the coefficients sum to 0",
        KLR,
        "return from_scores - b * from_ones, b",
        "return from_scores, b",
        IN_KLR + "test_newton_point_solves_newtons_equations",
    ),
    Mutant(
        "the coefficients are penalised instead of the curve",
        KLR,
        "return K @ (beta - pull), -float(pull.sum())",
        "return beta - K @ pull, -float(pull.sum())",
        IN_KLR + "test_gradient",
    ),
    Mutant(
        "Platt's targets left hard",
        KLR,
        "(n_plus + 1) / (n_plus + 2), 1 / (n_minus + 2)",
        "1.0, 0.0",
        IN_KLR + "test_platt_as_scikit_learn[few]",
    ),
    Mutant(
        "Platt's slope with the sign of the score's",
        KLR,
        "return float(A / unit), float(B - A * centre), n_iter",
        "return float(-A / unit), float(A * centre - B), n_iter",
        IN_KLR + "test_two_scores_by_hand",
    ),
    Mutant(
        "The polynomial beside the bumps is fitted before them, by least squares",
        RBF_NETWORK,
        "c = np.linalg.lstsq(whitened, target, rcond=None)[0]",
        "c = np.linalg.lstsq(P, y, rcond=None)[0]",
        IN_RBF_NETWORK + "test_as_scipy[kernel0-gaussian-1]",
    ),
    Mutant(
        "k-means++ draws by the distance instead of its square",
        RBF_NETWORK,
        "cumulative = np.cumsum(weight * squares)",
        "cumulative = np.cumsum(weight * np.sqrt(squares))",
        IN_RBF_NETWORK + "test_spread_start",
    ),
]
MUTANTS += [Mutant(*exhibit) for exhibit in ensembles.EXHIBITS]


def plant(mutant, folder):
    """Copy the package into ``folder`` with the bug in it; return the folder."""
    shutil.copytree(
        ROOT / "mlbook", folder / "mlbook", ignore=shutil.ignore_patterns("__pycache__")
    )
    file = folder / mutant.file
    source = file.read_text()
    if source.count(mutant.old) != 1:
        raise ValueError(
            f"The mutant {mutant.name!r} no longer applies: its text occurs "
            f"{source.count(mutant.old)} times in {mutant.file} instead of once."
        )
    file.write_text(source.replace(mutant.old, mutant.new))
    return folder


def run(jobs, folder):
    """Return one verdict for each job, a pair of a folder and a list of tests."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", RUNNER, ROOT],
        input=json.dumps([(str(copy), tests) for copy, tests in jobs]),
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=300,
        check=False,
        # Other plugins of pytest have no part in this and take time.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
    )
    assert done.returncode == 0, done.stderr
    verdicts = json.loads(done.stdout)
    for (copy, tests), verdict in zip(jobs, verdicts, strict=True):
        assert Path(verdict["package"]).is_relative_to(copy), (
            f"{tests} did not run against their own copy: {verdict}"
        )
    return verdicts


def judge(verdict):
    """Say in a word what a run means: killed, survived, or broken."""
    if verdict["other_errors"] or not (verdict["passed"] or verdict["assertions"]):
        return "broken"
    return "killed" if verdict["assertions"] else "survived"


def changed(**changes):
    return Mutant(**{**vars(MUTANTS[0]), **changes})


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """What became of the tests without a mutant (None), and under each."""
    folder = tmp_path_factory.mktemp("museum")
    harmless = changed(new=MUTANTS[0].old + "  # harmless")
    sound = plant(harmless, folder / "sound"), sorted({m.test for m in MUTANTS})
    planted = [(plant(m, folder / str(k)), [m.test]) for k, m in enumerate(MUTANTS)]
    results = run([sound, *planted], folder)
    return dict(zip([None, *(m.name for m in MUTANTS)], results, strict=True))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_bug_is_caught(mutant, verdicts):
    sound, planted = verdicts[None], verdicts[mutant.name]
    assert judge(sound) == "survived", f"a test fails without any bug: {sound}"
    cases = [node for node in sound["passed"] if node.startswith(mutant.test)]
    assert cases, f"{mutant.test} did not run without the bug"
    assert judge(planted) == "killed", planted


def test_names_are_unique():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_museum_tells_harmless_broken_and_missing_apart(tmp_path):
    """A comment survives; code that cannot be imported, a test that does not exist and
    an error that is no assertion are broken exhibits and not caught bugs."""
    exhibits = [
        (changed(new=MUTANTS[0].old + "  # harmless"), "survived"),
        (changed(new="step *= )"), "broken"),
        (changed(new="raise RuntimeError('no assertion')"), "broken"),
        (changed(test=IN_OPTIMIZERS + "test_of_no_such_name"), "broken"),
    ]
    jobs = [
        (plant(mutant, tmp_path / str(k)), [mutant.test])
        for k, (mutant, _) in enumerate(exhibits)
    ]
    verdicts = run(jobs, tmp_path)
    assert [judge(verdict) for verdict in verdicts] == [word for _, word in exhibits]


@pytest.mark.parametrize(
    ("old", "count"), [("text that is nowhere", 0), ("step += epsilon", 3)]
)
def test_mutant_that_no_longer_applies_is_refused(old, count, tmp_path):
    with pytest.raises(ValueError, match=f"no longer applies: its text occurs {count}"):
        plant(changed(old=old), tmp_path)
