"""The stationary cells of a Markov chain of (actual, predicted) labels, for arrays and tensors."""

from typing import Any


def stationary(stay: Any, theta: Any) -> tuple[Any, Any, Any, Any]:
    """Return the long-run probabilities (tn, fp, fn, tp) of the chain with these transition probabilities.

    Parameters
    ----------
    stay : sequence of 2
        ``stay[g]`` = P(g_t = g | g_{t−1} = g), of the actual label g.
    theta : nested sequences, 2 × 2 × 2
        ``theta[g][h][j]`` = P(z_t = 1 | g_t = g, g_{t−1} = h, z_{t−1} = j), of the predicted label z. It is the same
        for both h if a prediction does not depend on the previous actual label.

    Notes
    -----
    The chain moves from state (h, j) to state (g, v) with probability T = P(g | h) P(v | g, h, j), and its long-run
    probabilities w solve w = wT, Σw = 1. With A_hg = P(g | h) and π = πA, this is equivalent to the system

        x_g = Σ_h A_hg [θ_gh0 (π_h − x_h) + θ_gh1 x_h],    g = 0, 1,

    for x_g = P(g, z = 1), but solving that system loses digits by cancellation if the chain rarely leaves a state.
    Instead, states are eliminated one by one, redirecting the transitions through them, and then restored (Grassmann,
    Taksar & Heyman 1985, Operations Research 33:1107). This needs no subtraction, so no cell is negative and small
    cells are accurate to all digits.

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
