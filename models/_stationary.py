"""The long-run cells of a chain of (actual, predicted) labels: plain arithmetic, for arrays and tensors alike."""

from typing import Any


def stationary(stay: Any, theta: Any) -> tuple[Any, Any, Any, Any]:
    """Return the long-run probabilities (tn, fp, fn, tp) of the chain with these transition probabilities.

    Parameters
    ----------
    stay : sequence of 2
        ``stay[g]`` = P(g_t = g | g_{t−1} = g), of the actual label g.
    theta : nested sequences, 2 × 2 × 2
        ``theta[g][h][j]`` = P(z_t = 1 | g_t = g, g_{t−1} = h, z_{t−1} = j), of the predicted label z. Where a
        prediction does not see the previous actual label, the same for both h.

    Notes
    -----
    From state (h, j) to state (g, v) the chain goes with probability T = P(g | h) P(v | g, h, j), and its long-run
    probabilities w solve w = wT, Σw = 1. With A_hg = P(g | h) and π = πA, that is for x_g = P(g, z = 1) the system

        x_g = Σ_h A_hg [θ_gh0 (π_h − x_h) + θ_gh1 x_h],    g = 0, 1,

    but solved so, digits cancel in a chain that hardly ever leaves a state. Here states are taken out one by one, what
    went through them being sent straight on, and put back (Grassmann, Taksar & Heyman 1985, Operations Research
    33:1107). Nothing is subtracted, so that no cell is negative and a small one keeps all its digits.

    Examples
    --------
    >>> [round(cell, 3) for cell in stationary([0.96, 0.84], [[[0.004, 0.804]] * 2, [[0.184, 0.984]] * 2])]
    [0.72, 0.08, 0.08, 0.12]
    """
    states = [(g, z) for g in (0, 1) for z in (0, 1)]
    t = [
        [
            (stay[h] if g == h else 1 - stay[h]) * (theta[g][h][j] if v else 1 - theta[g][h][j])
            for g, v in states
        ]
        for h, j in states
    ]  # fmt: skip
    for last in (3, 2, 1):
        leaving = sum(t[last][:last])
        for i in range(last):
            t[i][last] = t[i][last] / leaving
            for k in range(last):
                t[i][k] = t[i][k] + t[i][last] * t[last][k]
    w = [1]
    for state in (1, 2, 3):
        w.append(sum(w[i] * t[i][state] for i in range(state)))
    total = sum(w)
    return w[0] / total, w[1] / total, w[2] / total, w[3] / total
