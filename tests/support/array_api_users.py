"""Functions of SciPy and scikit-learn, on arrays of ours and on NumPy's: run as a program, it prints what differs, by name, as JSON.

SciPy reads `SCIPY_ARRAY_API` when it is imported, so that this is a process of its own.
"""

from __future__ import annotations

import json
import sys
import warnings

import amdgpu
import numpy as np

SCIPY = "scipy"
SKLEARN = "sklearn"
RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 4))
POSITIVE = np.abs(X) + 0.1
LABELS = RNG.integers(0, 3, 40)


def of_scipy():
    """Name, function of arrays, arrays."""
    from scipy import cluster, integrate, ndimage, optimize, signal, spatial, special, stats

    yield "stats.zscore", stats.zscore, X
    yield "stats.skew", stats.skew, X
    yield "stats.kurtosis", stats.kurtosis, X
    yield "stats.moment", lambda x: stats.moment(x, 3), X
    yield "stats.gmean", stats.gmean, POSITIVE
    yield "stats.sem", stats.sem, X
    yield "stats.entropy", stats.entropy, POSITIVE
    yield "stats.rankdata", stats.rankdata, X
    yield "stats.pearsonr", lambda x: stats.pearsonr(x[:, 0], x[:, 1]).statistic, X
    yield "stats.ttest_1samp", lambda x: stats.ttest_1samp(x, 0.0).statistic, X
    yield "stats.ttest_ind", lambda x: stats.ttest_ind(x, x * 2 + 1).statistic, X
    yield "special.logsumexp", lambda x: special.logsumexp(x, axis=1), X
    yield "special.softmax", lambda x: special.softmax(x, axis=1), X
    yield "special.expit", special.expit, X
    yield "special.xlogy", lambda x: special.xlogy(x, x), POSITIVE
    yield "special.gammaln", special.gammaln, POSITIVE
    yield "signal.detrend", lambda x: signal.detrend(x, axis=0), X
    yield "signal.convolve", lambda x: signal.convolve(x[:, 0], x[:, 1]), X
    yield "ndimage.gaussian_filter", lambda x: ndimage.gaussian_filter(x, 1.0), X
    yield "cluster.vq.whiten", cluster.vq.whiten, X
    yield "cluster.hierarchy.linkage", cluster.hierarchy.linkage, X
    yield "integrate.trapezoid", lambda x: integrate.trapezoid(x, axis=0), X
    yield "integrate.cumulative_trapezoid", lambda x: integrate.cumulative_trapezoid(x, axis=0), X
    yield "optimize.rosen", optimize.rosen, X[0]
    yield "spatial.distance.pdist", spatial.distance.pdist, X


def of_sklearn():
    """As `of_scipy`."""
    import sklearn
    from sklearn import metrics, model_selection, naive_bayes, preprocessing
    from sklearn.metrics import pairwise

    sklearn.set_config(array_api_dispatch=True)
    scalers = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "Normalizer", "Binarizer", "PolynomialFeatures")
    for name in scalers:
        yield name, getattr(preprocessing, name)().fit_transform, X
    yield (
        "StandardScaler, inverse",
        lambda x: (s := preprocessing.StandardScaler()).inverse_transform(s.fit_transform(x)),
        X,
    )
    yield "LabelEncoder", lambda y: preprocessing.LabelEncoder().fit_transform(y), LABELS
    yield "GaussianNB", lambda x, y: naive_bayes.GaussianNB().fit(x, y).predict(x), X, LABELS
    yield "train_test_split", lambda x: model_selection.train_test_split(x, random_state=0)[0], X
    for name in ("euclidean_distances", "cosine_similarity", "rbf_kernel", "polynomial_kernel"):
        yield name, getattr(pairwise, name), X
    for name in ("accuracy_score", "zero_one_loss", "confusion_matrix"):
        yield name, lambda y, name=name: getattr(metrics, name)(y, (y + y // 2) % 3), LABELS
    yield "f1_score", lambda y: metrics.f1_score(y, (y + y // 2) % 3, average="macro"), LABELS
    yield "roc_auc_score", lambda x, y: metrics.roc_auc_score(y == 1, x[:, 0]), X, LABELS
    for name in ("r2_score", "mean_squared_error", "mean_absolute_error"):
        yield name, lambda x, name=name: getattr(metrics, name)(x[:, 0], x[:, 1]), X


def difference(function, arrays):
    """What is wrong with the result for arrays of ours; an empty text where it is NumPy's."""
    expected = function(*arrays)
    try:
        found = function(*map(amdgpu.asarray, arrays))
    except Exception as error:  # noqa: BLE001 (whatever it is, it is told)
        return f"{type(error).__name__}: {error}"
    if isinstance(expected, np.ndarray) and not isinstance(found, amdgpu.Array):
        return f"the result is a {type(found).__name__}"
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{found.dtype} {found.shape} in the place of {expected.dtype} {expected.shape}"
    return "" if np.allclose(found, expected, rtol=1e-9, atol=1e-12) else f"{found} in the place of {expected}"


def main(library):
    """Prints the differences by name."""
    warnings.simplefilter("ignore")
    cases = of_scipy() if library == SCIPY else of_sklearn()
    print(json.dumps({name: difference(function, arrays) for name, function, *arrays in cases}))


if __name__ == "__main__":
    main(sys.argv[1])
