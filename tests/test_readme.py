"""What the README shows is what a reader gets."""

import re
from pathlib import Path

import bayesperf as bp
from bayesperf import metrics

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_first_example_prints_what_is_shown():
    code, output = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL).groups()
    *lines, last = code.strip().splitlines()
    names = {}
    exec("\n".join(lines), names)
    assert repr(eval(last, names)) == output.rstrip()


def test_every_answer_in_the_table_runs():
    cm = bp.ConfusionMatrix.from_counts(tp=45, fn=5, fp=10, tn=90)
    three = bp.ConfusionMatrix.from_table([[9, 1, 0], [2, 7, 3], [0, 0, 11]])
    frame = bp.datasets.load("breast_cancer").query("model != 'x'")
    scope = {"bp": bp, "post": bp.posterior(cm), "cm": cm, "ConfusionMatrix": bp.ConfusionMatrix, "frame": frame}
    answers = [row.split("|")[2].strip() for row in README.splitlines() if row.startswith("| ") and "`" in row]
    assert len(answers) == 11
    for answer in answers:
        for code in re.findall(r"`(.*?)`", answer):
            code = code.replace("actual=…, predicted=…", "actual='actual', predicted='predicted'").replace(
                "tn: …", "tn: tp - fp"
            )
            here = scope | {"post": bp.posterior(three)} if "macro" in code or "per_class" in code else scope
            exec(f"dict({code})" if code.startswith("prior=") else code, dict(here))
    metrics.unregister("net_benefit")
