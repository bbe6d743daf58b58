"""Exhibits of the museum for trees and ensembles: see test_museum.py.

Each is (name, file, old text, new text, the test that must fail).
"""

EXHIBITS = [
    (
        "entropy is measured in nats, its range said to be [0, log2 K]",
        "mlbook/ensembles/criteria.py",
        "return x * np.log2(np.where(x > 0, x, 1.0))",
        "return x * np.log(np.where(x > 0, x, 1.0))",
        "tests/ensembles/test_decision_tree.py::"
        "test_ranges_of_the_impurities[3]",
    ),
    (
        "a surrogate that no more than equals the heavier child is kept",
        "mlbook/ensembles/decision_tree.py",
        "agreement[agreement <= majority * (1 + SLACK)] = -np.inf",
        "agreement[agreement < majority] = -np.inf",
        "tests/ensembles/test_decision_tree.py::"
        "test_surrogates_are_rparts[{}-1]",
    ),
    (
        "a surrogate is always read as low goes left",
        "mlbook/ensembles/decision_tree.py",
        "(low_goes_left >= low_goes_right)[position]",
        "np.ones(len(position), dtype=bool)",
        "tests/ensembles/test_decision_tree.py::"
        "test_a_surrogate_that_runs_the_other_way",
    ),
    (
        "midpoints of neighbouring floats round up to the upper one",
        "mlbook/ensembles/splits.py",
        "np.where(middle < high, middle, low).astype(np.float64)",
        "np.where(middle <= high, middle, low).astype(np.float64)",
        "tests/ensembles/test_decision_tree.py::"
        "test_a_cut_lies_between_its_neighbours",
    ),
    (
        "the weakest link counts leaves, not leaves saved",
        "mlbook/ensembles/decision_tree.py",
        "link[inner] = (risk - branch)[inner] / (leaves[inner] - 1)",
        "link[inner] = (risk - branch)[inner] / leaves[inner]",
        "tests/ensembles/test_decision_tree.py::"
        "test_weakest_links_by_hand",
    ),
    (
        "categories are ordered by sums instead of means",
        "mlbook/ensembles/splits.py",
        "scores = sums[1] / weight",
        "scores = sums[1]",
        "tests/ensembles/test_decision_tree.py::"
        "test_categories_are_ordered_by_means_and_not_by_sums",
    ),
    (
        "stacking on in-sample predictions",
        "mlbook/ensembles/bagging.py",
        "fit_copy(estimator, X[train], y[train], weight[train])",
        "fit_copy(estimator, X, y, weight)",
        "tests/ensembles/test_bagging.py::"
        "test_a_stack_leaves_a_memoriser_of_noise_alone",
    ),
    (
        "out-of-bag score on the rows that the member has drawn (bag)",
        "mlbook/ensembles/bagging.py",
        "np.setdiff1d(np.arange(len(X)), drawn)",
        "np.unique(drawn)",
        "tests/ensembles/test_bagging.py::"
        "test_a_rows_own_target_has_no_say_in_its_out_of_bag_prediction",
    ),
    (
        "the variance of a mean without the correlation",
        "mlbook/foundations/bias_variance.py",
        "shared = 1 + rho * (B - 1.0)",
        "shared = 1 + 0.0 * rho * (B - 1.0)",
        "tests/ensembles/test_bagging.py::"
        "test_members_of_one_kind_get_equal_weights_and_the_known_variance",
    ),
    (
        "best weights in proportion to 1/variance, covariance ignored",
        "mlbook/ensembles/bagging.py",
        "root = np.sqrt(values)[:, np.newaxis] * vectors.T * size  # root'root = S",
        "root = np.diag(np.sqrt(np.diag(S)))",
        "tests/ensembles/test_bagging.py::"
        "test_two_members_by_hand",
    ),
    (
        "least-squares weights rescaled to sum 1",
        "mlbook/ensembles/bagging.py",
        "return np.linalg.lstsq(root * P, root[:, 0] * y, rcond=None)[0]",
        "found = np.linalg.lstsq(root * P, root[:, 0] * y, rcond=None)[0]\n"
        "        return found / found.sum()",
        "tests/ensembles/test_bagging.py::"
        "test_free_weights_are_least_squares",
    ),
    (
        "a row drawn twice counts once",
        "mlbook/ensembles/bagging.py",
        "rows, own = np.unique(rows, return_counts=True)",
        "rows = np.unique(rows)\n"
        "                own = np.ones(len(rows))",
        "tests/ensembles/test_bagging.py::"
        "test_a_row_drawn_twice_has_the_weight_two_where_weights_are_taken",
    ),
    (
        "a forest's out-of-bag score uses the rows that a tree has drawn",
        "mlbook/ensembles/random_forest.py",
        "np.flatnonzero(self._counts(b) == 0)",
        "np.flatnonzero(self._counts(b) > 0)",
        "tests/ensembles/test_random_forest.py::"
        "test_a_rows_own_target_has_no_say_in_its_out_of_bag_prediction",
    ),
    (
        "permutation importance on training rows",
        "mlbook/ensembles/random_forest.py",
        "            prediction, count = self._out_of_bag(X, rows)\n"
        "            there",
        "            prediction, count = self._average(X), np.ones(len(X))\n"
        "            there",
        "tests/ensembles/test_random_forest.py::"
        "test_permutation_importance_is_that_of_out_of_bag_rows[0]",
    ),
    (
        "permutation importance as error before less error after",
        "mlbook/ensembles/random_forest.py",
        "loss(shuffled) - before",
        "before - loss(shuffled)",
        "tests/ensembles/test_random_forest.py::"
        "test_shuffling_a_linear_models_feature_costs_twice_its_variance",
    ),
    (
        "out-of-bag predictions divided by the number of all trees",
        "mlbook/ensembles/random_forest.py",
        "total / np.maximum(count, 1)[:, np.newaxis]",
        "total / len(list(rows))",
        "tests/ensembles/test_random_forest.py::"
        "test_four_rows_and_three_trees_by_hand",
    ),
    (
        "a row that every tree saw is predicted 0",
        "mlbook/ensembles/random_forest.py",
        "np.where(nobody, np.nan,",
        "np.where(nobody, 0.0,",
        "tests/ensembles/test_random_forest.py::"
        "test_rows_never_out_of_bag",
    ),
    (
        "bootstrap without replacement",
        "mlbook/ensembles/random_forest.py",
        "drawn = rng.integers(0, n, size=n)",
        "drawn = rng.permutation(n)",
        "tests/ensembles/test_random_forest.py::"
        "test_the_share_of_rows_out_of_bag[5]",
    ),
    (
        "AdaBoost's vote loses its half",
        "mlbook/ensembles/adaboost.py",
        "float(0.5 * (np.log1p",
        "float(1.0 * (np.log1p",
        "tests/ensembles/test_adaboost.py::"
        "test_alpha_is_the_minimum",
    ),
    (
        "AdaBoost's error is a sum of weights, not a share",
        "mlbook/ensembles/adaboost.py",
        "return float(min(weight[wrong].sum() / weight.sum(), 1.0))",
        "return float(weight[wrong].sum())",
        "tests/ensembles/test_adaboost.py::"
        "test_weighted_error_by_hand",
    ),
    (
        "AdaBoost moves the weights by half of what its vote says",
        "mlbook/ensembles/adaboost.py",
        "margin += np.where(wrong, -alpha, alpha)",
        "margin += np.where(wrong, 0.0, alpha)",
        "tests/ensembles/test_adaboost.py::"
        "test_gini_stumps_are_scikit_learns_round_by_round",
    ),
    (
        "a flipped stump says the opposite of its left side on the right",
        "mlbook/ensembles/adaboost.py",
        "int(classes[1]), int(classes[2]))",
        "int(classes[1]), 1 - int(classes[1]))",
        "tests/ensembles/test_adaboost.py::"
        "test_gini_stumps_are_scikit_learns_round_by_round",
    ),
    (
        "a stump is never flipped",
        "mlbook/ensembles/adaboost.py",
        "classes = tree.sums.argmax(axis=0)\n"
        "    if",
        "classes = np.sort(tree.sums.argmax(axis=0))\n"
        "    if",
        "tests/ensembles/test_adaboost.py::"
        "test_exchanged_classes_flip_every_stump",
    ),
    (
        "a perfect stump gets infinitely many votes",
        "mlbook/ensembles/adaboost.py",
        "    error = min(max(error, LEAST_ERROR), 1 - LEAST_ERROR)\n",
        "    error = np.float64(error)\n",
        "tests/ensembles/test_adaboost.py::"
        "test_a_perfect_first_stump_ends_training",
    ),
    (
        "AdaBoost goes on without an edge",
        "mlbook/ensembles/adaboost.py",
        "if n_classes > 1 and error >= 1 - 1 / n_classes - NO_EDGE:",
        "if False:",
        "tests/ensembles/test_adaboost.py::"
        "test_no_better_than_guessing_is_refused",
    ),
    (
        "Gini of two classes without the product",
        "mlbook/ensembles/adaboost.py",
        "        weight *= second\n",
        "",
        "tests/ensembles/test_adaboost.py::"
        "test_gini_stump_is_the_best_of_all",
    ),
    (
        "gradient boosting: boosting predicts without its start",
        "mlbook/ensembles/gradient_boosting.py",
        "        X = self._check_new_data(X)\n"
        "        F = np.tile(self.start_, (len(X), 1))",
        "        X = self._check_new_data(X)\n"
        "        F = np.zeros((len(X), len(self.start_)))",
        "tests/ensembles/test_gradient_boosting.py::"
        "test_two_rounds_on_paper",
    ),
    (
        "gradient boosting: the learning rate shrinks the start",
        "mlbook/ensembles/gradient_boosting.py",
        "self.start_ = loss.start(y, weight)",
        "self.start_ = self.learning_rate * loss.start(y, weight)",
        "tests/ensembles/test_gradient_boosting.py::"
        "test_the_start_is_not_shrunk",
    ),
    (
        "gradient boosting: leaf values from the residuals of all rows (root)",
        "mlbook/ensembles/gradient_boosting.py",
        "y[used], before[used], k, weight[used], leaf[used], tree.node_count",
        "y[used], before[used], k, weight[used], np.zeros_like(leaf[used]),"
        " tree.node_count",
        "tests/ensembles/test_gradient_boosting.py::"
        "test_two_rounds_on_paper",
    ),
    (
        "residuals of the classes are mixed across rounds",
        "mlbook/ensembles/gradient_boosting.py",
        "tree, leaf = self._fit_tree(columns, r[:, k], weight, rows)",
        "tree, leaf = self._fit_tree(columns, loss.negative_gradient(y, F)[:,"
        " k], weight, rows)",
        "tests/ensembles/test_gradient_boosting.py::"
        "test_order_of_the_classes_does_not_matter",
    ),
    (
        "gradient boosting: (K-1)/K lost",
        "mlbook/ensembles/gradient_boosting.py",
        "return step * (self.n_classes - 1) / self.n_classes",
        "return step",
        "tests/ensembles/test_gradient_boosting.py::"
        "test_leaf_values_are_newton_steps[multinomial]",
    ),
    (
        "the XGBoost gain forgets lambda",
        "mlbook/ensembles/xgboost.py",
        "np.array(curvature + self.reg_lambda, dtype=np.float32)",
        "np.array(curvature, dtype=np.float32)",
        "tests/ensembles/test_xgboost.py::"
        "test_four_points_by_hand[1-0.6666666666666666-0.6666666666666666]",
    ),
    (
        "XGBoost's slopes are multiplied by y",
        "mlbook/ensembles/xgboost.py",
        "return p - y, np.maximum(p * (1 - p), margin",
        "return y * (p - y), np.maximum(p * (1 - p), margin",
        "tests/ensembles/test_xgboost.py::"
        "test_slopes_are_the_derivatives[logistic_slopes-logistic_loss]",
    ),
    (
        "XGBoost predicts without the initial constant",
        "mlbook/ensembles/xgboost.py",
        "        margin = np.repeat(self.base_margin_[:, np.newaxis], len(X),"
        " axis=1)\n"
        "        yield margin\n",
        "        margin = np.zeros((len(self.base_margin_), len(X)),"
        " np.float32)\n"
        "        yield margin\n",
        "tests/ensembles/test_xgboost.py::"
        "test_the_first_margin_is_the_best_constant",
    ),
    (
        "XGBoost prunes a weak split though one below it is kept",
        "mlbook/ensembles/xgboost.py",
        "        leaf[node] = leaf[tree.left[node]] and leaf[tree.right[node]]",
        "        leaf[node] = True",
        "tests/ensembles/test_xgboost.py::"
        "test_prune_by_hand[0.255-3]",
    ),
    (
        "trees of one XGBoost round see each other's margins",
        "mlbook/ensembles/xgboost.py",
        "            g, h = slopes(margin)\n"
        "            trees = []\n"
        "            for k, stats in enumerate(np.stack([g, h], axis=1) *"
        " weight):\n",
        "            trees = []\n"
        "            for k in range(len(margin)):\n"
        "                g, h = slopes(margin)\n"
        "                stats = np.stack([g, h], axis=1)[k] * weight\n",
        "tests/ensembles/test_xgboost.py::"
        "test_margins_are_the_librarys[three classes-dense-exact]",
    ),
    (
        "XGBoost's score is rounded once, at the end",
        "mlbook/ensembles/xgboost.py",
        "        square = np.multiply(slope, slope).astype(np.float32)\n"
        "        denominator = np.array(curvature + self.reg_lambda, dtype=np.float32)",
        "        square = slope * slope\n"
        "        denominator = np.array(curvature + self.reg_lambda)",
        "tests/ensembles/test_xgboost.py::"
        "test_near_ties_are_cut_as_in_the_library[exact]",
    ),
    (
        "GOSS scales slopes but not curvatures",
        "mlbook/ensembles/lightgbm.py",
        "stats[:, rows] *= factor",
        "stats[0, rows] *= factor",
        "tests/ensembles/test_lightgbm.py::"
        "test_sampling_scales_slopes_and_curvatures",
    ),
    (
        "GOSS weighs by 1 / b",
        "mlbook/ensembles/lightgbm.py",
        "[1.0, len(others) / len(drawn)]",
        "[1.0, n / len(drawn)]",
        "tests/ensembles/test_lightgbm.py::"
        "test_weights_of_goss",
    ),
    (
        "EFB's conflict budget is one for each pair",
        "mlbook/ensembles/lightgbm.py",
        "if conflicts[k] + extra <= max_conflicts:",
        "if extra <= max_conflicts:",
        "tests/ensembles/test_lightgbm.py::"
        "test_the_budget_is_one_for_the_bundle",
    ),
    (
        "EFB's offsets overlap",
        "mlbook/ensembles/lightgbm.py",
        "offset += len(own)",
        "offset += len(own) - 1",
        "tests/ensembles/test_lightgbm.py::"
        "test_a_bundles_code_can_be_undone[False]",
    ),
    (
        "EFB leaves the default bin empty",
        "mlbook/ensembles/lightgbm.py",
        "(total - sums.sum(axis=0)).swapaxes(0, 1)",
        "0.0",
        "tests/ensembles/test_lightgbm.py::"
        "test_a_childs_histogram_is_that_of_its_rows[False-bundled]",
    ),
    (
        "histogram subtraction with swapped children",
        "mlbook/ensembles/histogram.py",
        "blocks = [(below, small[order]), (parents, small[order] ^ 1)]",
        "blocks = [(below, small[order] ^ 1), (parents, small[order])]",
        "tests/ensembles/test_lightgbm.py::"
        "test_a_childs_histogram_is_that_of_its_rows[False-plain]",
    ),
]
